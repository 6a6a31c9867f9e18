"""Function calls on a path and what became of them.

Spec: context 8, later drafts 10.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentsession import normalise, versions
from agentsession._undoing import Journal
from agentsession.entries import Entry, ItemEntry
from agentsession.header import Header
from agentsession.items import Item
from agentsession.record_entries import DecisionEntry, DispatchEntry

CALL_TYPE = "function_call"
OUTPUT_TYPE = "function_call_output"


class CallState(enum.StrEnum):
    """How far a call got (context 8.2)."""

    COMPLETED = "completed"
    """It has an output."""
    ANSWERED = "answered"
    """Somebody supplied its output, which is not there yet (0.8)."""
    REJECTED = "rejected"
    """It must not run (where the rules of later drafts hold)."""
    HELD = "held"
    """It waits for an answer."""
    IN_FLIGHT = "in_flight"
    """It was handed to its tool; whether the tool ran is not known."""
    NEVER_STARTED = "never_started"
    """It was not handed to its tool, for the header promises to record that."""
    UNKNOWN = "unknown"
    """The session does not say."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function call and the entries about it.

    Attributes:
        entry: the item entry that holds the call.
        item: the call itself.
        decisions: the decisions about it, in path order.
        dispatch: its first dispatch, or ``None``.
        output: the item entry with its output, or ``None``.
        dispatched_after_reject: whether a reject came before the dispatch.
        steps: its decisions and dispatches, in path order; several dispatches are several
            hand-offs (0.8).
        by_later_rules: whether the rules of later drafts 10 are those of its session.
        dispatched_elsewhere: whether the session has a dispatch of it off the path; known
            where a session was asked for it.
        inherited: whether it stands in the prefix of a fork, so that what the fork's header
            promises does not hold for it.

    Spec: context 8.1, later drafts 10.
    """

    entry: ItemEntry
    item: Item
    decisions: tuple[DecisionEntry, ...] = ()
    dispatch: DispatchEntry | None = None
    output: ItemEntry | None = None
    dispatched_after_reject: bool = False
    steps: tuple[DecisionEntry | DispatchEntry, ...] = ()
    by_later_rules: bool = False
    dispatched_elsewhere: bool = False
    inherited: bool = False

    @property
    def id(self) -> str:
        """The call id."""
        return self.item.call_id

    @property
    def name(self) -> str:
        """The name of the function called."""
        return self.item.name

    @property
    def dispatches(self) -> tuple[DispatchEntry, ...]:
        """Its dispatches on the path, in order."""
        return tuple(step for step in self.steps if isinstance(step, DispatchEntry))

    @property
    def pending(self) -> bool:
        """Whether the call has no output."""
        return self.output is None

    @property
    def held(self) -> bool:
        """Whether the last decision holds the call and nothing dispatched it since.

        Before 0.5 any dispatch lets it go, also one before the hold.
        """
        if self.by_later_rules:
            last = self.steps[-1] if self.steps else None
            return isinstance(last, DecisionEntry) and last.verdict == "hold"
        return self.dispatch is None and bool(self.decisions) and _holds(self.decisions[-1])

    @property
    def in_flight(self) -> bool:
        """Whether it was handed to its tool, has no output, and nothing stopped it since."""
        if self.dispatch is None or not self.pending:
            return False
        last = self.steps[-1] if self.steps and self.by_later_rules else None
        return not (isinstance(last, DecisionEntry) and last.verdict in ("hold", "answer"))

    @property
    def rejected(self) -> bool:
        """Whether a decision rejected the call."""
        return any(decision.verdict == "reject" for decision in self.decisions)

    @property
    def answered(self) -> bool:
        """Whether a decision supplied the call's output (0.8)."""
        return any(decision.verdict == "answer" for decision in self.decisions)

    @property
    def args(self) -> str:
        """The arguments the tool runs with: the last rewrite's JSON text, else the call's own.

        What an answer carries is no rewrite.
        """
        return self._args(self.steps or self.decisions)

    def args_of(self, dispatch: DispatchEntry) -> str:
        """Return the arguments one hand-off ran with (later drafts 10.2)."""
        before: list[DecisionEntry | DispatchEntry] = []
        for step in self.steps:
            if step is dispatch:
                break
            before.append(step)
        return self._args(before)

    def _args(self, steps: Sequence[DecisionEntry | DispatchEntry]) -> str:
        for step in reversed(steps):
            if isinstance(step, DecisionEntry) and not (
                self.by_later_rules and step.verdict == "answer"
            ):
                rewritten = step.args_text
                if rewritten is not None:
                    return rewritten
        return self.item.arguments

    def state(self, header: Header) -> CallState:
        """Return how far the call got; the header says what the writer records.

        Spec: context 8.2, later drafts 10.2.
        """
        if not self.pending:
            return CallState.COMPLETED
        if self.by_later_rules and self.answered:
            return CallState.ANSWERED
        if self.by_later_rules and self.rejected:
            return CallState.REJECTED
        if self.held:
            return CallState.HELD
        if self.dispatch is not None:
            return CallState.IN_FLIGHT
        promised = header.has_record("dispatch") and not self.inherited
        if promised and not self.dispatched_elsewhere:
            return CallState.NEVER_STARTED
        return CallState.UNKNOWN


def _holds(decision: DecisionEntry) -> bool:
    return decision.verdict == "hold"


@dataclass(slots=True)
class CallStanding:
    """A call as the entries fed to a :class:`CallLog` so far leave it; it changes with more.

    Asking it costs the same however much was said about the call; :meth:`call` copies that.

    Attributes:
        entry: the item entry that holds the call.
        id: the call id.
        later: whether the rules of later drafts 10 are those of its session.
        place: where it stands in the order of the calls.
        steps: its decisions and dispatches so far.
        dispatch: its first dispatch, or ``None``.
        output: the item entry with its output, or ``None``.
        after_reject: whether a reject came before a dispatch.
        rejected, answered: whether a decision rejected it, or supplied its output.

    Spec: context 8.1, later drafts 10.
    """

    entry: ItemEntry
    id: str
    later: bool
    place: int
    steps: list[DecisionEntry | DispatchEntry] = field(default_factory=list)
    dispatch: DispatchEntry | None = None
    output: ItemEntry | None = None
    after_reject: bool = False
    rejected: bool = False
    answered: bool = False

    @property
    def pending(self) -> bool:
        """Whether the call has no output."""
        return self.output is None

    @property
    def held(self) -> bool:
        """As :attr:`Call.held`."""
        if self.dispatch is not None and not self.later:
            return False
        return self._last_verdict == "hold"

    @property
    def in_flight(self) -> bool:
        """As :attr:`Call.in_flight`."""
        stopped = self.later and self._last_verdict in ("hold", "answer")
        return self.dispatch is not None and self.pending and not stopped

    @property
    def _last_verdict(self) -> str:
        last = self.steps[-1] if self.steps else None
        return last.verdict if isinstance(last, DecisionEntry) else ""

    def take(self, step: DecisionEntry | DispatchEntry, journal: Journal) -> None:
        """Take a decision or a dispatch of the call."""
        if isinstance(step, DispatchEntry):
            if self.dispatch is not None and not self.later:
                return
            if self.rejected:
                journal.let(self, "after_reject", value=True)
            journal.let(self, "dispatch", self.dispatch or step)
        elif step.verdict == "reject":
            journal.let(self, "rejected", value=True)
        elif step.verdict == "answer":
            journal.let(self, "answered", value=True)
        journal.append(self.steps, step)

    def call(self) -> Call:
        """Return the call as it stands now, which stays so."""
        return Call(
            entry=self.entry,
            item=self.entry.item,
            decisions=tuple(step for step in self.steps if isinstance(step, DecisionEntry)),
            dispatch=self.dispatch,
            output=self.output,
            dispatched_after_reject=self.after_reject,
            steps=tuple(self.steps),
            by_later_rules=self.later,
        )


@dataclass(slots=True)
class CallLog:
    """What the entries fed so far say about calls; the calls of a path, step by step.

    Up to 0.4 the first of two calls with one id counts, and everything names its call by that
    id. Later an output names the latest call with its id, and a decision or a dispatch the
    call whose item entry is its target.

    Attributes:
        responses: the ``response`` members of the entries that hold a call.
        outputs: how many function call outputs were seen, with a call or without.
        mistargeted: decisions and dispatches whose target is not the call they name.

    Spec: context 8.1, later drafts 10.1.
    """

    responses: set[str] = field(default_factory=set)
    outputs: int = 0
    mistargeted: list[DecisionEntry | DispatchEntry] = field(default_factory=list)
    journal: Journal = field(default_factory=Journal, repr=False)
    _order: list[CallStanding] = field(default_factory=list)
    _latest: dict[str, CallStanding] = field(default_factory=dict)
    _by_entry: dict[str, CallStanding] = field(default_factory=dict)
    # By the place of the call, for what is taken back may stand in another order.
    _pending: dict[str, int] = field(default_factory=dict)

    @property
    def pending(self) -> list[str]:
        """The ids of the calls without an output, in call order."""
        return sorted(self._pending, key=self._pending.__getitem__)

    @property
    def waits(self) -> bool:
        """Whether some call has no output."""
        return bool(self._pending)

    def feed(self, entry: Entry) -> int | None:
        """Take the next entry of the path; return the place of the call that it changed."""
        if isinstance(entry, ItemEntry):
            return self._feed_item(entry)
        if isinstance(entry, (DecisionEntry, DispatchEntry)):
            progress = self._named(entry)
            if progress is not None:
                progress.take(entry, self.journal)
                return progress.place
        return None

    def _named(self, entry: DecisionEntry | DispatchEntry) -> CallStanding | None:
        """The call that a decision or dispatch is about."""
        latest = self._latest.get(entry.call_id)
        if not versions.has_later_calls(entry.version):
            return latest
        found = self._by_entry.get(entry.target)
        if found is None or found.id != entry.call_id:
            self.journal.append(self.mistargeted, entry)
        return found or latest

    def _feed_item(self, entry: ItemEntry) -> int | None:
        item = entry.item
        kind = call_part(item)
        if kind == CALL_TYPE:
            later = versions.has_later_calls(entry.version)
            if later or item.call_id not in self._latest:
                return self._open(CallStanding(entry, item.call_id, later, len(self._order)))
        elif kind == OUTPUT_TYPE:
            self.journal.let(self, "outputs", self.outputs + 1)
            progress = self._latest.get(item.call_id)
            if progress is not None and progress.output is None:
                self.journal.let(progress, "output", entry)
                self.journal.drop(self._pending, item.call_id)
                return progress.place
        return None

    def _open(self, progress: CallStanding) -> int:
        journal, call_id = self.journal, progress.id
        journal.append(self._order, progress)
        journal.put(self._latest, call_id, progress)
        journal.put(self._by_entry, progress.entry.id, progress)
        if call_id not in self._pending:
            journal.put(self._pending, call_id, progress.place)
        journal.add(self.responses, progress.entry.response)
        return progress.place

    def call(self, call_id: str) -> CallStanding:
        """Return the latest call with an id that was seen."""
        return self._latest[call_id]

    def at(self, place: int) -> CallStanding:
        """Return the call at a place in the order of their items."""
        return self._order[place]

    def call_at(self, entry_id: str) -> CallStanding | None:
        """Return the call in an item entry, if it was seen."""
        return self._by_entry.get(entry_id)

    def call_about(self, entry: Entry) -> CallStanding | None:
        """Return the call that an output, a decision or a dispatch takes up."""
        if isinstance(entry, (DecisionEntry, DispatchEntry)):
            return self._by_entry.get(entry.target) or self._latest.get(entry.call_id)
        if isinstance(entry, ItemEntry) and call_part(entry.item) == OUTPUT_TYPE:
            return self._latest.get(entry.item.call_id)
        return None

    def calls(self) -> list[Call]:
        """Return the calls seen, in the order of their items, as they stand now."""
        return [progress.call() for progress in self._order]


def call_part(item: Item) -> str:
    """Return ``function_call`` or ``function_call_output`` for an item that is one, else ``""``.

    An item of such a type that has not its form is an unknown item (decision A2).
    """
    # Only an escape can hide the word, so other items need no decoding.
    if b"function_call" not in item.json_text and b"\\u" not in item.json_text:
        return ""
    if item.type in (CALL_TYPE, OUTPUT_TYPE) and normalise.decodes(item):
        return item.type
    return ""


def calls(path: Sequence[Entry]) -> list[Call]:
    """Return the function calls on a root-first path, in the order of their items.

    Of two calls with one id the first counts (up to 0.4). Outputs, decisions and dispatches
    without a call before them are left out.

    Spec: context 8.1, later drafts 10.1.
    """
    log = CallLog()
    for entry in path:
        log.feed(entry)
    return log.calls()
