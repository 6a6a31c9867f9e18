"""A store held in memory: what a test builds, or a reader that has its records already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentsession.importers.opencode.records import sort_messages
from agentsession.importers.opencode.store import MessagesRead, RowsRead, SessionsRead

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentsession.importers.opencode.records import (
        MessageRecord,
        Project,
        QueueRow,
        Row2,
        Session,
        Stray,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A :class:`Store` of the records it is given.

    Attributes:
        store_name: the store's name in reports.
        session_list: its sessions.
        strays: what ``sessions`` hands out beside them.
        messages_of: each V1 session's messages, by session id.
        rows_of, queue_of: each V2 session's rows and queued input, by session id.
        projects: project records by id.
        migrated: what ``migration_done`` says.
    """

    store_name: str = "memory"
    session_list: Sequence[Session] = ()
    strays: Sequence[Stray] = ()
    messages_of: Mapping[str, Sequence[MessageRecord]] = field(default_factory=dict)
    rows_of: Mapping[str, Sequence[Row2]] = field(default_factory=dict)
    queue_of: Mapping[str, Sequence[QueueRow]] = field(default_factory=dict)
    projects: Mapping[str, Project] = field(default_factory=dict)
    migrated: bool = False

    @property
    def name(self) -> str:
        """The store's name in reports."""
        return self.store_name

    def sessions(self) -> SessionsRead:
        """Return the sessions and the strays."""
        return SessionsRead(tuple(self.session_list), tuple(self.strays))

    def messages(self, session: Session) -> MessagesRead:
        """Return a session's messages, ordered as its generation orders them."""
        found = self.messages_of.get(session.id, ())
        return MessagesRead(sort_messages(session.generation, found))

    def rows(self, session: Session) -> RowsRead:
        """Return a session's rows and queued input, as they were given."""
        return RowsRead(
            tuple(self.rows_of.get(session.id, ())), tuple(self.queue_of.get(session.id, ()))
        )

    def orphans(self, sessions: Collection[str]) -> tuple[Stray, ...]:
        """Return the records held for sessions that are not in the set."""
        why = "its session is not in the store"
        lost: list[Stray] = []
        for of in (self.messages_of, self.rows_of, self.queue_of):
            for session_id, records in of.items():
                if session_id in sessions:
                    continue
                for record in records:
                    lost.append(record.stray(why))
                    lost.extend(part.stray(why) for part in getattr(record, "parts", ()))
        return tuple(lost)

    def project(self, project_id: str) -> Project | None:
        """Return the project of an id."""
        return self.projects.get(project_id)

    def migration_done(self) -> bool:
        """Return what ``migrated`` says."""
        return self.migrated

    def others(self) -> Mapping[str, int | None]:
        """Return nothing: all that is held is conversation."""
        return {}
