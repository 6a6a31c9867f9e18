"""What a SQLite store does to its database, each operation in one transaction.

Spec: stores 5.3 and 5.4.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar, TypeVarTuple

from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, NoSession, ReadOnly, SessionExists
from agentsession.session import Session
from agentsession.stores import sqlite_rows
from agentsession.stores.base import Put
from agentsession.stores.layout import shown
from agentsession.stores.locks import LockHolder, StaleLockReport
from agentsession.stores.sqlite_database import Database, refuse_foreign
from agentsession.stores.sqlite_holders import Holders, break_hold, has_session, holder_of
from agentsession.stores.sqlite_reading import ReadOnlyDatabase
from agentsession.stores.sqlite_scan import Rows
from agentsession.stores.sqlite_schema import Tables
from agentsession.timestamp import Timestamp, now_sql

T = TypeVar("T")
Given = TypeVarTuple("Given")

_ROWS_OF_A_SESSION: Final = (("holders", "session_id"), ("entries", "session_id"))


class Held:
    """A session that is open for writing, and held.

    Attributes:
        session: the session in memory.
        session_id: its id.
        last: the ``seq`` of its last entry.
        is_unsure: whether an append was begun and did not come to its end, so that the
            database may have more than the session.
    """

    __slots__ = ("_sessions", "is_unsure", "last", "session", "session_id")

    def __init__(self, session: Session, last: int, sessions: Sessions) -> None:
        self.session = session
        self.session_id = session.id
        self.last = last
        self.is_unsure = False
        self._sessions = sessions

    def close(self, *, keep_lock: bool = False) -> None:
        """Let others have the session, unless its row is gone or all holds go together."""
        if not keep_lock:
            self._sessions.let_go(self.session_id)

    def drop(self) -> None:
        """Do nothing: the hold stays, and the next open here finds it."""


class Sessions:
    """The sessions in a database, and which of them one store object holds.

    Args:
        path: the database.
        read_only: read it only.
        full_sync: sync every commit.
        busy_seconds: how long to wait for another process that writes.
        report: called with the old holder when a stale hold was taken over.
        allow_newer: read minor versions this release does not know.

    Raises:
        DamagedFile: when it is a database of something else, which is left as it is.
        OSError, sqlite3.Error: when it cannot be made or opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool,
        full_sync: bool,
        busy_seconds: float,
        report: StaleLockReport | None,
        allow_newer: bool = False,
    ) -> None:
        self._path = path
        self._allow_newer = allow_newer
        self._report = report
        self._writer: Database | None = None
        self._reader: Database | ReadOnlyDatabase
        if read_only:
            refuse_foreign(path, busy_seconds=busy_seconds)
            self._reader = ReadOnlyDatabase(path, busy_seconds=busy_seconds)
        else:
            self._reader = self._writer = Database(
                path, busy_seconds=busy_seconds, full_sync=full_sync
            )
        self._holders = Holders()

    def _write(self, work: Callable[[sqlite3.Connection, *Given], T], *given: *Given) -> T:
        if self._writer is None:
            raise self._read_only()
        return self._writer.write(work, *given)

    def _read_only(self) -> ReadOnly:
        return ReadOnly(f"the store at {self._path} was opened read-only")

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what work gives for a connection that reads."""
        return self._reader.read(work)

    def _find(self, work: Callable[[sqlite3.Connection], T | None]) -> T | None:
        """What work finds; nothing where a database that is only read lacks its tables."""
        if self._writer is not None:
            return self.read(work)
        return self.read(lambda found: work(found) if Tables.of(found).is_readable else None)

    def create(self, session: Session) -> Held:
        """Insert a session, with the entries it starts with, and hold it.

        Raises:
            SessionExists: when its id is taken.
        """

        def work(connection: sqlite3.Connection) -> None:
            sqlite_rows.insert_session(connection, session)
            if len(session):
                # A fork starts with the path to its base.
                sqlite_rows.insert_rest(connection, session, 0)
            self._holders.claim(connection, session.id)

        self._write(work)
        return Held(session, len(session), self)

    def open(self, session_id: str) -> Held:
        """Hold a session and read it; when it cannot be read it is not held.

        Raises:
            NoSession: when it is not there. SessionLocked: when another holds it.
            AgentSessionError: when it cannot be read.
        """
        stale = self._write(lambda connection: self._claim(connection, session_id))
        try:
            self._tell(stale)
            session, last = self.load(session_id)
        except BaseException:
            with contextlib.suppress(sqlite3.Error, AgentSessionError):
                self.let_go(session_id)
            raise
        return Held(session, last, self)

    def _claim(self, connection: sqlite3.Connection, session_id: str) -> LockHolder | None:
        if not has_session(connection, session_id):
            raise self.none(session_id)
        return self._holders.claim(connection, session_id)

    def _tell(self, stale: LockHolder | None) -> None:
        if stale is not None and self._report is not None:
            self._report(stale)

    def load(self, session_id: str) -> tuple[Session, int]:
        """Return a session and its last ``seq``.

        Raises:
            NoSession: when it is not there.
            AgentSessionError: when it cannot be read.
        """
        found = self._find(
            lambda connection: sqlite_rows.load(
                connection, session_id, self._path, allow_newer=self._allow_newer
            )
        )
        if found is None:
            raise self.none(session_id)
        return found

    def append(self, held: Held, sealed: Entry) -> None:
        """Commit an entry that is sealed, then take it into the session.

        Spec: stores 5.4; later drafts 13 for a header that is raised with it.

        Raises:
            SessionLocked: when the hold was lost.
            ConcurrentWriter: when another appended, or took away what it comes after.
            StoreFailed: when the file of the database was taken away.
        """
        writer = self._writer
        if writer is None:
            raise self._read_only()
        held.is_unsure = True
        writer.write(self._append, held, sealed)
        held.session.commit(sealed)
        held.last += 1
        held.is_unsure = False

    def _append(self, connection: sqlite3.Connection, held: Held, sealed: Entry) -> None:
        session, session_id, now = held.session, held.session_id, now_sql(time.time_ns())
        ids, parent = session._rows.ids, sealed.parent
        last = ids[-1] if ids else None
        if not self._holders.beat(connection, session_id, now, last) and last is not None:
            raise sqlite_rows.taken_away(session_id, last)
        if parent is not None and parent != last:
            sqlite_rows.check_entry(connection, session_id, parent)
        raised = session.raised_header()
        if raised is not None:
            sqlite_rows.replace_header(connection, raised)
        sqlite_rows.insert_entry(connection, session_id, held.last + 1, sealed, now)

    def delete(self, session_id: str) -> None:
        """Remove a session with its entries and its hold.

        Raises:
            NoSession: when it is not there. SessionLocked: when another holds it.
        """

        def work(connection: sqlite3.Connection) -> LockHolder | None:
            stale = self._claim(connection, session_id)
            for table, column in (*_ROWS_OF_A_SESSION, ("sessions", "id")):
                connection.execute(
                    f"DELETE FROM {table} WHERE {column} = ?",  # noqa: S608 - fixed names
                    (session_id,),
                )
            return stale

        self._tell(self._write(work))

    def put(self, session: Session, *, modified_ns: int | None = None) -> Put:
        """Insert what is missing of a session, which is not held afterwards.

        What is inserted was last written to at the time given, or now.

        Raises:
            SessionExists: when what is there is not its beginning.
            SessionLocked: when another holds it.
        """

        def work(connection: sqlite3.Connection) -> tuple[Put, LockHolder | None]:
            there = sqlite_rows.shared(connection, session)
            if there == sqlite_rows.OTHER:
                raise SessionExists(
                    f'session "{shown(session.id)}" is in the store and is not the beginning '
                    "of this one",
                    session_id=session.id,
                )
            if there == len(session):
                return Put.PRESENT, None
            if there == sqlite_rows.ABSENT:
                sqlite_rows.insert_session(connection, session)
            stale = self._holders.claim(connection, session.id)
            sqlite_rows.insert_rest(connection, session, max(there, 0), modified_ns)
            self._holders.release(connection, session.id)
            return Put.CREATED if there == sqlite_rows.ABSENT else Put.EXTENDED, stale

        done, stale = self._write(work)
        self._tell(stale)
        return done

    def content(self, session_id: str) -> Rows:
        """Return the lines of a session, whatever they are, and which are lost.

        Raises:
            NoSession: when it is not there.
        """
        found = self._find(lambda connection: sqlite_rows.content(connection, session_id))
        if found is None:
            raise self.none(session_id)
        return found

    def modified_ns(self, session_id: str) -> int | None:
        """Return when a session was last written to; ``None`` when its row does not say.

        Raises:
            NoSession: when it is not there.
        """
        found = self._find(lambda connection: sqlite_rows.updated_at(connection, session_id))
        if found is None:
            raise self.none(session_id)
        try:
            return Timestamp.parse(found).nanoseconds
        except ValueError:
            return None

    def holds(self, session: Session) -> bool:
        """Return whether exactly the lines of a session are there."""
        found = self._find(lambda connection: sqlite_rows.shared(connection, session))
        return found == len(session)

    def let_go(self, session_id: str) -> None:
        """Let others have a session, if it is held here."""
        # A forked child must not end what its parent holds.
        if self._writer is not None and not self._writer.is_inherited:
            self._write(lambda connection: self._holders.release(connection, session_id))

    def holder(self, session_id: str) -> LockHolder | None:
        """Return who holds a session."""
        return self._find(lambda connection: holder_of(connection, session_id))

    def break_lock(self, session_id: str) -> None:
        """Remove the hold on a session, whoever has it."""
        self._write(lambda connection: break_hold(connection, session_id))

    def close(self) -> None:
        """Release what is held, and close all connections.

        Raises:
            sqlite3.Error: when that cannot be written; all is closed all the same.
            StoreFailed: when the file was taken away.
        """
        try:
            if self._writer is not None and not self._writer.is_inherited:
                self._writer.check_file()
                self._write(self._holders.release_all)
        finally:
            self._holders.end()
            self._reader.close()

    def none(self, session_id: str) -> NoSession:
        """Return the error for a session that is not there."""
        return NoSession(
            f'{self._path} has no session "{shown(session_id)}"', session_id=str(session_id)
        )


def abandon(sessions: Sessions) -> None:
    """Close what a store left behind when it was collected, or when the interpreter ends."""
    with contextlib.suppress(sqlite3.Error, AgentSessionError, OSError):
        sessions.close()
