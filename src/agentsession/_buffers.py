"""The bytes of a file in memory, without the cost of a page fault every four kilobytes.

Where the system has huge pages for the asking, a big file is read into private memory that
asks for them; that takes a third of the time. The file is read once, to its end, and nothing
that happens to it afterwards is seen.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentsession.rows import Buffer

_BIG: Final = 1 << 22
_HUGE: Final[int | None] = getattr(mmap, "MADV_HUGEPAGE", None)


def whole(path: Path) -> Buffer:
    """Return everything a file holds.

    Raises:
        OSError: when the file cannot be read.
    """
    if _HUGE is None:
        return path.read_bytes()
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < _BIG:
            return file.readall()
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a system built without them: its pages are small
            memory.madvise(_HUGE)
        view = memoryview(memory)
        held = 0
        while held < size and (count := file.readinto(view[held:])):
            held += count
        view.release()
        rest = file.readall()
    # A file that grew or shrank since it was measured is not held in its measure.
    return memory if held == size and not rest else memory[:held] + rest
