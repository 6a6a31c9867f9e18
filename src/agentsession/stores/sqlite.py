"""Sessions in one SQLite database.

What a session in memory holds, the database has been given: an entry is committed before
the session takes it. When a write fails the session in memory is dropped, and the next
open reads what is there.

Spec: stores 5, decisions A5 and B3.
"""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from agentsession import forks
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, DamagedFile, StoreFailed
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores import sqlite_listing
from agentsession.stores.base import ListFilter, Put, Summary
from agentsession.stores.holding import DELETED, RELEASED, HoldingStore
from agentsession.stores.layout import shown
from agentsession.stores.locks import LockHolder, StaleLockReport
from agentsession.stores.sqlite_errors import failing, failure
from agentsession.stores.sqlite_scan import Rows
from agentsession.stores.sqlite_sessions import Held, Sessions, abandon

BUSY_SECONDS = 5.0
"""How long a store waits for another process that writes to the same database."""


class SQLiteStore(HoldingStore[Held]):
    """A SQLite database of sessions; a row says who holds each one that is open.

    Args:
        path: the database; it is made when it is not there, its directory is not.
        read_only: make and change nothing, and refuse every write. Sessions that other
            processes write to can be read; ``release`` and ``open`` show what is new.
        on_stale_lock: called with the old holder when the hold of a process that is gone
            was taken over. It must not call the store.
        full_sync: sync every append to the device. Without it, what a process was told is
            stored survives that process, but a power cut may take the last appends back.
        busy_seconds: how long to wait for another process that writes.
        allow_newer: read, and list, sessions of minor versions this release does not know,
            keeping what is unknown. They take no entries here.

    Attributes:
        database: the path of the database.

    Spec: stores 5.

    Raises:
        DamagedFile: when it is a database of something else, which is left as it is.
        StoreFailed: when it cannot be made or opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        on_stale_lock: StaleLockReport | None = None,
        full_sync: bool = False,
        busy_seconds: float = BUSY_SECONDS,
        allow_newer: bool = False,
    ) -> None:
        self.database = Path(path)
        super().__init__(self.database, read_only=read_only, allow_newer=allow_newer)
        _check_path(self.database, read_only=read_only)
        with self._failing("open the store"):
            self._sessions = Sessions(
                self.database,
                read_only=read_only,
                full_sync=full_sync,
                busy_seconds=busy_seconds,
                report=on_stale_lock,
                allow_newer=allow_newer,
            )
        self._end = weakref.finalize(self, abandon, self._sessions)

    # The contract of every store.

    def create(self, header: Header | None = None) -> Session:
        """Return a new session, its row committed.

        Spec: stores 5.4.

        Raises:
            SessionExists: when the id is in the store.
            InvalidEntry: when the header cannot be written.
            UnsupportedFormat: when it asks for a format that is not written here.
            NoEntry, NoSession: when it names a base that is not in the store.
            ReadOnly, StoreFailed: when nothing can be written.
        """
        self._refuse_write("create a session")
        session = forks.new_session(header, self._origin)
        with self._slot(session.id) as slot, self._failing("create", session.id):
            held = self._sessions.create(session)
            # Whatever was open here under this id was deleted by another store meanwhile.
            slot.let_go(DELETED, keep_lock=True)
            slot.file, slot.refusal = held, None
            self._bind(session)
        return session

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        """Yield the sessions, newest first, and then an error for each row not readable.

        Names and successors are always filled; sizes only for ``with_sizes``, because they
        cost reading every line.

        Spec: stores 5.4, decision B3.
        """
        self._check_open()
        return self._listed(filter or ListFilter())

    def _listed(self, asked: ListFilter) -> Iterator[Summary | AgentSessionError]:
        # A generator of the store's own, which keeps the store as long as it is read.
        yield from sqlite_listing.list_sessions(
            self._sessions, self.database, asked, allow_newer=self._allow_newer
        )

    def delete(self, session_id: str) -> None:
        """Remove a session with its entries.

        Spec: stores 5.4.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another process, or another store object, holds it, or took
                it away and it was not released since.
            ConcurrentWriter: when another writer was noticed and it was not released since.
            ReadOnly, StoreFailed: when it cannot be removed.
        """
        self._refuse_write("delete", session_id)
        self._check_id(session_id)
        with self._slot(session_id) as slot, self._failing("delete", session_id):
            if slot.refusal is not None:
                raise slot.refusal()
            self._sessions.delete(session_id)
            slot.let_go(DELETED, keep_lock=True)

    # What copies whole sessions.

    def put(self, session: Session, *, modified_ns: int | None = None) -> Put:
        """Store a session's lines as they are, whole or not at all; return what was done.

        Args:
            session: the session.
            modified_ns: when it was last written to, which its row then says too, in
                nanoseconds since the epoch; now when not given.

        Spec: decision B3.

        Raises:
            SessionExists: when the store has another session of that id.
            SessionLocked: when another process, or another store object, holds it.
            ReadOnly, StoreFailed: when the store cannot take it.
        """
        self._refuse_write("store", session.id)
        with self._slot(session.id) as slot, self._failing("store", session.id):
            slot.refusal = None
            slot.let_go(RELEASED)
            return self._sessions.put(session, modified_ns=modified_ns)

    def content(self, session_id: str) -> bytes:
        """Return the rows of a session as the bytes of a file, readable or not.

        Of a damaged database it is what can be read; :meth:`losses` says what is not.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when the database cannot be read.
        """
        return self._rows(session_id).content

    def losses(self, session_id: str) -> tuple[str, ...]:
        """Return sentences on what :meth:`content` leaves out of a damaged database.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when the database cannot be read.
        """
        return tuple(self._rows(session_id).losses())

    def _rows(self, session_id: str) -> Rows:
        self._check_open()
        self._check_id(session_id)
        with self._failing("read", session_id):
            return self._sessions.content(session_id)

    def holds(self, session: Session) -> bool:
        """Return whether the store has exactly the lines of a session, byte for byte.

        Raises:
            StoreFailed: when the database cannot be read.
        """
        self._check_open()
        with self._failing("compare", session.id):
            return self._sessions.holds(session)

    def modified_ns(self, session_id: str) -> int | None:
        """Return when a session was last written to, in nanoseconds since the epoch.

        ``None`` when its row does not say.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when the database cannot be read.
        """
        self._check_open()
        self._check_id(session_id)
        with self._failing("look at", session_id):
            return self._sessions.modified_ns(session_id)

    # Who holds what.

    def release(self, session_id: str) -> None:
        """Let others have a session; fine when it is not open.

        The session object takes no more entries; the next ``open`` reads the database again
        and gives a new one. A session that was refused here can be opened again.

        Spec: stores 5.3.

        Raises:
            StoreFailed: when the hold cannot be removed; the session is forgotten all the same.
        """
        with self._slot(session_id) as slot, self._failing("release", session_id):
            slot.refusal = None
            slot.let_go(RELEASED, keep_lock=True)
            # Also when it is not open: an append that failed leaves the hold.
            if self._is_id(session_id):
                self._sessions.let_go(session_id)

    def close(self) -> None:
        """Release every session; the store takes no more calls. Closing twice is fine.

        The last store that closes a database puts the write-ahead log into it.

        Raises:
            StoreFailed: when the holds cannot be removed; everything is closed all the same.
        """
        # First the flag: a thread that comes now is refused, one that is at work is waited for.
        self._closed = True
        for session_id in self._slots.ids():
            with self._slots.use(session_id) as slot:
                slot.refusal = None
                slot.let_go(RELEASED, keep_lock=True)
        if self._end.detach() is not None:
            with self._failing("close the store"):
                self._sessions.close()

    def lock_holder(self, session_id: str) -> LockHolder | None:
        """Return who holds a session, this store included; ``None`` when nobody does.

        A session that is not there is held by nobody.

        Spec: stores 5.3.
        """
        self._check_open()
        if not self._is_id(session_id):
            return None
        with self._failing("look at", session_id):
            return self._sessions.holder(session_id)

    def break_lock(self, session_id: str) -> None:
        """Remove the hold on a session, whoever has it.

        Only for a holder that is known to be gone: one that is not, and goes on writing, is
        refused at its next append.

        Spec: stores 5.3.

        Raises:
            ReadOnly, StoreFailed: when it cannot be removed.
        """
        self._refuse_write("break the lock of", session_id)
        self._check_open()
        if not self._is_id(session_id):
            return
        with self._failing("break the lock of", session_id):
            self._sessions.break_lock(session_id)

    # Opening and appending.

    def _hold(self, session_id: str) -> Held:
        return self._sessions.open(session_id)

    def _load(self, session_id: str) -> Session:
        return self._sessions.load(session_id)[0]

    def _store(self, held: Held, sealed: Entry) -> None:
        self._sessions.append(held, sealed)

    # Errors.

    def _failing(self, what: str, session_id: str = "") -> AbstractContextManager[None]:
        return failing(what, session_id, self.database)

    def _append_failure(self, error: BaseException, held: Held) -> DamagedFile | StoreFailed | None:
        return failure(error, "append to", held.session_id, self.database)

    def _is_id(self, session_id: object) -> bool:
        """Whether a value can be the id of a row."""
        if not isinstance(session_id, str):
            return False
        try:
            session_id.encode()
        except UnicodeEncodeError:
            return False
        return True


def _check_path(path: Path, *, read_only: bool) -> None:
    problem, number = "", None
    if "\0" in str(path):
        problem = "its path cannot hold a NUL"
    elif str(path) == ":memory:":
        problem = "a database in memory is not kept; use a MemoryStore"
    elif path.is_dir():
        problem, number = "it is a directory, as a file store has", errno.EISDIR
    elif not path.parent.is_dir():
        problem, number = f"there is no directory {path.parent}", errno.ENOENT
    elif read_only and not path.exists():
        problem, number = "there is no such file", errno.ENOENT
    if problem:
        raise StoreFailed(
            f"cannot open the store at {shown(path)}: {problem}", path=path, errno=number
        )
