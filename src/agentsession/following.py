"""Following a session: its entries as another process appends them.

Nothing is locked, written or made. What is read is judged by the rules of
:func:`agentsession.read`; a last line that is cut short is waited for. Before it reads on,
a follower makes sure that what it has read is still there. It is not when a writer took a
line back that it could not sync, or when the file was replaced; then it reads again from
the start and gives what is new.

Spec: stores 4.4, 4.8 and 5.4, decision A4.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from agentsession import versions
from agentsession.codec import ENTRY_TYPES, Undecodable, decode_header
from agentsession.entries import Entry
from agentsession.envelopes import envelopes
from agentsession.errors import AgentSessionError, DamagedFile, UnsupportedFormat
from agentsession.header import Header
from agentsession.line_reading import LineReader
from agentsession.record_entries import UnknownEntry
from agentsession.rows import Rows
from agentsession.seen_lines import Seen
from agentsession.session import Session
from agentsession.stores.layout import shown
from agentsession.stores.tails import Gone, Line, all_lines, tail_of

if TYPE_CHECKING:
    from agentsession.stores import JSONLStore, SQLiteStore

LONGEST_WAIT: Final = 0.5
"""Seconds between two looks when nothing has come for a while."""

_SHORTEST_WAIT: Final = 0.01
_GROWTH: Final = 1.5
# A line read while a writer took it back may be half old and half new: what cannot be read
# is believed when it still stands there this much later.
_DOUBT_SECONDS: Final = 0.1
# A file that is replaced by other means than a rename is away for a moment.
_GONE_SECONDS: Final = 1.0
_MANY: Final = 8


def session_follow(
    source: str | os.PathLike[str] | JSONLStore | SQLiteStore,
    session_id: str = "",
    *,
    after: Session | None = None,
    report: Callable[[str], None] | None = None,
    longest_wait: float = LONGEST_WAIT,
    allow_newer: bool = False,
) -> Follower:
    """Return an iterator of the entries of a session, those to come included.

    >>> with session_follow(path) as entries:      # doctest: +SKIP
    ...     for entry in entries:
    ...         print(entry.type)

    It ends when the session is gone, or when ``stop`` is called. See :class:`Follower` for
    the arguments and the errors.
    """
    return Follower(
        source,
        session_id,
        after=after,
        report=report,
        longest_wait=longest_wait,
        allow_newer=allow_newer,
    )


class Follower(Iterator[Entry], AsyncIterator[Entry]):
    """The entries of a session in file order, each once, and then those that are appended.

    Use it as an iterator, which waits; as an asynchronous iterator, which waits in the
    event loop; or ask :meth:`poll`, which does not wait. It belongs to one consumer;
    :meth:`stop` may be called by any thread.

    Args:
        source: a session file, or a store with a session id: its path, or the object.
        session_id: the session, in a store.
        after: a session read before; only entries behind its last are given.
        report: called with a sentence when what was given is no longer there, when the
            header was changed, for what reading takes note of, and when the session is gone.
        longest_wait: seconds between two looks when nothing has come for a while.
        allow_newer: as for :func:`agentsession.read`.

    Attributes:
        header: the header; ``None`` until there is one.

    Spec: stores 4.4, 4.8 and 5.4.

    Raises:
        NoSession: when the store has no such session.
        OSError: when there is no such file, or it cannot be read.
        AgentSessionError: when what is not the last line breaks a rule of reading, or the
            file now holds another session. What came before was given, and the error comes
            again as long as it stands there.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | JSONLStore | SQLiteStore,
        session_id: str = "",
        *,
        after: Session | None = None,
        report: Callable[[str], None] | None = None,
        longest_wait: float = LONGEST_WAIT,
        allow_newer: bool = False,
    ) -> None:
        self.header: Header | None = None
        self._tail = tail_of(source, session_id)
        self._session_id = session_id
        self._report = report or (lambda _: None)
        self._allow_newer = allow_newer
        self._verify_ids = False
        self._longest_wait = longest_wait
        self._wait = _SHORTEST_WAIT
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._ready: deque[Entry] = deque()
        self._seen = Seen()
        self._stamp: object = None
        self._gone_since = 0.0
        self._doubt: tuple[Line, float] | None = None
        if after is not None:
            self._begin(after.header)
            self._seen.add(after.header.line, "", number=1)
            for entry_id, line in zip(after._rows.ids, after._rows.lines(), strict=True):
                self._seen.add(line, entry_id)

    # What a consumer calls.

    def poll(self) -> list[Entry]:
        """Return the entries that have come since the last time, without waiting.

        A long session comes in pieces: an empty list means that there is nothing new.

        Raises:
            AgentSessionError, OSError: see the class.
        """
        self._look()
        found = list(self._ready)
        self._ready.clear()
        return found

    @property
    def ended(self) -> bool:
        """Whether no more entries will come: it was stopped, or the session is gone."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End the iteration, also one that waits in another thread."""
        self._stopped.set()

    def close(self) -> None:
        """Stop, and let go of what is held."""
        self.stop()
        with self._lock:
            self._tail.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Entry:
        while not self.ended:
            if self._ready:
                return self._ready.popleft()
            if not self._look():
                self._stopped.wait(self._next_wait())
        raise StopIteration

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Entry:
        import asyncio  # noqa: PLC0415 - slow to load, and there when this is called

        while not self.ended:
            if self._ready:
                return self._ready.popleft()
            # When this is cancelled the look ends in its thread; what it found is kept.
            if not await asyncio.to_thread(self._look):
                await asyncio.sleep(self._next_wait())
        raise StopAsyncIteration

    def _next_wait(self) -> float:
        wait = min(self._wait, self._longest_wait)
        self._wait = wait * _GROWTH
        return wait

    # Looking.

    def _look(self) -> bool:
        """Read what is new, if anything; return whether there was something."""
        with self._lock:
            if self.ended:
                return False
            before = len(self._ready)
            try:
                stamp = self._tail.stamp()
                if stamp is None or stamp != self._stamp:
                    self._stamp = stamp if self._read() else None
                self._gone_since = 0.0
            except Gone:
                self._note_gone()
            found = len(self._ready) > before
            if found:
                self._wait = _SHORTEST_WAIT
            return found

    def _note_gone(self) -> None:
        now = time.monotonic()
        self._stamp = None
        self._gone_since = self._gone_since or now
        if now - self._gone_since >= _GONE_SECONDS:
            self._report(f"{self._tail.place}: the session is no longer there")
            self._stopped.set()

    def _read(self) -> bool:
        """Read a piece of what is new; return whether that was all of it."""
        seen = self._seen
        piece = self._tail.piece(seen.at)
        lines = piece.lines
        if seen.hashes:
            last = lines[0].text if lines else b""
            if hash(piece.head) != seen.hashes[0] or hash(last) != seen.hashes[-1]:
                try:
                    self._read_again()
                except AgentSessionError as error:
                    self._believe(Line(0, piece.head), error)
                return False
            lines = lines[1:]
        return self._take(lines, is_end=piece.is_end) and piece.is_end

    def _take(self, lines: list[Line], *, is_end: bool) -> bool:
        """Take lines that follow what was seen; return whether all could be taken."""
        if self._take_at_once(lines):
            return True
        number = self._seen.number
        rows = None
        for position, line in enumerate(lines):
            number += line.step
            is_last = is_end and position == len(lines) - 1
            try:
                if self.header is None:
                    self._begin(self._decoded_header(line, number))
                    entry_id = ""
                else:
                    rows = rows or self._rows()
                    entry_id = self._taken(line, number, rows, is_last=is_last)
            except _Cut:
                return True
            except AgentSessionError as error:
                if is_last and self.header is None:
                    return True
                self._believe(line, error)
                return False
            self._doubt = None
            self._seen.add(line.text, entry_id, line.at, number)
        return True

    def _take_at_once(self, lines: list[Line]) -> bool:
        """Take many lines together where it is certain that each is an entry."""
        if self.header is None or self._verify_ids or len(lines) < _MANY:
            return False
        version = self.header.version
        found = envelopes(b"".join(line.text + b"\n" for line in lines), version)
        if found is None or not self._rows().may_extend(*found[:2]):
            return False
        for line, entry_id, parent, entry_type in zip(lines, *found, strict=True):
            kind = ENTRY_TYPES.get(entry_type, UnknownEntry)
            entry = kind.from_line(line.text, entry_type, entry_id, parent, version=version)
            self._ready.append(entry)
            self._seen.add(line.text, entry_id, line.at, self._seen.number + line.step)
        self._doubt = None
        return True

    def _rows(self) -> Rows:
        assert self.header is not None
        rows = Rows(self.header.version)
        rows.index = self._seen.index
        return rows

    def _taken(self, line: Line, number: int, rows: Rows, *, is_last: bool) -> str:
        """Read an entry; return its id, empty for one that repeats an earlier entry.

        Raises:
            _Cut: when it is the last line and cut short.
            AgentSessionError: when it cannot be read.
        """
        assert self.header is not None
        # The rules of reading live in one place: each line is a file's next one for it.
        reader = LineReader(
            line.text,
            self._tail.place,
            allow_newer=self._allow_newer,
            verify_ids=self._verify_ids,
        )
        before = len(rows)
        reader.follow(self.header, rows, number)
        if reader.truncated is not None:
            if is_last:
                raise _Cut
            raise reader.refusal(reader.truncated.error)  # type: ignore[arg-type]
        for note in reader.notes:
            self._report(f"{self._tail.place}: {note}")
        if len(rows) == before:
            return ""
        self._ready.append(rows[-1])
        return rows.ids[-1]

    def _believe(self, line: Line, error: AgentSessionError) -> None:
        """Raise an error when the line that gave it has been standing there for a while."""
        now = time.monotonic()
        if self._doubt is None or self._doubt[0] != line:
            self._doubt = (line, now)
        elif now - self._doubt[1] >= _DOUBT_SECONDS:
            raise error

    # The header, and what was read before.

    def _begin(self, header: Header) -> None:
        if self._session_id and header.id != self._session_id:
            raise DamagedFile(
                f'holds session "{shown(header.id)}", not "{shown(self._session_id)}"',
                path=self._tail.place,
                line=1,
            )
        self.header = header
        self._session_id = header.id
        self._verify_ids = versions.has_content_ids(header.version)

    def _decoded_header(self, line: Line, number: int) -> Header:
        place = self._tail.place
        try:
            return decode_header(line.text, allow_newer=self._allow_newer)
        except Undecodable as error:
            raise DamagedFile(str(error), path=place, line=number) from error
        except UnsupportedFormat as error:
            sentence = f"{place}: line {number}: {error}"
            raise UnsupportedFormat(sentence, format=error.format) from error

    def _read_again(self) -> None:
        """Find out how far what is there now is what was seen, and forget the rest."""
        seen = self._seen
        count = 0
        for number, line in all_lines(self._tail):
            if count == 0 and hash(line.text) != seen.hashes[0]:
                self._begin(self._decoded_header(line, number))
                self._report(f"{self._tail.place}: the header was changed")
                seen.hashes[0] = hash(line.text)
            elif count == len(seen.hashes) or hash(line.text) != seen.hashes[count]:
                break
            count += 1
            seen.at, seen.number = line.at, number
        lost = seen.keep(count)
        if not count:
            self.header = None
        if lost:
            what = (
                "1 entry that was given is" if lost == 1 else f"{lost} entries that were given are"
            )
            self._report(f"{self._tail.place}: {what} no longer there")


class _Cut(Exception):
    """The last line is not whole yet."""
