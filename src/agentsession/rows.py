"""The entries of a session as columns, so that a big file is read without an object a line.

Ids, parents and types stand in lists; the lines stay where they were read, and an entry
is made the first time somebody asks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from sys import intern

from agentsession import versions
from agentsession.codec import ENTRY_TYPES
from agentsession.entries import Entry
from agentsession.members import Version
from agentsession.record_entries import UnknownEntry


class _Block:
    """Lines that follow each other, one line feed after each, no other line end."""

    __slots__ = ("ends", "first", "source", "start", "stop")

    def __init__(self, first: int, source: bytes, start: int, stop: int) -> None:
        self.first = first
        self.source = source
        self.start = start
        self.stop = stop
        self.ends: list[int] | None = None

    def line(self, row: int) -> bytes:
        if self.ends is None:
            lines = self.source[self.start : self.stop].split(b"\n")
            lengths = accumulate((len(line) + 1 for line in lines), initial=self.start)
            self.ends = list(lengths)
        at = row - self.first
        return self.source[self.ends[at] : self.ends[at + 1] - 1]


class Rows:
    """Entries in file order.

    Args:
        version: the format version of the file they were read from.

    Attributes:
        ids, parents, types: one element an entry.
        index: the position of each id.
    """

    __slots__ = ("_blocks", "_firsts", "_made", "_version", "ids", "index", "parents", "types")

    def __init__(self, version: Version = versions.NEWEST_SHORT) -> None:
        self.ids: list[str] = []
        self.parents: list[str | None] = []
        self.types: list[str] = []
        self.index: dict[str, int] = {}
        self._version = version
        self._made: list[Entry | None] = []
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> Entry:
        if row < 0:
            row += len(self.ids)
        made = self._made[row]
        if made is None:
            kind = ENTRY_TYPES.get(self.types[row], UnknownEntry)
            made = kind.from_line(
                self._line(row),
                self.types[row],
                self.ids[row],
                self.parents[row],
                version=self._version,
            )
            self._made[row] = made
        return made

    def __iter__(self) -> Iterator[Entry]:
        for row in range(len(self.ids)):
            yield self[row]

    def lines(self, row: int = 0) -> Iterator[bytes]:
        """Yield the lines from a position on, without their line ends."""
        for later in range(row, len(self.ids)):
            made = self._made[later]
            yield self._line(later) if made is None else made.line

    def _line(self, row: int) -> bytes:
        return self._blocks[bisect_right(self._firsts, row) - 1].line(row)

    def append(self, entry: Entry) -> None:
        """Add one entry that is already made."""
        self.index[entry.id] = len(self.ids)
        self.ids.append(entry.id)
        self.parents.append(entry.parent)
        self.types.append(intern(entry.type))
        self._made.append(entry)

    def may_extend(self, ids: list[str], parents: Sequence[str | None]) -> bool:
        """Return whether every id is new and every parent comes before its child."""
        distinct = set(ids)
        if len(distinct) != len(ids) or not self.index.keys().isdisjoint(distinct):
            return False
        before = self.ids[-1] if self.ids else None
        if parents[0] == before and parents[1:] == ids[:-1]:
            return True
        seen = dict(zip(ids, range(len(ids)), strict=True))
        return all(
            parent is None or parent in self.index or seen.get(parent, at) < at
            for at, parent in enumerate(parents)
        )

    def extend(
        self,
        ids: list[str],
        parents: Sequence[str | None],
        types: Sequence[str],
        lines: tuple[bytes, int, int],
    ) -> None:
        """Add the entries of a block of lines: its buffer, and where it starts and stops."""
        first = len(self.ids)
        self.index.update(zip(ids, range(first, first + len(ids)), strict=True))
        self.ids += ids
        self.parents += self._shared(ids, parents)
        self.types += types
        self._made += [None] * len(ids)
        self._blocks.append(_Block(first, *lines))
        self._firsts.append(first)

    def _shared(self, ids: list[str], parents: Sequence[str | None]) -> Sequence[str | None]:
        """The parents again, as the very strings that stand among the ids."""
        if parents[1:] == ids[:-1]:
            return [self._held(parents[0]), *ids[:-1]]
        return [self._held(parent) for parent in parents]

    def _held(self, parent: str | None) -> str | None:
        return None if parent is None else self.ids[self.index[parent]]

    def of_types(self, wanted: frozenset[str]) -> list[int]:
        """Return the positions of the entries of some types, in file order."""
        if wanted.isdisjoint(self.types):
            return []
        return [row for row, entry_type in enumerate(self.types) if entry_type in wanted]
