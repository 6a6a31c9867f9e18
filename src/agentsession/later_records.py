"""The checks of the records on a path, by the rules of later drafts.

From 0.9 on a broken rule is an error; before that writers did not know most of them, and what
breaks one is a note.

Spec: later drafts 8, 10 and 11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from agentsession import versions
from agentsession.call_rules import decision_problem, dispatch_problem
from agentsession.calls import CALL_TYPE, Call, call_part
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
from agentsession.record_entries import DecisionEntry, DispatchEntry
from agentsession.runs import UNCOMPUTED, Run, check_end, runs
from agentsession.settings import Settings
from agentsession.workspaces import substitutions

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
class _Check:
    """The check of one path."""

    header: Header
    elsewhere: Elsewhere
    base: int
    facts: RunFacts = field(default_factory=RunFacts)
    of_runs: list[AgentSessionError] = field(default_factory=list)
    of_calls: list[AgentSessionError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)
    inherited: set[str] = field(default_factory=set)

    @property
    def promised(self) -> bool:
        return self.header.has_record("dispatch")

    def step(self, position: int, entry: Entry) -> None:
        """Check one entry against what stands before it, and take it in."""
        if isinstance(entry, ItemEntry) and call_part(entry.item) == CALL_TYPE:
            self._check_call_id(entry)
            if position <= self.base:
                self.inherited.add(entry.id)
        elif isinstance(entry, (DecisionEntry, DispatchEntry)):
            self._check_step(entry)
        self.facts.feed(entry)

    def _check_call_id(self, entry: ItemEntry) -> None:
        call_id = entry.item.call_id
        if not call_id:
            self.of_calls.append(CallIDRepeated(f"the call in {entry.id} has no call_id"))
        elif call_id in self.call_ids or call_id in self.elsewhere.repeated:
            self.of_calls.append(
                CallIDRepeated(
                    f'call_id "{call_id}" of {entry.id} names another call of the session too',
                    call_id=call_id,
                )
            )
        self.call_ids.add(call_id)

    def _check_step(self, entry: DecisionEntry | DispatchEntry) -> None:
        named = self.facts.log.call_at(entry.target)
        if named is None or named.id != entry.call_id:
            found = f"call {named.id}" if named else "no call before it"
            self.of_calls.append(
                BadTarget(
                    f"{entry.type} {entry.id} is about call {entry.call_id}, but its target "
                    f"{entry.target} is {found}",
                    type=entry.type,
                    call_id=entry.call_id,
                    entry_id=entry.target,
                )
            )
        call = self.facts.log.call_about(entry)
        if call is None:
            return
        problem: AgentSessionError | None
        if isinstance(entry, DispatchEntry):
            problem = dispatch_problem(call)
        else:
            problem = decision_problem(call, entry.verdict, may_have_run=self._may_have_run(call))
        if problem is not None:
            problem.args = (f"{entry.type} {entry.id}: {problem}", *problem.args[1:])
            self.of_calls.append(problem)

    def _may_have_run(self, call: Call) -> bool:
        promised = self.promised and call.entry.id not in self.inherited
        return not promised or call.entry.id in self.elsewhere.dispatched

    def end(self, run: Run) -> None:
        """Check a run whose last entry was taken in."""
        start, facts = run.start, self.facts
        if not facts.fits(start.source, ended=run.end is not None):
            self.of_runs.append(
                ReasonMismatch(
                    f'run {run.id} starts with source "{start.source}" in {start.id}, but its '
                    f'entries say "{facts.source()}"',
                    run_id=run.id,
                    entry_id=start.id,
                    expected=facts.source(),
                    found=start.source,
                )
            )
        if run.end is None:
            return
        try:
            check_end(run, run.end, facts.reason(), facts.pending())
        except ReasonMismatch as error:
            if versions.requires_later_records(self.header.version):
                self.of_runs.append(error)
            else:
                self._check_by_earlier_rules(run, error)

    def _check_by_earlier_rules(self, run: Run, error: ReasonMismatch) -> None:
        """Turn a mismatch into a note where the run ends as the writers of 0.3 computed it."""
        if run.end is None:
            return
        earlier = run.earlier_reason()
        if run.end.reason in (earlier, *UNCOMPUTED) and set(run.end.pending) == set(
            run.earlier_pending()
        ):
            self.notes.append(f"{error}; it ends by the rules of 0.3")
        else:
            self.of_runs.append(error)

    def close(self) -> None:
        """Check what only the whole path says."""
        for call in self.facts.log.calls():
            ran = not call.pending and not call.rejected and not call.answered
            if not ran or call.dispatch is not None or call.entry.id in self.inherited:
                continue
            if self.promised:
                self.of_calls.append(
                    RecordMissing(
                        f"the header promises dispatch entries, but call {call.id} of "
                        f"{call.entry.id} has an output and no dispatch",
                        record="dispatch",
                        call_id=call.id,
                        entry_id=call.entry.id,
                    )
                )


def verify_later_records(
    path: Sequence[Entry], header: Header, elsewhere: Elsewhere
) -> tuple[str, ...]:
    """Check the runs and calls on a path; return notes that are no errors.

    Spec: later drafts 11.

    Raises:
        AgentSessionError: the first problem found, of the runs and then of the calls.
    """
    base = next((at for at, entry in enumerate(path) if entry.id == header.base), -1)
    check = _Check(header, elsewhere, base)
    found = runs(path)
    position = 0
    for run in found:
        first = run.stop - len(run.segment)
        for at in range(position, first):
            check.step(at, path[at])
        check.facts.begin()
        for at in range(first, run.stop):
            check.step(at, path[at])
        position = run.stop
        check.end(run)
    for at in range(position, len(path)):
        check.step(at, path[at])
    check.close()
    _raise_first(check)
    return (*check.notes, *_settings_notes(path), *_workspace_notes(path))


def _raise_first(check: _Check) -> None:
    strict = versions.requires_later_records(check.header.version)
    for problem in (*check.of_runs, *check.of_calls):
        if not strict and not isinstance(problem, (*_ALWAYS_ERRORS, ReasonMismatch)):
            check.notes.append(f"{problem}; the rule came with 0.9")
            continue
        if versions.is_loosely_recorded(check.header.version):
            note = f"{problem} (early writers of {check.header.format} wrote such files)"
            problem.args = (note, *problem.args[1:])
        raise problem


def _settings_notes(path: Sequence[Entry]) -> Iterator[str]:
    """Say which config entries name parts that cannot be told (later drafts 8.1 and 8.2)."""
    settings = Settings()
    for entry in path:
        if isinstance(entry, CompactionEntry):
            settings = entry.config
        elif isinstance(entry, ConfigEntry):
            settings = settings.apply(entry)
            if entry.instructions_omitted and not all(
                part.id for part in settings.instructions_omitted
            ):
                yield (
                    f"config {entry.id} keeps omitted parts of a list that is not in force, or "
                    "does not reach that far; they are shown as written"
                )


def _workspace_notes(path: Sequence[Entry]) -> Iterator[str]:
    for entry in substitutions(path):
        yield (
            f"from env {entry.id} on the tools ran in another workspace, so a strict replay "
            "cannot be verified against what came before"
        )
