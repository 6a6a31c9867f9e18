"""Lock files: one writing process for each session.

A lock is a file beside the session file with one line of JSON that says who holds it. It
appears whole: written under a temporary name and hard-linked. A lock whose process is gone
from this host is stale; it is taken over in place under ``flock``, so that of several
processes that find it exactly one gets it. Programs that take over by removing the file
without ``flock`` can still meet one of ours in that moment; a store notices the second
writer at its next append.

Spec: stores 4.6, decision B1.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentsession import text
from agentsession.errors import NotJSON, SessionLocked
from agentsession.stores import files
from agentsession.stores.layout import TEMPORARY_SUFFIX, lock_path, session_id_of
from agentsession.timestamp import Timestamp

_TEMPORARY = re.compile(rf"\.[0-9a-f]+{re.escape(TEMPORARY_SUFFIX)}")
"""A lock file that is being made."""

# More rounds than the two a quiet lock needs: the file may vanish and come back meanwhile.
_ROUNDS = 4
_TAKEOVER_SECONDS = 1.0

_FileKey = tuple[int, int]

# The lock files this process holds, by device and inode, with their content. It belongs to
# the process as its id does: a lock that names our own id and is not in here was left by an
# earlier process with the same id, as happens where every program starts as process 1.
_held: dict[_FileKey, bytes] = {}


@dataclass(frozen=True, slots=True)
class LockHolder:
    """Who holds a session.

    Attributes:
        session_id: the session.
        pid: the process id; 0 when it is not known.
        host: the host name; empty when it is not known.
        since: when it was taken, as written; empty when it is not known.
        path: the lock file, in stores that have one.
        heartbeat: when it last appended, in stores that keep it.

    Spec: stores 4.6 and 5.3.
    """

    session_id: str
    pid: int = 0
    host: str = ""
    since: str = ""
    path: Path | None = None
    heartbeat: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the lock says which process holds it."""
        return self.pid > 0


StaleLockReport = Callable[[LockHolder], None]
"""Called with the old holder after a stale lock was taken over; it must not call the store."""


class Hold:
    """A lock file that this process made, until it is released.

    Attributes:
        path: the lock file.
    """

    __slots__ = ("_content", "_key", "_pid", "path")

    def __init__(self, path: Path, key: _FileKey, content: bytes) -> None:
        self.path = path
        self._key = key
        self._content = content
        self._pid = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether the lock file is still the one we made; a forked child holds nothing."""
        if os.getpid() != self._pid:
            return False
        found = _look(self.path)
        return found is not None and found.key == self._key and found.content == self._content

    def release(self) -> None:
        """Remove the lock file, unless someone broke the lock and it is another's now."""
        if self.is_ours:
            files.remove(self.path)
        if _held.get(self._key) == self._content:
            _held.pop(self._key, None)


@dataclass(frozen=True, slots=True)
class _Found:
    """A lock file as it was read."""

    key: _FileKey
    content: bytes
    holder: LockHolder

    @property
    def is_stale(self) -> bool:
        """Whether nobody holds it any more."""
        holder = self.holder
        if holder.is_known and holder.pid == os.getpid() and holder.host == host_name():
            return _held.get(self.key) != self.content
        return self.is_gone

    @property
    def is_gone(self) -> bool:
        """Whether the process that it names is gone from this host."""
        holder = self.holder
        return (
            holder.is_known
            and holder.host == host_name()
            and holder.pid != os.getpid()
            and not process_exists(holder.pid)
        )


def acquire(path: Path, session_id: str, report: StaleLockReport | None = None) -> Hold:
    """Return a hold on a session.

    Args:
        path: the lock file.
        session_id: the session, for messages.
        report: called when the lock was stale and was taken over.

    Spec: stores 4.6, decision B1.

    Raises:
        SessionLocked: naming the holder and the file.
        OSError: when the lock file cannot be written.
    """
    found = None
    for _ in range(_ROUNDS):
        hold = _make(path)
        if hold is not None:
            return hold
        found = _look(path, session_id)
        if found is None:
            continue
        if not found.is_stale:
            break
        taken = _take_over(path, session_id)
        if taken is not None:
            hold, old = taken
            sweep(path.parent)
            if report is not None:
                _report(report, old, hold)
            return hold
    raise locked(found.holder if found else LockHolder(session_id, path=path))


def sweep(directory: Path) -> None:
    """Remove what killed processes left of files they were writing; what others write stays.

    A lock file that was being made says whose it is: it goes when that process is gone from
    this host. What says nothing, and a session file that was being written and that nobody
    holds, goes when it is an hour old; whoever takes the session removes it at once.
    """
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(TEMPORARY_SUFFIX)]
    except OSError:
        return
    for name in names:
        path = directory / name
        whole = path.with_name(name.removesuffix(TEMPORARY_SUFFIX))
        if _TEMPORARY.fullmatch(name) is not None:
            made = _look(path)
            is_left = made is not None and (made.is_gone or files.is_left_behind(path))
        elif session_id_of(whole.name):
            held = _look(lock_path(whole))
            is_left = (held is None or held.is_stale) and files.is_left_behind(path)
        else:
            continue
        if is_left:
            files.remove(path)


def holder_of(path: Path, session_id: str) -> LockHolder | None:
    """Return who holds a lock file; ``None`` without one, process 0 when it does not say."""
    found = _look(path, session_id)
    return found.holder if found else None


def locked(holder: LockHolder) -> SessionLocked:
    """Return the error that says who holds a session."""
    if holder.is_known:
        host = f" on {holder.host}" if holder.host else ""
        since = f" since {holder.since}" if holder.since else ""
        who = f"is held by process {holder.pid}{host}{since}"
        advice = "close it there, or break the lock when that process is gone"
    else:
        who = "is locked by a file that does not say who holds it"
        advice = "break the lock when no other process uses the session"
    return SessionLocked(
        f"session {holder.session_id} {who} ({holder.path}); {advice}",
        session_id=holder.session_id,
        pid=holder.pid,
        host=holder.host,
        since=holder.since,
        path=holder.path,
    )


def host_name() -> str:
    """Return this host's name, as lock files give it."""
    return platform.node() if sys.platform == "win32" else os.uname().nodename


def process_exists(pid: int) -> bool:
    """Return whether a process of this id runs on this host; True where one cannot know."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _line() -> bytes:
    host = host_name()
    line = {
        "pid": os.getpid(),
        **({"host": host} if host else {}),
        "since": Timestamp.now().text,
    }
    return text.encode(line) + b"\n"


def _key(status: os.stat_result) -> _FileKey:
    return status.st_dev, status.st_ino


def _make(path: Path) -> Hold | None:
    """A hold on a lock file that was not there; None when it is."""
    if path.exists():
        return None
    content = _line()
    temporary = path.with_name(f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    fd = files.write_new(temporary, content)
    try:
        hold = Hold(path, _key(os.fstat(fd)), content)
    finally:
        os.close(fd)
    # It counts as held before it can be seen: another thread may read it at once.
    _held[hold._key] = content
    try:
        files.put_in_place(temporary, path)
    except BaseException as error:
        files.remove(temporary)
        hold.release()
        if isinstance(error, FileExistsError):
            return None
        raise
    return hold


def _look(path: Path, session_id: str = "") -> _Found | None:
    """The lock file as it is now; None when there is none."""
    try:
        fd = files.open_file(path)
    except FileNotFoundError:
        return None
    except OSError:
        return _Found((0, 0), b"", LockHolder(session_id, path=path))
    try:
        return _read(fd, path, session_id)
    finally:
        os.close(fd)


def _read(fd: int, path: Path, session_id: str = "") -> _Found:
    content = files.read_all(fd)
    return _Found(_key(os.fstat(fd)), content, _parse(content, path, session_id))


def _parse(content: bytes, path: Path, session_id: str) -> LockHolder:
    try:
        value = text.parse(content)
    except NotJSON:
        value = None
    if not isinstance(value, dict):
        return LockHolder(session_id, path=path)
    pid, host, since = (value.get(name) for name in ("pid", "host", "since"))
    return LockHolder(
        session_id,
        pid if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0 else 0,
        host if isinstance(host, str) else "",
        since if isinstance(since, str) else "",
        path,
    )


def _take_over(path: Path, session_id: str) -> tuple[Hold, LockHolder] | None:
    """A hold on a lock file that is stale, and whose it was; None when another was faster."""
    try:
        fd = files.open_file(path, os.O_RDWR)
    except OSError:
        return None
    try:
        if not files.exclude_others(fd, _TAKEOVER_SECONDS) or not files.is_at(path, fd):
            return None
        found = _read(fd, path, session_id)
        if not found.is_stale:
            return None
        hold = Hold(path, found.key, _line())
        _held[found.key] = hold._content
        _rewrite(fd, hold._content, len(found.content))
        # Someone who does not know of flock may have removed the file meanwhile.
        if not files.is_at(path, fd):
            hold.release()
            return None
        return hold, found.holder
    finally:
        os.close(fd)


def _rewrite(fd: int, content: bytes, old_size: int) -> None:
    # White space covers what is longer in the old line, so that a reader or a crash between
    # the two calls finds JSON.
    os.lseek(fd, 0, os.SEEK_SET)
    os.write(fd, content.ljust(old_size))
    os.ftruncate(fd, len(content))


def _report(report: StaleLockReport, old: LockHolder, hold: Hold) -> None:
    try:
        report(old)
    except BaseException:
        with contextlib.suppress(OSError):
            hold.release()
        raise
