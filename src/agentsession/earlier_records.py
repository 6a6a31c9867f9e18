"""The checks of the records on a path, by the rules up to 0.4.

Spec: context 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentsession._undoing import Journal
from agentsession.call_rules import missing_dispatch
from agentsession.calls import CallStanding
from agentsession.earlier_runs import SegmentFacts, earlier_run
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, CallRejected, ReasonMismatch, RecordMissing
from agentsession.header import Header
from agentsession.record_entries import RunEntry
from agentsession.runs import check_earlier_end


@dataclass(slots=True)
class EarlierRecords:
    """The check of a path fed entry by entry.

    Attributes:
        header: the session's header.
        journal: what changes the check.
    """

    header: Header
    journal: Journal = field(default_factory=Journal)
    _path: SegmentFacts = field(init=False)
    _segment: SegmentFacts = field(init=False)
    _run: RunEntry | None = None
    _failed: ReasonMismatch | None = None
    _notes: list[str] = field(default_factory=list)
    # The places of the calls that break a rule as they stand.
    _broken: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._path = SegmentFacts(self.journal)
        self._segment = SegmentFacts(self.journal)

    def feed(self, entry: Entry) -> None:
        """Take the next entry of the path."""
        if self._failed is not None:
            return  # the first problem of a run is what is told, whatever follows
        if isinstance(entry, RunEntry) and entry.is_start:
            self.journal.let(self, "_run", entry)
            self.journal.let(self, "_segment", SegmentFacts(self.journal))
        changed = self._path.feed(entry)
        if changed is not None:
            problem = _problem_of(self._path.log.at(changed), self.header)
            self.journal.sort_in(self._broken, changed, present=problem is not None)
        if self._run is None:
            return
        self._segment.feed(entry)
        run_id = self._run.run_id
        if isinstance(entry, RunEntry) and not entry.is_start and entry.run_id == run_id:
            self._end(run_id, entry)

    def _end(self, run_id: str, end: RunEntry) -> None:
        self.journal.let(self, "_run", None)
        try:
            note = check_earlier_end(
                run_id, end, earlier_run(self._segment, self._path), self.header
            )
        except ReasonMismatch as error:
            self.journal.let(self, "_failed", error)
        else:
            if note:
                self.journal.append(self._notes, note)

    def problem(self) -> AgentSessionError | None:
        """Return the first problem of the path that was fed: of its runs, then of its calls."""
        if self._failed is None and self._broken:
            return _problem_of(self._path.log.at(self._broken[0]), self.header)
        return self._failed

    def notes(self) -> tuple[str, ...]:
        """Return what is worth knowing about the path that was fed, and no problem."""
        return tuple(self._notes)


def _problem_of(call: CallStanding, header: Header) -> CallRejected | RecordMissing | None:
    if call.dispatch is not None and call.after_reject:
        return CallRejected(
            f"call {call.id} was rejected and then dispatched by {call.dispatch.id}",
            call_id=call.id,
        )
    promised = header.has_record("dispatch")
    if promised and call.dispatch is None and not call.pending and not call.rejected:
        return missing_dispatch(call)
    return None
