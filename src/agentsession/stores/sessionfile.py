"""The file of one session that is open for writing.

Spec: stores 4.3 to 4.5, decision A4.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from pathlib import Path
from typing import ClassVar, Self

from agentsession import reading
from agentsession.errors import ConcurrentWriter, DamagedFile, SessionExists
from agentsession.session import Session
from agentsession.stores import files
from agentsession.stores.base import Put
from agentsession.stores.layout import temporary_path
from agentsession.stores.locks import Hold


class SessionFile:
    """A session, the descriptor its entries go to, and the hold on it.

    Left behind without :meth:`close`, it is synced and its lock released when it is
    collected, or when the interpreter ends.

    Attributes:
        session: the session in memory.
        path: the file.
        hold: the lock.
    """

    is_unsure: ClassVar[bool] = False
    """An append that fails is always noted here."""

    __slots__ = ("__weakref__", "_end", "_fd", "_size", "_tail", "hold", "path", "session")

    def __init__(self, session: Session, path: Path, fd: int, size: int, hold: Hold) -> None:
        self.session = session
        self.path = path
        self.hold = hold
        self._fd = fd
        self._size = size
        self._tail = b""
        self._end = weakref.finalize(self, _abandon, fd, hold)

    @classmethod
    def create(
        cls, session: Session, path: Path, hold: Hold, *, modified_ns: int | None = None
    ) -> Self:
        """Return the file of a session that is new here; it appears whole, or not at all.

        Its time is the one given, or now.

        Spec: stores 4.3.

        Raises:
            SessionExists: when the file is there.
            OSError: when it cannot be written; nothing is left behind.
        """
        data = b"".join(session.lines())
        temporary = temporary_path(path)
        fd = files.write_new(temporary, data, modified_ns=modified_ns)
        try:
            files.put_in_place(temporary, path)
        except BaseException as error:
            os.close(fd)
            files.remove(temporary)
            if isinstance(error, FileExistsError):
                raise SessionExists(
                    f"session {session.id} is already in the store: {path}", session_id=session.id
                ) from error
            raise
        return cls(session, path, fd, len(data), hold)

    @classmethod
    def open(cls, path: Path, session_id: str, hold: Hold, *, allow_newer: bool = False) -> Self:
        """Return the file of a stored session. It is read whole, and not changed.

        A minor version that is not known here is read only when ``allow_newer`` is set.

        Spec: stores 4.4, decision A4.

        Raises:
            DamagedFile, DuplicateEntry, NoEntry, UnsupportedFormat: when it cannot be read.
            OSError: when it cannot be opened.
        """
        fd = files.open_file(path, os.O_RDWR | os.O_APPEND)
        try:
            data = files.read_all(fd)
            session = load(data, path, session_id, allow_newer=allow_newer)
        except BaseException:
            os.close(fd)
            raise
        opened = cls(session, path, fd, len(data), hold)
        start = session.truncated.start if session.truncated else len(data)
        opened._tail = data[start:]
        if not opened._tail and not data.endswith(b"\n"):
            opened._tail = b"\n"
        return opened

    def append(self, line: bytes, *, durable: bool) -> None:
        """Write one line, with one call, and sync it if asked.

        The first one to a file with a cut last line takes that off; to a file without a
        final line feed it adds one. When this fails the line is taken back, if the system
        lets us.

        Spec: stores 4.5, decision A4.

        Raises:
            ConcurrentWriter: when the file is not as we left it.
            OSError: when it cannot be written or synced.
        """
        fd = self._fd
        # One cheap call finds what a broken lock lets happen: another writer, or a file that
        # is no longer there and would swallow the entry.
        status = os.fstat(fd)
        if status.st_size != self._size or not status.st_nlink:
            raise self._changed(status)
        data = line + b"\n"
        if self._tail:
            data = self._mend_tail() + data
        try:
            files.append(fd, data)
            if durable:
                files.sync(fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._size)
            raise
        self._size += len(data)

    def raise_header(self, old: bytes, new: bytes) -> None:
        """Put a file in place whose header is another and whose other lines are the same.

        Spec: later drafts 13.

        Raises:
            ConcurrentWriter: when the file is not as we left it.
            OSError: when it cannot be written; the file stays as it was.
        """
        status = os.fstat(self._fd)
        if status.st_size != self._size or not status.st_nlink:
            raise self._changed(status)
        tail, self._tail = self._tail, b""
        data = files.read_all(self._fd)
        data = data + tail if tail == b"\n" else data[: len(data) - len(tail)]
        data = data.replace(old, new, 1)
        temporary = temporary_path(self.path)
        fd = files.write_new(temporary, data)
        try:
            temporary.replace(self.path)
        except BaseException:
            os.close(fd)
            files.remove(temporary)
            raise
        self._end.detach()
        os.close(self._fd)
        self._fd, self._size = fd, len(data)
        self._end = weakref.finalize(self, _abandon, fd, self.hold)
        files.sync_directory(self.path.parent)

    def _mend_tail(self) -> bytes:
        tail, self._tail = self._tail, b""
        if tail == b"\n":
            return tail
        self._size -= len(tail)
        os.ftruncate(self._fd, self._size)
        return b""

    def _changed(self, status: os.stat_result) -> ConcurrentWriter:
        change = (
            f"is {status.st_size} bytes long and was left with {self._size}"
            if status.st_nlink
            else "was removed"
        )
        return ConcurrentWriter(
            f"session {self.session.id} was changed by another writer: {self.path} {change}; "
            "release it and open it again",
            session_id=self.session.id,
        )

    def sync(self) -> None:
        """Return when all that was written is on the device.

        Raises:
            OSError: when it cannot be synced.
        """
        files.sync(self._fd)

    def close(self, *, keep_lock: bool = False) -> None:
        """Sync and close the file, and release the lock.

        Raises:
            OSError: when it cannot be synced; it is closed and released all the same.
        """
        if self._end.detach() is None:
            return
        try:
            files.sync(self._fd)
        finally:
            os.close(self._fd)
            if not keep_lock:
                self.hold.release()

    def drop(self) -> None:
        """Close the file and release the lock whatever happens; never raises."""
        with contextlib.suppress(OSError):
            self.close()


def load(data: bytes, path: Path, session_id: str, *, allow_newer: bool = False) -> Session:
    """Return the session in a file's bytes, which must be the one asked for.

    Spec: stores 4.4.

    Raises:
        DamagedFile: when it is another session.
        AgentSessionError: as :func:`agentsession.reading.load`.
    """
    session = reading.load(data, path=path, allow_newer=allow_newer)
    if session.id != session_id:
        raise DamagedFile(f'holds session "{session.id}", not "{session_id}"', path=path, line=1)
    return session


def complete(session: Session, path: Path, *, modified_ns: int | None = None) -> Put:
    """Write what the file of a session lacks at its end; return whether it lacked anything.

    A file that is written gets the time given; one that has all of it keeps its own.

    Raises:
        SessionExists: when it is not the beginning of the session.
        OSError: when it cannot be read or written.
    """
    data = b"".join(session.lines())
    there = files.content(path)
    if there == data:
        return Put.PRESENT
    if not data.startswith(there):
        raise SessionExists(
            f"session {session.id} is in the store and is not the beginning of this one: {path}",
            session_id=session.id,
        )
    files.extend(path, data[len(there) :], modified_ns=modified_ns)
    return Put.EXTENDED


def _abandon(fd: int, hold: Hold) -> None:
    with contextlib.suppress(OSError):
        files.sync(fd)
    with contextlib.suppress(OSError):
        os.close(fd)
    hold.release()
