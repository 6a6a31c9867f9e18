"""Many lines at once: the fast way to read, for lines that are as a writer writes them.

:func:`envelopes` reads a block of lines and says whether every rule of format 7.2 holds for
each of them. Lines that fit the shape of their type (:mod:`agentsession._shapes`) are read
without their bodies; a line that does not is decoded exactly, by itself. Where a rule may
be broken the block gives ``None``, and the caller reads it line by line, which says what is
wrong. So the two ways never differ in what they accept.

Spec: format 7, decision A2.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import cache
from sys import intern
from typing import Any, Final, NamedTuple, Union

import msgspec

from agentsession import id_blocks, versions
from agentsession._shapes import OtherShape, Shape, met_shape, shape
from agentsession.codec import ENTRY_TYPES, Undecodable, decode_entry
from agentsession.entries import LEAF_LABEL
from agentsession.members import Version
from agentsession.record_entries import LabelEntry, UnknownEntry
from agentsession.rows import Mark
from agentsession.text import MAX_DEPTH, may_be_too_deep
from agentsession.timestamp import valid

Envelopes = tuple[list[str], list[str | None], list[str]]


class Columns(NamedTuple):
    """What is known of a block of lines, one element a line.

    Attributes:
        ids, parents, types: of each line.
        marks: what the labels among them say about the leaf, by the place of their lines.
    """

    ids: list[str]
    parents: list[str | None]
    types: list[str]
    marks: dict[int, Mark]


# The 29th of February and the years below 1000 are left to the exact way; where ids are
# hashes a time has one spelling.
_PLAIN_CLOCK = (
    r"[1-9][0-9]{3}-"
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_TIMES_OF_IDS: Final = re.compile(rf"(?:{_PLAIN_CLOCK}(?:\.[0-9]{{0,8}}[1-9])?Z\n)*")
_UTF8_STEP: Final = 1 << 15
_REFUSALS: Final = (msgspec.DecodeError, RecursionError)
_FIRST_TYPES: Final = ("item", "response")
_MANY: Final = 32
"""Lines of other types after which a decoder for all types is worth its making."""
_SEVERAL: Final = 8
"""Lines of a type the format does not define after which it has a shape of its own."""
_MOST_MET: Final = 64
_MOST_COUNTED: Final = 1000
_LONGEST_MET: Final = 200
_DEEP_CODER: Final = sys.version_info >= (3, 12)
"""Whether C code goes deeper than the interpreter's recursion limit."""


class _Checked:
    """A line that was decoded exactly, in the place of its shape."""

    __slots__ = ("id", "label", "parent", "target", "ts", "type")

    def __init__(self, line: bytes, version: Version) -> None:
        """Decode the line.

        Raises:
            Undecodable: when it breaks a rule, or has what only the exact way may judge.
        """
        entry = decode_entry(line, version)
        if type(entry) is UnknownEntry and entry.type in ENTRY_TYPES:
            raise Undecodable("a type of a later version that has not its form")
        if versions.has_convergence(version) and entry.text_of("parents") is not None:
            raise Undecodable("what parents name has to stand before them")
        if versions.has_content_ids(version) and entry.text_of("normalised") is not None:
            raise Undecodable("what normalised says has rules of its own")
        self.type = intern(entry.type)
        self.id = entry.id
        self.parent = entry.parent
        self.ts = entry.ts_text
        if isinstance(entry, LabelEntry):
            self.target, self.label = entry.target, entry.label


_Row = Shape | OtherShape | _Checked


_Decode = Callable[[bytes | memoryview], Shape]


def _decoder(shapes: Collection[type[Shape]]) -> _Decode:
    together: Any = tuple(shapes)
    together = Union[together]  # noqa: UP007
    decode: _Decode = msgspec.json.Decoder(together).decode
    return decode


_decode_other: Final = msgspec.json.Decoder(OtherShape).decode


def envelopes(block: bytes, version: Version) -> Envelopes | None:
    """Return the ids, parents and types of a block of lines, or ``None`` to read it exactly.

    Args:
        block: whole lines that are not empty, a line feed after each and no other line end.
        version: the format version of the file.
    """
    if not block.endswith(b"\n") or b"\r" in block or not is_utf8(block):
        return None
    lines = block.split(b"\n")
    del lines[-1]
    found = envelopes_of(lines, version)
    return found and found[:3]


def envelopes_of(lines: Sequence[bytes | memoryview], version: Version) -> Columns | None:
    """Return the same, and the marks, for lines that are valid UTF-8 and stand by themselves."""
    if _some_are_too_deep(lines):
        return None
    try:
        rows = _rows(lines, version)
    except Undecodable:
        return None
    columns = _columns(rows)
    return columns if columns is not None and _times_hold(rows) else None


def verified(block: bytes, version: Version) -> Columns | None:
    """Return what :func:`envelopes_of` does, where every id is certainly its line's hash.

    Spec: later drafts 3.
    """
    lines = block.split(b"\n")
    values = None if _some_are_too_deep(lines) else id_blocks.decoded(block)
    if values is None:
        return None
    lines = lines[: len(values)]
    try:
        rows = _rows(lines, version)
    except Undecodable:
        return None
    columns = _columns(rows)
    times = "".join([row.ts + "\n" for row in rows])
    if columns is None or _TIMES_OF_IDS.fullmatch(times) is None:
        return None
    return columns if id_blocks.hold(block, columns.ids, values) else None


def _some_are_too_deep(lines: Sequence[bytes | memoryview]) -> bool:
    """Whether a decoder could go deeper in one of these lines than the format lets it."""
    if not _DEEP_CODER and sys.getrecursionlimit() <= MAX_DEPTH:
        return False
    if max(map(len, lines), default=0) <= MAX_DEPTH:
        return False
    return any(len(line) > MAX_DEPTH and may_be_too_deep(bytes(line)) for line in lines)


def is_utf8(block: bytes) -> bool:
    """Return whether a block of lines is valid UTF-8."""
    if block.isascii():
        return True
    # Small pieces decode in the cache; each ends where a line does.
    view = memoryview(block)
    start = 0
    try:
        while start < len(block):
            stop = block.find(b"\n", start + _UTF8_STEP) + 1 or len(block)
            str(view[start:stop], "utf-8")
            start = stop
    except UnicodeDecodeError:
        return False
    return True


class _Decoders:
    """The decoder for the types met so far; one for every type takes some time to make.

    Types that the format does not define are taken in as they are met, up to a number. What
    two threads do here at once is done twice, or again at the next line.
    """

    def __init__(self) -> None:
        self._shapes = {entry_type: shape(entry_type) for entry_type in _FIRST_TYPES}
        self._met: Counter[str] = Counter()
        self._room = _MOST_MET
        self.decode = _decoder(self._shapes.values())

    def met_defined(self) -> None:
        """Take note of a line of a defined type that the decoder refused."""
        self._met[""] += 1
        if self._met[""] >= _MANY and len(self._shapes) < len(ENTRY_TYPES):
            self._take({entry_type: shape(entry_type) for entry_type in ENTRY_TYPES})

    def met_other(self, entry_type: str) -> None:
        """Take note of a line of a type that the format does not define."""
        if self._room <= 0 or not 0 < len(entry_type) <= _LONGEST_MET:
            return
        if entry_type in self._met or len(self._met) < _MOST_COUNTED:
            self._met[entry_type] += 1
        if self._met[entry_type] >= _SEVERAL:
            self._room -= 1
            self._take({entry_type: met_shape(entry_type)})

    def _take(self, shapes: dict[str, type[Shape]]) -> None:
        self._shapes = {**self._shapes, **shapes}
        self.decode = _decoder(self._shapes.values())


@cache
def _decoders() -> _Decoders:
    return _Decoders()


def _rows(lines: Sequence[bytes | memoryview], version: Version) -> list[_Row]:
    """The lines as their shapes, those that fit none decoded exactly.

    Raises:
        Undecodable: when a line breaks a rule, or may.
    """
    decoders = _decoders()
    rows: list[_Row] = []
    rest = iter(lines)
    while len(rows) < len(lines):
        try:
            # Those before one that is refused are kept.
            rows.extend(map(decoders.decode, rest))
        except _REFUSALS:
            rows.append(_odd(bytes(lines[len(rows)]), version, decoders))
    return rows


def _odd(line: bytes, version: Version, decoders: _Decoders) -> _Row:
    """One line that the decoder for many refused."""
    try:
        other = _decode_other(line)
    except _REFUSALS:
        return _Checked(line, version)
    if other.type not in ENTRY_TYPES:
        other.type = intern(other.type)
        decoders.met_other(other.type)
        return other
    decoders.met_defined()
    return _Checked(line, version)


def _columns(rows: list[_Row]) -> Columns | None:
    ids = [row.id for row in rows]
    types = [row.type for row in rows]
    met = set(types)
    if "" in met or "" in ids or not _conditions_hold(rows, met):
        return None
    parents = [row.parent for row in rows]
    if "" in parents:
        parents = [parent or None for parent in parents]
    return Columns(ids, parents, types, _marks(rows) if LabelEntry.TYPE in met else {})


def _marks(rows: list[Any]) -> dict[int, Mark]:
    """What the labels say about the leaf."""
    return {
        at: (row.target or "", row.label)
        for at, row in enumerate(rows)
        if row.type == "label" and (row.label is None or row.label == LEAF_LABEL)
    }


def _conditions_hold(rows: list[Any], types: set[str]) -> bool:
    """Whether runs and decisions have what format 4.6 and 4.8 ask of some of them."""
    # Lists: a generator would be gone into and left for each of its elements.
    held: list[Any] = []
    if "run" in types:
        held += [
            row.source if row.phase == "start" else row.phase == "end" and row.reason
            for row in rows
            if row.type == "run" and type(row) is not _Checked
        ]
    if "decision" in types:
        held += [
            row.verdict != "reject" or row.reason
            for row in rows
            if row.type == "decision" and type(row) is not _Checked
        ]
    return all(held)


def _times_hold(rows: list[_Row]) -> bool:
    """Whether every time is one that a reader takes (format 3.3)."""
    times = [row.ts for row in rows]
    if _are_plain(times):
        # The decoder knows the calendar, and takes more spellings than the format has.
        try:
            msgspec.convert(times, list[datetime])
        except msgspec.ValidationError:
            pass
        else:
            return True
    return all(type(row) is _Checked or valid(row.ts) for row in rows)


def _are_plain(times: list[str]) -> bool:
    """Whether times, if they are such to the decoder, are spelled as the format has them.

    Each has one T and one zone at most then, so counting them tells of all. A zone is a Z, or
    a sign and one more colon. Years below 1000 are for the exact way.
    """
    joined = "\n".join(times)
    count = len(times)
    if joined.count("T") != count or joined.startswith("0") or "\n0" in joined:
        return False
    offsets = count - joined.count("Z")
    return not offsets or (
        joined.count("+") + joined.count("-") - 2 * count
        == joined.count(":") - 2 * count
        == offsets
    )
