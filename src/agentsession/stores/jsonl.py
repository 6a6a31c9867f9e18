"""Sessions kept as files, one JSONL file each.

What a session in memory holds, the disk has been given: an entry is written before the
session takes it. When a write fails the session in memory is dropped, and the next open
reads what is there.

Spec: stores 4, decisions A4, A5 and B.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from agentsession import forks
from agentsession.entries import Entry
from agentsession.errors import (
    AgentSessionError,
    NoSession,
    ReadOnly,
    SessionExists,
    StoreFailed,
)
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores import files, layout, listing, locks
from agentsession.stores.base import ListFilter, Put, Summary
from agentsession.stores.locks import Hold, LockHolder, StaleLockReport
from agentsession.stores.policy import SyncPolicy, failing, failure
from agentsession.stores.sessionfile import SessionFile, complete, load
from agentsession.stores.slots import Slot, Slots

_CREATE_SECONDS = 10.0
_RELEASED = "was released by its store; open it again to append to it"
_DELETED = "was deleted from its store"


class JSONLStore:
    """A directory of session files, with a lock file beside each one that is open.

    Args:
        root: the directory; it is made when it is not there.
        sync: when an append is durable.
        read_only: make nothing, lock nothing, and refuse every write. Sessions that other
            processes write to can be read; ``release`` and ``open`` show what is new.
        on_stale_lock: called with the old holder when the lock of a process that is gone
            was taken over. It must not call the store.

    Attributes:
        root: the directory.

    Spec: stores 4.

    Raises:
        StoreFailed: when the root cannot be made.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        sync: SyncPolicy = SyncPolicy.EVERY_APPEND,
        read_only: bool = False,
        on_stale_lock: StaleLockReport | None = None,
    ) -> None:
        self.root = Path(root)
        self._policy = SyncPolicy(sync)
        self._durable = {SyncPolicy.EVERY_APPEND: True, SyncPolicy.NEVER: False}.get(self._policy)
        self._read_only = read_only
        self._on_stale_lock = on_stale_lock
        self._closed = False
        self._slots: Slots[SessionFile] = Slots()
        self._listed: dict[str, str] = {}
        if "\0" in str(self.root):
            raise StoreFailed("the path of a store cannot hold a NUL")
        if not read_only:
            with failing("make the store", path=self.root):
                files.make_directories(self.root)

    def __repr__(self) -> str:
        mode = ", read_only=True" if self._read_only else ""
        return f"JSONLStore({str(self.root)!r}{mode})"

    @property
    def read_only(self) -> bool:
        """Whether the store refuses every write."""
        return self._read_only

    # The contract of every store.

    def create(self, header: Header | None = None) -> Session:
        """Return a new session, its header durably on disk.

        Spec: stores 4.3.

        Raises:
            SessionExists: when the id is in the store.
            SessionLocked: when another process is creating it.
            InvalidEntry: when the header cannot be written, or its id cannot be a file name.
            UnsupportedFormat: when it asks for a format that is not written here.
            NoEntry, NoSession: when it names a base that is not in the store.
            ReadOnly, StoreFailed: when nothing can be written.
        """
        self._refuse_write("create a session")
        session = forks.new_session(header, self._origin)
        path = layout.place(self.root, session.header)
        # An id made just now is in no store; looking for it would cost a walk each time.
        is_new = header is None or not header.id
        with self._slot(session.id) as slot, failing("create", session.id, path):
            if slot.file is not None:
                raise self._exists(session.id, slot.file.path)
            self._directory(path)
            with contextlib.nullcontext() if is_new else self._one_creator():
                slot.file = self._created(session, path, is_new=is_new)
            self._bind(session)
        return session

    def open(self, session_id: str) -> Session:
        """Return a session; the same object as long as it is open here.

        A last line that was cut short is reported in ``session.truncated`` and stays until
        the first append.

        Spec: stores 4.4.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another process, or another store object, holds it.
            DamagedFile, DuplicateEntry, NoEntry, UnsupportedFormat: when it cannot be read.
            ConcurrentWriter: when another writer was noticed and it was not released since.
            StoreFailed: when the storage fails.
        """
        self._check_id(session_id)
        with self._slot(session_id) as slot:
            if self._read_only:
                return self._reader(slot, session_id)
            return self._opened(slot, session_id).session

    def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry, opening the session when need be; return the entry's id.

        Spec: stores 4.5.

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
                file = slot.file
                if file is not None and slot.refusal is None and not self._closed:
                    return self._append(slot, file, entry)
        self._refuse_write("append", session_id)
        if slot is None:
            self._check_id(session_id)
        with self._slot(session_id) as slot:
            return self._append(slot, self._opened(slot, session_id), entry)

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        """Yield the sessions, newest first, and then an error for each file not readable.

        Names and successors are filled only when the filter asks for ``with_names`` or
        ``current``, because they stand among the entries.

        Spec: stores 4.7.
        """
        self._check_open()
        return self._remembered(listing.list_sessions(self.root, filter or ListFilter()))

    def _remembered(
        self, found: Iterator[Summary | AgentSessionError]
    ) -> Iterator[Summary | AgentSessionError]:
        for item in found:
            if isinstance(item, Summary):
                self._listed[item.id] = item.file
            yield item

    def delete(self, session_id: str) -> None:
        """Remove a session and its lock.

        Spec: stores 4.6.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another process holds it, or took it away and it was not
                released since.
            ConcurrentWriter: when another writer was noticed and it was not released since.
            ReadOnly, StoreFailed: when it cannot be removed.
        """
        self._refuse_write("delete", session_id)
        with self._slot(session_id) as slot, failing("delete", session_id):
            if slot.refusal is not None:
                raise slot.refusal()
            file = slot.file
            if file is not None and file.hold.is_ours:
                path, hold = file.path, file.hold
                with contextlib.suppress(OSError):
                    slot.let_go(_DELETED, keep_lock=True)
            else:
                slot.let_go(_DELETED)
                path = self._found(session_id)
                hold = self._acquire(path, session_id)
            try:
                path.unlink()
                files.sync_directory(path.parent)
            except FileNotFoundError:
                raise self._none(session_id) from None
            finally:
                hold.release()

    # What copies whole sessions.

    def put(self, session: Session) -> Put:
        """Store a session's bytes as they are, whole or not at all; return what was done.

        Spec: decision B3.

        Raises:
            SessionExists: when the store has another session of that id.
            SessionLocked: when another process, or another store object, holds it.
            InvalidEntry: when its id cannot be a file name.
            ReadOnly, StoreFailed: when the store cannot take it.
        """
        self._refuse_write("store", session.id)
        place = layout.place(self.root, session.header)
        with self._slot(session.id) as slot, failing("store", session.id, place):
            slot.refusal = None
            slot.let_go(_RELEASED)
            path = listing.find(self.root, session.id)
            if path is not None:
                hold = self._acquire(path, session.id)
                try:
                    return complete(session, path)
                finally:
                    hold.release()
            self._directory(place)
            with self._one_creator():
                self._created(session, place, is_new=False).close()
            return Put.CREATED

    def content(self, session_id: str) -> bytes:
        """Return the bytes of a session's file, readable or not.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when the file cannot be read.
        """
        self._check_open()
        with failing("read", session_id):
            return files.content(self._found(session_id))

    def holds(self, session: Session) -> bool:
        """Return whether the store has exactly the bytes of a session.

        Raises:
            StoreFailed: when the file cannot be read.
        """
        self._check_open()
        with failing("compare", session.id):
            path = listing.find(self.root, session.id)
            return path is not None and files.has_exactly(path, session.lines())

    # What files add to it.

    def path(self, session_id: str) -> Path:
        """Return the file of a session.

        Raises:
            NoSession: when it is not there.
        """
        with self._slot(session_id) as slot, failing("look for", session_id):
            return slot.file.path if slot.file is not None else self._found(session_id)

    def sync(self, session_id: str) -> None:
        """Return when all entries of an open session are on the device.

        Raises:
            NoSession: when it is not open here.
            ReadOnly: in a read-only store.
            StoreFailed: when the device fails; the session is dropped.
        """
        self._refuse_write("sync", session_id)
        with self._slot(session_id) as slot:
            if slot.file is None:
                shown = layout.shown(session_id)
                raise NoSession(f'session "{shown}" is not open here', session_id=session_id)
            with slot.dropping(), failing("sync", session_id, slot.file.path):
                slot.file.sync()

    def release(self, session_id: str) -> None:
        """Sync and close a session and let others have it; fine when it is not open.

        The session object takes no more entries; the next ``open`` reads the file again and
        gives a new one.

        Spec: stores 4.6.

        Raises:
            StoreFailed: when the device fails; the session is let go of all the same.
        """
        with self._slot(session_id) as slot:
            slot.refusal = None
            with failing("release", session_id):
                slot.let_go(_RELEASED)

    def close(self) -> None:
        """Release every session; the store takes no more calls. Closing twice is fine.

        Raises:
            StoreFailed: the first failure; everything is let go of all the same.
        """
        # First the flag: a thread that comes now is refused, one that is at work is waited for.
        self._closed = True
        failures = []
        for session_id in self._slots.ids():
            try:
                with self._slots.use(session_id) as slot, failing("release", session_id):
                    slot.refusal = None
                    slot.let_go(_RELEASED)
            except StoreFailed as error:
                failures.append(error)
        if failures:
            raise failures[0]

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

        Spec: stores 4.6.

        Raises:
            NoSession: when the session is not there.
        """
        return locks.holder_of(layout.lock_path(self.path(session_id)), session_id)

    def break_lock(self, session_id: str) -> None:
        """Remove the lock of a session, whoever holds it.

        Only for a holder that is known to be gone: one that is not, and goes on writing, is
        noticed by the next writer, or notices it.

        Spec: stores 4.6.

        Raises:
            NoSession: when the session is not there.
            ReadOnly, StoreFailed: when it cannot be removed.
        """
        self._refuse_write("break the lock of", session_id)
        path = layout.lock_path(self.path(session_id))
        with failing("break the lock of", session_id, path):
            path.unlink(missing_ok=True)

    # Opening.

    def _slot(self, session_id: str) -> AbstractContextManager[Slot[SessionFile]]:
        return self._slots.use(session_id, self._check_open)

    def _opened(self, slot: Slot[SessionFile], session_id: str) -> SessionFile:
        if slot.refusal is not None:
            raise slot.refusal()
        if slot.file is None:
            with failing("open", session_id):
                path = self._found(session_id)
                hold = self._acquire(path, session_id)
                try:
                    slot.file = SessionFile.open(path, session_id, hold)
                except BaseException as error:
                    hold.release()
                    if isinstance(error, FileNotFoundError):
                        raise self._none(session_id) from None
                    raise
            self._bind(slot.file.session)
        return slot.file

    def _reader(self, slot: Slot[SessionFile], session_id: str) -> Session:
        if slot.reader is None:
            with failing("open", session_id):
                path = self._found(session_id)
                with open(files.open_file(path), "rb") as file:
                    slot.reader = load(file.read(), path, session_id)
            slot.reader.bind(
                None, read_only=f"session {session_id} was opened by a read-only store"
            )
        return slot.reader

    def _bind(self, session: Session) -> None:
        """Make ``session.append`` this store's, for as long as it is the session open here."""
        session_id = session.id

        def append(entry: Entry) -> str:
            slot = self._slots.find(session_id)
            if slot is not None:
                with slot.lock:
                    file = slot.file
                    if file is not None and file.session is session and not self._closed:
                        return self._append(slot, file, entry)
            self._check_open()
            raise ReadOnly(f"session {session_id} {_RELEASED}")

        session.bind(append)

    def _append(self, slot: Slot[SessionFile], file: SessionFile, entry: Entry) -> str:
        session = file.session
        sealed = session.prepare(entry)
        if session.holds(sealed):
            return sealed.id
        raised = session.raised_header()
        durable = self._durable
        if durable is None:
            durable = self._policy.wants(sealed, session.header)
        try:
            if raised is not None:
                file.raise_header(session.header.line, raised.line)
            file.append(sealed.line, durable=durable)
            session.commit(sealed)
        except BaseException as error:
            failed = failure(error, "append to", session.id, file.path)
            # Memory and disk may differ.
            self._slots.drop(session.id, slot, failed or error)
            if failed is None:
                raise
            raise failed from error
        return sealed.id

    # Create.

    def _origin(self, session_id: str) -> Session:
        """Return a session to fork from; it is read and not held."""
        self._check_id(session_id)
        with self._slot(session_id) as slot, failing("read", session_id):
            if slot.file is not None:
                return slot.file.session
            path = self._found(session_id)
            return load(files.content(path), path, session_id)

    def _created(self, session: Session, path: Path, *, is_new: bool) -> SessionFile:
        found = None if is_new else listing.find(self.root, session.id)
        if found is not None:
            raise self._exists(session.id, found)
        hold = self._acquire(path, session.id)
        try:
            file = SessionFile.create(session, path, hold)
        except BaseException:
            hold.release()
            raise
        try:
            files.sync_directory(path.parent)
            files.sync_directory(self.root)
        except BaseException:
            files.remove(path)
            file.drop()
            raise
        return file

    @staticmethod
    def _directory(path: Path) -> None:
        files.make_directory(path.parent)
        if path.parent.is_symlink():
            raise OSError(f"{path.parent} is a symbolic link, which a store does not follow")

    @contextlib.contextmanager
    def _one_creator(self) -> Iterator[None]:
        """Let one at a time look for an id and take it, in all processes at this root."""
        if not hasattr(os, "O_DIRECTORY"):
            yield
            return
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not files.exclude_others(fd, _CREATE_SECONDS):
                raise OSError(f"another process has been creating sessions for {_CREATE_SECONDS} s")
            yield
        finally:
            os.close(fd)

    def _acquire(self, path: Path, session_id: str) -> Hold:
        return locks.acquire(layout.lock_path(path), session_id, self._on_stale_lock)

    # Errors.

    def _found(self, session_id: str) -> Path:
        self._check_id(session_id)
        listed = self._listed.get(session_id, "")
        if layout.is_file_of(os.path.basename(listed), session_id) and files.is_regular(listed):
            return Path(listed)  # a copy of a big store would look through it for each session
        path = listing.find(self.root, session_id)
        if path is None:
            raise self._none(session_id)
        return path

    def _check_id(self, session_id: str) -> None:
        if layout.id_problem(session_id):
            raise self._none(session_id)

    def _none(self, session_id: str) -> NoSession:
        shown = layout.shown(session_id)
        return NoSession(f'{self.root} has no session "{shown}"', session_id=str(session_id))

    @staticmethod
    def _exists(session_id: str, path: Path) -> SessionExists:
        return SessionExists(
            f"session {session_id} is already in the store: {path}", session_id=session_id
        )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailed(f"the store at {self.root} is closed; make a new one", path=self.root)

    def _refuse_write(self, what: str, session_id: str = "") -> None:
        if self._read_only:
            which = f" {layout.shown(session_id)}" if session_id else ""
            raise ReadOnly(f"cannot {what}{which}: the store at {self.root} was opened read-only")
