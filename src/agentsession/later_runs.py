"""What the entries of a run say about it, by the rules of later drafts.

A run also answers for earlier calls that it takes up: those it holds a decision, a dispatch
or an output for.

Spec: later drafts 10.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentsession._undoing import Journal
from agentsession.calls import Call, CallLog, CallStanding
from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.record_entries import DispatchEntry, RunEntry
from agentsession.vocabulary import RunReason, RunSource


@dataclass(slots=True)
class RunFacts:
    """A path fed entry by entry, and what the run that began last holds.

    Attributes:
        journal: what changes it.
        log: the calls of the path.
        own: the run's calls, by their item entry, with their place among the path's calls.
        takes_up: whether the first output, decision or dispatch of the run is about a call
            that had no output when the run began; ``None`` when there is none yet.
        is_empty: whether the run holds nothing but its start and its end.
    """

    journal: Journal = field(default_factory=Journal, repr=False)
    log: CallLog = field(init=False)
    own: dict[str, int] = field(default_factory=dict)
    takes_up: bool | None = None
    is_empty: bool = True
    _open: dict[str, int] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _last: ResponseEntry | None = None
    _last_on_path: ResponseEntry | None = None
    _settles: bool = False
    _since: int = 0

    def __post_init__(self) -> None:
        self.log = CallLog(journal=self.journal)

    def begin(self) -> None:
        """Start a run: what was fed so far lies before it."""
        let = self.journal.let
        let(self, "own", {})
        let(self, "_open", {})
        let(self, "takes_up", None)
        let(self, "is_empty", value=True)
        let(self, "_last", None)
        let(self, "_settles", value=False)
        let(self, "_since", len(self._places))

    def feed(self, entry: Entry) -> int | None:
        """Take the next entry of the path; return the place of the call that it changed."""
        if isinstance(entry, RunEntry):
            return None
        journal = self.journal
        if self.is_empty:
            journal.let(self, "is_empty", value=False)
        call = self.log.call_about(entry)
        waited = call is not None and call.pending
        changed = self.log.feed(entry)
        if call is not None:
            self._take_up(entry, call, waited=waited)
        elif changed is not None:
            place = len(self._places)
            for places in (self._places, self.own, self._open):
                journal.put(places, entry.id, place)
        elif isinstance(entry, ResponseEntry):
            journal.let(self, "_last", entry)
            journal.let(self, "_last_on_path", entry)
        return changed

    def _take_up(self, entry: Entry, call: CallStanding, *, waited: bool) -> None:
        journal, call_entry = self.journal, call.entry.id
        place = self._places[call_entry]
        journal.put(self.own, call_entry, place)
        if isinstance(entry, ItemEntry):
            journal.drop(self._open, call_entry)
        elif waited:
            journal.put(self._open, call_entry, place)
        if not isinstance(entry, DispatchEntry) and not self._settles:
            journal.let(self, "_settles", value=True)
        if self.takes_up is None:
            journal.let(self, "takes_up", place < self._since and waited)

    def calls(self) -> list[Call]:
        """Return the run's calls as they stand on the path, in its order."""
        return [self.log.at(place).call() for place in sorted(self.own.values())]

    def pending(self) -> tuple[str, ...]:
        """Return the ids of the run's calls that have no output on the path."""
        return tuple(call.id for call in self._unanswered())

    def _unanswered(self) -> list[CallStanding]:
        return [self.log.at(place) for place in sorted(self._open.values())]

    def source(self) -> str:
        """Return why the run began, by what it holds."""
        return RunSource.RESUME if self.takes_up else RunSource.INPUT

    def fits(self, source: str, *, ended: bool) -> bool:
        """Return whether a written source is the one the run's entries give.

        A run written ``resume`` may have ended before it took anything up, and one that is
        still open may yet do so. A word of the harness's own always fits.
        """
        if source == self.source() or source not in set(RunSource):
            return True
        return source == RunSource.RESUME and (
            self.is_empty or (not ended and self.takes_up is None)
        )

    def reason(self) -> str:
        """Return why the run ended, by what it holds (later drafts 10.4, the cascade)."""
        last = self._last
        if last is not None and last.error is not None:
            return RunReason.ERROR
        pending = self._unanswered()
        if any(call.held for call in pending) and not any(call.in_flight for call in pending):
            return RunReason.INPUT_REQUIRED
        if pending or (last is not None and last.incomplete is not None):
            return RunReason.ABORTED
        if last is not None and not self._made_calls(last):
            return RunReason.DONE
        if self._made_calls(self._last_on_path) and not self.log.waits and self._settles:
            return RunReason.STOPPED
        return RunReason.ABORTED

    def _made_calls(self, response: ResponseEntry | None) -> bool:
        return (
            response is not None
            and bool(response.response_id)
            and response.response_id in self.log.responses
        )


def facts_of(path: Sequence[Entry], start: int) -> RunFacts:
    """Return the facts of the run that begins at a position and lasts to the path's end."""
    facts = RunFacts()
    for position, entry in enumerate(path):
        if position == start:
            facts.begin()
        facts.feed(entry)
    return facts
