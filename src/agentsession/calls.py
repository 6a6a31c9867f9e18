"""Function calls on a path and what became of them.

Spec: context 8.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentsession import normalise
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

    Spec: context 8.1.
    """

    entry: ItemEntry
    item: Item
    decisions: tuple[DecisionEntry, ...] = ()
    dispatch: DispatchEntry | None = None
    output: ItemEntry | None = None
    dispatched_after_reject: bool = False

    @property
    def id(self) -> str:
        """The call id."""
        return self.item.call_id

    @property
    def name(self) -> str:
        """The name of the function called."""
        return self.item.name

    @property
    def pending(self) -> bool:
        """Whether the call has no output."""
        return self.output is None

    @property
    def held(self) -> bool:
        """Whether the last decision holds the call and nothing dispatched it."""
        return self.dispatch is None and bool(self.decisions) and _holds(self.decisions[-1])

    @property
    def rejected(self) -> bool:
        """Whether a decision rejected the call."""
        return any(decision.verdict == "reject" for decision in self.decisions)

    @property
    def args(self) -> str:
        """The arguments the tool ran with: the last rewrite's JSON text, else the call's own."""
        rewrites = (decision.args_text for decision in reversed(self.decisions))
        return next((text for text in rewrites if text is not None), self.item.arguments)

    def state(self, header: Header) -> CallState:
        """Return how far the call got; the header says what the writer records.

        Spec: context 8.2.
        """
        if not self.pending:
            return CallState.COMPLETED
        if self.held:
            return CallState.HELD
        if self.dispatch is not None:
            return CallState.IN_FLIGHT
        promised = header.has_record("dispatch")
        return CallState.NEVER_STARTED if promised else CallState.UNKNOWN


def _holds(decision: DecisionEntry) -> bool:
    return decision.verdict == "hold"


@dataclass(slots=True)
class CallLog:
    """What the entries fed so far say about calls; the calls of a path, step by step.

    Attributes:
        pending: the ids of the calls without an output, in call order.
        responses: the ``response`` members of the entries that hold a call.
        outputs: how many function call outputs were seen, with a call or without.
    """

    pending: dict[str, None] = field(default_factory=dict)
    responses: set[str] = field(default_factory=set)
    outputs: int = 0
    _found: dict[str, _Progress] = field(default_factory=dict)

    def feed(self, entry: Entry) -> None:
        """Take the next entry of the path."""
        if isinstance(entry, ItemEntry):
            self._feed_item(entry)
        elif isinstance(entry, DecisionEntry):
            progress = self._found.get(entry.call_id)
            if progress is not None:
                progress.decisions.append(entry)
        elif isinstance(entry, DispatchEntry):
            progress = self._found.get(entry.call_id)
            if progress is not None and progress.dispatch is None:
                progress.dispatch = entry
                progress.after_reject = any(d.verdict == "reject" for d in progress.decisions)

    def _feed_item(self, entry: ItemEntry) -> None:
        item = entry.item
        kind = call_part(item)
        if kind == CALL_TYPE and item.call_id not in self._found:
            self._found[item.call_id] = _Progress(entry)
            self.pending[item.call_id] = None
            self.responses.add(entry.response)
        elif kind == OUTPUT_TYPE:
            self.outputs += 1
            progress = self._found.get(item.call_id)
            if progress is not None and progress.output is None:
                progress.output = entry
                self.pending.pop(item.call_id, None)

    def call(self, call_id: str) -> Call:
        """Return a call that was seen, as it stands now."""
        return self._found[call_id].call()

    def calls(self) -> list[Call]:
        """Return the calls seen, in the order of their items, as they stand now."""
        return [progress.call() for progress in self._found.values()]


@dataclass(slots=True)
class _Progress:
    entry: ItemEntry
    decisions: list[DecisionEntry] = field(default_factory=list)
    dispatch: DispatchEntry | None = None
    output: ItemEntry | None = None
    after_reject: bool = False

    def call(self) -> Call:
        return Call(
            entry=self.entry,
            item=self.entry.item,
            decisions=tuple(self.decisions),
            dispatch=self.dispatch,
            output=self.output,
            dispatched_after_reject=self.after_reject,
        )


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

    Of two calls with one id the first counts. Outputs, decisions and dispatches without a
    call before them are left out.

    Spec: context 8.1.
    """
    log = CallLog()
    for entry in path:
        log.feed(entry)
    return log.calls()
