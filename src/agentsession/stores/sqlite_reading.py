"""A SQLite database that is only read: nothing is written to it, nor beside it.

There are three ways, and the first that fits is taken.

In place: nobody writes, so all rows are in the database itself. It is read without locks
(``immutable=1``), and what was read counts only if nothing changed meanwhile.

Beside a writer: its ``-wal`` and ``-shm`` files are there, and SQLite reads along with them.

In a private copy: the ``-wal`` is there alone, as after a backup or a crash, or the side
files cannot be used, as on a read-only file system. Database and log are copied to a
temporary place of this user. All that a checkpoint may write into the database meanwhile
comes from frames that stay in the log until it starts again under a new header; so a copy
taken in this order is whole when that header is the same before and after.

Spec: stores 5.4, decision B3, style facts 8.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from agentsession.errors import AgentSessionError, StoreFailed
from agentsession.stores.sqlite_errors import code_of

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_TRIES: Final = 8
_WAL_HEADER: Final = 32
# File times may be as coarse as a kernel tick: what was written this recently (in
# nanoseconds) could be written again without a new time.
_TICK: Final = 20_000_000
_SIDE_FILES_UNUSABLE: Final = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}
)


class _State(NamedTuple):
    """What tells that a file was rewritten."""

    inode: int
    size: int
    modified: int


class _Files(NamedTuple):
    """The files of a database at one moment; ``None`` for one that is not there."""

    main: _State | None
    wal_header: bytes
    wal_size: int
    journal: _State | None
    has_index: bool

    @classmethod
    def of(cls, path: Path) -> _Files:
        header, size = b"", 0
        with contextlib.suppress(OSError), _side(path, "-wal").open("rb") as file:
            header = file.read(_WAL_HEADER)
            size = os.fstat(file.fileno()).st_size
        journal = _state(_side(path, "-journal"))
        return cls(
            _state(path),
            header,
            size,
            journal if journal and journal.size else None,
            _side(path, "-shm").exists(),
        )

    @property
    def is_alone(self) -> bool:
        """Whether all rows are in the database itself."""
        return not self.wal_size and self.journal is None

    @property
    def may_be_shared(self) -> bool:
        """Whether SQLite finds the side files it needs, so that it makes none."""
        return (self.wal_size > 0 and self.has_index) or self.journal is not None

    def held(self, later: _Files) -> bool:
        """Return whether a copy made between this moment and a later one is whole."""
        if len(self.wal_header) == _WAL_HEADER:
            return self.wal_header == later.wal_header
        return self[:4] == later[:4]


class ReadOnlyDatabase:
    """Reads a database, a new connection each time.

    Args:
        path: the database.
        busy_seconds: how long to wait for another process.

    Spec: decision B3.
    """

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        # SQLite keeps side files beside the file a link leads to.
        self._path = Path(os.path.realpath(path))
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._folder: str | None = None
        self._copied: _Files | None = None

    def read(self, work: Work[T]) -> T:
        """Return what work gives for a connection to the database as it is now.

        It may be called several times, and must not change anything.

        Raises:
            sqlite3.Error: when the database cannot be read.
            AgentSessionError: what work raises.
            StoreFailed: when the database changes faster than it can be read.
        """
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.01 * 2**attempt)
            files = _settled(self._path)
            done: tuple[T, ...] = ()
            if files.is_alone:
                done = self._in_place(work, files)
            elif files.may_be_shared:
                done = self._beside_a_writer(work)
            if done:
                return done[0]
            if not files.is_alone:
                return self._in_copy(work)
        raise StoreFailed(
            f"{self._path} changes faster than it can be read; try again", path=self._path
        )

    def _in_place(self, work: Work[T], before: _Files) -> tuple[T, ...]:
        try:
            with _connected(self._path, "mode=ro&immutable=1", self._busy_seconds) as connection:
                result = work(connection)
        except (sqlite3.Error, AgentSessionError):
            if self._is_unchanged(before):
                raise
            return ()
        return (result,) if self._is_unchanged(before) else ()

    def _is_unchanged(self, before: _Files) -> bool:
        now = _Files.of(self._path)
        return now.is_alone and now.main == before.main

    def _beside_a_writer(self, work: Work[T]) -> tuple[T, ...]:
        try:
            with _connected(self._path, "mode=ro", self._busy_seconds) as connection:
                return (work(connection),)
        except sqlite3.Error as error:
            if code_of(error) not in _SIDE_FILES_UNUSABLE:
                raise
            return ()

    def _in_copy(self, work: Work[T]) -> T:
        with self._lock:
            copy = self._copy()
            with _connected(copy, "mode=rw", self._busy_seconds) as connection:
                return work(connection)

    def _copy(self) -> Path:
        """The private copy, made again when the database was changed."""
        folder = self._folder
        if folder is None:
            folder = self._folder = tempfile.mkdtemp(prefix="agentsession-")
        copy = Path(folder) / "copy.db"
        if self._copied == _Files.of(self._path):
            return copy
        self._copied = None
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.01 * 2**attempt)
            before = _settled(self._path)
            for ending in ("", "-wal", "-journal", "-shm"):
                _side(copy, ending).unlink(missing_ok=True)
            shutil.copyfile(self._path, copy)
            for ending in ("-wal", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(_side(self._path, ending), _side(copy, ending))
            if before.held(_Files.of(self._path)):
                self._copied = before
                return copy
        raise StoreFailed(
            f"{self._path} changes faster than it can be copied; try again", path=self._path
        )

    def close(self) -> None:
        """Remove the private copy, if there is one."""
        folder, self._folder, self._copied = self._folder, None, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def connect(path: Path, options: str, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection to a database, by the options of its address.

    Transactions are begun by hand; text that is not UTF-8 is read with U+FFFD.

    Raises:
        sqlite3.Error: when it cannot be opened.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.text_factory = _text
    return connection


@contextlib.contextmanager
def _connected(path: Path, options: str, busy_seconds: float) -> Iterator[sqlite3.Connection]:
    connection = connect(path, options, busy_seconds)
    try:
        # What is read in several steps is of one moment.
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _side(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _State(found.st_ino, found.st_size, found.st_mtime_ns)


def _settled(path: Path) -> _Files:
    """The files of a database once a later write would show in their times."""
    files = _Files.of(path)
    if files.main is not None and 0 <= time.time_ns() - files.main.modified < _TICK:
        time.sleep(_TICK / 1e9)
        files = _Files.of(path)
    return files
