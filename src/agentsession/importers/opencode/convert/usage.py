"""Usage: OpenCode's token counts as the payload's usage, and sums of both.

``input_tokens`` counts uncached input, cache reads and cache writes; ``output_tokens`` holds
the reasoning tokens, as OpenCode's ``output`` does in all recorded releases. Where a step's
own total says that its ``output`` leaves them out, they are added. Spec: format 5.6,
decision D12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from agentsession.importers.opencode import values
from agentsession.importers.opencode.v1 import Tokens


def usage_of(tokens: Tokens | None) -> dict[str, Any] | None:
    """Return a step's counts as usage, ``None`` when the step recorded none."""
    if tokens is None:
        return None
    counts = counts_of(tokens)
    if not any(counts.values()):
        return None
    given = counts["input"] + counts["cache_read"] + counts["cache_write"]
    details: dict[str, Any] = {"cached_tokens": counts["cache_read"]}
    if counts["cache_write"]:
        details["cache_creation_tokens"] = counts["cache_write"]
    total, made = values.count(tokens.total), counts["output"]
    if counts["reasoning"] and total == given + made + counts["reasoning"]:
        made += counts["reasoning"]
    return {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": total or given + made,
        "input_tokens_details": details,
        "output_tokens_details": {"reasoning_tokens": counts["reasoning"]},
    }


def counts_of(tokens: Tokens | None) -> dict[str, int]:
    """Return a step's counts by name; 0 for what it does not say."""
    if tokens is None:
        return dict.fromkeys(("input", "output", "reasoning", "cache_read", "cache_write"), 0)
    cache = tokens.cache
    return {
        "input": values.count(tokens.input),
        "output": values.count(tokens.output),
        "reasoning": values.count(tokens.reasoning),
        "cache_read": values.count(cache.read) if cache else 0,
        "cache_write": values.count(cache.write) if cache else 0,
    }


@dataclass(slots=True)
class Sum:
    """Counts of several steps added up.

    Attributes:
        steps: how many steps.
        tokens: their tokens by name.
        costs: their costs in USD, one by one.
    """

    steps: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    costs: list[float] = field(default_factory=list)

    def add(self, tokens: Tokens | None, cost: object) -> None:
        """Add a step."""
        self.steps += 1
        for name, count in counts_of(tokens).items():
            self.tokens[name] = self.tokens.get(name, 0) + count
        amount = values.number(cost)
        if amount:
            self.costs.append(amount)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        try:
            cost = math.fsum(self.costs)
        except OverflowError:
            cost = 0.0
        return {"steps": self.steps, **self.tokens, "cost": round(cost, 10)}
