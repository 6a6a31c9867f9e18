"""Changes that can be taken back, so that paths that part share the work of what is above.

A walk through a tree changes one state on its way down, and takes back what it changed on its
way up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from agentsession.entries import Entry

_K = TypeVar("_K")
_V = TypeVar("_V")


class Journal:
    """Changes a state, and knows how to take the changes back, the last one first.

    Args:
        keeps: whether changes are kept; a state of one path alone needs none.
    """

    __slots__ = ("_changes", "_forgotten", "_keeps")

    def __init__(self, *, keeps: bool = False) -> None:
        self._keeps = keeps
        self._changes: list[Callable[[], object]] = []
        self._forgotten = 0

    def mark(self) -> int:
        """Return a point to go back to."""
        return self._forgotten + len(self._changes)

    def undo(self, mark: int) -> None:
        """Take back what was changed since a point that was not forgotten."""
        while self._forgotten + len(self._changes) > mark:
            self._changes.pop()()

    def forget(self, mark: int) -> None:
        """Keep no more how to go back to before a point."""
        del self._changes[: mark - self._forgotten]
        self._forgotten = max(mark, self._forgotten)

    def let(self, owner: object, name: str, value: object) -> None:
        """Set an attribute."""
        self._keep(partial(setattr, owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def put(self, values: dict[_K, _V], key: _K, value: _V) -> None:
        """Set a value of a dictionary. One that is new stands last."""
        if key in values:
            self._keep(partial(values.__setitem__, key, values[key]))
        else:
            self._keep(partial(values.pop, key))
        values[key] = value

    def drop(self, values: dict[Any, Any], key: object) -> None:
        """Take a key out of a dictionary; once taken back, it may stand in another place."""
        if key in values:
            self._keep(partial(values.__setitem__, key, values.pop(key)))

    def append(self, values: list[_V], value: _V) -> None:
        """Add a value to the end of a list."""
        values.append(value)
        self._keep(values.pop)

    def add(self, values: set[_V], value: _V) -> None:
        """Add a value to a set."""
        if value not in values:
            values.add(value)
            self._keep(partial(values.discard, value))

    def sort_in(self, values: list[int], value: int, *, present: bool) -> None:
        """Put a number into a sorted list of different ones, or take it out."""
        at = bisect_left(values, value)
        found = at < len(values) and values[at] == value
        if present and not found:
            values.insert(at, value)
            self._keep(partial(values.pop, at))
        elif found and not present:
            self._keep(partial(values.insert, at, values.pop(at)))

    def _keep(self, change: Callable[[], object]) -> None:
        if self._keeps:
            self._changes.append(change)


def walked(entries: Sequence[Entry], journal: Journal) -> Iterator[tuple[Entry, bool]]:
    """Yield the entries of a tree, each with whether it is a leaf.

    What is below one comes before its next sibling, and when one is yielded the journal has
    taken back what was changed off its path.

    Args:
        entries: all of the tree, in file order.
        journal: what changes the state that is fed.
    """
    index = {entry.id: row for row, entry in enumerate(entries)}
    children: dict[int | None, list[int]] = {}
    for row, entry in enumerate(entries):
        children.setdefault(index[entry.parent] if entry.parent else None, []).append(row)
    marks: list[int] = []
    for row, depth in _down(children):
        if depth < len(marks):
            journal.undo(marks[depth])
            del marks[depth:]
        marks.append(journal.mark())
        yield entries[row], row not in children


def _down(children: Mapping[int | None, Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield each row and how deep it stands; what is below one comes before its next sibling."""
    waiting = [(row, 0) for row in reversed(children.get(None, ()))]
    while waiting:
        row, depth = waiting.pop()
        yield row, depth
        waiting += [(child, depth + 1) for child in reversed(children.get(row, ()))]
