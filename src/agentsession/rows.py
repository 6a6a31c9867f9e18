"""The entries of a session as columns, so that a big file is read without an object a line.

Ids, parents and types stand in lists; the lines stay where they were read, and an entry
is made the first time somebody asks for it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from mmap import mmap
from sys import intern
from typing import Any, Final

from agentsession import versions
from agentsession._collecting import uncollected
from agentsession.codec import ENTRY_TYPES
from agentsession.entries import LEAF_LABEL, BranchSummaryEntry, Entry, ItemEntry
from agentsession.items import Item
from agentsession.members import Version
from agentsession.record_entries import LabelEntry, UnknownEntry

Buffer = bytes | mmap
"""The bytes of a file in memory; a slice of either is ``bytes``."""

CONTRIBUTING: Final = frozenset({ItemEntry.TYPE, BranchSummaryEntry.TYPE})
"""Types whose entries add an item to a context by themselves (context 1)."""


Mark = tuple[str, str | None]
"""Target and label of a label that marks a leaf or takes a label off."""


class _Block:
    """Lines that follow each other in a buffer; empty ones are none of them."""

    __slots__ = ("ends", "first", "source", "start", "starts", "stop")

    def __init__(self, first: int, source: Buffer, start: int, stop: int) -> None:
        self.first = first
        self.source = source
        self.start = start
        self.stop = stop
        self.starts = self.ends = _NOWHERE

    def line(self, row: int) -> bytes:
        if not self.ends:
            self._split()
        at = row - self.first
        return self.source[self.starts[at] : self.ends[at]]

    def lines(self) -> list[bytes]:
        return lines_of(self.source[self.start : self.stop])[0]

    def _split(self) -> None:
        block = self.source[self.start : self.stop]
        lines = block.split(b"\n")
        starts = array("Q", accumulate((len(line) + 1 for line in lines), initial=self.start))
        ends = array("Q", [start - 1 for start in starts[1:]])
        lengths = [len(line.rstrip(b"\r")) for line in lines] if b"\r" in block else ()
        for at, length in enumerate(lengths):
            ends[at] = starts[at] + length
        found = [at for at, end in enumerate(ends) if end > starts[at]]
        if found and found[-1] >= len(found):  # empty lines stand among them
            starts = array("Q", [starts[at] for at in found])
            ends = array("Q", [ends[at] for at in found])
        self.starts = starts
        self.ends = ends


_NOWHERE: Final = array("Q")
_WRITTEN_BLOCK: Final = 1 << 20
"""As long as the blocks of a reader, which splits one when a line is asked for."""


def lines_of(block: bytes) -> tuple[list[bytes], int]:
    """Return the lines of a block that are not empty, and how many there are with the others.

    They come without their line ends.

    Spec: format 7.1.
    """
    lines = block.split(b"\n")
    if not lines[-1]:
        del lines[-1]
    count = len(lines)
    if b"\r" in block:
        lines = [line.rstrip(b"\r") for line in lines]
    return ([line for line in lines if line] if b"" in lines else lines), count


class Rows:
    """Entries in file order.

    Args:
        version: the format version of the file they were read from.

    Attributes:
        ids, parents, types: one element an entry.
        index: the position of each id.
        marks: what labels say about the leaf, by their positions, in file order.
    """

    __slots__ = (
        "_blocks",
        "_chains",
        "_firsts",
        "_has_repeats",
        "_items",
        "_made",
        "_version",
        "ids",
        "index",
        "marks",
        "parents",
        "types",
    )

    def __init__(self, version: Version = versions.NEWEST_SHORT) -> None:
        self.ids: list[str] = []
        self.parents: list[str | None] = []
        self.types: list[str] = []
        self.index: dict[str, int] = {}
        self.marks: dict[int, Mark] = {}
        self._version = version
        # Of each row, the first of the rows up to it that follow each other as children do.
        self._chains = array("Q")
        self._made: list[Entry | None] = []
        self._items: list[Item | None] = []
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []
        self._has_repeats = False

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
            item = self._items[row] if row < len(self._items) else None
            if item is not None:
                made._values = {"item": item}
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

    def path(self, entry_id: str | None) -> list[int]:
        """Return the positions from a root to an entry; empty for ``None``."""
        path: list[int] = []
        while entry_id is not None:
            row = self.index[entry_id]
            first = self._chains[row]
            path += range(row, first - 1, -1)
            entry_id = self.parents[first]
        path.reverse()
        return path

    def contributions(self, path: Sequence[int]) -> list[Item | None]:
        """Return the item that each entry of a path adds to a context, made without its entry.

        Args:
            path: positions, each after the one before it.
        """
        items = self._items
        if len(items) < len(self.ids):
            items += [None] * (len(self.ids) - len(items))
        types, made = self.types, self._made
        lacking = [row for row in path if items[row] is None and types[row] in CONTRIBUTING]
        unmade = [row for row in lacking if made[row] is None and types[row] == ItemEntry.TYPE]
        with uncollected():
            self._make_items(unmade)
        for row in lacking if len(unmade) < len(lacking) else ():
            if items[row] is None:
                items[row] = self[row].contribution()
        return [items[row] for row in path]

    def _make_items(self, unmade: list[int]) -> None:
        """Make the items of item entries, block by block."""
        items = self._items
        start = 0
        while start < len(unmade):
            at = bisect_right(self._firsts, unmade[start])
            end = self._firsts[at] if at < len(self._firsts) else len(self.ids)
            stop = bisect_left(unmade, end, start)
            here = unmade[start:stop]
            block = self._blocks[at - 1]
            lines, first = block.lines(), block.first
            made = Item.from_lines([lines[row - first] for row in here])
            for row, item in zip(here, made, strict=True):
                items[row] = item
            start = stop

    def append(self, entry: Entry) -> None:
        """Add one entry that is already made."""
        self._take_mark(len(self.ids), entry)
        self._chains.append(self._chain(entry.parent))
        self.index[entry.id] = len(self.ids)
        self.ids.append(entry.id)
        self.parents.append(entry.parent)
        self.types.append(intern(entry.type))
        self._made.append(entry)

    def take_back(self, count: int, entry: Entry) -> None:
        """Take an entry out again that stands behind so many others, or is about to."""
        if self.index.get(entry.id) == count:
            del self.index[entry.id]
        self.marks.pop(count, None)
        columns: tuple[list[Any] | array[int], ...] = (
            self.ids,
            self.parents,
            self.types,
            self._chains,
            self._made,
            self._items,
        )
        for column in columns:
            del column[count:]

    def _take_mark(self, row: int, entry: Entry) -> None:
        if isinstance(entry, LabelEntry) and entry.label in {None, LEAF_LABEL}:
            self.marks[row] = entry.target, entry.label

    def marks_leaf(self, row: int) -> bool:
        """Return whether the entry at a position is a label that marks a leaf."""
        mark = self.marks.get(row)
        return mark is not None and mark[1] == LEAF_LABEL

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

    @classmethod
    def written(
        cls,
        version: Version,
        columns: tuple[list[str], list[str | None], list[str]],
        source: bytes,
        ends: Sequence[int],
    ) -> Rows:
        """Return the entries of a file that was just written, by one who knows its tree is right.

        Args:
            version: the format version of the file.
            columns: ids, parents and types.
            source: the file.
            ends: where in it the header ends, then where each entry does, line ends included.
        """
        rows = cls(version)
        ids, parents, types = columns
        rows.index.update(zip(ids, range(len(ids)), strict=True))
        first = 0
        while first < len(ids):
            last = min(bisect_right(ends, ends[first] + _WRITTEN_BLOCK, first + 1), len(ids))
            here = slice(first, last)
            chained = parents[first + 1 : last] == ids[first : last - 1]
            held = rows._held(parents[first : first + 1] if chained else parents[here], ids[here])
            rows._take(ids[here], held, types[here], (source, ends[first], ends[last]))
            first = last
        for row, entry_type in enumerate(types):
            if entry_type == LabelEntry.TYPE:
                rows._take_mark(row, rows[row])
        return rows

    def extended(
        self,
        ids: list[str],
        parents: list[str | None],
        types: list[str],
        marks: dict[int, Mark],
        lines: tuple[Buffer, int, int],
    ) -> bool:
        """Add the entries of a block of lines where the tree allows it; else add nothing.

        Args:
            ids: of each line.
            parents: of each line.
            types: of each line.
            marks: what the labels among them say about the leaf, by their places in the block.
            lines: their buffer, and where they start and stop in it.

        Returns:
            Whether every id was new and every parent came before its child.
        """
        index = self.index
        if self._has_repeats and not index.keys().isdisjoint(ids):
            return False
        first = len(self.ids)
        chained = parents[1:] == ids[:-1] and parents[0] == (self.ids[-1] if first else None)
        index.update(zip(ids, range(first, first + len(ids)), strict=True))
        unique = len(index) == first + len(ids)
        if not unique or not (chained or self._come_before(parents, first)):
            self._forget(ids)
            return False
        self._take(ids, self._held(parents[:1] if chained else parents, ids), types, lines)
        for at, mark in marks.items():
            self.marks[first + at] = mark
        return True

    def _forget(self, ids: list[str]) -> None:
        """Take ids of a block that is not to be added out of the index again."""
        index = self.index
        for entry_id in ids:
            index.pop(entry_id, None)
        if len(index) < len(self.ids):
            # Some stand in earlier blocks. Where one does others may: they are looked for first.
            self._has_repeats = True
            index.clear()
            index.update(zip(self.ids, range(len(self.ids)), strict=True))

    def _come_before(self, parents: list[str | None], first: int) -> bool:
        """Whether the parents of the rows from one on stand before their children."""
        index, nowhere = self.index, first + len(parents)
        return all(
            parent is None or index.get(parent, nowhere) < row
            for row, parent in enumerate(parents, first)
        )

    def _held(self, parents: Sequence[str | None], ids: list[str]) -> list[str | None]:
        """The parents again, as the very strings that stand among the ids; then a chain's."""
        first = len(self.ids)
        held: list[str | None] = []
        for parent in parents:
            row = -1 if parent is None else self.index[parent]
            held.append(None if row < 0 else self.ids[row] if row < first else ids[row - first])
        return held if len(held) == len(ids) else [*held, *ids[:-1]]

    def _chain(self, parent: str | None) -> int:
        """Where the chain begins that a new row with a parent belongs to."""
        row = len(self.ids)
        return self._chains[row - 1] if row and parent == self.ids[row - 1] else row

    def _take(
        self,
        ids: list[str],
        parents: list[str | None],
        types: Sequence[str],
        lines: tuple[Buffer, int, int],
    ) -> None:
        first = len(self.ids)
        start = self._chain(parents[0])
        if parents[1:] == ids[:-1]:
            self._chains += array("Q", [start]) * len(ids)
        else:
            self._chains.append(start)
            for row, parent in enumerate(parents[1:], first + 1):
                if parent != ids[row - first - 1]:
                    start = row
                self._chains.append(start)
        self.ids += ids
        self.parents += parents
        self.types += types
        self._made += [None] * len(ids)
        self._blocks.append(_Block(first, *lines))
        self._firsts.append(first)

    def rest_on(self, source: bytes) -> None:
        """Take lines from a copy of the buffer they were read from; the buffer may go."""
        for block in self._blocks:
            block.source = source

    def of_types(self, wanted: frozenset[str], start: int = 0) -> list[int]:
        """Return the positions from one on of the entries of some types, in file order."""
        types = self.types[start:] if start else self.types
        if wanted.isdisjoint(types):
            return []
        return [row for row, entry_type in enumerate(types, start) if entry_type in wanted]
