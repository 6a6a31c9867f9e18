"""Files and directories read without ever raising over what is in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

_RECORD: Final = ".json"
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Entry(NamedTuple):
    """One entry of a directory; links are followed."""

    name: str
    path: Path
    is_dir: bool

    @property
    def is_record(self) -> bool:
        """Whether this is a file that a record could be in."""
        return not self.is_dir and self.name.endswith(_RECORD) and self.name != _RECORD

    def records(self) -> tuple[Entry, ...]:
        """Return the record files in this directory; none when it cannot be listed."""
        found = entries(self.path) if self.is_dir else ()
        return tuple(e for e in found if e.is_record and e.is_utf8)

    @property
    def is_utf8(self) -> bool:
        """Whether the name can be written down."""
        return is_utf8(self.name)


def listed(folder: Path) -> tuple[Entry, ...]:
    """Return a directory's entries by name.

    Raises:
        OSError: the directory cannot be listed.
    """
    with os.scandir(folder) as found:
        return tuple(sorted(Entry(e.name, folder / e.name, _is_dir(e)) for e in found))


def entries(folder: Path) -> tuple[Entry, ...]:
    """Return a directory's entries by name; none when it cannot be listed."""
    try:
        return listed(folder)
    except OSError:
        return ()


def count(folder: Path) -> int:
    """Return the number of files at any depth below a directory, links not followed."""
    return sum(len(files) for _, _, files in os.walk(folder))


def read(path: Path) -> tuple[bytes, str]:
    """Return a regular file's bytes, or no bytes and the reason there are none."""
    try:
        # Not blocking, because what stands in a record's place may be a pipe.
        descriptor = os.open(path, _READ)
    except (OSError, ValueError) as error:
        return b"", f"it cannot be opened: {reason(error)}"
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return b"", "it is not a regular file"
        with os.fdopen(descriptor, "rb") as file:
            return file.read(), ""
    except OSError as error:
        return b"", f"it cannot be read: {reason(error)}"


def reason(error: Exception) -> str:
    """Return the system's words for an error, without the path."""
    words = error.strerror if isinstance(error, OSError) else None
    return (words or str(error) or type(error).__name__).lower()


def unit(root: Path, path: Path) -> str:
    """Return a path under a root in the spelling of reports: relative, with slashes."""
    try:
        inner = path.relative_to(root)
    except ValueError:
        inner = path
    # Names that are not UTF-8 carry surrogates no report can be written with.
    return os.fsencode(inner.as_posix()).decode("utf-8", "replace")


def is_name(name: str) -> bool:
    """Return whether a string is one file name: no separator, no NUL, no dots alone."""
    return name not in {"", ".", ".."} and not set(name) & {"/", "\\", "\0"} and is_utf8(name)


def is_utf8(name: str) -> bool:
    """Return whether a string can be written down: it has no lone surrogate."""
    return not any("\ud800" <= c <= "\udfff" for c in name)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
