"""Runs on a path: their segments, their end reasons, and whether the records agree.

Spec: context 9 and 10, format 4.9.1, later drafts 10.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentsession import versions
from agentsession.calls import Call
from agentsession.earlier_runs import (
    EarlierRun,
    earlier_reason,
    earliest_reason,
    segment_facts,
)
from agentsession.entries import Entry, ItemEntry
from agentsession.errors import InvalidEntry, ReasonMismatch
from agentsession.header import Header
from agentsession.later_runs import facts_of
from agentsession.members import Version
from agentsession.record_entries import QueuedEntry, RunEntry
from agentsession.run_walks import LaterRun, RunWalk

DONE = "done"
STOPPED = "stopped"
INTERRUPTED = "interrupted"
INPUT_REQUIRED = "input_required"
ABORTED = "aborted"
ERROR = "error"

UNCOMPUTED = (ERROR, INTERRUPTED)
"""Reasons that stand over any segment (context 9.4)."""

_SEGMENT_RULE: Version = (0, 2)
"""The last version whose writers computed the reason from the segment alone."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the entries of a path from its start to its end.

    Attributes:
        start: the entry that opens the run.
        segment: its entries, the start and the end among them.
        end: the entry that closes it, or ``None``.
        trail: the path the run lies on.
        stop: how much of the trail reaches to the last entry of the segment.

    Spec: context 9.1.
    """

    start: RunEntry
    segment: tuple[Entry, ...]
    end: RunEntry | None = None
    trail: tuple[Entry, ...] = field(default=(), repr=False)
    stop: int = 0
    _walk: RunWalk | None = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> str:
        """The run id."""
        return self.start.run_id

    @property
    def path(self) -> tuple[Entry, ...]:
        """The path from its root to the last entry of the segment."""
        return self.trail[: self.stop]

    @property
    def by_later_rules(self) -> bool:
        """Whether the rules of later drafts 10 are those of its session."""
        return versions.has_later_calls(self.start.version)

    def calls(self) -> list[Call]:
        """Return the calls on the segment, and from 0.5 on earlier ones it takes up.

        Spec: context 8.1, later drafts 10.4.
        """
        return (
            list(self._later().calls)
            if self.by_later_rules
            else segment_facts(self.segment).log.calls()
        )

    def pending(self) -> tuple[str, ...]:
        """Return the ids of its calls without an output, in order.

        Up to 0.4 the output has to stand on the segment, later anywhere on the path.
        """
        return self._later().pending if self.by_later_rules else self.earlier_pending()

    def reason(self) -> str:
        """Return the end reason the path gives (context 9.3, the 0.3 rules; later drafts 10.4)."""
        return self._later().reason if self.by_later_rules else self.earlier_reason()

    def source(self) -> str:
        """Return why it began by what it holds: ``input`` or ``resume`` (later drafts 10.4)."""
        return self._later().source

    def earlier_pending(self) -> tuple[str, ...]:
        """Return the calls on the segment without an output on it, the rule up to 0.4."""
        return self._earlier().pending

    def earlier_reason(self) -> str:
        """Return the end reason by the rules of 0.3, whatever the version."""
        return self._earlier().reason

    def _later(self) -> LaterRun:
        walk, end = self._asked()
        return walk.later(end)

    def _earlier(self) -> EarlierRun:
        walk, end = self._asked()
        return walk.earlier(end)

    def _asked(self) -> tuple[RunWalk, int]:
        """The walk that tells of it, and where it ends there."""
        if self._walk is not None:
            return self._walk, self.stop
        # It was not found on a path together with others.
        trail = self.path or self.segment
        return RunWalk(trail, [(len(trail) - len(self.segment), len(trail))]), len(trail)

    def verify(self, header: Header | None = None) -> str:
        """Check the end entry against the segment; return a note that is no error, or ``""``.

        In a session of 0.2 a reason may follow that version's rules; the note says so.

        Args:
            header: the session's header; without one the 0.3 rules are the only ones up to 0.4.

        Spec: context 9.3 and 9.4, later drafts 10.4.

        Raises:
            ReasonMismatch: when the written reason or the pending list is another one.
        """
        if self.end is None:
            return ""
        if self.by_later_rules:
            said = self._later()
            check_end(self.id, self.end, said.reason, said.pending)
            return ""
        return check_earlier_end(self.id, self.end, self._earlier(), header)


def compute_reason(segment: Sequence[Entry], path: Sequence[Entry] | None = None) -> str:
    """Return the end reason of a run's segment.

    Args:
        segment: the run's entries.
        path: the path to the segment's last entry; the segment itself when not given.

    Spec: context 9.3, the 0.3 cascade; later drafts 10.4.
    """
    if segment and versions.has_later_calls(segment[0].version):
        whole = segment if path is None else path
        return facts_of(whole, len(whole) - len(segment)).reason()
    facts = segment_facts(segment)
    return earlier_reason(facts, facts if path is None else segment_facts(path))


def segment_reason(segment: Sequence[Entry]) -> str:
    """Return the end reason of a run's segment as writers of 0.2 computed it.

    Spec: context 9.3, the 0.2 cascade.
    """
    return earliest_reason(segment_facts(segment))


def runs(path: Sequence[Entry]) -> list[Run]:
    """Return the runs on a root-first path, in order.

    Entries before the first start and between an end and the next start belong to none.

    Spec: context 9.1.
    """
    trail = tuple(path)
    spans = [*_spans(trail)]
    walk = RunWalk(trail, [(first, stop) for _, first, stop, _ in spans])
    return [
        Run(start, trail[first:stop], end, trail, stop, walk) for start, first, stop, end in spans
    ]


def _spans(trail: Sequence[Entry]) -> Iterator[tuple[RunEntry, int, int, RunEntry | None]]:
    """Start entry, first position, position after the last, and end entry of each run."""
    opened: tuple[RunEntry, int] | None = None
    for position, entry in enumerate(trail):
        if not isinstance(entry, RunEntry):
            continue
        if entry.is_start:
            if opened is not None:
                yield (*opened, position, None)
            opened = entry, position
        elif opened is not None and entry.run_id == opened[0].run_id:
            yield (*opened, position + 1, entry)
            opened = None
    if opened is not None:
        yield (*opened, len(trail), None)


def open_run(path: Sequence[Entry]) -> Run | None:
    """Return the run that is open at the end of a path, or ``None``."""
    found = runs(path)
    return found[-1] if found and found[-1].end is None else None


def end_run(path: Sequence[Entry], reason: str, ref: str = "") -> RunEntry:
    """Return the entry that ends the run open at the end of a path. It is not appended.

    The reason is not checked.

    Spec: context 9.2.

    Raises:
        InvalidEntry: when no run is open, or without a reason.
    """
    run = open_run(path)
    if run is None:
        raise InvalidEntry("no run is open here, so none can be ended", type="run")
    if not reason:
        raise InvalidEntry("a run end needs a reason", type="run", member="reason")
    return RunEntry.end(run.id, reason, ref, run.pending())


def check_earlier_end(
    run_id: str,
    end: RunEntry,
    said: EarlierRun,
    header: Header | None,
) -> str:
    """Check the end of a run by the rules up to 0.4; return a note that is no error, or ``""``.

    Args:
        run_id: the run.
        end: its end.
        said: what its entries say.
        header: the session's header, if it is known.

    Spec: context 9.3 and 9.4.

    Raises:
        ReasonMismatch: when the end says something else.
    """
    note = ""
    by_segment = ""
    expected = said.reason
    if end.reason not in UNCOMPUTED and end.reason != expected:
        old_rules = header is not None and header.version <= _SEGMENT_RULE
        by_segment = said.earliest if old_rules else ""
    if by_segment and by_segment == end.reason:
        note = (
            f'run {run_id} ends with reason "{end.reason}" by the rules of 0.2; those of 0.3 say '
            f'"{expected}"'
        )
        expected = by_segment
    check_end(run_id, end, expected, said.pending)
    return note


def check_end(run_id: str, end: RunEntry, expected: str, pending: tuple[str, ...]) -> None:
    """Return when the end of a run says what its entries say.

    Args:
        run_id: the run.
        end: its end.
        expected: the reason by the run's entries; a written error or interruption stands.
        pending: its calls without an output.

    Spec: context 9.4.

    Raises:
        ReasonMismatch: when it says something else.
    """
    if end.reason not in UNCOMPUTED and end.reason != expected:
        raise ReasonMismatch(
            f'run {run_id} ends with reason "{end.reason}" in {end.id}, but its entries '
            f'say "{expected}"',
            run_id=run_id,
            entry_id=end.id,
            expected=expected,
            found=end.reason,
        )
    if Counter(end.pending) != Counter(pending):
        raise ReasonMismatch(
            f"run {run_id} ends in {end.id} with pending calls {_listed(end.pending)}, but its "
            f"entries leave {_listed(pending)}",
            run_id=run_id,
            entry_id=end.id,
            expected=pending,
            found=end.pending,
        )


def _listed(call_ids: Sequence[str]) -> str:
    return ", ".join(call_ids) if call_ids else "none"


def open_queued(path: Sequence[Entry]) -> tuple[QueuedEntry, ...]:
    """Return the queued inputs of a path that still wait, in path order.

    An item names the queued entry it was accepted as; a run's end clears those before it.

    Spec: format 4.9.1.
    """
    waiting: list[QueuedEntry] = []
    accepted = set()
    for entry in path:
        if isinstance(entry, QueuedEntry):
            waiting.append(entry)
        elif isinstance(entry, ItemEntry):
            accepted.add(entry.queued_from)
        elif isinstance(entry, RunEntry) and entry.is_end:
            waiting.clear()
    return tuple(entry for entry in waiting if entry.id not in accepted)
