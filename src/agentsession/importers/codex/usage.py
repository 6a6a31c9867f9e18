"""Usage: Codex's counters as the payload's usage, each model call counted once.

``input_tokens`` holds cached and written tokens, ``output_tokens`` holds the reasoning tokens,
in every recorded release. Spec: codex 7, format 5.6, decision D12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from agentsession.entries import Entry, ResponseEntry
from agentsession.importers.codex.lines import mapping, string
from agentsession.importers.numbers import count
from agentsession.importers.usage import Told, tokens_of

_INPUT: Final = "input_tokens"
_CACHED: Final = "cached_input_tokens"
_WRITTEN: Final = "cache_write_input_tokens"
_OUTPUT: Final = "output_tokens"
_REASONING: Final = "reasoning_output_tokens"
_TOTAL: Final = "total_tokens"
_NAMES: Final = (_INPUT, _CACHED, _WRITTEN, _OUTPUT, _REASONING, _TOTAL)

# The names an import gives calls whose response has no recorded id.
_GIVEN: Final = re.compile(r"call-[0-9]+|.*\.[0-9]+", re.DOTALL)

Counts = dict[str, int]


def counts_of(value: object) -> Counts:
    """Return a counter's numbers by name; what it does not say, or is no number of tokens, is 0."""
    found = mapping(value)
    return {name: count(found.get(name)) for name in _NAMES}


def usage_of(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return counts as usage."""
    details: dict[str, Any] = {"cached_tokens": counts[_CACHED]}
    if counts[_WRITTEN]:
        details["cache_creation_tokens"] = counts[_WRITTEN]
    return {
        "input_tokens": counts[_INPUT],
        "output_tokens": counts[_OUTPUT],
        "total_tokens": counts[_TOTAL] or counts[_INPUT] + counts[_OUTPUT],
        "input_tokens_details": details,
        "output_tokens_details": {"reasoning_tokens": counts[_REASONING]},
    }


def is_odd(value: object) -> bool:
    """Return whether a counter says something that is no number of tokens."""
    found = mapping(value)
    said = (found[name] for name in _NAMES if found.get(name) is not None)
    return any(count(one) != one for one in said)


def key_of(thread: str, response_id: str) -> str:
    """Return what names a call in every copy of its thread; empty where no id was recorded."""
    return f"codex:{thread}:{response_id}" if response_id else ""


def told_of(thread: str, entry: Entry, native: Mapping[str, Any], usage: Any) -> Told:
    """Return what is to say of a call that an import left in an entry.

    Args:
        thread: the session.
        entry: the entry.
        native: what was recorded beside it; of a note what it holds.
        usage: what the call used.
    """
    given = string(native.get("response_id"))
    if isinstance(entry, ResponseEntry) and not _GIVEN.fullmatch(entry.response_id):
        given = entry.response_id
    slot = ""
    counts = tokens_of(mapping(usage))
    if not given:
        named = entry.response_id if isinstance(entry, ResponseEntry) else entry.ts_text
        of = string(native.get("usage_of"))
        slot = f"{entry.type}:{of or named}:{counts}"
    moment = f"{entry.type}@{entry.ts_text}:{counts}"
    return Told(key_of(thread, given), slot, odd=is_odd(native.get("counted")), moment=moment)


class Counted(NamedTuple):
    """What a counter line says.

    Attributes:
        last: what the call used that it counts; ``None`` when it counts none.
        hidden: what a call used before it that has no line of its own; ``None`` for none.
        unclear: whether it says something that is no number of tokens, and so not whether
            it counts a call.
    """

    last: Counts | None = None
    hidden: Counts | None = None
    unclear: bool = False


@dataclass(slots=True)
class Counter:
    """The cumulative counters of a thread, read one after the other. Spec: codex 7.

    Attributes:
        known: whether the thread ever counted anything.
    """

    known: bool = False
    _total: Counts | None = None
    _unknown: bool = False
    _recorded: int = 0
    _said: object = None

    @property
    def silent(self) -> bool:
        """Whether the last line said that nothing is known."""
        return self._unknown

    def copy(self) -> Counter:
        """Return a counter that goes on from here."""
        return Counter(self.known, self._total, self._unknown, self._recorded, self._said)

    def record(self) -> None:
        """Say that a call was counted by a record of its own; its counter line follows."""
        self.known = True
        self._recorded += 1

    def feed(self, info: object) -> Counted:
        """Return what a counter line counts that was not counted before."""
        if not isinstance(info, dict):
            self._unknown = True
            return Counted()
        self.known = True
        total = counts_of(info.get("total_token_usage"))
        last = counts_of(info.get("last_token_usage"))
        before, after_unknown = self._total, self._unknown
        self._total, self._unknown = total, False
        recorded, self._recorded = self._recorded, 0
        said, self._said = self._said, info.get("total_token_usage")
        renewed = after_unknown and total == last
        if (total == before and not renewed) or not any(total.values()):
            self._recorded = recorded
            again = bool(recorded) or self._said == said
            return Counted(unclear=not again and is_odd(self._said))
        if recorded:
            return Counted()
        if renewed or before is None:
            return Counted(last if any(last.values()) else total)
        grown = {name: total[name] - before[name] for name in _NAMES}
        if min(grown.values()) < 0 or not any(last.values()):
            return Counted(last if any(last.values()) else total)
        hidden = {name: grown[name] - last[name] for name in _NAMES}
        if min(hidden.values()) < 0 or not any(hidden.values()):
            return Counted(last)
        return Counted(last, hidden)


@dataclass(slots=True)
class Sum:
    """Counts of several calls added up."""

    calls: int = 0
    tokens: Counts = field(default_factory=lambda: dict.fromkeys(_NAMES, 0))

    def add(self, counts: Mapping[str, int]) -> None:
        """Add a call."""
        self.calls += 1
        for name in _NAMES:
            self.tokens[name] += counts[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        return {"calls": self.calls, **self.tokens}
