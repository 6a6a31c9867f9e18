"""What every store does: the protocol, the list filter and the summary.

Spec: stores 1 and 2.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.session import Session
from agentsession.timestamp import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One session in a listing.

    Attributes:
        header: its header.
        name: its display name; empty when it has none, or when it was not asked for.
        superseded_by: the session it was continued in; as ``name``.
        file: the name of its file, in stores that have one; empty in others.
        size: its size in bytes, when known.
        modified_ns: when it was last written to, in nanoseconds since the epoch, when known.

    Spec: stores 2.
    """

    header: Header
    name: str = ""
    superseded_by: str = ""
    file: str = ""
    size: int | None = None
    modified_ns: int | None = None

    @property
    def path(self) -> Path | None:
        """Its file, in stores that have one."""
        return Path(self.file) if self.file else None

    @property
    def modified(self) -> Timestamp | None:
        """When it was last written to, when known."""
        if self.modified_ns is None:
            return None
        try:
            return Timestamp.from_nanoseconds(self.modified_ns)
        except ValueError:
            return None

    @property
    def id(self) -> str:
        """The session id."""
        return self.header.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """Which sessions to list, and what to find out about them. Empty members do not filter.

    Attributes:
        cwd: the working directory of the header, exactly.
        parent_session: the session they were forked or spawned from.
        after, before: bounds of ``created_at``, both exclusive: times, aware datetimes or
            their text.
        limit: at most so many results; 0 for all.
        with_names: fill ``Summary.name``, where that costs reading the whole session.
        current: leave out sessions that were continued in another one.
        with_sizes: fill ``Summary.size``, where that costs reading the whole session.

    Spec: stores 2, decision B3.

    Raises:
        ValueError: a naive datetime, text that is no time, or a negative limit.
    """

    cwd: str = ""
    parent_session: str = ""
    after: Timestamp | datetime | str | None = None
    before: Timestamp | datetime | str | None = None
    limit: int = 0
    with_names: bool = False
    current: bool = False
    with_sizes: bool = False

    def __post_init__(self) -> None:
        for bound in ("after", "before"):
            value = getattr(self, bound)
            object.__setattr__(self, bound, Timestamp.of(value) if value else None)
        if self.limit < 0:
            raise ValueError(f"limit {self.limit}: it must be 0 for all, or more")

    @property
    def reads_entries(self) -> bool:
        """Whether the answer needs more of a session than its header."""
        return self.with_names or self.current

    def matches(self, header: Header) -> bool:
        """Return whether a header passes the filters that look at headers only."""
        if self.cwd and header.cwd != self.cwd:
            return False
        if self.parent_session and header.parent_session != self.parent_session:
            return False
        if self.after is None and self.before is None:
            return True
        created = header.created_at
        if created is None:
            return False
        too_early = isinstance(self.after, Timestamp) and created <= self.after
        return not too_early and not (isinstance(self.before, Timestamp) and created >= self.before)

    def keep(self, summary: Summary) -> bool:
        """Return whether a summary passes: its header matches, and it is current if asked."""
        return self.matches(summary.header) and not (self.current and summary.superseded_by)


def newest_first(summaries: Iterable[Summary]) -> list[Summary]:
    """Return summaries by ``created_at``, newest first; equal times by id, descending.

    Spec: stores 2.
    """

    def key(summary: Summary) -> tuple[int, str]:
        created = summary.header.created_at
        return (created.nanoseconds if created else 0, summary.id)

    return sorted(summaries, key=key, reverse=True)


class Put(enum.Enum):
    """What :meth:`Keeper.put` had to do."""

    CREATED = "created"
    """The session was not there."""
    EXTENDED = "extended"
    """The beginning of the session was there."""
    PRESENT = "present"
    """All of it was there."""


class Store(Protocol):
    """A place that keeps sessions.

    A session that ``create`` or ``open`` returns is shared with the store: it shows what
    is appended later, moving its leaf steers the next append, and ``session.append`` is
    ``store.append``. Opening it again gives the same object. Stores are thread-safe, and
    context managers that close at the end.

    Spec: stores 1, decision A5.
    """

    def create(self, header: Header | None = None) -> Session:
        """Return a new session; members the header leaves empty are filled.

        Raises:
            SessionExists: when the id is in the store.
            InvalidEntry: when the header cannot be written, or its id cannot be stored.
            UnsupportedFormat: when it asks for a format that is not written here.
            ReadOnly, StoreFailed: when the store cannot take it.
        """
        ...

    def open(self, session_id: str) -> Session:
        """Return a session of the store.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another writer holds it.
            DamagedFile, DuplicateEntry, NoEntry, UnsupportedFormat: when it cannot be read.
            StoreFailed: when the storage fails.
        """
        ...

    def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry to a session, opening it when need be; return the entry's id.

        When this raises, the entry is not in memory.

        Raises:
            AgentSessionError: what :meth:`open` and :meth:`agentsession.Session.append` raise.
            ReadOnly, ConcurrentWriter, StoreFailed: when the store cannot take it.
        """
        ...

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        """Yield the sessions, newest first, and then an error for each that cannot be read.

        Errors are yielded, not raised, so that one bad file never hides the rest; tell them
        apart with ``isinstance(item, Summary)``.
        """
        ...

    def delete(self, session_id: str) -> None:
        """Remove a session.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another writer holds it.
            ConcurrentWriter: when another writer was noticed and it was not released since.
            ReadOnly, StoreFailed: when the store cannot remove it.
        """
        ...

    def close(self) -> None:
        """Let go of every session and of the store. Closing twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Keeper(Store, Protocol):
    """A store that takes whole sessions, every line as it is.

    Spec: decision B3.
    """

    def put(self, session: Session, *, modified_ns: int | None = None) -> Put:
        """Store a session as it stands, whole or not at all; return what had to be done.

        What is there already is kept when it is the beginning of the session, and refused
        when it is not. The session is not opened; one that is open here is released first.

        Args:
            session: the session.
            modified_ns: when it was last written to, which listings show when it had to be
                written, in nanoseconds since the epoch; now when not given.

        Raises:
            SessionExists: when the store has another session of that id.
            SessionLocked: when another writer holds it.
            InvalidEntry: when its id cannot be stored.
            ReadOnly, StoreFailed: when the store cannot take it.
        """
        ...

    def content(self, session_id: str) -> bytes:
        """Return what is stored of a session as the bytes of a file, readable or not.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when the storage fails.
        """
        ...

    def holds(self, session: Session) -> bool:
        """Return whether exactly this session is stored, compared byte for byte.

        Raises:
            StoreFailed: when the storage fails.
        """
        ...

    def modified_ns(self, session_id: str) -> int | None:
        """Return when a session was last written to, in nanoseconds since the epoch.

        ``None`` when that is not known.

        Raises:
            NoSession: when it is not there.
            StoreFailed: when the storage fails.
        """
        ...

    def release(self, session_id: str) -> None:
        """Let others have a session; fine when it is not open.

        Raises:
            StoreFailed: when the storage fails; it is let go of all the same.
        """
        ...
