"""Files and directories read without ever raising over what is in them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from agentsession._regular import reason as words_of
from agentsession.importers.unread import SENTENCES, UNREADABLE_PLACE, leads_nowhere

_RECORD: Final = ".json"
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Entry(NamedTuple):
    """One entry of a directory; links are followed."""

    name: str
    path: Path
    is_dir: bool

    @property
    def is_record(self) -> bool:
        """Whether this has the name of a record's file; what it is shows when it is read."""
        return self.name.endswith(_RECORD) and self.name != _RECORD

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


class Shut(NamedTuple):
    """What cannot be read on the way to a directory, the directory included, and why."""

    path: Path
    error: OSError

    @property
    def why(self) -> str:
        """Why, in the words of all importers."""
        return f"{SENTENCES[UNREADABLE_PLACE]}: {words_of(self.error)}"

    @property
    def is_file(self) -> bool:
        """Whether something that is no directory stands in its place."""
        return self.error.errno == errno.ENOTDIR


def shut(root: Path, folder: Path) -> Shut | None:
    """Return what keeps a directory at or below a root from being listed and entered.

    ``None`` when nothing does, and when nothing stands there. A link that leads nowhere is
    something.
    """
    try:
        with os.scandir(folder):
            # Names can be listed where nothing can be entered.
            os.stat(os.path.join(folder, os.curdir))
    except OSError as error:
        found = error
    except ValueError:
        return None
    else:
        return None
    below = [p for p in reversed(folder.parents) if p != root and p.is_relative_to(root)]
    above = root
    for place in dict.fromkeys((root, *below, folder)):
        try:
            os.lstat(place)
        except OSError as error:
            if error.errno not in _ABSENT:
                return Shut(above, error)
            return Shut(root, error) if place == root and leads_nowhere(root) else None
        try:
            is_dir = stat.S_ISDIR(os.stat(place).st_mode)
        except OSError as error:
            return Shut(place, error)
        if not is_dir:
            return Shut(place, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
        above = place
    return Shut(folder, found)


def stands(path: Path) -> bool:
    """Return whether something stands at a path; also a link to nothing, or what is shut away."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno not in _ABSENT
    except ValueError:
        return False
    return True


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


def shown(path: Path) -> str:
    """Return a path as a report can be written with."""
    # Names that are not UTF-8 carry surrogates.
    return os.fsencode(path).decode("utf-8", "replace")


def unit(root: Path, path: Path) -> str:
    """Return a path under a root in the spelling of reports: relative, with slashes."""
    try:
        inner = path.relative_to(root)
    except ValueError:
        inner = path
    return shown(Path(inner.as_posix()))


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
