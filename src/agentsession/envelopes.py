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
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from sys import intern
from typing import Any, Final, Union

import msgspec

from agentsession import id_blocks, versions
from agentsession._shapes import OtherShape, Shape, shape
from agentsession.codec import ENTRY_TYPES, Undecodable, decode_entry
from agentsession.members import Version
from agentsession.record_entries import UnknownEntry
from agentsession.timestamp import valid

Envelopes = tuple[list[str], list[str | None], list[str]]

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


class _Checked:
    """A line that was decoded exactly, in the place of its shape."""

    __slots__ = ("id", "parent", "ts", "type")

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


_Row = Shape | OtherShape | _Checked


@cache
def _decoder(types: tuple[str, ...]) -> Callable[[bytes | memoryview], Shape]:
    shapes: Any = tuple(shape(entry_type) for entry_type in types)
    shapes = Union[shapes]  # noqa: UP007
    decode: Callable[[bytes | memoryview], Shape] = msgspec.json.Decoder(shapes).decode
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
    return envelopes_of(lines, version)


def envelopes_of(lines: Sequence[bytes | memoryview], version: Version) -> Envelopes | None:
    """Return the same for lines that are valid UTF-8 and stand by themselves."""
    try:
        rows = _rows(lines, version)
    except Undecodable:
        return None
    columns = _columns(rows)
    return columns if columns is not None and _times_hold(rows) else None


def verified(block: bytes, version: Version) -> Envelopes | None:
    """Return what :func:`envelopes` does, where every id is certainly its line's hash.

    Spec: later drafts 3.
    """
    values = id_blocks.decoded(block)
    if values is None:
        return None
    lines = block.split(b"\n")[: len(values)]
    try:
        rows = _rows(lines, version)
    except Undecodable:
        return None
    columns = _columns(rows)
    times = "".join([row.ts + "\n" for row in rows])
    if columns is None or _TIMES_OF_IDS.fullmatch(times) is None:
        return None
    return columns if id_blocks.hold(block, columns[0], values) else None


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
    """The decoder for the types met so far; one for every type takes some time to make."""

    def __init__(self) -> None:
        self.decode = _decoder(_FIRST_TYPES)
        self._others = 0

    def met_other(self) -> None:
        """Take note of a line of a type that is not among the first."""
        self._others += 1
        if self._others == _MANY:
            self.decode = _decoder(tuple(ENTRY_TYPES))


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
    add = rows.append
    rest = iter(lines)
    while len(rows) < len(lines):
        try:
            for row in map(decoders.decode, rest):
                add(row)
        except _REFUSALS:
            add(_odd(bytes(lines[len(rows)]), version, decoders))
    return rows


def _odd(line: bytes, version: Version, decoders: _Decoders) -> _Row:
    """One line that the decoder for many refused."""
    try:
        other = _decode_other(line)
    except _REFUSALS:
        return _Checked(line, version)
    if other.type not in ENTRY_TYPES:
        other.type = intern(other.type)
        return other
    decoders.met_other()
    return _Checked(line, version)


def _columns(rows: list[_Row]) -> Envelopes | None:
    ids = [row.id for row in rows]
    types = [row.type for row in rows]
    if "" in ids or "" in types or not _conditions_hold(rows, types):
        return None
    parents = [row.parent for row in rows]
    if "" in parents:
        parents = [parent or None for parent in parents]
    return ids, parents, types


def _conditions_hold(rows: list[Any], types: list[str]) -> bool:
    """Whether runs and decisions have what format 4.6 and 4.8 ask of some of them."""
    if "run" in types and not all(
        row.source if row.phase == "start" else row.phase == "end" and row.reason
        for row in rows
        if row.type == "run" and type(row) is not _Checked
    ):
        return False
    return "decision" not in types or all(
        row.verdict != "reject" or row.reason
        for row in rows
        if row.type == "decision" and type(row) is not _Checked
    )


def _times_hold(rows: list[_Row]) -> bool:
    """Whether every time is one that a reader takes (format 3.3)."""
    times = [row.ts for row in rows]
    joined = "\n".join(times)
    # The decoder knows the calendar, and takes more spellings than the format has.
    count = len(times)
    if joined.count("T") == count == joined.count("Z") and "\n0" not in "\n" + joined:
        try:
            msgspec.convert(times, list[datetime])
        except msgspec.ValidationError:
            pass
        else:
            return True
    return all(type(row) is _Checked or valid(row.ts) for row in rows)
