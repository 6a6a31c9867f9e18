"""One session after another: opened, its trajectories chosen, and each written.

Spec: decision E4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from agentsession.errors import AgentSessionError
from agentsession.export.names import safe
from agentsession.export.options import Options
from agentsession.export.outline import Outline
from agentsession.export.report import CUT_TAIL, ReportBuilder, place_of
from agentsession.export.scan import remaining
from agentsession.export.sinks import Sinks, Tick
from agentsession.export.source import source_of
from agentsession.export.trajectory import Forest, Trajectory, trajectories
from agentsession.export.work import Leaves, Load, Opened, Work
from agentsession.findings import Finding
from agentsession.session import Session


class SessionExport:
    """The export of one session after another, in one process.

    Args:
        load: opens a session by id.
        work: what to do with each.
        report: takes what is found.
        sinks: where documents go.
    """

    def __init__(self, load: Load, work: Work, report: ReportBuilder, sinks: Sinks) -> None:
        self._load = load
        self._report = report
        self._sinks = sinks
        self._leaves = work.leaves
        self._check = work.check
        self._options = work.options
        if work.embed:
            resolver = work.options.subsessions or self._opened
            self._options = replace(work.options, subsessions=resolver, note_embedded=True)

    def session(self, session_id: str, tick: Tick | None, *, apart: bool) -> None:
        """Export one session; what cannot be exported becomes a finding."""
        self._sinks.keep_apart(apart)
        try:
            session = self._opened(session_id)
        except (AgentSessionError, OSError) as error:
            sentence = f"a session was left out: {error}"
            self._report.left_out("unreadable-session", sentence, session_id)
            return
        self._report.count("sessions")
        if not len(session):
            sentence = "a session without entries was left out"
            self._report.left_out("no-steps", sentence, session_id)
        for trajectory in chosen(session, self._leaves, self._options):
            self._trajectory(trajectory, tick)

    def _opened(self, session_id: str) -> Session:
        opened = self._load(session_id)
        if isinstance(opened, Session):
            opened = Opened(opened)
        cut = opened.session.truncated
        damages = opened.damages
        if cut is not None:
            sentence = "the last line was cut short and is left out"
            damages += (Finding(CUT_TAIL, sentence, f"line {cut.line}"),)
        self._report.damaged(session_id, damages)
        return opened.session

    def _trajectory(self, trajectory: Trajectory, tick: Tick | None) -> None:
        if trajectory.error is not None:
            where = f"{trajectory.header.id} {trajectory.leaf_id}"
            self._report.left_out("no-context", f"a path was left out: {trajectory.error}", where)
            return
        outline = Outline(trajectory, self._options)
        if not self._report.attempt(outline, partial(self._sinks.write, outline, tick)):
            return
        if self._check is not None:
            found = remaining(source_of(outline), self._check, place_of(outline))
            self._report.remains(found)


def chosen(session: Session, leaves: Leaves, options: Options) -> Iterator[Trajectory]:
    """Yield the trajectories of a session that are to be exported.

    Spec: decision E4.
    """
    if leaves == "auto":
        leaves = "current" if is_imported(session) else "all"
    if leaves == "all" or not len(session):
        yield from trajectories(session, *options.preferences)
    else:
        leaf = session.leaf or session.entries[-1].id
        yield Forest(session, options.preferences).trajectory(leaf)


IMPORTED: Final = frozenset({"claude-code", "codex", "opencode", "pi"})
"""The harnesses whose sessions come from an importer: these agents keep other logs."""


def is_imported(session: Session) -> bool:
    """Return whether a session was made from another agent's log."""
    harness = session.header.harness
    return harness is not None and harness.name.lower() in IMPORTED


def risky_ids(session_ids: Sequence[str]) -> frozenset[str]:
    """Return the sessions whose files could get the name of another session's file."""
    stems: dict[str, str] = {}
    risky = set()
    for session_id in session_ids:
        if stems.setdefault(safe(session_id).lower(), session_id) != session_id:
            risky.add(session_id)
    for stem, session_id in stems.items():
        cuts = [position for position, char in enumerate(stem) if char == "_"]
        if any(stem[:cut] in stems for cut in cuts):
            risky.add(session_id)
    return frozenset(risky)
