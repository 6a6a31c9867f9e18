"""Function calls on a path and what became of them.

Spec: context 8.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from agentsession.entries import Entry
from agentsession.header import Header
from agentsession.items import Item
from agentsession.record_entries import DecisionEntry, DispatchEntry


class CallState(enum.StrEnum):
    """How far a call got."""

    COMPLETED = "completed"
    HELD = "held"
    IN_FLIGHT = "in_flight"
    NEVER_STARTED = "never_started"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Call:
    """A function call and the entries about it."""

    entry: Entry
    item: Item
    decisions: tuple[DecisionEntry, ...] = ()
    dispatch: DispatchEntry | None = None
    output: Entry | None = None
    dispatched_after_reject: bool = False

    @property
    def id(self) -> str:
        return self.item.call_id

    @property
    def pending(self) -> bool:
        return self.output is None

    @property
    def held(self) -> bool:
        raise NotImplementedError

    @property
    def rejected(self) -> bool:
        raise NotImplementedError

    @property
    def args(self) -> str:
        raise NotImplementedError

    def state(self, header: Header) -> CallState:
        raise NotImplementedError


def calls(path: Sequence[Entry]) -> list[Call]:
    raise NotImplementedError
