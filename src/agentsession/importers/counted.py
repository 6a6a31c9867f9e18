"""Counting: the model calls of many sources added up, each once.

Spec: decision D12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from sys import intern
from typing import Any, Final

from agentsession.findings import Finding, Report, merged
from agentsession.importers.numbers import ODD, ODD_SENTENCE, count
from agentsession.importers.prices import MILLION, Price, Prices
from agentsession.importers.usage import UNREADABLE, UsageRecord
from agentsession.timestamp import Timestamp

COPIES: Final = "copies-counted-once"
INCOMPLETE: Final = "counts-incomplete"
TWICE: Final = "session-in-two-sources"
UNPRICED: Final = "model-without-price"

SENTENCES: Final = {
    COPIES: "copies of calls that are counted already were left out",
    INCOMPLETE: "the output of calls is that of their first event; the final one was not stored",
    ODD: ODD_SENTENCE,
    TWICE: "sessions stand in several sources; each of their calls counts once",
    UNPRICED: "the prices name no such model; its calls are in no cost",
}
"""What the codes mean."""

UNKNOWN: Final = "unknown"
"""The group of calls that do not say."""


class By(StrEnum):
    """What calls are grouped by."""

    DAY = "day"
    """The local date of the call."""
    MODEL = "model"
    """The provider and the model, as far as they are recorded."""
    PROJECT = "project"
    """The working directory."""
    SESSION = "session"
    """The session's id."""


@dataclass(slots=True)
class Sums:
    """Calls added up.

    Attributes:
        calls: how many.
        incomplete: how many of them have no final count of output.
        costed: how many of them have a cost.
        input: input tokens, all of them.
        read: those read from a cache.
        write: those written to a cache.
        hour: those of them that are kept for an hour.
        output: output tokens, reasoning included.
        reasoning: those that were reasoning, where that was recorded.
        costs: the costs in USD, one by one.
    """

    calls: int = 0
    incomplete: int = 0
    costed: int = 0
    input: int = 0
    read: int = 0
    write: int = 0
    hour: int = 0
    output: int = 0
    reasoning: int = 0
    costs: list[float] = field(default_factory=list)

    @property
    def cost(self) -> float | None:
        """The cost in USD, ``None`` when no call has one."""
        try:
            return round(math.fsum(self.costs), 10) if self.costed else None
        except OverflowError:
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        return {
            "calls": self.calls,
            "incomplete_calls": self.incomplete,
            "costed_calls": self.costed,
            "input_tokens": self.input,
            "uncached_tokens": self.input - self.read - self.write,
            "cached_tokens": self.read,
            "cache_creation_tokens": self.write,
            "cache_creation_1h_tokens": self.hour,
            "output_tokens": self.output,
            "reasoning_tokens": self.reasoning,
            "total_tokens": self.input + self.output,
            "cost_usd": self.cost,
        }


@dataclass(slots=True)
class _Call:
    """One call, kept small: there may be many."""

    session: str
    model: str
    provider: str
    cwd: str
    day: str
    input: int
    read: int
    write: int
    hour: int
    output: int
    reasoning: int
    cost: float | None
    complete: bool
    odd: bool
    copied: bool
    sources: int

    @property
    def equal(self) -> _Equal:
        """What a copy without a key has in common with it."""
        counts = (self.input, self.read, self.write, self.output, self.reasoning)
        return (self.session, *counts, self.cost)


_Equal = tuple[object, ...]


class Count:
    """The calls of any number of sources. Add what they used, then ask for the report.

    Args:
        prices: what tokens cost, for calls without a recorded cost.
    """

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices
        self._calls: list[_Call] = []
        self._keys: dict[str, int] = {}
        self._nameless: list[_Call] = []
        self._homes: dict[str, int] = {}
        self._copies = 0
        self._twice: dict[str, None] = {}
        self._alarms: list[Finding] = []
        self._notes: list[Finding] = []

    def add(self, record: UsageRecord, source: int = 0) -> None:
        """Add a call.

        Of the copies of one call, in whatever sources, the one with the most output tokens
        counts, for the session that made it. The order of sources does not matter to totals.

        Args:
            record: what it used.
            source: which source it is from, counted from 0.
        """
        call = _call(record, 1 << source)
        home = self._homes.get(call.session, 0) | call.sources
        if home != call.sources:
            self._twice[call.session] = None
        self._homes[call.session] = home
        if not record.key:
            self._nameless.append(call)
            return
        known = self._keys.get(record.key)
        if known is None:
            self._keys[record.key] = len(self._calls)
            self._calls.append(call)
            return
        first = self._calls[known]
        if first.session != call.session or first.sources & call.sources:
            # Else it is the session that stands in two sources.
            self._copies += 1
        self._calls[known] = _merged(first, call)

    def tell(self, finding: Finding) -> None:
        """Take what could not be read, of a source or a part of one, or is to be noted."""
        (self._alarms if finding.code == UNREADABLE else self._notes).append(finding)

    def failed(self, where: str, problem: str) -> None:
        """Say that a source, or a part of one, cannot be read."""
        self._alarms.append(Finding(UNREADABLE, problem, where))

    @property
    def ok(self) -> bool:
        """Whether everything could be read."""
        return not self._alarms

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """What could not be read."""
        return tuple(self._alarms)

    def report(self, by: By = By.MODEL) -> Report:
        """Return the totals, what is to be told, and the groups."""
        totals = Sums()
        groups: dict[str, Sums] = {}
        unpriced: dict[str, int] = {}
        calls = [*self._calls, *self._unnamed()]
        for call in calls:
            cost = self._cost(call, unpriced)
            _add(totals, call, cost)
            _add(groups.setdefault(_group(call, by), Sums()), call, cost)
        ordered = [{"key": key, **groups[key].to_dict()} for key in sorted(groups)]
        odd = [call.session for call in calls if call.odd]
        findings = tuple(self._findings(totals, unpriced, odd))
        return Report(totals.to_dict(), findings, {"by": str(by), "groups": ordered})

    def _cost(self, call: _Call, unpriced: dict[str, int]) -> float | None:
        if call.cost is not None or self._prices is None:
            return call.cost
        price = self._prices.of(call.model, call.provider)
        if price is None:
            unpriced[call.model] = unpriced.get(call.model, 0) + 1
            return None
        return _priced(call, price)

    def _unnamed(self) -> Iterator[_Call]:
        """Yield the calls without a key, each once.

        Of equal ones a session made as many as the source that has most of them says, those
        among them that another source has under a key.
        """
        found: dict[_Equal, dict[int, list[_Call]]] = {}
        for call in self._nameless:
            found.setdefault(call.equal, {}).setdefault(call.sources, []).append(call)
        named: dict[_Equal, list[int]] = {}
        sessions = {call.session for call in self._nameless}
        for call in self._calls:
            if call.session in sessions and call.equal in found:
                named.setdefault(call.equal, []).append(call.sources)
        for equal, by_source in found.items():
            known = named.get(equal, ())
            most: list[_Call] = []
            for source in sorted(by_source):
                beside = sum(bool(sources & source) for sources in known)
                more = by_source[source][: max(len(by_source[source]) + beside - len(known), 0)]
                most = more if len(more) > len(most) else most
            yield from most

    def _findings(
        self, totals: Sums, unpriced: Mapping[str, int], odd: Sequence[str]
    ) -> list[Finding]:
        found = [*self._alarms, *merged(self._notes)]
        if self._copies:
            found.append(Finding(COPIES, SENTENCES[COPIES], count=self._copies))
        if totals.incomplete:
            found.append(Finding(INCOMPLETE, SENTENCES[INCOMPLETE], count=totals.incomplete))
        if odd:
            found.append(Finding(ODD, SENTENCES[ODD], odd[0], len(odd)))
        if self._twice:
            first = next(iter(self._twice))
            found.append(Finding(TWICE, SENTENCES[TWICE], first, len(self._twice)))
        for model, calls in sorted(unpriced.items()):
            found.append(Finding(UNPRICED, SENTENCES[UNPRICED], model or UNKNOWN, calls))
        return found


def _call(record: UsageRecord, source: int) -> _Call:
    used = record.usage
    given = _mapping(used.get("input_tokens_details"))
    made = _mapping(used.get("output_tokens_details"))
    sent = count(used.get("input_tokens"))
    read = min(count(given.get("cached_tokens")), sent)
    write = min(count(given.get("cache_creation_tokens")), sent - read)
    return _Call(
        session=intern(record.session_id),
        model=intern(record.model),
        provider=intern(record.provider),
        cwd=intern(record.cwd),
        day=intern(_day(record.ts)),
        input=sent,
        read=read,
        write=write,
        hour=min(count(given.get("cache_creation_1h_tokens")), write),
        output=count(used.get("output_tokens")),
        reasoning=count(made.get("reasoning_tokens")),
        cost=record.cost,
        complete=record.complete,
        odd=record.odd or _is_odd(used, given, made),
        copied=record.copied,
        sources=source,
    )


def _is_odd(*holders: Mapping[str, Any]) -> bool:
    """Whether a count is no number of tokens."""
    return any(
        (found := holder.get(name)) is not None and count(found) != found
        for holder, names in zip(holders, _COUNTS, strict=True)
        for name in names
    )


_COUNTS: Final = (
    ("input_tokens", "output_tokens"),
    ("cached_tokens", "cache_creation_tokens", "cache_creation_1h_tokens"),
    ("reasoning_tokens",),
)


def _merged(first: _Call, other: _Call) -> _Call:
    """Return what counts of two copies, under the names of the session that made the call."""
    best = max(first, other, key=_weight)
    owner, heir = (other, first) if first.copied and not other.copied else (first, other)
    costs = [cost for cost in (first.cost, other.cost) if cost is not None]
    return replace(
        best,
        session=owner.session,
        cwd=owner.cwd or heir.cwd,
        day=owner.day or heir.day,
        model=owner.model or heir.model,
        provider=owner.provider or heir.provider,
        cost=max(costs, default=None),
        complete=first.complete or other.complete,
        copied=owner.copied,
        sources=first.sources | other.sources,
    )


def _weight(call: _Call) -> tuple[int, ...]:
    """What is greatest in the copy that counts."""
    final = (call.complete, call.output, call.input, call.read, call.write)
    return (*final, call.hour, call.reasoning, not call.odd)


def _add(sums: Sums, call: _Call, cost: float | None) -> None:
    sums.calls += 1
    sums.incomplete += not call.complete
    sums.input += call.input
    sums.read += call.read
    sums.write += call.write
    sums.hour += call.hour
    sums.output += call.output
    sums.reasoning += call.reasoning
    if cost is not None:
        sums.costed += 1
        sums.costs.append(cost)


def _priced(call: _Call, price: Price) -> float:
    parts = (
        (call.input - call.read - call.write) * price.input,
        call.read * price.cache_read,
        (call.write - call.hour) * price.cache_write,
        call.hour * price.cache_write_1h,
        call.output * price.output,
    )
    return math.fsum(parts) / MILLION


def _group(call: _Call, by: By) -> str:
    if by is By.DAY:
        return call.day or UNKNOWN
    if by is By.PROJECT:
        return call.cwd or UNKNOWN
    if by is By.SESSION:
        return call.session or UNKNOWN
    named = f"{call.provider}/{call.model}" if call.provider else call.model
    return named if call.model else UNKNOWN


def _day(ts: Timestamp | None) -> str:
    if ts is None:
        return ""
    try:
        return ts.datetime().astimezone().date().isoformat()
    except (OverflowError, OSError, ValueError):
        return ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
