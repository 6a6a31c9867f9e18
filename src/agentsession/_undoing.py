"""Changes that can be taken back, so that paths that part share the work of what is above.

A walk through a tree changes one state on its way down, and takes back what it changed on its
way up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Journal:
    """Changes a state, and knows how to take the changes back, the last one first.

    Args:
        keeps: whether changes are kept; a state of one path alone needs none.
    """

    __slots__ = ("_changes", "_keeps")

    def __init__(self, *, keeps: bool = False) -> None:
        self._keeps = keeps
        self._changes: list[Callable[[], object]] = []

    def mark(self) -> int:
        """Return a point to go back to."""
        return len(self._changes)

    def undo(self, mark: int) -> None:
        """Take back what was changed since a point."""
        while len(self._changes) > mark:
            self._changes.pop()()

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
