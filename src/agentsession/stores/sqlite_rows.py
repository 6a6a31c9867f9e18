"""Sessions as rows of a SQLite store, and back.

A line stands in its row exactly as in a file, without its line feed. It goes in as bytes
and comes back as bytes, so that a line that is not UTF-8 is kept as well.

Spec: stores 5.1 and 5.4, decision B3.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from agentsession import reading
from agentsession.entries import Entry
from agentsession.errors import ConcurrentWriter, DamagedFile, SessionExists
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.session import Session
from agentsession.stores import sqlite_scan
from agentsession.stores.layout import shown
from agentsession.timestamp import Timestamp

ABSENT: Final = -1
"""What :func:`shared` says of a session that is not in the database."""
OTHER: Final = -2
"""What :func:`shared` says of a session that is there and differs."""

_HEADER: Final = "SELECT CAST(header AS BLOB) FROM sessions WHERE id = ?"
_LINES: Final = "SELECT seq, CAST(line AS BLOB) FROM entries WHERE session_id = ? ORDER BY seq"
_INSERT: Final = (
    "INSERT INTO entries (session_id, seq, id, parent, type, line) "
    "VALUES (?, ?, ?, ?, ?, CAST(? AS TEXT))"
)


def insert_session(connection: sqlite3.Connection, session: Session) -> None:
    """Insert the row of a session, without its entries.

    Spec: stores 5.4.

    Raises:
        SessionExists: when the id is in the database.
    """
    header = session.header
    created = header.created_at or Timestamp.now()
    try:
        connection.execute(
            "INSERT INTO sessions (id, created_at, updated_at, cwd, parent_session, header) "
            "VALUES (?, ?, ?, ?, ?, CAST(? AS TEXT))",
            (
                header.id,
                created.sql(),
                Timestamp.now().sql(),
                header.cwd,
                header.parent_session,
                header.line,
            ),
        )
    except sqlite3.IntegrityError as error:
        raise SessionExists(
            f'session "{shown(session.id)}" is already in the store', session_id=session.id
        ) from error


def check_entry(connection: sqlite3.Connection, session_id: str, entry_id: str) -> None:
    """Refuse an entry that is to come after one that another writer took away.

    Raises:
        ConcurrentWriter: when the session has no entry of that id.
    """
    row = connection.execute(
        "SELECT 1 FROM entries WHERE session_id = ? AND id = ?", (session_id, entry_id)
    ).fetchone()
    if row is None:
        raise taken_away(session_id, entry_id)


def taken_away(session_id: str, entry_id: str) -> ConcurrentWriter:
    """Return the error for an entry that the session had and another writer removed."""
    return ConcurrentWriter(
        f"session {shown(session_id)} was changed by another writer: the database no longer has "
        f"its entry {shown(entry_id)}; release it and open it again",
        session_id=session_id,
    )


def insert_entry(
    connection: sqlite3.Connection, session_id: str, seq: int, entry: Entry, now: str
) -> None:
    """Insert an entry that is sealed, and note in its session what listings show of it.

    Spec: stores 5.4.

    Raises:
        ConcurrentWriter: when another writer was there first.
    """
    try:
        connection.execute(
            _INSERT, (session_id, seq, entry.id, entry.parent, entry.type, entry.line)
        )
    except sqlite3.IntegrityError as error:
        raise ConcurrentWriter(
            f"session {shown(session_id)} was appended to by another writer; release it and open "
            "it again",
            session_id=session_id,
        ) from error
    if isinstance(entry, InfoEntry) and entry.name:
        _update(connection, session_id, now, "name", entry.name)
    elif isinstance(entry, LinkEntry) and entry.rel == "continued_in" and entry.session:
        _update(connection, session_id, now, "superseded_by", entry.session)
    else:
        connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, session_id))


def _update(
    connection: sqlite3.Connection, session_id: str, now: str, column: str, value: str
) -> None:
    connection.execute(
        f"UPDATE sessions SET updated_at = ?, {column} = ? WHERE id = ?",  # noqa: S608
        (now, value, session_id),
    )


def replace_header(connection: sqlite3.Connection, header: Header) -> None:
    """Replace the header of a session, raised to a later format.

    Spec: later drafts 13.
    """
    connection.execute(
        "UPDATE sessions SET header = CAST(? AS TEXT) WHERE id = ?", (header.line, header.id)
    )


def load(
    connection: sqlite3.Connection, session_id: str, path: Path, *, allow_newer: bool = False
) -> tuple[Session, int] | None:
    """Return a session and its last ``seq``; ``None`` when it is not there.

    Minor versions this release does not know are read only when ``allow_newer`` is set.

    Spec: stores 5.4.

    Raises:
        DamagedFile: when a row holds no such line; a row is never merely cut short.
        AgentSessionError: as :func:`agentsession.reading.load`.
    """
    row = connection.execute(_HEADER, (session_id,)).fetchone()
    if row is None:
        return None
    place = f"{path}: session {shown(session_id)}"
    text = BytesIO()
    last = count = 0
    _write(text, row[0], place, 0)
    for seq, line in connection.execute(_LINES, (session_id,)):
        _write(text, line, place, seq)
        last = seq
        count += 1
    session = reading.load(text.getvalue(), path=place, allow_newer=allow_newer)
    if session.truncated is not None:
        raise DamagedFile(f"entry {last} is damaged: {session.truncated.error}", path=place)
    if session.id != session_id:
        raise DamagedFile(f'the header names session "{shown(session.id)}"', path=place)
    if len(session) != count:
        raise DamagedFile(f"{count} rows hold {len(session)} entries", path=place)
    return session, last


def _write(text: BytesIO, line: object, place: str, seq: int) -> None:
    if not isinstance(line, bytes) or not line or b"\n" in line:
        what = f"entry {seq}" if seq else "the header"
        raise DamagedFile(f"{what} is damaged: its row does not hold one line", path=place)
    text.write(line)
    text.write(b"\n")


# Whole sessions.


def content(connection: sqlite3.Connection, session_id: str) -> sqlite_scan.Rows | None:
    """Return the lines of a session, whatever is in the rows; ``None`` without a session.

    In a damaged database it is what a scan finds.
    """
    try:
        row = connection.execute(_HEADER, (session_id,)).fetchone()
        if row is None:
            return None
        lines = [bytes(line or b"") for _, line in connection.execute(_LINES, (session_id,))]
    except sqlite3.Error as error:
        if not sqlite_scan.is_damage(error):
            raise
        return sqlite_scan.session(connection, session_id)
    return sqlite_scan.Rows(bytes(row[0] or b""), lines, ())


def shared(connection: sqlite3.Connection, session: Session) -> int:
    """Return how many entries of a session are in the database, as its first ones.

    :data:`ABSENT` when there is no such session, :data:`OTHER` when what is there is not the
    beginning of this one, byte for byte.
    """
    row = connection.execute(_HEADER, (session.id,)).fetchone()
    if row is None:
        return ABSENT
    if row[0] != session.header.line:
        return OTHER
    count = 0
    lines = entry_lines(session)
    for seq, line in connection.execute(_LINES, (session.id,)):
        count += 1
        if seq != count or line != next(lines, None):
            return OTHER
    return count


def updated_at(connection: sqlite3.Connection, session_id: str) -> str | None:
    """Return when a session was last written to, as its row says; ``None`` without one."""
    row = connection.execute(
        "SELECT updated_at FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    return None if row is None else str(row[0])


def insert_rest(
    connection: sqlite3.Connection,
    session: Session,
    first: int,
    modified_ns: int | None = None,
) -> None:
    """Insert the entries of a session from a position on, and what listings show of it.

    It was last written to at the time given, in nanoseconds since the epoch, or now.
    """
    rows = session._rows
    columns = zip(rows.ids, rows.parents, rows.types, entry_lines(session), strict=True)
    connection.executemany(
        _INSERT,
        (
            (session.id, seq, entry_id, parent, entry_type, line)
            for seq, (entry_id, parent, entry_type, line) in enumerate(columns, 1)
            if seq > first
        ),
    )
    connection.execute(
        "UPDATE sessions SET updated_at = ?, name = ?, superseded_by = ? WHERE id = ?",
        (_time(modified_ns).sql(), session.name, session.superseded_by, session.id),
    )


def _time(nanoseconds: int | None) -> Timestamp:
    if nanoseconds is None:
        return Timestamp.now()
    try:
        return Timestamp.from_nanoseconds(nanoseconds)
    except ValueError:
        return Timestamp.now()


def entry_lines(session: Session) -> Iterator[bytes]:
    """Yield the lines of a session's entries, without making the entries."""
    return session._rows.lines()
