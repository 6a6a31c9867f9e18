"""Paths of entries, and what a context asks of one without making every entry of it.

Spec: format 8.1, context 1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, overload

from agentsession.entries import Entry
from agentsession.items import Item
from agentsession.rows import Rows


class Lineage(Sequence[Entry]):
    """Entries of a session in file order, each made when it is asked for.

    Equal to a tuple or list of the same entries; copied deeply or pickled it becomes a tuple.

    Args:
        rows: the entries of the session, which never change places.
        at: the positions of those that are meant.
    """

    __slots__ = ("_at", "_rows")

    def __init__(self, rows: Rows, at: list[int]) -> None:
        self._rows = rows
        self._at = at

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, where: int) -> Entry: ...
    @overload
    def __getitem__(self, where: slice) -> Lineage: ...
    def __getitem__(self, where: int | slice) -> Entry | Lineage:
        if isinstance(where, slice):
            return Lineage(self._rows, self._at[where])
        return self._rows[self._at[where]]

    def __iter__(self) -> Iterator[Entry]:
        return map(self._rows.__getitem__, self._at)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Lineage, tuple, list)):
            return NotImplemented
        return len(self) == len(other) and all(
            mine is theirs or mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    # A list of the same entries is equal to it and has no hash.
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, others: Sequence[Entry]) -> tuple[Entry, ...]:
        return (*self, *others)

    def __radd__(self, others: Sequence[Entry]) -> tuple[Entry, ...]:
        return (*others, *self)

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[Any, ...]], tuple[tuple[Entry, ...]]]:
        # Of a file that may be big only the entries meant go along, as values by themselves.
        return tuple, (tuple(self),)

    def of_type(self, kind: type[Entry], start: int = 0) -> list[int]:
        """Return where from a place on entries of a type stand."""
        types, wanted = self._types(), kind.TYPE
        found: list[int] = []
        with suppress(ValueError):
            while True:
                start = types.index(wanted, start) + 1
                found.append(start - 1)
        return found

    def _types(self) -> list[str]:
        types, at = self._rows.types, self._at
        if at and at[-1] - at[0] == len(at) - 1:  # no row between them is left out
            return types[at[0] : at[-1] + 1]
        return [types[row] for row in at]

    def place(self, entry_id: str, stop: int) -> int | None:
        """Return where an entry stands before a place of a path; ``None`` when it does not."""
        row = self._rows.index.get(entry_id, len(self._rows))
        place = bisect_left(self._at, row, 0, stop)
        return place if place < stop and self._at[place] == row else None

    def contributions(self, places: Iterable[int]) -> list[Item | None]:
        """Return the item that each entry at some places of a path adds to a context."""
        return self._rows.contributions(self._rows_at(places))

    def picked(self, places: Iterable[int]) -> Sequence[Entry]:
        """Return the entries at some places."""
        return Lineage(self._rows, self._rows_at(places))

    def _rows_at(self, places: Iterable[int]) -> list[int]:
        if isinstance(places, range) and places.step == 1:
            return self._at[places.start : places.stop]
        return [self._at[place] for place in places]


class Listed:
    """The same questions to a path whose entries are there already."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, place: int) -> Entry:
        return self._entries[place]

    def of_type(self, kind: type[Entry], start: int = 0) -> list[int]:
        """Return where from a place on entries of a type stand."""
        return [
            place
            for place in range(start, len(self._entries))
            if isinstance(self._entries[place], kind)
        ]

    def place(self, entry_id: str, stop: int) -> int | None:
        """Return where the first entry with an id stands before a place, or ``None``."""
        places = range(stop)
        return next((place for place in places if self._entries[place].id == entry_id), None)

    def contributions(self, places: Iterable[int]) -> list[Any]:
        """Return the item that each entry at some places adds to a context."""
        return [self._entries[place].contribution() for place in places]

    def picked(self, places: Iterable[int]) -> Sequence[Entry]:
        """Return the entries at some places."""
        return tuple([self._entries[place] for place in places])


def asked(path: Sequence[Entry]) -> Lineage | Listed:
    """Return a path as what can be asked."""
    return path if isinstance(path, Lineage) else Listed(path)
