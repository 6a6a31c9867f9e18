"""One way through a session's tree: what its entries so far mean for the spans to come.

Spec: otel B.3 to B.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from opentelemetry.trace import SpanContext

from agentsession.calls import CALL_TYPE, OUTPUT_TYPE, CallLog, call_part
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.items import Item
from agentsession.otel.emitter import Opened, time_of
from agentsession.record_entries import DecisionEntry, DispatchEntry, LinkEntry, RunEntry
from agentsession.settings import Settings
from agentsession.wire.origin import origin_of

_SUBSESSION = "subsession"
_MOVING = (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    DecisionEntry,
    DispatchEntry,
    ItemEntry,
    LinkEntry,
    ResponseEntry,
    RunEntry,
)
"""What changes the state; below any other entry it is what it was above it."""


@dataclass(slots=True)
class Said:
    """What was said since the last response, kept only where content is asked for.

    Attributes:
        settings: the settings in force.
        instructions: the instructions the last span was given.
        items: the items since then, each with the response it belongs to.
    """

    settings: Settings = field(default_factory=Settings)
    instructions: str = ""
    items: list[tuple[str, Item]] = field(default_factory=list)

    def note(self, entry: Entry) -> None:
        """Take the next entry."""
        if isinstance(entry, ConfigEntry):
            self.settings = self.settings.apply(entry)
        elif isinstance(entry, CompactionEntry):
            self.settings = entry.config
            self.items = [("", item) for item in (entry.summary, *entry.pinned)]
        elif isinstance(entry, ItemEntry):
            self.items.append((entry.response, entry.item))
        elif isinstance(entry, BranchSummaryEntry):
            self.items.append(("", entry.summary))
        elif isinstance(entry, ResponseEntry):
            self.items = []
            self.instructions = self.settings.instructions


@dataclass(slots=True)
class Branch:
    """The state below one entry of the tree.

    Attributes:
        tips: the entries below which this state holds; ``None`` stands for no entry.
        last: the time of the last entry.
        log: the calls so far.
        model: the model in force; empty when none is known.
        run_id: the open run; empty when none is open.
        run: its span; ``None`` when it has none.
        tools: the open spans of calls, by call id.
        subsessions: the sessions calls spawned, by call id.
        previous: the last model call's span.
        inferences: the spans of model calls, by response id.
        begun: the time of the first item of a response, by response id.
        providers: who ran the model, by response id.
        said: what was said, where content is asked for.
    """

    tips: set[str | None] = field(default_factory=lambda: {None})
    last: int = 0
    log: CallLog = field(default_factory=CallLog)
    model: str = ""
    run_id: str = ""
    run: Opened | None = None
    tools: dict[str, Opened] = field(default_factory=dict)
    subsessions: dict[str, str] = field(default_factory=dict)
    previous: SpanContext | None = None
    inferences: dict[str, SpanContext] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    providers: dict[str, str] = field(default_factory=dict)
    said: Said | None = None

    def move(self, entry: Entry) -> None:
        """Take the next entry of the way."""
        self.last = time_of(entry)
        if isinstance(entry, _MOVING):
            self.tips = {entry.id}
            self._note(entry)
            if self.said is not None:
                self.said.note(entry)
        else:
            self.tips.add(entry.id)

    def _note(self, entry: Entry) -> None:
        if isinstance(entry, ConfigEntry):
            self.model = entry.model or ("" if entry.replace else self.model)
        elif isinstance(entry, CompactionEntry):
            self.model = entry.config.model
        elif isinstance(entry, LinkEntry):
            if self.is_spawn(entry):
                self.subsessions[entry.call_id] = entry.session
        elif isinstance(entry, ItemEntry):
            self._note_item(entry)
        self.log.feed(entry)

    def _note_item(self, entry: ItemEntry) -> None:
        if not entry.response:
            return
        if call_part(entry.item) != OUTPUT_TYPE:
            self.begun.setdefault(entry.response, self.last)
        if entry.has("origin"):
            provider = origin_of(entry).provider
            if provider:
                self.providers[entry.response] = provider

    def is_spawn(self, entry: LinkEntry) -> bool:
        """Return whether a link says which session a call without an output spawned."""
        return entry.rel == _SUBSESSION and entry.call_id in self.log.pending

    def answers(self, entry: ItemEntry) -> bool:
        """Return whether an item is the output of a call without one."""
        return call_part(entry.item) == OUTPUT_TYPE and entry.item.call_id in self.log.pending


def is_call(entry: ItemEntry) -> bool:
    """Return whether an item is a call."""
    return call_part(entry.item) == CALL_TYPE
