"""Calls: one request and what is known of its answer, before it is an entry.

Spec: codex 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from agentsession.importers.codex.lines import string
from agentsession.importers.codex.units import Unit
from agentsession.importers.codex.usage import Counts


class Shown(NamedTuple):
    """What a display event tells of a call.

    Attributes:
        number: its record in the account; -1 for none.
        told: what it tells.
        began: when the tool began to run; empty when it does not say.
    """

    number: int = -1
    told: Mapping[str, Any] = MappingProxyType({})
    began: str = ""


@dataclass(slots=True)
class Element:
    """An item that belongs to a call, or stands among what does.

    Attributes:
        unit: the item.
        number: its record in the account.
        output: whether the model made it.
        time: when it was recorded.
        native: what was recorded beside it, as JSON text.
        beside: the records that tell of its tool, for the account.
        shown: what they tell.
        began: when its tool began to run, as they tell; empty when they do not.
    """

    unit: Unit
    number: int
    output: bool
    time: str
    native: bytes = b""
    beside: tuple[int, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)
    began: str = ""


@dataclass(slots=True)
class Call:
    """A model call on its way.

    Attributes:
        name: the response's id, where none was recorded.
        marked: a line said when the request was sent; all items up to the next such line are
            of this call.
        sampled: the last item the request held, by its number; ``None`` when unknown.
        elements: the items, in order, with the outputs and messages that stand among them.
        counts: what it used; ``None`` when that is not recorded.
        raw: the same as it was recorded.
        counter: when the counters said so, and what they stood at.
        response_id: the provider's id; empty when it is not recorded.
        attempts: how many times the request was sent, as far as that shows.
        side: no model call made these items, or a summary's did.
        border: a line stood here that begins another answer.
        certain: whether the request was surely sent.
        steered: how many of the last messages a user put into the turn meanwhile.
        time: when it was last heard of.
        numbers: the records that count it, for the account.
    """

    name: str
    marked: bool = False
    sampled: int | None = None
    elements: list[Element] = field(default_factory=list)
    counts: Counts | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    counter: Mapping[str, Any] = field(default_factory=dict)
    response_id: str = ""
    attempts: int = 1
    side: bool = False
    border: bool = False
    certain: bool = True
    steered: int = 0
    time: str = ""
    numbers: list[int] = field(default_factory=list)

    @property
    def counted(self) -> dict[str, Any]:
        """What its entry keeps of how it was counted."""
        told = {"counted": dict(self.raw), "counter": dict(self.counter)}
        return {name: value for name, value in told.items() if value}

    @property
    def has_output(self) -> bool:
        """Whether the model said anything."""
        return any(element.output for element in self.elements)

    @property
    def has_results(self) -> bool:
        """Whether anything but the model's items stands among the elements."""
        return any(not element.output for element in self.elements)


@dataclass(frozen=True, slots=True)
class Ending:
    """How an answer ended, where no usage says that it was whole.

    Attributes:
        reason: why it is not whole; empty when nothing says so.
        error: what went wrong; ``None`` when nothing is recorded.
    """

    reason: str = ""
    error: Mapping[str, Any] | None = None

    def outcome(
        self, call: Call, *, counting: bool
    ) -> tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """Return a response's status, its incompleteness and its error.

        Args:
            call: the call.
            counting: whether whole answers of the thread are counted.
        """
        whole = call.counts is not None or (call.has_output and not counting and not self.reason)
        if whole:
            return "completed", None, None
        if self.error is not None:
            return "failed", None, self.error
        return "incomplete", {"reason": self.reason or "stream_ended"}, None


def error_of(error: dict[str, Any]) -> dict[str, Any]:
    """Return what ended a turn as a response's error."""
    info = error.get("codex_error_info")
    code = info if isinstance(info, str) else "error"
    if isinstance(info, dict) and info:
        code = next(iter(info))
    return {"code": code, "message": string(error.get("message"))}
