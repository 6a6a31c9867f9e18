"""Numbers of model calls: tokens, prices and what they sum up to along a path.

Spec: export 9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ResponseEntry,
)
from agentsession.export.options import Cost
from agentsession.settings import Settings

E = TypeVar("E", bound=Entry)

MODEL_CALLS: Final = (ResponseEntry, CompactionEntry, BranchSummaryEntry)
"""The entries that stand for a call of a model."""

_MOST: Final = 2**63 - 1


def view(entry: E) -> E:
    """Return the entry over the same line with nothing decoded yet.

    What is decoded through it goes when it goes: a session of any size can be walked without
    a decoded copy of it staying in memory.
    """
    if not entry.is_sealed:
        return entry
    return type(entry).from_line(
        entry.line, entry.type, entry.id, entry.parent, version=entry.version
    )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one model call or of many.

    Attributes:
        prompt: input tokens, cached ones included.
        completion: output tokens, reasoning included.
        cached: cached input tokens.
        reasoning: reasoning tokens.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    @classmethod
    def of(cls, usage: Mapping[str, Any]) -> Tokens:
        """Return the tokens of a usage object; what is no count is 0."""
        return cls(
            prompt=_count(usage.get("input_tokens")),
            completion=_count(usage.get("output_tokens")),
            cached=_inner(usage, "input_tokens_details", "cached_tokens"),
            reasoning=_inner(usage, "output_tokens_details", "reasoning_tokens"),
        )

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            min(self.prompt + other.prompt, _MOST),
            min(self.completion + other.completion, _MOST),
            min(self.cached + other.cached, _MOST),
            min(self.reasoning + other.reasoning, _MOST),
        )


def _inner(usage: Mapping[str, Any], details: str, name: str) -> int:
    inner = usage.get(details)
    return _count(inner.get(name)) if isinstance(inner, Mapping) else 0


def _count(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(-_MOST, min(value, _MOST))


@dataclass(slots=True)
class Totals:
    """What all model calls of a path used.

    Attributes:
        calls: responses, compactions and branch summaries.
        tokens: their tokens.
        cost: their price in US dollars; ``None`` when nothing was priced.
        costs: the price of each entry that was priced, by id.
    """

    calls: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: float | None = None
    costs: dict[str, float] = field(default_factory=dict)


def totals(path: Iterable[Entry], cost: Cost | None) -> Totals:
    """Return the totals of a path; the price is asked once for each call that has usage.

    Spec: export 9.
    """
    found = Totals()
    settings = Settings()
    for entry in path:
        if isinstance(entry, ConfigEntry):
            settings = settings.apply(view(entry)) if cost is not None else settings
            continue
        if not isinstance(entry, MODEL_CALLS):
            continue
        seen = view(entry)
        if isinstance(seen, ResponseEntry | CompactionEntry | BranchSummaryEntry):
            found.calls += 1
            if seen.usage is not None:
                found.tokens += Tokens.of(seen.usage)
                model = seen.model if isinstance(seen, ResponseEntry) else ""
                _price(found, entry.id, cost, model or settings.model, seen.usage)
            if isinstance(seen, CompactionEntry):
                settings = seen.config
    return found


def _price(
    found: Totals, entry_id: str, cost: Cost | None, model: str, usage: Mapping[str, Any]
) -> None:
    price = cost(model, usage) if cost is not None else None
    if price is not None and math.isfinite(price):
        found.costs[entry_id] = price
        found.cost = (found.cost or 0) + price
