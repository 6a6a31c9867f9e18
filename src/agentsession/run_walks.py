"""What each run of a path says, found in one walk however many runs are asked.

A run is judged by the path up to its end, so that asking n runs one by one would go through
the path n times. Spec: context 9.3, later drafts 10.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentsession.calls import Call
from agentsession.earlier_runs import EarlierRun, SegmentFacts, earlier_run
from agentsession.entries import Entry
from agentsession.later_runs import RunFacts


class LaterRun(NamedTuple):
    """What the entries of a run say of it, by the rules of later drafts.

    Attributes:
        calls: its calls, and earlier ones that it takes up.
        pending: the ids of those without an output.
        reason: why it ended.
        source: why it began.
    """

    calls: tuple[Call, ...]
    pending: tuple[str, ...]
    reason: str
    source: str


class RunWalk:
    """A path and where its runs lie; walked when one of them is first asked.

    Args:
        trail: the path.
        bounds: where each run begins and ends on it, in order; runs share no entry.
    """

    __slots__ = ("_bounds", "_earlier", "_later", "_trail")

    def __init__(self, trail: Sequence[Entry], bounds: Sequence[tuple[int, int]]) -> None:
        self._trail = trail
        self._bounds = bounds
        self._later: dict[int, LaterRun] | None = None
        self._earlier: dict[int, EarlierRun] | None = None

    def later(self, end: int) -> LaterRun:
        """Return what the run says that ends at a position, by the rules of later drafts."""
        if self._later is None:
            self._later = dict(self._walk_later())
        return self._later[end]

    def earlier(self, end: int) -> EarlierRun:
        """Return what the run says that ends at a position, by the rules up to 0.4."""
        if self._earlier is None:
            self._earlier = dict(self._walk_earlier())
        return self._earlier[end]

    def _stretches(self) -> Iterator[tuple[Sequence[Entry], Sequence[Entry], int]]:
        """For each run what lies between the one before and it, what it holds, and its end."""
        left = 0
        for first, end in self._bounds:
            yield self._trail[left:first], self._trail[first:end], end
            left = end

    def _walk_later(self) -> Iterator[tuple[int, LaterRun]]:
        facts = RunFacts()
        for between, held, end in self._stretches():
            for entry in between:
                facts.feed(entry)
            facts.begin()
            for entry in held:
                facts.feed(entry)
            calls = tuple(facts.calls())
            yield end, LaterRun(calls, facts.pending(), facts.reason(), facts.source())

    def _walk_earlier(self) -> Iterator[tuple[int, EarlierRun]]:
        path = SegmentFacts()
        for between, held, end in self._stretches():
            for entry in between:
                path.feed(entry)
            segment = SegmentFacts()
            for entry in held:
                path.feed(entry)
                segment.feed(entry)
            yield end, earlier_run(segment, path)
