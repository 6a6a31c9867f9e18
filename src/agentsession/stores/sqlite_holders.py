"""Who holds a session in a SQLite store: the rows of ``holders``.

A row names the process and carries the token of the store object in it. All of this runs
inside the caller's write transaction, so that of several who want a session one gets it.

Spec: stores 5.3, decision B1.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from typing import Final

from agentsession.errors import NoSession, SessionLocked
from agentsession.stores import locks
from agentsession.stores.layout import shown
from agentsession.stores.locks import LockHolder
from agentsession.stores.sqlite_schema import Tables
from agentsession.timestamp import Timestamp

_BEAT: Final = "UPDATE holders SET heartbeat = ?1 WHERE session_id = ?2 AND token = ?3"
_IS_THERE: Final = "EXISTS (SELECT 1 FROM entries WHERE session_id = ?2 AND id = ?4)"
_BEAT_AFTER: Final = f"{_BEAT} AND {_IS_THERE}"

# The tokens of the stores of this process. It belongs to the process as its id does: a row
# that names our own id and another token was left by an earlier process with the same id.
_living: Final[set[str]] = set()


class Holders:
    """The holds of one store object; a forked child starts with none.

    Spec: stores 5.3.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._token = secrets.token_hex(8)
        _living.add(self._token)

    @property
    def token(self) -> str:
        """What marks the rows of this store object."""
        if os.getpid() != self._pid:
            self._start()
        return self._token

    def claim(self, connection: sqlite3.Connection, session_id: str) -> LockHolder | None:
        """Take a session; return whose it was when its process is gone, else ``None``.

        Spec: stores 5.3.

        Raises:
            SessionLocked: naming the holder.
        """
        found = _row(connection, session_id)
        stale = None
        if found is not None:
            holder, token = found
            if token == self.token:
                return None
            if not _is_stale(holder, token):
                raise _locked(holder)
            stale = holder
            connection.execute("DELETE FROM holders WHERE session_id = ?", (session_id,))
        now = Timestamp.now().sql()
        connection.execute(
            "INSERT INTO holders (session_id, pid, host, token, since, heartbeat) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (session_id, os.getpid(), locks.host_name(), self.token, now, now),
        )
        return stale

    def beat(
        self, connection: sqlite3.Connection, session_id: str, now: str, last: str | None
    ) -> bool:
        """Say that the session is appended to now; return whether it still ends as it did.

        ``last`` is the id of its last entry, ``None`` without one. It costs least to ask for it
        in the statement that is needed anyway.

        Spec: stores 5.3.

        Raises:
            SessionLocked: when the hold was lost.
            NoSession: when the session was deleted meanwhile.
        """
        # Whoever appends has claimed the session in this process: the token is its own.
        token = self._token
        if last is None:
            done = connection.execute(_BEAT, (now, session_id, token))
        else:
            done = connection.execute(_BEAT_AFTER, (now, session_id, token, last))
        if done.rowcount:
            return True
        found = _row(connection, session_id)
        if found is not None and found[1] == token:
            return False
        if not has_session(connection, session_id):
            raise NoSession(
                f'session "{shown(session_id)}" was deleted by another store',
                session_id=session_id,
            )
        raise _lost(session_id, found[0] if found else None)

    def release(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Let others have a session, if it is ours."""
        connection.execute(
            "DELETE FROM holders WHERE session_id = ? AND token = ?", (session_id, self.token)
        )

    def release_all(self, connection: sqlite3.Connection) -> None:
        """Let others have every session of this store object."""
        connection.execute("DELETE FROM holders WHERE token = ?", (self.token,))

    def end(self) -> None:
        """Forget the token: what rows may still carry it are stale in this process."""
        _living.discard(self._token)


def holder_of(connection: sqlite3.Connection, session_id: str) -> LockHolder | None:
    """Return who holds a session; ``None`` when nobody does, or there is no such session.

    In an older database, without the table, nobody holds any.
    """
    if "holders" not in Tables.of(connection).columns:
        return None
    found = _row(connection, session_id)
    return found[0] if found else None


def break_hold(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove the hold on a session, whoever has it."""
    connection.execute("DELETE FROM holders WHERE session_id = ?", (session_id,))


def has_session(connection: sqlite3.Connection, session_id: str) -> bool:
    """Return whether a session is in the database."""
    row = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return row is not None


def _row(connection: sqlite3.Connection, session_id: str) -> tuple[LockHolder, str] | None:
    row = connection.execute(
        "SELECT pid, host, since, heartbeat, token FROM holders WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        return None
    pid, host, since, heartbeat, token = row
    return LockHolder(session_id, pid, host, since, heartbeat=heartbeat), token


def _is_stale(holder: LockHolder, token: str) -> bool:
    if not holder.is_known or holder.host != locks.host_name():
        return False
    if holder.pid == os.getpid():
        return token not in _living
    return not locks.process_exists(holder.pid)


def _locked(holder: LockHolder) -> SessionLocked:
    return SessionLocked(
        f"session {shown(holder.session_id)} is held by {_who(holder)}; close it there, or break "
        "the lock when that process is gone",
        session_id=holder.session_id,
        pid=holder.pid,
        host=holder.host,
        since=holder.since,
    )


def _lost(session_id: str, holder: LockHolder | None) -> SessionLocked:
    taken = f" and is held by {_who(holder)}" if holder else ""
    return SessionLocked(
        f"session {shown(session_id)} was taken from this store{taken}; release it and open it "
        "again",
        session_id=session_id,
        pid=holder.pid if holder else 0,
        host=holder.host if holder else "",
        since=holder.since if holder else "",
    )


def _who(holder: LockHolder) -> str:
    host = f" on {holder.host}" if holder.host else ""
    late = f", last append at {holder.heartbeat}" if holder.heartbeat != holder.since else ""
    return f"process {holder.pid}{host} since {holder.since}{late}"
