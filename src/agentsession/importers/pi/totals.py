"""Totals of a conversion: what pi recorded, and what the session says, side by side.

Spec: decision D12.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsession.importers.base import Disposition
from agentsession.importers.numbers import count
from agentsession.importers.pi.records import mapping
from agentsession.importers.pi.usage import cost_of, is_counted

_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    costs: list[float] = field(default_factory=list)

    def add(self, used: object) -> None:
        self.calls += 1
        given = mapping(used)
        for name in _COUNTS:
            self.tokens[name] += count(given.get(name))
        cost = cost_of(used)
        if cost:
            self.costs.append(cost)

    def to_dict(self) -> dict[str, Any]:
        try:
            cost = math.fsum(self.costs)
        except OverflowError:
            cost = 0.0
        tokens = {name: self.tokens[name] for name in _COUNTS}
        return {"calls": self.calls, **tokens, "cost": round(cost, 10)}


@dataclass(slots=True)
class Totals:
    """Counts of one session's model calls."""

    _own: _Sum = field(default_factory=_Sum)
    _copied: _Sum = field(default_factory=_Sum)
    _written: Counter[str] = field(default_factory=Counter)

    def message(self, message: Mapping[str, Any], *, copied: bool) -> None:
        """Add an assistant's message; a copy caused no request."""
        used = message.get("usage")
        if is_counted(used):
            (self._copied if copied else self._own).add(used)

    def add(self, used: object, counted: object) -> None:
        """Add the call that made a summary, where it was counted."""
        if counted is not None:
            self._own.add(used)

    def written(self, usage: Mapping[str, Any] | None) -> None:
        """Add what an entry of the session says a call used."""
        if usage is not None:
            self._written["calls"] += 1
            self._written["input_tokens"] += count(usage.get("input_tokens"))
            self._written["output_tokens"] += count(usage.get("output_tokens"))

    def to_dict(self, entries: Mapping[str, int], records: Iterable[Disposition]) -> dict[str, Any]:
        """Return the totals as plain values.

        Args:
            entries: how many entries of each type were written.
            records: what became of each record.
        """
        told = list(records)
        return {
            "records": len(told),
            "kinds": dict(Counter(record.kind for record in told)),
            "dispositions": dict(Counter(str(record.disposition) for record in told)),
            "entries": dict(entries),
            "native": self._own.to_dict(),
            "copied": self._copied.to_dict(),
            "converted": dict(self._written),
        }
