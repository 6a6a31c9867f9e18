"""What paths say, kept where it was worked out last, so that growing paths cost their growth.

Spec: format 8.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from agentsession._undoing import Journal
from agentsession.entries import Entry
from agentsession.rows import Rows


class _State(Protocol):
    def feed(self, entry: Entry) -> object: ...


_S = TypeVar("_S", bound=_State)

_KEPT: Final = 16
"""So many branches may grow by turns, and each goes on from where it was."""

_BACK: Final = 64
"""So many entries can be taken back, to go on with a branch near by."""

_FIRST_STEPS: Final = 4
_MORE_STEPS: Final = 4

_ABOVE: Final = -1
"""The place above the roots."""


class _Walker(Generic[_S]):
    """A state, and the place it has reached.

    Args:
        make: gives the state of the empty path.
    """

    __slots__ = ("_back", "_floor", "_journal", "end", "state")

    def __init__(self, make: Callable[[Journal], _S]) -> None:
        self._journal = Journal(keeps=True)
        self.state = make(self._journal)
        self.end = _ABOVE
        # The rows that can be taken back, each with the point before it, and the last other one.
        self._back: list[tuple[int, int]] = []
        self._floor = _ABOVE

    def way(self, rows: Rows, end: int, steps: int) -> tuple[int, list[int]] | None:
        """Return how to get to a row: back to one, then down others, the last one first.

        ``None`` when it takes more steps than so many, or goes back farther than can be.
        """
        here, there = self.end, end
        down: list[int] = []
        while here != there:
            steps -= 1
            if steps < 0 or here < self._floor:
                return None
            # Of two rows the later one is not above the other.
            if here > there:
                here = _above(rows, here)
            else:
                down.append(there)
                there = _above(rows, there)
        return None if here < self._floor else (here, down)

    def go(self, rows: Rows, way: tuple[int, list[int]], types: frozenset[str]) -> None:
        """Go a way, fed what stands on it of some types."""
        to, down = way
        back, journal = self._back, self._journal
        while back and back[-1][0] > to:
            journal.undo(back.pop()[1])
        for row in reversed(down):
            if rows.types[row] in types:
                back.append((row, journal.mark()))
                self.state.feed(rows[row])
                if len(back) > 2 * _BACK:
                    self._floor = back[-_BACK - 1][0]
                    journal.forget(back[-_BACK][1])
                    del back[:-_BACK]
        self.end = down[0] if down else to


class PathStates(Generic[_S]):
    """States that are fed a path entry by entry, some of them kept with the place they reached.

    Args:
        make: gives the state of the empty path; it changes by the journal it is given.
        types: the types of the entries that say something to it.
    """

    __slots__ = ("_kept", "_make", "_types")

    def __init__(self, make: Callable[[Journal], _S], types: frozenset[str]) -> None:
        self._make = make
        self._types = types
        # The one asked for last at the end.
        self._kept: list[_Walker[_S]] = []

    def at(self, rows: Rows, entry_id: str | None) -> _S:
        """Return the state at the end of the path to an entry; the next question may change it.

        Args:
            rows: the entries of the session, which never change places.
            entry_id: one of them, or ``None`` for the empty path.
        """
        end = _ABOVE if entry_id is None else rows.index[entry_id]
        walker, way = self._nearest(rows, end)
        if walker in self._kept:
            # It is kept again only when it was fed all of them.
            self._kept.remove(walker)
        walker.go(rows, way, self._types)
        self._kept.append(walker)
        del self._kept[:-_KEPT]
        return walker.state

    def _nearest(self, rows: Rows, end: int) -> tuple[_Walker[_S], tuple[int, list[int]]]:
        """The walker that is nearest to a row, which may be a new one, and its way there."""
        steps = _FIRST_STEPS
        walkers = self._kept[::-1]
        while True:
            for walker in walkers:
                way = walker.way(rows, end, steps)
                if way is not None:
                    return walker, way
            if len(walkers) == len(self._kept):
                walkers.append(_Walker(self._make))
            else:
                steps *= _MORE_STEPS


def _above(rows: Rows, row: int) -> int:
    parent = rows.parents[row]
    return _ABOVE if parent is None else rows.index[parent]
