"""Usage: OpenCode's token counts as the payload's usage, and sums of both.

``input_tokens`` counts uncached input, cache reads and cache writes; ``output_tokens`` holds
the reasoning tokens, as OpenCode's ``output`` does in all recorded releases. Where a step's
own total says that its ``output`` leaves them out, they are added. Spec: format 5.6,
decision D12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from agentsession.importers.numbers import number
from agentsession.importers.opencode import values
from agentsession.importers.opencode.v1 import Tokens

_INT64: Final = 1 << 63

Counts = tuple[int, int, int, int, int]
"""A step's tokens: input, output, reasoning, cache reads, cache writes."""

NO_COUNTS: Final[Counts] = (0, 0, 0, 0, 0)
_NAMES: Final = ("input", "output", "reasoning", "cache_read", "cache_write")


def usage_of(tokens: Tokens | None, *, twice: bool = False) -> dict[str, Any] | None:
    """Return a step's counts as usage, ``None`` when the step recorded none.

    Args:
        tokens: the counts.
        twice: its input holds what was read from a cache.
    """
    if tokens is None:
        return None
    return usage_from(counts_in(tokens.value), tokens.value.get("total"), twice=twice)


def usage_from(counts: Counts, total: object, *, twice: bool = False) -> dict[str, Any] | None:
    """Return a step's usage from its counts and its own total, ``None`` when all are 0.

    Args:
        counts: the counts.
        total: the step's own total.
        twice: its input holds what was read from a cache.
    """
    if not any(counts):
        return None
    fresh, made, reasoning, read, write = counts
    given = fresh + write if twice else fresh + read + write
    details: dict[str, Any] = {"cached_tokens": read}
    if write:
        details["cache_creation_tokens"] = write
    whole = values.count(total)
    if reasoning and whole == given + made + reasoning:
        made += reasoning
    return {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": whole or given + made,
        "input_tokens_details": details,
        "output_tokens_details": {"reasoning_tokens": reasoning},
    }


def counts_in(value: object) -> Counts:
    """Return the counts of a step's tokens; 0 for what they do not say."""
    if not isinstance(value, dict):
        return NO_COUNTS
    cache = value.get("cache")
    cached = (cache.get("read"), cache.get("write")) if isinstance(cache, dict) else (0, 0)
    given = (value.get("input"), value.get("output"), value.get("reasoning"), *cached)
    fresh, made, reasoning, read, write = [
        one if type(one) is int and 0 <= one < _INT64 else values.count(one) for one in given
    ]
    return fresh, made, reasoning, read, write


@dataclass(slots=True)
class Sum:
    """Counts of several steps added up.

    Attributes:
        counts: the tokens of each step.
        costs: their costs in USD, one by one.
    """

    counts: list[Counts] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def add(self, tokens: Tokens | None, cost: object) -> None:
        """Add a step."""
        self.count(NO_COUNTS if tokens is None else counts_in(tokens.value), cost)

    def count(self, counts: Counts, cost: object) -> None:
        """Add a step of these counts."""
        self.counts.append(counts)
        amount = cost if type(cost) is float and 0 < cost < _INT64 else number(cost)
        if amount:
            self.costs.append(amount)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        try:
            cost = math.fsum(self.costs)
        except OverflowError:
            cost = 0.0
        tokens = map(sum, zip(*self.counts, strict=True))
        return {
            "steps": len(self.counts),
            **dict(zip(_NAMES, tokens, strict=bool(self.counts))),
            "cost": round(cost, 10),
        }
