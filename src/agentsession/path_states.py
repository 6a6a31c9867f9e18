"""What paths say, kept where it was worked out last, so that growing paths cost their growth.

Spec: format 8.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from agentsession.entries import Entry
from agentsession.rows import Rows


class _State(Protocol):
    def feed(self, entry: Entry) -> object: ...


_S = TypeVar("_S", bound=_State)

_KEPT: Final = 4
"""So many branches may grow by turns, and each goes on from where it was."""

_ABOVE: Final = -1
"""The place above the roots."""


class PathStates(Generic[_S]):
    """States that are fed a path entry by entry, some of them kept with the place they reached.

    Args:
        make: gives the state of the empty path.
        types: the types of the entries that say something to it.
    """

    __slots__ = ("_make", "_reached", "_types")

    def __init__(self, make: Callable[[], _S], types: frozenset[str]) -> None:
        self._make = make
        self._types = types
        # By the row reached, the one asked for last at the end.
        self._reached: dict[int, _S] = {}

    def at(self, rows: Rows, entry_id: str | None) -> _S:
        """Return the state at the end of the path to an entry; the next question may change it.

        Args:
            rows: the entries of the session, which never change places.
            entry_id: one of them, or ``None`` for the empty path.
        """
        end = row = _ABOVE if entry_id is None else rows.index[entry_id]
        ahead: list[int] = []
        while row != _ABOVE and row not in self._reached:
            if rows.types[row] in self._types:
                ahead.append(row)
            parent = rows.parents[row]
            row = _ABOVE if parent is None else rows.index[parent]
        # It is kept again only when it was fed all of them.
        state = self._reached.pop(row, None)
        if state is None:
            state = self._make()
        for later in reversed(ahead):
            state.feed(rows[later])
        self._reached[end] = state
        if len(self._reached) > _KEPT:
            del self._reached[next(iter(self._reached))]
        return state
