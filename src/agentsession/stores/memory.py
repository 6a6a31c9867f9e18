"""Sessions kept in memory, for tests and for what need not last.

Spec: stores 3.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from agentsession import forks
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, NoSession, SessionExists
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores.base import ListFilter, Summary, newest_first


class MemoryStore:
    """A store that lasts as long as the object.

    Spec: stores 3.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, Session] = {}

    def __repr__(self) -> str:
        return f"<MemoryStore with {len(self._sessions)} sessions>"

    def create(self, header: Header | None = None) -> Session:
        """Return a new session.

        Raises:
            SessionExists: when the id is in the store.
            InvalidEntry, UnsupportedFormat: when the header cannot be written.
            NoEntry, NoSession: when it names a base that is not in the store.
        """
        session = forks.new_session(header, self.open)
        session_id = session.id
        with self._lock:
            if session_id in self._sessions:
                raise SessionExists(
                    f"session {session_id} is already in the store", session_id=session_id
                )
            self._sessions[session_id] = session
            session.bind(lambda entry: self.append(session_id, entry))
        return session

    def open(self, session_id: str) -> Session:
        """Return a session; always the same object for an id.

        Raises:
            NoSession: when it is not there.
        """
        with self._lock:
            session = self._sessions.get(session_id)
        if session is None:
            raise NoSession(f'the store has no session "{session_id}"', session_id=session_id)
        return session

    def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry and return its id.

        Raises:
            NoSession: when the session is not there.
            AgentSessionError: as :meth:`agentsession.Session.append`.
        """
        with self._lock:
            session = self.open(session_id)
            sealed = session.prepare(entry)
            session.commit(sealed)
            return sealed.id

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        """Yield the sessions as they are now, newest first; names are always filled."""
        asked = filter or ListFilter()
        with self._lock:
            summaries = [
                Summary(
                    header=session.header, name=session.name, superseded_by=session.superseded_by
                )
                for session in self._sessions.values()
            ]
        kept = newest_first(summary for summary in summaries if asked.keep(summary))
        return iter(kept[: asked.limit or None])

    def delete(self, session_id: str) -> None:
        """Remove a session; its object takes no more entries.

        Raises:
            NoSession: when it is not there.
        """
        with self._lock:
            session = self.open(session_id)
            del self._sessions[session_id]
            session.bind(None, read_only=f"session {session_id} was deleted from its store")

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
