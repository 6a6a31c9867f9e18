"""A SQLite database opened without writing to it, or beside it.

A database that nobody has open, and that holds all its rows itself, is read in
place with ``immutable=1``, which takes no locks and makes no files; that it
has not changed meanwhile is checked after each read. Everything else, above
all a database whose ``-wal`` holds rows of its own, is copied to a private
place together with that log, and read there.

Copying a live database is safe in this order: the database, then the log. All
that a checkpoint may write into the database while it is copied comes from
frames of the log, and these stay in it until the log is started again under a
new header. So if the log's header is the same before and after, the copied
log repairs whatever is torn in the copied database.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from agentsession._regular import check_regular, open_regular, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRIES: Final = 8
_WAL_HEADER: Final = 32
_CHUNK: Final = 1 << 20
# File times may be as coarse as a kernel tick: what was written this recently
# (in nanoseconds) could be written again without a new time.
_TICK: Final = 20_000_000


class Text(bytes):
    """A text column's bytes as stored, UTF-8 or not; a blob is plain ``bytes``."""

    __slots__ = ()


class _State(NamedTuple):
    """What tells that a file was rewritten: its identity, size and time."""

    inode: int
    size: int
    modified: int


class _Source(NamedTuple):
    """The files of a database at one moment; ``None`` for one that is not there.

    A log or journal that cannot be read counts as not there; ``unread`` says why it cannot.
    """

    main: _State | None
    wal_header: bytes
    wal_size: int
    journal: _State | None
    unread: str

    def held(self, later: _Source) -> bool:
        """Return whether a copy made between this moment and a later one is whole."""
        if len(self.wal_header) == _WAL_HEADER:
            return self.wal_header == later.wal_header
        return self == later


class Snapshot:
    """A connection to one state of a database.

    Attributes:
        connection: reads text as :class:`Text`; temporary tables may be made on it.
        torn: whether the database was rewritten so often that no whole copy
            could be had.
        unread: which side file cannot be read and why; empty when all can be.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        state: _State | None,
        *,
        torn: bool,
        unread: str = "",
    ) -> None:
        self.connection = connection
        self.torn = torn
        self.unread = unread
        self._path = path
        self._state = state

    def stale(self) -> bool:
        """Return whether a database that is read in place was rewritten since it was opened."""
        return self._state is not None and _state(self._path) != self._state

    def close(self) -> None:
        """Close the connection; a private copy is gone with it."""
        self.connection.close()


def open_snapshot(path: Path, *, scratch: Path | None = None, copy: bool = False) -> Snapshot:
    """Return a connection to a database as it is now, writing nothing beside it.

    Args:
        path: the database file.
        scratch: where a private copy may be made; the system's place for
            temporary files by default.
        copy: make a copy even where the database could be read in place.

    Raises:
        OSError: the database cannot be read, or not be copied.
        sqlite3.Error: SQLite cannot open it.
    """
    # SQLite keeps side files beside the file a link leads to.
    path = Path(os.path.realpath(path))
    check_regular(path)
    source = _source(path)
    if not copy and not source.wal_size and source.journal is None:
        state = _settled(path)
        if _source(path) == source._replace(main=state):
            return Snapshot(path, _connect(path), state, torn=False, unread=source.unread)
    return _copied(path, scratch, source.unread)


def side_files(path: Path) -> Iterator[Path]:
    """Yield the paths of a database's write-ahead log and rollback journal."""
    for ending in ("-wal", "-journal"):
        yield path.with_name(path.name + ending)


def _copied(path: Path, scratch: Path | None, unread: str) -> Snapshot:
    folder = Path(tempfile.mkdtemp(prefix="agentsession-", dir=scratch))
    try:
        copy = folder / "copy.db"
        torn = not _copy(path, copy)
        _merge(copy)
        connection = _connect(copy)
        # SQLite opens the file lazily; it must be open before it loses its name.
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA schema_version").fetchone()
        if os.name != "posix":
            # A file in use keeps its name there, so that it goes with the connection.
            return _Kept(path, connection, folder, torn=torn, unread=unread)
        return Snapshot(path, connection, None, torn=torn, unread=unread)
    finally:
        if os.name == "posix":
            shutil.rmtree(folder, ignore_errors=True)


class _Kept(Snapshot):
    """A snapshot whose copy has to be removed when it is closed."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        folder: Path,
        *,
        torn: bool,
        unread: str = "",
    ) -> None:
        super().__init__(path, connection, None, torn=torn, unread=unread)
        self._folder = folder

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _copy(path: Path, copy: Path) -> bool:
    """Copy a database and its side files; return whether they belong together."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(0.02 * 2**attempt)
        _settled(path)
        before = _source(path)
        _copy_file(path, copy)
        for side, target in zip(side_files(path), side_files(copy), strict=True):
            target.unlink(missing_ok=True)
            # One that cannot be read counts as not there.
            with suppress(OSError if before.unread else FileNotFoundError):
                _copy_file(side, target)
        if before.held(_source(path)):
            return True
    return False


def _copy_file(path: Path, copy: Path) -> None:
    # Not shutil.copyfile: it copies nothing of a file that is larger than its size said.
    with open_regular(path) as source, copy.open("wb") as target:
        while chunk := source.read(_CHUNK):
            target.write(chunk)


def _merge(copy: Path) -> None:
    """Put the rows of a copy's side files into the copy itself."""
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(f"file:{quote(os.fsencode(copy))}?mode=rw", uri=True)
        try:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    name = quote(os.fsencode(path.absolute()))
    connection = sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)
    connection.text_factory = Text
    connection.isolation_level = None
    # Goes on where a file is shorter than its header says, or a table's own
    # definition is damaged; the connection cannot write in any case.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("PRAGMA temp_store = FILE")
    return connection


def _source(path: Path) -> _Source:
    wal, journal = side_files(path)
    header, size, unread = b"", 0, ""
    try:
        with open_regular(wal) as file:
            header = file.read(_WAL_HEADER)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        unread = _unread(wal, error)
    found = _state(journal)
    try:
        open_regular(journal).close()
    except OSError as error:
        unread, found = unread or _unread(journal, error), None
    return _Source(_state(path), header, size, found if found and found.size else None, unread)


def _unread(side: Path, error: OSError) -> str:
    """Return what is to be told of a side file that cannot be opened; nothing of none."""
    if isinstance(error, FileNotFoundError) and not side.is_symlink():
        return ""
    return f"{side.name}, which belongs to it, cannot be read: {reason(error)}"


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _State(found.st_ino, found.st_size, found.st_mtime_ns)


def _settled(path: Path) -> _State | None:
    """Return a file's state once a later write would show in its time, or after a moment."""
    state = _state(path)
    if state is not None and 0 <= time.time_ns() - state.modified < _TICK:
        time.sleep(_TICK / 1e9)
        state = _state(path)
    return state
