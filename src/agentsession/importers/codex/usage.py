"""Usage: Codex's counters as the payload's usage, each model call counted once.

``input_tokens`` holds cached and written tokens, ``output_tokens`` holds the reasoning tokens,
in every recorded release. Spec: codex 7, format 5.6, decision D12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
        "total_tokens": _sum(counts),
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
    names = [f"{entry.type}@{entry.ts_text}:{counts}"]
    hidden, counter = mapping(native.get("hidden_call")), mapping(native.get("counter"))
    total = count(counter.get("total")) or count(hidden.get("total"))
    if total and counter:
        names.append(f"counter@{string(counter.get('at'))}:{total}")
    return Told(
        key_of(thread, given),
        slot,
        odd=is_odd(native.get("counted")),
        names=tuple(names),
        reached=f"{total}" if total else "",
        # The first line of the counters may repeat what one before it said that is lost.
        stands_in=bool(hidden) or total == count(mapping(usage).get("total_tokens")) != 0,
        hidden=bool(hidden),
    )


class Counted(NamedTuple):
    """What a counter line says.

    Attributes:
        last: what the call used that it counts; ``None`` when it counts none.
        hidden: what calls used before it that have no line of their own; ``None`` for none.
        total: how many tokens the thread had used when it was written.
        unclear: whether it says something that is no number of tokens, and so not whether
            it counts a call.
    """

    last: Counts | None = None
    hidden: Counts | None = None
    total: int = 0
    unclear: bool = False

    @property
    def total_hidden(self) -> int:
        """How many tokens the thread had used after the calls that have no line."""
        return self.total - (0 if self.last is None else _sum(self.last))


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
    _lost: bool = False

    @property
    def silent(self) -> bool:
        """Whether the last line said that nothing is known."""
        return self._unknown

    def copy(self) -> Counter:
        """Return a counter that goes on from here."""
        return replace(self)

    def lose(self) -> None:
        """Say that a line of another thread cannot be read: what it counted is that thread's."""
        self._lost = True

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
        before, after_unknown = self._total, self._unknown
        total = _total(info.get("total_token_usage"), before)
        last = counts_of(info.get("last_token_usage"))
        self._total, self._unknown = total, False
        recorded, self._recorded = self._recorded, 0
        said, self._said = self._said, info.get("total_token_usage")
        renewed = after_unknown and total == last
        if (total == before and not renewed) or not any(total.values()):
            self._recorded = recorded
            again = bool(recorded) or self._said == said
            return Counted(unclear=not again and is_odd(self._said))
        lost, self._lost = self._lost, False
        if recorded:
            return Counted()
        reached = _sum(total)
        if last[_TOTAL] and not is_odd(info.get("last_token_usage")) and not _spent(last):
            # An estimate, as compactions leave them: the line of the call itself is missing.
            grown = _grown(total, before)
            is_call = min(grown.values()) >= 0 and not lost
            return Counted(None, grown if is_call else None, reached)
        if renewed or before is None:
            return Counted(last if any(last.values()) else total, total=reached)
        grown = _grown(total, before)
        if min(grown.values()) < 0 or not any(last.values()):
            return Counted(last if any(last.values()) else total, total=reached)
        hidden = {name: grown[name] - last[name] for name in _NAMES}
        if lost or min(hidden.values()) < 0 or not any(hidden.values()):
            return Counted(last, total=reached)
        return Counted(last, hidden, reached)


def _grown(total: Counts, before: Counts | None) -> Counts:
    """By how much a cumulative counter grew."""
    return total if before is None else {name: total[name] - before[name] for name in _NAMES}


def _sum(counts: Mapping[str, int]) -> int:
    """How many tokens counts are in all."""
    return counts[_TOTAL] or _spent(counts)


def _spent(counts: Mapping[str, int]) -> int:
    """How many tokens were sent and came back."""
    return counts[_INPUT] + counts[_OUTPUT]


def _total(value: object, before: Counts | None) -> Counts:
    """A cumulative counter; what it says that is no number of tokens is as it was before."""
    found = mapping(value)
    total = counts_of(found)
    if before is not None and is_odd(found):
        if not any(total.values()):
            return before
        odd = [name for name in _NAMES if found.get(name) is not None and not total[name]]
        total.update({name: before[name] for name in odd if found[name] != 0})
    return total


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
