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
from types import TracebackType
from typing import Self

from agentsession import forks
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, ReadOnly, StoreFailed
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores import sqlite_listing
from agentsession.stores.base import ListFilter, Put, Summary
from agentsession.stores.layout import shown
from agentsession.stores.locks import LockHolder, StaleLockReport
from agentsession.stores.slots import Slot, Slots
from agentsession.stores.sqlite_errors import failing, failure
from agentsession.stores.sqlite_scan import Rows
from agentsession.stores.sqlite_sessions import Held, Sessions, abandon

BUSY_SECONDS = 5.0
"""How long a store waits for another process that writes to the same database."""

_RELEASED = "was released by its store; open it again to append to it"
_DELETED = "was deleted from its store"


class SQLiteStore:
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
    ) -> None:
        self.database = Path(path)
        self._read_only = read_only
        self._closed = False
        self._slots: Slots[Held] = Slots()
        _check_path(self.database, read_only=read_only)
        with self._failing("open the store"):
            self._sessions = Sessions(
                self.database,
                read_only=read_only,
                full_sync=full_sync,
                busy_seconds=busy_seconds,
                report=on_stale_lock,
            )
        self._end = weakref.finalize(self, abandon, self._sessions)

    def __repr__(self) -> str:
        mode = ", read_only=True" if self._read_only else ""
        return f"SQLiteStore({str(self.database)!r}{mode})"

    @property
    def read_only(self) -> bool:
        """Whether the store refuses every write."""
        return self._read_only

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
            slot.let_go(_DELETED, keep_lock=True)
            slot.file, slot.refusal = held, None
            self._bind(session)
        return session

    def open(self, session_id: str) -> Session:
        """Return a session; the same object as long as it is open here.

        Spec: stores 5.4.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another process, or another store object, holds it, or took
                it away and it was not released since.
            ConcurrentWriter: when another writer was noticed and it was not released since.
            DamagedFile, DuplicateEntry, NoEntry, UnsupportedFormat: when it cannot be read.
            StoreFailed: when the storage fails.
        """
        self._check_id(session_id)
        with self._slot(session_id) as slot:
            if self._read_only:
                return self._reader(slot, session_id)
            return self._opened(slot, session_id).session

    def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry, opening the session when need be; return the entry's id.

        Spec: stores 5.4.

        Raises:
            NoSession, SessionLocked, ConcurrentWriter, StoreFailed: as :meth:`open`.
            InvalidEntry, DuplicateEntry, NoEntry: as :meth:`agentsession.Session.append`.
            ReadOnly: in a read-only store.
        """
        # What is no id at all has no slot, and is refused below.
        slot = self._slots.find(session_id) if isinstance(session_id, str) else None
        if slot is not None:
            # Of an open session the lock itself is all that an append has to hold.
            with slot.lock:
                held = slot.file
                if (
                    held is not None
                    and slot.refusal is None
                    and not held.is_unsure
                    and not self._closed
                ):
                    return self._append(slot, held, entry)
        self._refuse_write("append", session_id)
        self._check_id(session_id)
        with self._slot(session_id) as slot:
            return self._append(slot, self._opened(slot, session_id), entry)

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
        yield from sqlite_listing.list_sessions(self._sessions, self.database, asked)

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
            slot.let_go(_DELETED, keep_lock=True)

    # What copies whole sessions.

    def put(self, session: Session) -> Put:
        """Store a session's lines as they are, whole or not at all; return what was done.

        Spec: decision B3.

        Raises:
            SessionExists: when the store has another session of that id.
            SessionLocked: when another process, or another store object, holds it.
            ReadOnly, StoreFailed: when the store cannot take it.
        """
        self._refuse_write("store", session.id)
        with self._slot(session.id) as slot, self._failing("store", session.id):
            slot.refusal = None
            slot.let_go(_RELEASED)
            return self._sessions.put(session)

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
            slot.let_go(_RELEASED, keep_lock=True)
            # Also when it is not open: an append that failed leaves the hold.
            if _is_id(session_id):
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
                slot.let_go(_RELEASED, keep_lock=True)
        if self._end.detach() is not None:
            with self._failing("close the store"):
                self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def lock_holder(self, session_id: str) -> LockHolder | None:
        """Return who holds a session, this store included; ``None`` when nobody does.

        A session that is not there is held by nobody.

        Spec: stores 5.3.
        """
        self._check_open()
        if not _is_id(session_id):
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
        if not _is_id(session_id):
            return
        with self._failing("break the lock of", session_id):
            self._sessions.break_lock(session_id)

    # Opening and appending.

    def _slot(self, session_id: str) -> AbstractContextManager[Slot[Held]]:
        return self._slots.use(session_id, self._check_open)

    def _opened(self, slot: Slot[Held], session_id: str) -> Held:
        _drop_unsure(slot)
        if slot.refusal is not None:
            raise slot.refusal()
        if slot.file is None:
            with self._failing("open", session_id):
                slot.file = self._sessions.open(session_id)
            self._bind(slot.file.session)
        return slot.file

    def _reader(self, slot: Slot[Held], session_id: str) -> Session:
        if slot.reader is None:
            with self._failing("open", session_id):
                slot.reader, _ = self._sessions.load(session_id)
            slot.reader.bind(
                None, read_only=f"session {shown(session_id)} was opened by a read-only store"
            )
        return slot.reader

    def _bind(self, session: Session) -> None:
        """Make ``session.append`` this store's, for as long as it is the session open here."""
        session_id = session.id

        def append(entry: Entry) -> str:
            slot = self._slots.find(session_id)
            if slot is not None:
                with slot.lock:
                    held = slot.file
                    if (
                        held is not None
                        and held.session is session
                        and not held.is_unsure
                        and not self._closed
                    ):
                        return self._append(slot, held, entry)
            with self._slot(session_id) as slot:
                if slot.file is None or slot.file.session is not session:
                    raise ReadOnly(f"session {shown(session_id)} {_RELEASED}")
                _drop_unsure(slot)
            # It was bound anew, to what says why it was dropped.
            return session.append(entry)

        session.bind(append)

    def _append(self, slot: Slot[Held], held: Held, entry: Entry) -> str:
        session = held.session
        sealed = session.prepare(entry)
        if session.holds(sealed):
            return sealed.id
        try:
            self._sessions.append(held, sealed)
        except BaseException as error:
            failed = failure(error, "append to", session.id, self.database)
            # Memory and database may differ.
            self._slots.drop(session.id, slot, failed or error)
            if failed is None:
                raise
            raise failed from error
        return sealed.id

    def _origin(self, session_id: str) -> Session:
        """Return a session to fork from; it is read and not held."""
        self._check_id(session_id)
        with self._slot(session_id) as slot, self._failing("read", session_id):
            _drop_unsure(slot)
            if slot.file is not None:
                return slot.file.session
            return self._sessions.load(session_id)[0]

    # Errors.

    def _failing(self, what: str, session_id: str = "") -> AbstractContextManager[None]:
        return failing(what, session_id, self.database)

    def _check_id(self, session_id: str) -> None:
        if not _is_id(session_id):
            raise self._sessions.none(session_id)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailed(
                f"the store at {self.database} is closed; make a new one", path=self.database
            )

    def _refuse_write(self, what: str, session_id: str = "") -> None:
        if self._read_only:
            which = f" {shown(session_id)}" if session_id else ""
            raise ReadOnly(
                f"cannot {what}{which}: the store at {self.database} was opened read-only"
            )


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


def _drop_unsure(slot: Slot[Held]) -> None:
    """Drop a session whose last append was interrupted where not even that was noted."""
    if slot.file is not None and slot.file.is_unsure:
        slot.drop(StoreFailed("it was interrupted", session_id=slot.file.session.id))


def _is_id(session_id: object) -> bool:
    """Whether a value can be the id of a row."""
    if not isinstance(session_id, str):
        return False
    try:
        session_id.encode()
    except UnicodeEncodeError:
        return False
    return True
