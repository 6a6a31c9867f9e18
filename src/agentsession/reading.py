"""Bytes to sessions.

Spec: format 7, decisions A2 to A6.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Protocol

from agentsession import text, versions
from agentsession.codec import Undecodable, decode_entry, decode_header
from agentsession.entries import Entry
from agentsession.envelopes import envelopes
from agentsession.errors import DamagedFile, DuplicateEntry, NoEntry, UnsupportedFormat
from agentsession.header import Header
from agentsession.members import Version
from agentsession.rows import Rows
from agentsession.session import Session, TruncatedLine


class Readable(Protocol):
    """Anything with ``read`` that gives bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return bytes."""
        ...


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Readable


def read(source: Source, *, allow_newer: bool = False) -> Session:
    """Return the session in a file, given by path, as an open binary file, or as bytes.

    The source is only read. A last line that was cut short is reported in
    ``session.truncated``; anything else that breaks the format raises.

    Args:
        source: a path, bytes, or a binary file object, read to its end.
        allow_newer: read minor versions this release does not know, keeping what is unknown.

    Spec: format 7.

    Raises:
        DamagedFile: naming file, line and byte range.
        DuplicateEntry, NoEntry: an id used twice, a parent that is not earlier in the file.
        UnsupportedFormat: a format or version this release does not read.
        OSError: when the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return load(bytes(source), allow_newer=allow_newer)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return load(path.read_bytes(), path=path, allow_newer=allow_newer)
    data = source.read()
    if not isinstance(data, bytes):
        raise TypeError("open the file in binary mode to read a session from it")
    name = getattr(source, "name", None)
    return load(data, path=name if isinstance(name, str) else None, allow_newer=allow_newer)


def load(data: bytes, *, path: str | Path | None = None, allow_newer: bool = False) -> Session:
    """Return the session in bytes; ``path`` names the file in messages.

    Raises:
        AgentSessionError: as :func:`read`.
    """
    return _Reader(data, path, allow_newer=allow_newer).session()


_BLOCK = 1 << 20
_LINES_READ_EXACTLY = 64


class _Reader:
    """One pass over the lines of a file."""

    def __init__(self, data: bytes, path: str | Path | None, *, allow_newer: bool) -> None:
        self.data = data
        self.path = path
        self.allow_newer = allow_newer
        self.position = 0
        self.number = 0
        self.start = 0
        self.end = 0
        self.regular = True
        self.rows = Rows()
        self.notes: list[str] = []
        self.truncated: TruncatedLine | None = None
        self.session_id = ""

    def session(self) -> Session:
        header = self._header()
        self.session_id = header.id
        self._read_entries(header.version)
        return Session.restored(
            header,
            self.rows,
            truncated=self.truncated,
            notes=self.notes,
            source=None if self.regular else self.data,
        )

    def _line(self, stop: int) -> bytes | None:
        """The next line that is not empty, without its line end; None at the end."""
        data = self.data
        while self.position < stop:
            self.start = self.position
            self.number += 1
            found = data.find(b"\n", self.start)
            end = len(data) if found < 0 else found
            self.position = end if found < 0 else found + 1
            line = data[self.start : end]
            if found < 0:
                self.regular = False
            if line.endswith(b"\r"):
                self.regular = False
                line = line.rstrip(b"\r")
            self.end = self.start + len(line)
            if line:
                return line
            self.regular = False
        return None

    def _damaged(self, problem: str) -> DamagedFile:
        return DamagedFile(
            problem, path=self.path, line=self.number, start=self.start, end=self.end
        )

    def _place(self) -> str:
        return f"{self.path}: line {self.number}" if self.path else f"line {self.number}"

    def _header(self) -> Header:
        line = self._line(len(self.data))
        if line is None:
            problem = "the file has only blank lines" if self.data else "the file is empty"
            raise DamagedFile(f"{problem}: expected a session header", path=self.path)
        try:
            header = decode_header(line, allow_newer=self.allow_newer)
        except Undecodable as error:
            raise self._damaged(str(error)) from error
        except UnsupportedFormat as error:
            raise UnsupportedFormat(f"{self._place()}: {error}", format=error.format) from error
        self._check_utf8(line, header.version)
        return header

    def _check_utf8(self, line: bytes, version: Version) -> None:
        if text.is_utf8(line):
            return
        if not versions.repairs_utf8(version):
            raise self._damaged("the line is not valid UTF-8")
        self.notes.append(
            f"line {self.number} is not valid UTF-8; bytes that are not read as U+FFFD"
        )

    def _read_entries(self, version: Version) -> None:
        while self.position < len(self.data) and self.truncated is None:
            end = self.data.find(b"\n", self.position + _BLOCK) + 1 or len(self.data)
            self._read_block(end, version)

    def _read_block(self, end: int, version: Version) -> None:
        """Read the lines up to a byte: at once where that is certain, else in halves."""
        if self._take_block(end, version):
            return
        start = self.position
        middle = self.data.find(b"\n", start + (end - start) // 2, end) + 1
        lines = self.data.count(b"\n", start, end)
        if lines <= _LINES_READ_EXACTLY or not middle or middle == end:
            self._read_lines(end, version)
            return
        self._read_block(middle, version)
        if self.truncated is None:
            self._read_block(end, version)

    def _take_block(self, end: int, version: Version) -> bool:
        block = self.data[self.position : end]
        found = envelopes(block, version)
        if found is None:
            return False
        ids, parents, types = found
        rows = self.rows
        if not rows.may_extend(ids, parents):
            return False
        rows.extend(ids, parents, types, (self.data, self.position, end))
        self.number += len(ids)
        self.position = end
        return True

    def _read_lines(self, stop: int, version: Version) -> None:
        rows = self.rows
        while (line := self._line(stop)) is not None:
            try:
                entry = decode_entry(line, version)
            except Undecodable as error:
                if self.position < len(self.data) or not self._is_cut(error, version):
                    raise self._damaged(str(error)) from error
                self.truncated = TruncatedLine(
                    self.number, line, error, self.start, is_json=error.is_json
                )
                self.regular = False
                return
            if entry.id in rows.index:
                self._repeated(entry, version)
                continue
            if entry.parent is not None and entry.parent not in rows.index:
                raise NoEntry(
                    f'{self._place()}: entry {entry.id} has parent "{entry.parent}", '
                    "which is not an earlier entry of the file",
                    entry_id=entry.parent,
                )
            if version >= Entry.parents.since:
                self._check_references(entry)
            self._check_utf8(line, version)
            rows.append(entry)

    def _check_references(self, entry: Entry) -> None:
        """Refuse ``parents`` that name no earlier entry of the file (later drafts 6)."""
        for reference in entry.parents:
            if (
                reference.session in ("", self.session_id)
                and reference.entry not in self.rows.index
            ):
                raise NoEntry(
                    f'{self._place()}: entry {entry.id} converges from "{reference.entry}", '
                    "which is not an earlier entry of the file",
                    entry_id=reference.entry,
                )

    @staticmethod
    def _is_cut(error: Undecodable, version: Version) -> bool:
        return not error.is_json or versions.cut_tail_may_be_json(version)

    def _repeated(self, entry: Entry, version: Version) -> None:
        if not versions.has_content_ids(version):
            raise DuplicateEntry(
                f'{self._place()}: entry id "{entry.id}" is already used by an earlier entry',
                entry_id=entry.id,
            )
        self.regular = False
        self.notes.append(f"line {self.number} repeats entry {entry.id}; it is kept once")
