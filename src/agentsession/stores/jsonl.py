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

from agentsession import forks
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, NoSession, SessionExists, StoreFailed
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores import files, layout, listing, locks
from agentsession.stores.base import ListFilter, Put, Summary
from agentsession.stores.finding import Finder
from agentsession.stores.holding import DELETED, RELEASED, HoldingStore
from agentsession.stores.locks import Hold, LockHolder, StaleLockReport
from agentsession.stores.policy import SyncPolicy, failing, failure
from agentsession.stores.sessionfile import SessionFile, complete, load


class JSONLStore(HoldingStore[SessionFile]):
    """A directory of session files, with a lock file beside each one that is open.

    Args:
        root: the directory; it is made when it is not there.
        sync: when an append is durable.
        read_only: make nothing, lock nothing, and refuse every write. Sessions that other
            processes write to can be read; ``release`` and ``open`` show what is new.
        on_stale_lock: called with the old holder when the lock of a process that is gone
            was taken over. It must not call the store.
        allow_newer: read, and list, sessions of minor versions this release does not know,
            keeping what is unknown. They take no entries here.

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
        allow_newer: bool = False,
    ) -> None:
        self.root = Path(root)
        super().__init__(self.root, read_only=read_only, allow_newer=allow_newer)
        self._policy = SyncPolicy(sync)
        self._durable = {SyncPolicy.EVERY_APPEND: True, SyncPolicy.NEVER: False}.get(self._policy)
        self._on_stale_lock = on_stale_lock
        self._finder = Finder(self.root)
        self._swept: set[Path] = set()
        if "\0" in str(self.root):
            raise StoreFailed("the path of a store cannot hold a NUL")
        if not read_only:
            with failing("make the store", path=self.root):
                files.make_directories(self.root)

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
            if is_new:
                slot.file = self._created(session, path)
            else:
                with self._finder.one_creator():
                    found = self._finder.find_among_creators(session.id)
                    if found is not None:
                        raise self._exists(session.id, found)
                    with self._finder.taking(session.id, path):
                        slot.file = self._created(session, path)
            self._bind(session)
        return session

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        """Yield the sessions, newest first, and then an error for each file not readable.

        Names and successors are filled only when the filter asks for ``with_names`` or
        ``current``, because they stand among the entries.

        Spec: stores 4.7.
        """
        self._check_open()
        return self._listed(filter or ListFilter())

    def _listed(self, asked: ListFilter) -> Iterator[Summary | AgentSessionError]:
        for item in listing.list_sessions(self.root, asked, allow_newer=self._allow_newer):
            if isinstance(item, Summary):
                self._finder.saw(item.id, item.file)
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
                    slot.let_go(DELETED, keep_lock=True)
            else:
                slot.let_go(DELETED)
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

    def put(self, session: Session, *, modified_ns: int | None = None) -> Put:
        """Store a session's bytes as they are, whole or not at all; return what was done.

        Args:
            session: the session.
            modified_ns: when it was last written to, which its file then says too, in
                nanoseconds since the epoch; now when not given.

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
            slot.let_go(RELEASED)
            path = self._finder.known(session.id)
            if path is None:
                with self._finder.one_creator():
                    path = self._finder.find_among_creators(session.id)
                    if path is None:
                        with self._finder.taking(session.id, place):
                            self._created(session, place, modified_ns=modified_ns).close()
                        return Put.CREATED
            hold = self._acquire(path, session.id)
            try:
                return complete(session, path, modified_ns=modified_ns)
            finally:
                hold.release()

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
            path = self._finder.find(session.id)
            return path is not None and files.has_exactly(path, session.lines())

    def modified_ns(self, session_id: str) -> int | None:
        """Return when a session was last written to, in nanoseconds since the epoch.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when its file cannot be looked at.
        """
        self._check_open()
        with failing("look at", session_id):
            return os.stat(self._found(session_id), follow_symlinks=False).st_mtime_ns

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
                slot.let_go(RELEASED)

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
                    slot.let_go(RELEASED)
            except StoreFailed as error:
                failures.append(error)
        if failures:
            raise failures[0]

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

    # Opening and appending.

    def _hold(self, session_id: str) -> SessionFile:
        path = self._found(session_id)
        hold = self._acquire(path, session_id)
        try:
            return SessionFile.open(path, session_id, hold, allow_newer=self._allow_newer)
        except BaseException as error:
            hold.release()
            if isinstance(error, FileNotFoundError):
                raise self._none(session_id) from None
            raise

    def _load(self, session_id: str) -> Session:
        path = self._found(session_id)
        return load(files.content(path), path, session_id, allow_newer=self._allow_newer)

    def _store(self, held: SessionFile, sealed: Entry) -> None:
        session = held.session
        raised = session.raised_header()
        if raised is not None:
            held.raise_header(session.header.line, raised.line)
        durable = self._durable
        if durable is None:
            durable = self._policy.wants(sealed, session.header)
        held.append(sealed.line, durable=durable)
        session.commit(sealed)

    def _created(
        self, session: Session, path: Path, *, modified_ns: int | None = None
    ) -> SessionFile:
        files.make_directory(path.parent)
        if path.parent.is_symlink():
            raise OSError(f"{path.parent} is a symbolic link, which a store does not follow")
        hold = self._acquire(path, session.id)
        try:
            file = SessionFile.create(session, path, hold, modified_ns=modified_ns)
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

    def _acquire(self, path: Path, session_id: str) -> Hold:
        hold = locks.acquire(layout.lock_path(path), session_id, self._on_stale_lock)
        # What a killed process left of this session is ours now; of others, it may be anyone's.
        files.remove(layout.temporary_path(path))
        if path.parent not in self._swept:
            self._swept.add(path.parent)
            locks.sweep(path.parent)
        return hold

    # Errors.

    def _failing(self, what: str, session_id: str = "") -> AbstractContextManager[None]:
        return failing(what, session_id)

    def _append_failure(self, error: BaseException, held: SessionFile) -> StoreFailed | None:
        return failure(error, "append to", held.session.id, held.path)

    def _is_id(self, session_id: object) -> bool:
        return not layout.id_problem(session_id)

    def _found(self, session_id: str) -> Path:
        self._check_id(session_id)
        path = self._finder.find(session_id)
        if path is None:
            raise self._none(session_id)
        return path

    @staticmethod
    def _exists(session_id: str, path: Path) -> SessionExists:
        return SessionExists(
            f"session {session_id} is already in the store: {path}", session_id=session_id
        )
