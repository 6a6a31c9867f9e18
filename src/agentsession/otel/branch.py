"""What the entries down to one of a tree mean for the spans to come. Values, never changed.

Spec: otel B.3 to B.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from opentelemetry.trace import SpanContext

from agentsession.calls import OUTPUT_TYPE, Call, call_part
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.items import Item
from agentsession.otel.callbook import CallBook
from agentsession.otel.emitter import Opened, time_of
from agentsession.otel.kept import Kept
from agentsession.record_entries import LinkEntry
from agentsession.settings import Settings
from agentsession.wire.origin import origin_of

_SUBSESSION = "subsession"

_Chain: TypeAlias = "tuple[_Chain, str, Item] | None"


@dataclass(frozen=True, slots=True)
class Said:
    """What was said since the last response, kept only where content is asked for.

    Attributes:
        settings: the settings in force.
        instructions: the instructions the last span was given.
    """

    settings: Settings = Settings()  # noqa: RUF009 - a value
    instructions: str = ""
    _items: _Chain = None

    def items(self) -> list[tuple[str, Item]]:
        """Return the items since the last response, each with the response it belongs to."""
        found, chain = [], self._items
        while chain is not None:
            chain, response, item = chain
            found.append((response, item))
        return found[::-1]

    def after(self, entry: Entry) -> Said:
        """Return what was said after the next entry."""
        if isinstance(entry, ConfigEntry):
            return replace(self, settings=self.settings.apply(entry))
        if isinstance(entry, CompactionEntry):
            items: _Chain = None
            for item in (entry.summary, *entry.pinned):
                items = (items, "", item)
            return replace(self, settings=entry.config, _items=items)
        if isinstance(entry, ItemEntry):
            return replace(self, _items=(self._items, entry.response, entry.item))
        if isinstance(entry, BranchSummaryEntry):
            return replace(self, _items=(self._items, "", entry.summary))
        if isinstance(entry, ResponseEntry):
            return Said(self.settings, self.settings.instructions)
        return self


class Turn(NamedTuple):
    """What is known of a response.

    Attributes:
        begun: the time of its first item; ``None`` when it has none.
        provider: who ran the model; empty when nobody recorded it.
        span: its span; ``None`` when it has none yet.
    """

    begun: int | None = None
    provider: str = ""
    span: SpanContext | None = None


class Opening(NamedTuple):
    """How the span of a call opens, so that another branch can open one like it.

    Attributes:
        call: the call as it stood then.
        entry: the entry the span is named by.
        at: when it starts.
        run: the run it goes under; ``None`` for the session.
        produced: the span of the model call that asked for it.
        subsession: the session it spawned; empty when none is known.
    """

    call: Call
    entry: Entry
    at: int
    run: Opened | None
    produced: SpanContext | None
    subsession: str


class Tool(NamedTuple):
    """The span of a call that was handed to its tool."""

    opening: Opening
    opened: Opened


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """The state below one entry of the tree.

    Attributes:
        calls: the calls so far.
        model: the model in force; empty when none is known.
        run_id: the open run; empty when none is open.
        run: its span; ``None`` when it has none. Another branch may have ended it.
        tools: the spans of calls that were handed over, by call entry.
        subsessions: the sessions calls spawned, by call entry.
        previous: the last model call's span.
        turns: what is known of responses, by response id.
        said: what was said, where content is asked for.
    """

    calls: CallBook = CallBook()  # noqa: RUF009 - a value
    model: str = ""
    run_id: str = ""
    run: Opened | None = None
    tools: Kept[Tool] = Kept()  # noqa: RUF009 - a value
    subsessions: Kept[str] = Kept()  # noqa: RUF009 - a value
    previous: SpanContext | None = None
    turns: Kept[Turn] = Kept()  # noqa: RUF009 - a value
    said: Said | None = None

    def after(self, entry: Entry) -> Branch:
        """Return the state below the next entry; this one when it changes nothing.

        Runs and spans are not looked at.
        """
        state = self._noted(entry)
        calls = state.calls.after(entry)
        said = state.said.after(entry) if state.said is not None else None
        if calls is not state.calls or said is not state.said:
            return replace(state, calls=calls, said=said)
        return state

    def _noted(self, entry: Entry) -> Branch:
        model = self.model
        if isinstance(entry, ItemEntry):
            return self._with_item(entry) if entry.response else self
        if isinstance(entry, LinkEntry):
            key = self.spawned(entry)
            if key is None:
                return self
            return replace(self, subsessions=self.subsessions.put(key, entry.session))
        if isinstance(entry, ConfigEntry):
            model = entry.model or ("" if entry.replace else model)
        elif isinstance(entry, CompactionEntry):
            model = entry.config.model
        return self if model == self.model else replace(self, model=model)

    def _with_item(self, entry: ItemEntry) -> Branch:
        known = turn = self.turn(entry.response)
        if turn.begun is None and call_part(entry.item) != OUTPUT_TYPE:
            turn = turn._replace(begun=time_of(entry))
        if entry.has("origin"):
            turn = turn._replace(provider=origin_of(entry).provider or turn.provider)
        if turn == known:
            return self
        return replace(self, turns=self.turns.put(entry.response, turn))

    def turn(self, response_id: str) -> Turn:
        """Return what is known of a response."""
        return self.turns.get(response_id) or Turn()

    def spawned(self, entry: LinkEntry) -> str | None:
        """Return the call a link gives a session to: one without an output."""
        return self.calls.waiting(entry.call_id) if entry.rel == _SUBSESSION else None

    def answered(self, entry: ItemEntry) -> str | None:
        """Return the call an item is the output of, when that has none yet."""
        if call_part(entry.item) != OUTPUT_TYPE:
            return None
        return self.calls.waiting(entry.item.call_id)

    def waiting(self, met: set[int]) -> Iterator[tuple[str, Tool | None]]:
        """Yield the calls without an output in call order, with the span each has.

        Args:
            met: what was met on other branches, which shares its fate; filled.
        """
        keys = set(self.calls.pending_beside(met))
        keys.update(key for key, _ in self.tools.items_beside(met))
        return ((key, self.tools.get(key)) for key in self.calls.in_order(keys))
