"""What every OpenCode store can be asked: the ``Store`` interface and its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentsession.importers.opencode.records import (
        MessageRecord,
        Project,
        QueueRow,
        Row2,
        Session,
        Stray,
    )


class SessionsRead(NamedTuple):
    """The sessions of a store, and what stands among them and is none."""

    sessions: tuple[Session, ...]
    strays: tuple[Stray, ...] = ()


class MessagesRead(NamedTuple):
    """A session's V1 messages, and what was read with them and belongs to none."""

    messages: tuple[MessageRecord, ...]
    strays: tuple[Stray, ...] = ()


class RowsRead(NamedTuple):
    """A session's rows in order, its queued input, and what could not be read."""

    rows: tuple[Row2, ...]
    queue: tuple[QueueRow, ...] = ()
    strays: tuple[Stray, ...] = ()


class Store(Protocol):
    """The records of one OpenCode store: a tree, a database, or a value in memory.

    Records are read on demand, one session at a time, and the source is never
    written. Nothing that a store holds makes a method raise: a record that
    cannot be read carries its ``problem``; what belongs nowhere is a stray.
    Every record comes out once: through ``sessions``, through ``messages`` or
    ``rows`` of one of them, or through ``orphans`` of all their ids.
    """

    @property
    def name(self) -> str:
        """The store's name in reports: ``storage``, or the database's file name."""
        ...

    def sessions(self) -> SessionsRead:
        """Return every session record the store holds, of any generation.

        A session whose record cannot be read, yet whose id is known, is among
        them with its ``problem``: its messages may still be whole.
        """
        ...

    def messages(self, session: Session) -> MessagesRead:
        """Return a session's V1 messages with their parts, in the order OpenCode reads them."""
        ...

    def rows(self, session: Session) -> RowsRead:
        """Return a session's V2 rows in ``seq`` order, and its queued input."""
        ...

    def orphans(self, sessions: Collection[str]) -> tuple[Stray, ...]:
        """Return the records of sessions that are not in the set, or of no session at all."""
        ...

    def project(self, project_id: str) -> Project | None:
        """Return a project's record, ``None`` when there is none to read."""
        ...

    def migration_done(self) -> bool:
        """Return whether OpenCode 2 finished copying the V1 tables into its own."""
        ...

    def others(self) -> Mapping[str, int | None]:
        """Return what holds no conversation, by name, with its number of records.

        The number is ``None`` for what is never opened, because it holds secrets.
        """
        ...
