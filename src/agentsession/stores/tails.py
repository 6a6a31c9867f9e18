"""The lines of a stored session from a position on, read beside its writer.

Nothing is locked, written or made. A position is a byte offset in a file, and a ``seq``
among the rows of a SQLite store, where 0 stands for the header.

Spec: stores 4.8 and 5.4.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol

from agentsession.errors import DamagedFile, NoSession
from agentsession.stores import files
from agentsession.stores.jsonl import JSONLStore
from agentsession.stores.layout import id_problem, shown
from agentsession.stores.listing import find
from agentsession.stores.opening import StoreKind, store_kind

if TYPE_CHECKING:
    from agentsession.stores.sqlite import SQLiteStore

# File times may be as coarse as a kernel tick: what was written this recently (in
# nanoseconds) could be written again without a new time.
_TICK: Final = 50_000_000
_PIECE: Final = 4 << 20
_ROWS: Final = 512


_Rows = tuple[bytes, list[tuple[int, object]]]


class Gone(Exception):
    """The session is no longer where it was."""


class Line(NamedTuple):
    """A line that is not blank, without its line end.

    Attributes:
        at: where it starts.
        text: its bytes.
        step: how many lines it comes after the one before: 1 without blank lines between.
    """

    at: int
    text: bytes
    step: int = 1


class Piece(NamedTuple):
    """Some lines that follow each other.

    Attributes:
        head: the header line, as it is now; empty when there is none yet.
        lines: the lines from the position asked for, without blank ones.
        is_end: whether there are no more, for now.
    """

    head: bytes
    lines: list[Line]
    is_end: bool


class Tail(Protocol):
    """A stored session that may grow.

    Attributes:
        place: what to call it in messages.
    """

    place: str

    def stamp(self) -> object:
        """Return what changes when the session does; ``None`` when that is not certain.

        Raises:
            Gone: when it is no longer there.
            OSError: when it cannot be looked at.
        """
        ...

    def piece(self, at: int) -> Piece:
        """Return lines from a position on.

        Raises:
            Gone: when it is no longer there.
            OSError: when it cannot be read.
        """
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


class FileTail:
    """The lines of a session file.

    Args:
        path: the file. Where its name leads may change; it is looked up each time.

    Raises:
        OSError: when there is no such file, or it is not a regular one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))

    def stamp(self) -> object:
        """Return device, inode, size and time of the file."""
        return _stamp([self.path])

    def piece(self, at: int) -> Piece:
        """Return lines from a byte offset on, some megabytes of them at most."""
        try:
            # Only a writer's own links are not followed; a user may name a file by one.
            fd = files.open_file(Path(os.path.realpath(self.path)))
        except FileNotFoundError:
            raise Gone from None
        with open(fd, "rb") as file:
            head = next((line.text for line in _lines(file)), b"")
            file.seek(at)
            lines = []
            for line in _lines(file):
                lines.append(line)
                if line.at - at >= _PIECE:
                    return Piece(head, lines, is_end=False)
            return Piece(head, lines, is_end=True)

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""


def _lines(file: BinaryIO) -> Iterator[Line]:
    at = file.tell()
    step = 0
    for raw in file:
        step += 1
        line = raw.rstrip(b"\r\n")
        if line:
            yield Line(at, line, step)
            step = 0
        at += len(raw)


class RowTail:
    """The lines of a session in a SQLite database.

    Args:
        path: the database.
        session_id: the session.
        busy_seconds: how long to wait for another process.

    Raises:
        OSError: when there is no such file.
    """

    def __init__(self, path: Path, session_id: str, *, busy_seconds: float = 5.0) -> None:
        # Loaded when it is used: who follows a file never needs SQLite.
        from agentsession.stores.sqlite_reading import ReadOnlyDatabase  # noqa: PLC0415

        path.stat()
        self.path = path
        self.session_id = session_id
        self.place = f"{path}: session {shown(session_id)}"
        self._database = ReadOnlyDatabase(path, busy_seconds=busy_seconds)

    def stamp(self) -> object:
        """Return device, inode, size and time of the database and its log."""
        real = Path(os.path.realpath(self.path))
        return _stamp([real, real.with_name(real.name + "-wal")])

    def piece(self, at: int) -> Piece:
        """Return the lines of some hundred rows at most, from one ``seq`` on."""
        from agentsession.stores.sqlite_errors import failing  # noqa: PLC0415

        with failing("follow", self.session_id, self.path):
            found = self._database.read(lambda connection: self._rows(connection, at))
        if found is None:
            raise Gone
        head, rows = found
        lines = [self._line(seq, line) for seq, line in rows]
        if at == 0:
            lines.insert(0, self._line(0, head))
        return Piece(lines[0].text if at == 0 else bytes(head), lines, is_end=len(rows) < _ROWS)

    def _rows(self, connection: sqlite3.Connection, at: int) -> _Rows | None:
        head = connection.execute(
            "SELECT CAST(header AS BLOB) FROM sessions WHERE id = ?", (self.session_id,)
        ).fetchone()
        rows = connection.execute(
            "SELECT seq, CAST(line AS BLOB) FROM entries WHERE session_id = ? AND seq >= ? "
            "ORDER BY seq LIMIT ?",
            (self.session_id, at, _ROWS),
        ).fetchall()
        return (head[0], rows) if head else None

    def _line(self, seq: int, line: object) -> Line:
        if not isinstance(line, bytes) or not line or b"\n" in line:
            what = f"entry {seq}" if seq else "the header"
            raise DamagedFile(f"{what} is damaged: its row does not hold one line", path=self.place)
        return Line(seq, line)

    def close(self) -> None:
        """Remove the private copy, where one was needed."""
        self._database.close()


def _stamp(paths: list[Path]) -> object:
    """What tells of several files, the first of which must be there, that one was changed."""
    stamps: list[tuple[int, ...]] = []
    now = time.time_ns()
    for path in paths:
        try:
            found = path.stat()
        except FileNotFoundError:
            if not stamps:
                raise Gone from None
            continue
        if 0 <= now - found.st_mtime_ns < _TICK:
            return None
        stamps.append((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
    return tuple(stamps)


def all_lines(tail: Tail) -> Iterator[tuple[int, Line]]:
    """Yield the lines of a session that are not blank, with their numbers from 1."""
    number = at = 0
    last = -1
    while True:
        piece = tail.piece(at)
        for line in piece.lines:
            # Each piece starts with the last line of the one before.
            if line.at == last:
                continue
            last = at = line.at
            number += line.step
            yield number, line
        if piece.is_end:
            return


def tail_of(
    source: str | os.PathLike[str] | JSONLStore | SQLiteStore, session_id: str
) -> FileTail | RowTail:
    """Return the lines of the session a user means.

    Raises:
        NoSession: when the store has no such session.
        OSError: when there is nothing.
    """
    if isinstance(source, JSONLStore):
        return FileTail(source.path(session_id))
    if not isinstance(source, (str, os.PathLike)):
        return _row_tail(source.database, session_id)
    path = Path(source)
    path.stat()
    kind = store_kind(path)
    if kind is StoreKind.SQLITE:
        return _row_tail(path, session_id)
    if kind is not StoreKind.FILES:
        return FileTail(path)
    found = None if id_problem(session_id) else find(path, session_id)
    if found is None:
        raise NoSession(f'{path} has no session "{shown(session_id)}"', session_id=str(session_id))
    return FileTail(found)


def _row_tail(path: Path, session_id: str) -> RowTail:
    tail = RowTail(path, session_id)
    try:
        tail.piece(0)
    except Gone:
        tail.close()
        raise NoSession(
            f'{path} has no session "{shown(session_id)}"', session_id=str(session_id)
        ) from None
    return tail
