"""The checks of the records on a path, by the rules of later drafts.

From 0.9 on a broken rule is an error; before that writers did not know most of them, and what
breaks one is a note.

Spec: later drafts 8, 10 and 11.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from agentsession import versions
from agentsession._undoing import Journal
from agentsession.call_rules import decision_problem, dispatch_problem, missing_dispatch
from agentsession.calls import CALL_TYPE, CallStanding, call_part
from agentsession.earlier_runs import SegmentFacts, earlier_reason
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry
from agentsession.errors import (
    AgentSessionError,
    BadTarget,
    CallIDRepeated,
    CallRejected,
    ReasonMismatch,
    RecordMissing,
)
from agentsession.header import Header
from agentsession.later_runs import RunFacts
from agentsession.record_entries import DecisionEntry, DispatchEntry, RunEntry
from agentsession.runs import UNCOMPUTED, check_end
from agentsession.settings import Settings
from agentsession.workspaces import Workspaces

_ALWAYS_ERRORS = (CallRejected, RecordMissing)
"""Rules that 0.2 had already."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a session knows beside one path.

    Attributes:
        dispatched: the item entries of calls with a dispatch anywhere in the session.
        repeated: the call ids that name more than one call of the session.
    """

    dispatched: Collection[str] = frozenset()
    repeated: Collection[str] = frozenset()


@dataclass(slots=True)
class LaterRecords:
    """The check of a path fed entry by entry.

    Attributes:
        header: the session's header.
        elsewhere: what the session knows beside the path.
        inherited: the entries of the path up to the base, if that stands on it.
        journal: what changes the check.
    """

    header: Header
    elsewhere: Elsewhere
    inherited: Collection[str] = frozenset()
    journal: Journal = field(default_factory=Journal)
    _facts: RunFacts = field(init=False)
    _path: SegmentFacts = field(init=False)
    _segment: SegmentFacts = field(init=False)
    _workspaces: Workspaces = field(init=False)
    _settings: Settings = field(default_factory=Settings)
    _run: RunEntry | None = None
    _of_runs: _Problems = field(init=False)
    _of_calls: _Problems = field(init=False)
    _call_ids: set[str] = field(default_factory=set)
    # The places of the calls whose promised dispatch is missing as they stand.
    _broken: list[int] = field(default_factory=list)
    _run_notes: list[str] = field(default_factory=list)
    _settings_notes: list[str] = field(default_factory=list)
    _workspace_notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        journal = self.journal
        self._facts = RunFacts(journal)
        self._path = SegmentFacts(journal)
        self._segment = SegmentFacts(journal)
        self._workspaces = Workspaces(journal)
        self._of_runs = _Problems(journal, self.header)
        self._of_calls = _Problems(journal, self.header)

    @property
    def _promised(self) -> bool:
        return self.header.has_record("dispatch")

    def feed(self, entry: Entry) -> None:
        """Take the next entry of the path."""
        if self._of_runs.first is not None:
            return  # the first problem of a run is what is told, whatever follows
        if isinstance(entry, RunEntry) and entry.is_start:
            self._begin(entry)
        self._step(entry)
        if isinstance(entry, RunEntry):
            if self._run is not None and not entry.is_start and entry.run_id == self._run.run_id:
                self._end(self._run, entry)
        elif isinstance(entry, (CompactionEntry, ConfigEntry)):
            self._set(entry)
        elif self._workspaces.exchanged_by(entry):
            self.journal.append(
                self._workspace_notes,
                f"from env {entry.id} on the tools ran in another workspace, so a strict replay "
                "cannot be verified against what came before",
            )

    def _begin(self, start: RunEntry) -> None:
        if self._run is not None:
            self._of_runs.take(self._source_problem(self._run, ended=False))
        self._facts.begin()
        self.journal.let(self, "_segment", SegmentFacts(self.journal))
        self.journal.let(self, "_run", start)

    def _step(self, entry: Entry) -> None:
        """Check one entry against what stands before it, and take it in."""
        if isinstance(entry, ItemEntry) and call_part(entry.item) == CALL_TYPE:
            self._check_call_id(entry)
        elif isinstance(entry, (DecisionEntry, DispatchEntry)):
            self._check_step(entry)
        changed = self._facts.feed(entry)
        if changed is not None and self._promised:
            missing = self._dispatch_is_missing(self._facts.log.at(changed))
            self.journal.sort_in(self._broken, changed, present=missing)
        if not versions.requires_later_records(self.header.version):
            self._path.feed(entry)
            self._segment.feed(entry)

    def _check_call_id(self, entry: ItemEntry) -> None:
        call_id = entry.item.call_id
        if not call_id:
            self._of_calls.take(CallIDRepeated(f"the call in {entry.id} has no call_id"))
        elif call_id in self._call_ids or call_id in self.elsewhere.repeated:
            self._of_calls.take(
                CallIDRepeated(
                    f'call_id "{call_id}" of {entry.id} names another call of the session too',
                    call_id=call_id,
                )
            )
        self.journal.add(self._call_ids, call_id)

    def _check_step(self, entry: DecisionEntry | DispatchEntry) -> None:
        named = self._facts.log.call_at(entry.target)
        if named is None or named.id != entry.call_id:
            found = f"call {named.id}" if named else "no call before it"
            self._of_calls.take(
                BadTarget(
                    f"{entry.type} {entry.id} is about call {entry.call_id}, but its target "
                    f"{entry.target} is {found}",
                    type=entry.type,
                    call_id=entry.call_id,
                    entry_id=entry.target,
                )
            )
        call = self._facts.log.call_about(entry)
        if call is None:
            return
        problem: AgentSessionError | None
        if isinstance(entry, DispatchEntry):
            problem = dispatch_problem(call)
        else:
            problem = decision_problem(call, entry.verdict, may_have_run=self._may_have_run(call))
        if problem is not None:
            problem.args = (f"{entry.type} {entry.id}: {problem}", *problem.args[1:])
            self._of_calls.take(problem)

    def _may_have_run(self, call: CallStanding) -> bool:
        promised = self._promised and call.entry.id not in self.inherited
        return not promised or call.entry.id in self.elsewhere.dispatched

    def _dispatch_is_missing(self, call: CallStanding) -> bool:
        """Whether a call ran, as it stands, without the dispatch that the header promises."""
        ran = not call.pending and not call.rejected and not call.answered
        return ran and call.dispatch is None and call.entry.id not in self.inherited

    def _end(self, run: RunEntry, end: RunEntry) -> None:
        """Check a run whose last entry was taken in."""
        self.journal.let(self, "_run", None)
        facts = self._facts
        self._of_runs.take(self._source_problem(run, ended=True))
        try:
            check_end(run.run_id, end, facts.reason(), facts.pending())
        except ReasonMismatch as error:
            if self._ends_as_earlier(end):
                note = f"{error}; it ends by the rules of 0.3"
                self.journal.append(self._run_notes, note)
            else:
                self._of_runs.take(error)

    def _ends_as_earlier(self, end: RunEntry) -> bool:
        """Whether a run ends as the writers of 0.3 computed it, where that is no error."""
        if versions.requires_later_records(self.header.version):
            return False
        reasons = (earlier_reason(self._segment, self._path), *UNCOMPUTED)
        return end.reason in reasons and set(end.pending) == set(self._segment.log.pending)

    def _source_problem(self, start: RunEntry, *, ended: bool) -> ReasonMismatch | None:
        facts = self._facts
        if facts.fits(start.source, ended=ended):
            return None
        return ReasonMismatch(
            f'run {start.run_id} starts with source "{start.source}" in {start.id}, but its '
            f'entries say "{facts.source()}"',
            run_id=start.run_id,
            entry_id=start.id,
            expected=facts.source(),
            found=start.source,
        )

    def _set(self, entry: CompactionEntry | ConfigEntry) -> None:
        """Take settings, and say when they name parts that cannot be told.

        Spec: later drafts 8.1 and 8.2.
        """
        if isinstance(entry, CompactionEntry):
            self.journal.let(self, "_settings", entry.config)
            return
        settings = self._settings.apply(entry)
        self.journal.let(self, "_settings", settings)
        if entry.instructions_omitted and not all(
            part.id for part in settings.instructions_omitted
        ):
            self.journal.append(
                self._settings_notes,
                f"config {entry.id} keeps omitted parts of a list that is not in force, or "
                "does not reach that far; they are shown as written",
            )

    def problem(self) -> AgentSessionError | None:
        """Return the first problem of the path that was fed: of its runs, then of its calls."""
        if self._of_runs.first is not None:
            return self._of_runs.first
        if self._run is not None:
            of_open_run = self._source_problem(self._run, ended=False)
            if of_open_run is not None:
                return _told(of_open_run, self.header)
        if self._of_calls.first is not None or not self._broken:
            return self._of_calls.first
        return _told(missing_dispatch(self._facts.log.at(self._broken[0])), self.header)

    def notes(self) -> tuple[str, ...]:
        """Return what is worth knowing about the path that was fed, and no problem."""
        return (
            *self._run_notes,
            *self._of_calls.notes,
            *self._settings_notes,
            *self._workspace_notes,
        )


@dataclass(slots=True)
class _Problems:
    """What breaks rules: the first problem that is an error, and notes about the others."""

    journal: Journal
    header: Header
    first: AgentSessionError | None = None
    notes: list[str] = field(default_factory=list)

    def take(self, problem: AgentSessionError | None) -> None:
        if problem is None or self.first is not None:
            return
        strict = versions.requires_later_records(self.header.version)
        if strict or isinstance(problem, (*_ALWAYS_ERRORS, ReasonMismatch)):
            self.journal.let(self, "first", _told(problem, self.header))
        else:
            self.journal.append(self.notes, f"{problem}; the rule came with 0.9")


def _told(problem: AgentSessionError, header: Header) -> AgentSessionError:
    """Return a problem that says who wrote such files, where that is known."""
    if versions.is_loosely_recorded(header.version):
        note = f"{problem} (early writers of {header.format} wrote such files)"
        problem.args = (note, *problem.args[1:])
    return problem
