"""Exports of whole sessions and stores: every leaf, every target, one process or several.

Spec: decisions E4, E7 and E8.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from agentsession.errors import AgentSessionError
from agentsession.export.atomic import make_directory, room, sweep_rooms, write_whole
from agentsession.export.detection import Detector
from agentsession.export.errors import CannotExport
from agentsession.export.names import safe
from agentsession.export.options import Options
from agentsession.export.outline import Outline
from agentsession.export.report import CUT_TAIL, ReportBuilder, place_of
from agentsession.export.scan import remaining
from agentsession.export.sinks import Sinks, Targets, Tick, clash
from agentsession.export.source import source_of
from agentsession.export.tabular import write_parquet
from agentsession.export.trajectory import Forest, Trajectory, trajectories
from agentsession.export.write import make_ready
from agentsession.findings import Finding, Report
from agentsession.session import Session


@dataclass(frozen=True, slots=True)
class Opened:
    """A session, and what was wrong with it.

    Attributes:
        session: the session.
        damages: what the report is to say of it.
    """

    session: Session
    damages: tuple[Finding, ...] = ()


Load = Callable[[str], Session | Opened]
"""Opens a session by its id. For several processes it must be possible to pickle it; each of
them gets it once."""

Leaves = Literal["all", "current", "auto"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an export is.

    Attributes:
        session_id: the session at hand.
        sessions_done, sessions: sessions that are finished, and all.
        steps_done: steps of the document at hand that are written.
    """

    session_id: str
    sessions_done: int
    sessions: int
    steps_done: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What to do with each session.

    Attributes:
        targets: where documents go.
        options: how they are made.
        leaves: ``all`` leaves of a session, its ``current`` one, or ``auto``: the current one
            of imported sessions, whose other leaves are what an agent threw away, and all
            leaves of others.
        embed: whether linked sessions that can be loaded are embedded.
        check: looks for what still resembles a credential after redaction, and makes findings
            of it; ``None`` does not look.
    """

    targets: Targets
    options: Options = field(default_factory=Options)
    leaves: Leaves = "auto"
    embed: bool = False
    check: Detector | None = None


_EVERY: Final = 64
"""Steps between two calls of a progress function."""


def export_session(
    session: Session,
    work: Work,
    *,
    progress: Callable[[Progress], None] | None = None,
    load: Load | None = None,
) -> Report:
    """Export one session and return the report.

    Args:
        session: the session.
        work: targets and options.
        progress: told every now and then.
        load: opens linked sessions, for ``work.embed``.

    Raises:
        StoreFailed: when the storage refuses a file.
        CannotExport: when a target needs what is not installed, or two targets would replace
            one another.
    """
    return export_sessions(
        lambda session_id: (
            session if session_id == session.id or load is None else load(session_id)
        ),
        [session.id],
        work,
        progress=progress,
    )


def export_sessions(
    load: Load,
    session_ids: Sequence[str],
    work: Work,
    *,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Export sessions and return the report of all.

    A session that cannot be opened, and a document that is not valid, are left out with a
    finding; the rest goes on.

    Args:
        load: opens a session by id.
        session_ids: the sessions, in the order they are to stand in.
        work: targets and options.
        jobs: processes; above 1 ``load`` and ``work`` must be possible to pickle.
        progress: told every now and then.

    Spec: decisions E4, E7 and E8.

    Raises:
        StoreFailed: when the storage refuses a file.
        CannotExport: when a target needs what is not installed, or two targets would replace
            one another.
    """
    problem = clash(work.targets)
    if problem:
        raise CannotExport(problem)
    report = ReportBuilder()
    _sweep(work.targets)
    with ExitStack() as stack:
        targets, flat = work.targets, work.targets.flat
        if targets.parquet is not None and flat is None:
            make_directory(targets.parquet.parent)
            flat = stack.enter_context(room(targets.parquet.parent)) / "rows.jsonl"
        plain = replace(work, targets=replace(targets, flat=flat, parquet=None))
        told = progress or _nothing
        if jobs > 1 and len(session_ids) > 1:
            finished = _in_processes(load, session_ids, plain, report, jobs)
            for done, session_id in enumerate(finished, 1):
                told(Progress(session_id, done, len(session_ids)))
        else:
            _here(load, session_ids, plain, report, told)
        if targets.parquet is not None and flat is not None:
            write_parquet(targets.parquet, flat)
    return report.report()


def _sweep(targets: Targets) -> None:
    """Take away what exports that were killed left beside the targets."""
    files = (targets.jsonl, targets.flat, targets.parquet)
    folders = {targets.directory, *(file.parent for file in files if file is not None)}
    for folder in folders:
        if folder is not None:
            sweep_rooms(folder)


def _nothing(progress: Progress) -> None:
    del progress


class _Run:
    """The export of one session after another, in one process."""

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


def _here(
    load: Load,
    session_ids: Sequence[str],
    work: Work,
    report: ReportBuilder,
    progress: Callable[[Progress], None],
) -> None:
    apart = risky_ids(session_ids)
    with ExitStack() as stack:
        run = _Run(load, work, report, Sinks(work.targets, stack, report))
        for done, session_id in enumerate(session_ids):
            at_hand = Progress(session_id, done, len(session_ids))
            run.session(session_id, _ticker(progress, at_hand), apart=session_id in apart)
            progress(replace(at_hand, sessions_done=done + 1))


def _ticker(progress: Callable[[Progress], None], at_hand: Progress) -> Tick:
    def tick(steps: int) -> None:
        if not steps % _EVERY:
            progress(replace(at_hand, steps_done=steps))

    return tick


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


def _in_processes(
    load: Load,
    session_ids: Sequence[str],
    work: Work,
    report: ReportBuilder,
    jobs: int,
) -> Iterator[str]:
    """Export in several processes; yields each session that is done, in order."""
    apart = risky_ids(session_ids)
    targets = work.targets
    files = {"jsonl": targets.jsonl, "flat": targets.flat}
    wanted = {name: target for name, target in files.items() if target is not None}
    beside = next((target.parent for target in wanted.values()), targets.directory or Path())
    make_directory(beside)
    if targets.directory is not None:
        make_ready(targets.directory)
    context = multiprocessing.get_context("spawn")
    with (
        room(beside) as parts,
        ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_begin, initargs=(load, work, parts)
        ) as pool,
    ):
        futures = [
            pool.submit(_numbered, number, session_id, session_id in apart)
            for number, session_id in enumerate(session_ids)
        ]
        for session_id, future in zip(session_ids, futures, strict=True):
            report.add(future.result())
            yield session_id
        for name, target in wanted.items():
            _joined(target, [parts / f"{number}.{name}" for number in range(len(session_ids))])


_AT_WORK: Final[ContextVar[tuple[Load, Work, Path]]] = ContextVar("at_work")
"""In a process that exports a part: what it was given when it began."""


def _begin(load: Load, work: Work, parts: Path) -> None:
    _AT_WORK.set((load, work, parts))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """End this process when another one does, however that ended.

    A process of a pool holds both ends of the queue that it waits at, so that the queue
    never ends for it.
    """
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _numbered(number: int, session_id: str, apart: bool) -> Report:
    load, work, parts = _AT_WORK.get()
    return _job(load, session_id, _part(work, parts, number), apart)


def _part(work: Work, parts: Path, number: int) -> Work:
    """The same work with the single files as parts in a directory of their own."""
    targets = work.targets
    return replace(
        work,
        targets=replace(
            targets,
            jsonl=parts / f"{number}.jsonl" if targets.jsonl else None,
            flat=parts / f"{number}.flat" if targets.flat else None,
        ),
    )


def _job(load: Load, session_id: str, work: Work, apart: bool) -> Report:
    """Export one session in a process of its own."""
    report = ReportBuilder()
    with ExitStack() as stack:
        run = _Run(load, work, report, Sinks(work.targets, stack, report, parts=True))
        run.session(session_id, None, apart=apart)
    return report.report()


def _joined(target: Path, parts: Sequence[Path]) -> None:
    make_directory(target.parent)
    with write_whole(target) as file:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, file)


__all__ = [
    "Load",
    "Opened",
    "Progress",
    "Targets",
    "Work",
    "chosen",
    "export_session",
    "export_sessions",
    "is_imported",
    "risky_ids",
]
