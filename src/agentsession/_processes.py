"""How many processes a piece of work is worth.

A process takes about as long to start as 10 MB to convert.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

_LARGE: Final = 32 << 20
_MOST: Final = 8


def worth(size: int, processors: int | None = None) -> int:
    """Return how many processes to start: one for each processor, up to 8, for 32 MB; else 1.

    Args:
        size: how large what is to be worked on is, in bytes.
        processors: how many there are; those that this process may use by default.
    """
    if size < _LARGE:
        return 1
    return min(processors or _usable(), _MOST)


def size_at(path: str) -> int:
    """Return the bytes of a file, or of the files below a directory; links are not followed.

    What cannot be seen has none.
    """
    found = 0
    left = [path]
    while left:
        place = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        found += entry.stat(follow_symlinks=False).st_size
        except NotADirectoryError:
            with suppress(OSError):
                found += os.stat(place).st_size
        except (OSError, ValueError):
            continue
    return found


def _usable() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
