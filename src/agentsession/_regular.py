"""Regular files opened, and nothing else: what stands in a file's place may be a pipe or a device.

A pipe would be waited for, and a device may do anything when it is opened. What the user names
is opened as it is, and may be a pipe; what was found in a directory is opened here.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO, Final

_CAREFUL: Final = (
    getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_NO_FILE: Final = frozenset({errno.ENXIO, errno.EOPNOTSUPP})
"""What a system says of a socket, and of a device that is not there."""

_REASON: Final = "not a regular file"


def descriptor(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY
) -> tuple[int, os.stat_result]:
    """Return a descriptor of a regular file, and what the system says of the file.

    Args:
        path: the file; a symbolic link is followed unless the flags say otherwise.
        flags: how to open it.

    Raises:
        OSError: when it cannot be opened; ``EINVAL`` for what is no regular file.
    """
    try:
        fd = os.open(path, flags | _CAREFUL)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise OSError(errno.EINVAL, _REASON, os.fspath(path)) from error
        raise
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, _REASON, os.fspath(path))
    return fd, status


def check_regular(path: str | os.PathLike[str]) -> None:
    """Return when there is a regular file, or a link to one; it is not opened.

    Raises:
        OSError: when there is none.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, _REASON, os.fspath(path))


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Return when another file may take a path's place: there is none, or a regular one.

    A directory is let pass; the system refuses that.

    Raises:
        OSError: ``EINVAL`` when a device, a pipe or a socket is there, or behind a link.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, _REASON, os.fspath(path))


def open_regular(path: str | os.PathLike[str], buffering: int = -1) -> BinaryIO:
    """Return a regular file, open for reading bytes.

    Raises:
        OSError: as :func:`descriptor`.
    """
    return open(descriptor(path)[0], "rb", buffering=buffering)


def reason(error: OSError) -> str:
    """Return why a file cannot be read, in the system's words and without its path."""
    words = error.strerror or str(error)
    return f"{words[:1].lower()}{words[1:]}"
