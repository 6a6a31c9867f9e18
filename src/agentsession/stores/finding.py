"""Where the files of sessions are: found by walking the names, and remembered.

To find a session by its id is to go through all names of a root. Who does that for each
session of a big store, as a copy or an export does, would take time that grows with the
square of their number; so what was seen is remembered, and what is remembered is looked at
before it is believed.

That an id is *not* there can be believed only while nobody else takes ids. Those who take an
id of their choice look for it and take it one at a time, in all processes, and set the time
of the root when they are done. Whoever finds it as they set it themselves knows that nobody
came between. (It is set before as well, for the case that they do not get so far.) Programs
that keep to the layout and not to this are noticed a moment later, because the names are read
again every second.

Spec: stores 4.2, decision B2.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agentsession.stores import files, layout, listing

CREATE_SECONDS: Final = 10.0
"""How long to wait for other processes that take ids."""

FRESH_SECONDS: Final = 1.0
"""How long the names of a root are believed to be all, at least."""

_FRESH_WALKS: Final = 20
"""The same, in the times it took to read them: so much longer a copy takes at most."""


class Finder:
    """Finds the files of the sessions below a root.

    Args:
        root: the root of a file store.

    Spec: stores 4.2, decision B2.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[str, str] = {}
        self._asked = 0
        self._left_at: int | None = None
        self._fresh_until = 0.0

    def saw(self, session_id: str, file: str) -> None:
        """Remember a file that may be a session's; of several, the first by its names."""
        known = self._seen.get(session_id)
        if known is None or os.path.split(file) < os.path.split(known):
            self._seen[session_id] = file

    def known(self, session_id: str) -> Path | None:
        """Return the file of a session if it was seen and is there.

        Raises:
            OSError: when a directory cannot be read.
        """
        known = self._seen.get(session_id)
        if known is None:
            return None
        if layout.is_file_of(os.path.basename(known), session_id) and files.is_regular(known):
            return Path(known)
        # Another one may have been hidden behind it.
        self._seen.pop(session_id, None)
        return listing.find(self._root, session_id)

    def find(self, session_id: str) -> Path | None:
        """Return the file of a session; ``None`` without one.

        Raises:
            OSError: when a directory cannot be read.
        """
        found = self.known(session_id)
        if found is not None:
            return found
        self._asked += 1
        # To look for one id takes less than to remember all: who asks once is not kept
        # waiting, who asks often is soon answered from memory.
        if self._asked > 1 and self._asked.bit_count() == 1:
            self._walk()
            return self.known(session_id)
        found = listing.find(self._root, session_id)
        if found is not None:
            self.saw(session_id, str(found))
        return found

    @contextlib.contextmanager
    def one_creator(self) -> Iterator[None]:
        """Let one at a time look for an id and take it, in all processes at this root.

        Raises:
            OSError: when another process does not come to its end.
        """
        if not hasattr(os, "O_DIRECTORY"):
            yield
            return
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not files.exclude_others(fd, CREATE_SECONDS):
                raise OSError(f"another process has been creating sessions for {CREATE_SECONDS} s")
            yield
        finally:
            os.close(fd)

    def find_among_creators(self, session_id: str) -> Path | None:
        """Return the file of a session, in a block of :meth:`one_creator`.

        There not to find it is cheap, because nobody else takes an id meanwhile.

        Raises:
            OSError: when a directory cannot be read.
        """
        found = self.known(session_id)
        if found is not None:
            return found
        is_unchanged = self._left_at is not None and self._left_at == self._changed_at()
        if is_unchanged and time.monotonic() < self._fresh_until:
            return None
        started = time.monotonic()
        self._walk()
        ended = time.monotonic()
        self._fresh_until = ended + max(FRESH_SECONDS, _FRESH_WALKS * (ended - started))
        return self.known(session_id)

    @contextlib.contextmanager
    def taking(self, session_id: str, path: Path) -> Iterator[None]:
        """A block that makes the file of a new session, and of which other creators learn.

        It stands in the block of :meth:`one_creator` in which the id was not found.
        """
        # First: others are to look again even if this process does not come to the end.
        self._mark()
        self._left_at = None
        yield
        self.saw(session_id, str(path))
        # Again: a directory that was made on the way changed the time too.
        self._left_at = self._mark()

    def _mark(self) -> int | None:
        """Give the root a time it never had; return it where a system keeps such a time."""
        mark = max(time.time_ns(), (self._changed_at() or 0) + 1)
        try:
            os.utime(self._root, ns=(mark, mark))
        except PermissionError:
            # Not the owner's: the present is different enough for those who look.
            with contextlib.suppress(OSError):
                os.utime(self._root)
        except OSError:
            pass
        # A file system that rounds times could hide that someone came between.
        return mark if self._changed_at() == mark else None

    def _changed_at(self) -> int | None:
        try:
            return os.stat(self._root).st_mtime_ns
        except OSError:
            return None

    def _walk(self) -> None:
        for file in listing.session_files(self._root):
            session_id = layout.session_id_of(os.path.basename(file))
            if session_id:
                self.saw(session_id, file)
