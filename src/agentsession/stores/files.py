"""The few things a store asks of the file system, each done the careful way.

Every write of the file store goes through here, which makes its order visible in one place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from agentsession._regular import descriptor

DIRECTORY_MODE = 0o755
FILE_MODE = 0o600
LEFT_BEHIND_SECONDS = 3600

# Small enough to stay in a cache, and to be given the same memory again.
_COMPARED = 1 << 16

# A system writes no more than this in one call.
_ONE_WRITE = 1 << 30

# A symbolic link in a store's root is never followed, a FIFO never waited for, and no
# descriptor reaches a program this process starts.
_CAREFUL = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_HARD_LINKS = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
)


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a regular file.

    Raises:
        OSError: when it cannot be opened; ``ELOOP`` for a symbolic link, ``EINVAL`` for
            anything else that is not a regular file.
    """
    return descriptor(path, flags | _CAREFUL)[0]


def is_regular(path: str) -> bool:
    """Return whether there is a regular file of that name; a link to one is none."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def open_with_status(path: str) -> tuple[int, os.stat_result]:
    """Return a descriptor of a regular file, for reading, and what the system says of it.

    Raises:
        OSError: as :func:`open_file`.
    """
    return descriptor(path, os.O_RDONLY | _CAREFUL)


def read_all(fd: int) -> bytes:
    """Return the whole content of an open file, leaving it open."""
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def content(path: Path) -> bytes:
    """Return the whole content of a regular file.

    Raises:
        OSError: when it cannot be read.
    """
    with open(open_file(path), "rb") as file:
        return file.read()


def has_exactly(path: Path, pieces: Iterable[bytes]) -> bool:
    """Return whether a regular file holds these pieces and nothing else; little is read at once.

    Raises:
        OSError: when it cannot be read.
    """
    with open(open_file(path), "rb", buffering=_COMPARED) as file:
        for piece in pieces:
            for start in range(0, len(piece), _COMPARED):
                wanted = piece[start : start + _COMPARED]
                if file.read(len(wanted)) != wanted:
                    return False
        return not file.read(1)


def write_new(path: Path, data: bytes, *, modified_ns: int | None = None) -> int:
    """Return the descriptor of a new file that durably holds ``data``, open for appending.

    A file of that name is replaced; nothing is left when this fails. It says that it was last
    written to when ``modified_ns`` says, in nanoseconds since the epoch.

    Raises:
        OSError: when it cannot be written.
    """
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _CAREFUL
    fd = os.open(path, flags, FILE_MODE)
    try:
        append(fd, data)
        _set_modified(fd, modified_ns)
        sync(fd)
    except BaseException:
        os.close(fd)
        remove(path)
        raise
    return fd


def _set_modified(fd: int, modified_ns: int | None) -> None:
    """Set the time of an open file, where a system takes such a time; it is no content."""
    if modified_ns is not None and os.utime in os.supports_fd:
        with contextlib.suppress(OSError, OverflowError):
            os.utime(fd, ns=(modified_ns, modified_ns))


def append(fd: int, data: bytes) -> None:
    """Write to the end of an open file, all of it in one call unless it is a gigabyte.

    Raises:
        OSError: when it cannot be written, or not wholly.
    """
    size = len(data)
    start = 0
    while start < size:
        piece = data if size <= _ONE_WRITE else data[start : start + _ONE_WRITE]
        written = os.write(fd, piece)
        start += written
        if written < len(piece):
            raise OSError(f"only {start} of {size} bytes could be written; is the disk full?")


def extend(path: Path, data: bytes, *, modified_ns: int | None = None) -> None:
    """Write to the end of a file, durably; its time is then ``modified_ns``, if given.

    Raises:
        OSError: when it cannot be written, or not wholly.
    """
    fd = open_file(path, os.O_RDWR | os.O_APPEND)
    try:
        append(fd, data)
        _set_modified(fd, modified_ns)
        sync(fd)
    finally:
        os.close(fd)


def sync(fd: int) -> None:
    """Return when the content of an open file is on the device."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415

        with contextlib.suppress(OSError):
            # fsync alone leaves the data in the drive's own cache there.
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a whole file its name; the temporary name is gone afterwards.

    Raises:
        FileExistsError: when the name is taken.
        OSError: when the file system refuses.
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # Without hard links the name is claimed empty first: it is taken, and shows as
        # unreadable for a moment.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _CAREFUL, FILE_MODE))
        temporary.replace(path)
        return
    remove(temporary)


def remove(path: Path) -> None:
    """Remove a file if it is there, or leave it to be overwritten later."""
    with contextlib.suppress(OSError):
        path.unlink()


def is_left_behind(path: Path) -> bool:
    """Return whether a file was written an hour ago or earlier; what is not there is not old."""
    try:
        written = os.lstat(path).st_mtime
    except OSError:
        return False
    return written < time.time() - LEFT_BEHIND_SECONDS


def is_at(path: Path, fd: int) -> bool:
    """Return whether a name still stands for an open file."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(fd))


def make_directories(path: Path) -> None:
    """Make a directory and those above it, each durably.

    Raises:
        OSError: when one cannot be made.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_directories(path.parent)
    make_directory(path)


def make_directory(path: Path) -> None:
    """Make a directory in an existing one, durably, unless it is there.

    Raises:
        OSError: when it cannot be made.
    """
    with contextlib.suppress(FileExistsError):
        path.mkdir(DIRECTORY_MODE)
        sync_directory(path.parent)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))


def sync_directory(path: Path) -> None:
    """Return when the names in a directory are on the device, where a system can say so."""
    if sys.platform == "win32":
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(fd)
    except OSError as error:
        # Some file systems have no fsync of directories; that is all they can promise.
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}:
            raise
    finally:
        os.close(fd)


def exclude_others(fd: int, seconds: float) -> bool:
    """Take the ``flock`` of an open file; return False when others keep it that long.

    It ends with the descriptor. Where there is no ``flock`` this takes nothing and says True.
    """
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415

    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        except OSError:
            return True
        else:
            return True
