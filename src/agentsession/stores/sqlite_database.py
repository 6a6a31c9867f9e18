"""The connections of a SQLite store that writes: one for writing, some for reading.

Settings: WAL, ``synchronous`` NORMAL or FULL, foreign keys on, a busy timeout. Every write
is an immediate transaction of the one writing connection.

Spec: stores 5.1 and 5.2.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar, TypeVarTuple

from agentsession.errors import StoreFailed
from agentsession.stores import files
from agentsession.stores.sqlite_errors import code_of
from agentsession.stores.sqlite_reading import ReadOnlyDatabase, Work, connect
from agentsession.stores.sqlite_schema import Tables, make_current

T = TypeVar("T")
Given = TypeVarTuple("Given")

_OLDEST: Final = (3, 37, 0)
_READERS: Final = 4
LOOK_SECONDS: float = 0.001
"""How long a look at the file is good for, so that appends in a row do not each pay for one."""


class Database:
    """The database of a store that writes; made when it is not there.

    Threads may share it. A forked child gets connections of its own.

    Args:
        path: the file; its directory must exist.
        busy_seconds: how long to wait for another process that writes.
        full_sync: sync the log at every commit.

    Spec: stores 5.1 and 5.2.

    Raises:
        DamagedFile: when it is a database of something else; it is left as it is.
        OSError, sqlite3.Error: when it cannot be made or opened.
    """

    _writer: sqlite3.Connection | None

    def __init__(self, path: Path, *, busy_seconds: float, full_sync: bool) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreFailed(
                f"the SQLite of this Python is {sqlite3.sqlite_version}; a store needs 3.37 or "
                "later",
                path=path,
            )
        self._path = path
        # Relative paths are those of the directory the process was in at the start.
        self._file = path.absolute()
        self._busy_seconds = busy_seconds
        self._synchronous = "FULL" if full_sync else "NORMAL"
        self._inherited: list[sqlite3.Connection] = []
        self._closed = False
        self._start()
        refuse_foreign(path, busy_seconds=busy_seconds)
        _make_file(path)
        if not os.access(path, os.W_OK):
            # SQLite would open it all the same and fail at the first write.
            raise PermissionError(errno.EACCES, "it cannot be written; open it read-only")
        self._writer = self._prepared()
        self._identity = _identity(self._file)

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._writer = None
        self._idle: list[sqlite3.Connection] = []
        self._looked = 0.0

    def _prepared(self) -> sqlite3.Connection:
        connection = self._connected()
        try:
            _use_wal(connection, self._busy_seconds)
            make_current(connection, self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self) -> sqlite3.Connection:
        connection = connect(self._file, "mode=rw", self._busy_seconds)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            self._leave_parent()

    def _leave_parent(self) -> None:
        # Connections do not outlive a fork; closing the parent's here could harm it.
        inherited = [*self._idle, *([self._writer] if self._writer else [])]
        self._start()
        self._inherited += inherited

    def write(self, work: Callable[[sqlite3.Connection, *Given], T], *given: *Given) -> T:
        """Return what work gives for the writing connection, in a transaction.

        The rest of what work takes follows it.

        It is committed when work returns, and taken back whatever else ends it. The blocks
        are those of the lock and of the connection, which no signal can come between.

        Raises:
            sqlite3.Error: when it cannot be begun or committed; then nothing was changed.
            StoreFailed: when the store was closed, or its file was taken away.
        """
        if os.getpid() != self._pid:
            self._leave_parent()
        with self._lock:
            connection = self._writer
            if connection is None:
                self._check_open()
                self.check_file()
                connection = self._writer = self._connected()
            elif time.monotonic() - self._looked > LOOK_SECONDS:
                self.check_file()
            if connection.in_transaction:
                connection.rollback()  # an interrupt left it open
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                result = work(connection, *given)
                # By a statement that is kept; that of the block is prepared anew each time.
                connection.execute("COMMIT")
                return result

    def check_file(self) -> None:
        """Refuse a database whose file is no longer at its path.

        SQLite would go on writing to it, and what it wrote would be gone with the process.

        Raises:
            StoreFailed: saying whether it was removed or replaced.
        """
        found = _identity(self._file)
        if found != self._identity:
            change = "removed" if found is None else "replaced by another file"
            raise StoreFailed(
                f"the database {self._path} was {change} while it was open, and what was "
                "appended last may be gone with it; make a new store",
                path=self._path,
                errno=errno.ENOENT if found is None else errno.ESTALE,
            )
        self._looked = time.monotonic()

    def read(self, work: Work[T]) -> T:
        """Return what work gives for a connection, whose reads are of one moment.

        Raises:
            sqlite3.Error: when the database cannot be read.
            AgentSessionError: what work raises.
            StoreFailed: when the store was closed.
        """
        connection = self._borrowed()
        try:
            with connection:
                connection.execute("BEGIN")
                result = work(connection)
                connection.rollback()
                return result
        finally:
            self._give_back(connection)

    def _borrowed(self) -> sqlite3.Connection:
        self._check_process()
        with self._lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()
        connection = self._connected()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        # A reader in a transaction would go on reading what was there when it began.
        if connection.in_transaction:
            connection.rollback()
        with self._lock:
            if not self._closed and len(self._idle) < _READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailed(f"the store at {self._path} is closed; make a new one")

    @property
    def is_inherited(self) -> bool:
        """Whether it was opened by the process this one was forked from."""
        return os.getpid() != self._pid

    def close(self) -> None:
        """Close all connections. The last one to close puts the log into the database."""
        self._check_process()
        with self._lock:
            self._closed = True
            readers, self._idle = self._idle, []
            writer, self._writer = self._writer, None
        for reader in readers:
            reader.close()
        if writer is not None:
            try:
                # Statistics for the planner: worth having, and never worth failing for.
                with contextlib.suppress(sqlite3.OperationalError):
                    writer.execute("PRAGMA optimize")
            finally:
                writer.close()


def refuse_foreign(path: Path, *, busy_seconds: float) -> None:
    """Refuse a database of something else, without a change to it or its side files.

    Raises:
        DamagedFile: saying which tables it has.
        sqlite3.DatabaseError: when it is no database at all.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    reader = ReadOnlyDatabase(path, busy_seconds=busy_seconds)
    try:
        reader.read(Tables.of).check(path)
    finally:
        reader.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from others; ``None`` when there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _make_file(path: Path) -> None:
    """Make an empty file for a new database, which nobody else may read."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, files.FILE_MODE))


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch a database to WAL, which SQLite does not wait for by itself."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreFailed(
                f"the file system cannot hold a SQLite database with a write-ahead log ({mode})"
            )
        return
