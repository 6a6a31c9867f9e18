"""The questions a database is asked. Each may raise ``sqlite3.Error``; the caller copes."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentsession.importers.opencode import decode, records, values
from agentsession.importers.opencode import schema as tables
from agentsession.importers.opencode.names import G2, Generation
from agentsession.importers.opencode.records import (
    Project,
    Session,
    Stray,
)
from agentsession.importers.opencode.schema import plain, rows_of
from agentsession.importers.opencode.store import RowsRead, SessionsRead
from agentsession.importers.snapshot import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agentsession.importers.opencode.schema import Schema

# Records longer than this are not kept with their session, but read again.
_KEEP: Final = 16 * 1024
_KINDS: Final = {
    tables.MESSAGE: records.MESSAGE,
    tables.PART: records.PART,
    tables.SESSION_MESSAGE: records.ROW,
    **dict.fromkeys(tables.QUEUES, records.QUEUE),
}
NO_MESSAGE: Final = "its message does not exist"
"""Why a part is a stray."""
_NO_SESSION: Final = "its session has no record"


class Source(NamedTuple):
    """A database to ask: its connection, its tables, and its name in reports."""

    connection: sqlite3.Connection
    schema: Schema
    name: str

    def has(self, table: str, column: str = "") -> bool:
        """Return whether a table can be read, and has a column."""
        return self.schema.has(table, column)

    def table(self, table: str) -> str:
        """Return a table's full name, quoted."""
        return self.schema.table(table)

    def order(self, table: str, *columns: str) -> str:
        """Return an ORDER BY clause of those columns that the table has."""
        return self.schema.order(table, *columns)

    def column(self, table: str, column: str) -> str:
        """Return a column's name for a SELECT, ``NULL`` when the table lacks it."""
        return self.schema.column(table, column)

    def unit(self, table: str, id_: str) -> str:
        """Return the name of a row in reports."""
        return f"{self.name}:{self.schema.prefix}{table}/{id_}"

    def select(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Return the rows of a query."""
        return self.connection.execute(sql, values)


def sessions(
    source: Source,
    generation: Generation,
    table: str,
    again: Callable[[str], bytes],
) -> SessionsRead:
    """Return the sessions of one session table; ``again`` reads a long record anew."""
    if not source.has(table):
        return SessionsRead(())
    found: dict[str, Session] = {}
    strays: list[Stray] = []
    cursor = source.select(
        f"SELECT * FROM {source.table(table)}{source.order(table, 'id')}"  # noqa: S608
    )
    for columns in rows_of(cursor):
        unit = source.unit(table, columns.text("id"))
        session = decode.decode_session_row(generation, unit, columns)
        if session.id in found:
            why = "another row has the same id"
            strays.append(Stray(unit, records.SESSION, why, session.id, session.id))
            continue
        if session.id and len(session.record) > _KEEP:
            session = records.with_source(session, partial(again, session.id))
        found[session.id] = session
    return SessionsRead(tuple(found.values()), tuple(strays))


def record(source: Source, table: str, session_id: str) -> bytes:
    """Return a session's row as one JSON object, empty when it is gone."""
    if not source.has(table):
        return b""
    cursor = source.select(
        f"SELECT * FROM {source.table(table)} WHERE id = ?",  # noqa: S608
        (session_id,),
    )
    return next((columns.json() for columns in rows_of(cursor)), b"")


def rows(source: Source, session: Session) -> RowsRead:
    """Return a session's ``session_message`` rows and queued input."""
    if not holds(source, session, tables.SESSION_V2, tables.SESSION):
        return RowsRead(())
    found = []
    table = tables.SESSION_MESSAGE
    if source.has(table):
        order = source.order(table, "seq", "time_created", "id")
        cursor = source.select(
            f"SELECT * FROM {source.table(table)} WHERE session_id = ?{order}",  # noqa: S608
            (session.id,),
        )
        for columns in rows_of(cursor):
            unit = source.unit(table, columns.text("id"))
            found.append(decode.decode_row2(unit, columns))
    queue = []
    for table, seq in tables.QUEUES.items():
        if not source.has(table):
            continue
        order = source.order(table, seq, "id")
        cursor = source.select(
            f"SELECT * FROM {source.table(table)} WHERE session_id = ?{order}",  # noqa: S608
            (session.id,),
        )
        for columns in rows_of(cursor):
            unit = source.unit(table, columns.text("id"))
            queue.append(decode.decode_queue_row(unit, table, columns))
    return RowsRead(tuple(found), tuple(queue))


def orphans(source: Source, known: Collection[str]) -> tuple[Stray, ...]:
    """Return the records of sessions that are not known, and those of none."""
    found: list[Stray] = []
    for table in (tables.MESSAGE, tables.SESSION_MESSAGE, *tables.QUEUES):
        if not source.has(table):
            continue
        for key in _strange(source, table, known):
            found += _of_session(source, table, key)
            if table == tables.MESSAGE and source.has(tables.PART):
                found += _parts_of_session(source, key)
    if source.has(tables.PART):
        found += _parts_of_none(source, known)
    return tuple(found)


def project(source: Source, project_id: str) -> Project | None:
    """Return a project's row."""
    table = tables.PROJECT
    if not source.has(table):
        return None
    cursor = source.select(
        f"SELECT * FROM {source.table(table)} WHERE id = ?",  # noqa: S608
        (project_id,),
    )
    columns = next(rows_of(cursor), None)
    if columns is None:
        return None
    return Project(
        source.unit(table, project_id),
        project_id,
        columns.text("worktree"),
        columns.text("vcs"),
        columns.text("name"),
        values.millis(columns.value("time_created")),
        columns.json(),
    )


def migration(source: Source) -> tuple[str, str]:
    """Return the phase and the cursor of the V1 to V2 migration. Spec: opencode 5.1."""
    if not source.has(tables.KV):
        return "", ""
    cursor = source.select(
        f"SELECT value FROM {source.table(tables.KV)} WHERE key = 'migration.v1-v2'"  # noqa: S608
    )
    columns = next(rows_of(cursor), None)
    state = columns.decoded("value") if columns is not None else None
    return values.metadata_string(state, "phase"), values.metadata_string(state, "cursor")


def others(source: Source) -> dict[str, int | None]:
    """Return the tables of no conversation with their numbers of rows."""
    found: dict[str, int | None] = {}
    for table in source.schema.others:
        if table.removeprefix(source.schema.prefix) in tables.SECRET:
            found[table] = None
            continue
        row = source.select(f"SELECT count(*) FROM {tables.quoted(table)}").fetchone()  # noqa: S608
        found[table] = row[0]
    return found


def units(source: Source) -> int:
    """Return the number of rows in the tables of sessions and what they hold."""
    counted = [t for t in source.schema.columns if t not in {tables.PROJECT, tables.KV}]
    found = [
        source.select(f"SELECT count(*) FROM {source.table(t)}").fetchone()  # noqa: S608
        for t in counted
    ]
    return sum(int(row[0]) for row in found)


def holds(source: Source, session: Session, own: str, other: str) -> bool:
    """Return whether a copy of a session is the one that a model's rows belong to.

    That is the copy in the model's own session table, else the other one.
    """
    if not session.id:
        return False
    copy = tables.SESSION if session.generation == G2 else tables.SESSION_V2
    if copy == own:
        return True
    if copy != other or not source.has(own):
        return copy == other
    found = source.select(
        f"SELECT 1 FROM {source.table(own)} WHERE id = ?",  # noqa: S608
        (session.id,),
    )
    return found.fetchone() is None


def _strange(source: Source, table: str, known: Collection[str]) -> list[Any]:
    """Return the session ids of a table, as stored, that are not those of known sessions."""
    cursor = source.select(f"SELECT DISTINCT session_id FROM {source.table(table)}")  # noqa: S608
    return [key for (key,) in cursor if not _is_known(key, known)]


def _of_session(source: Source, table: str, key: Any) -> list[Stray]:
    value, parameter = _same(key)
    cursor = source.select(
        f"SELECT id FROM {source.table(table)} WHERE session_id IS {value}",  # noqa: S608
        parameter,
    )
    return [stray_of(source, table, id_, plain(key), _NO_SESSION) for (id_,) in cursor]


def _parts_of_session(source: Source, key: Any) -> list[Stray]:
    """Return strays for the parts of the messages of a session that is not known."""
    value, parameter = _same(key)
    cursor = source.select(
        f"SELECT id FROM {source.table(tables.PART)} WHERE message_id IN"  # noqa: S608
        f" (SELECT id FROM {source.table(tables.MESSAGE)} WHERE session_id IS {value})",
        parameter,
    )
    return [stray_of(source, tables.PART, id_, plain(key), _NO_SESSION) for (id_,) in cursor]


def _parts_of_none(source: Source, known: Collection[str]) -> list[Stray]:
    """Return strays for the parts of no message and of no known session."""
    session_id = source.column(tables.PART, "session_id")
    cursor = source.select(
        f"SELECT p.id, {session_id} FROM {source.table(tables.PART)} p"  # noqa: S608
        f" WHERE true{without_message(source)}"
    )
    return [
        stray_of(source, tables.PART, id_, plain(key), NO_MESSAGE)
        for id_, key in cursor
        if not _is_known(key, known)
    ]


def without_message(source: Source) -> str:
    """Return the condition that a part ``p`` is of no message, behind another condition."""
    if not source.has(tables.MESSAGE):
        return ""
    return (
        f" AND NOT EXISTS (SELECT 1 FROM {source.table(tables.MESSAGE)} m"  # noqa: S608
        " WHERE m.id = p.message_id)"
    )


def _is_known(key: object, known: Collection[str]) -> bool:
    # Only text that reads back as it is stored can be asked for by its value.
    if not isinstance(key, Text) or not key or plain(key).encode() != key:
        return False
    return plain(key) in known


def _same(key: Any) -> tuple[str, tuple[Any, ...]]:
    """Return SQL for a stored value, and its parameter: text goes in as bytes."""
    return ("CAST(? AS TEXT)" if isinstance(key, Text) else "?"), (
        bytes(key) if isinstance(key, Text) else key,
    )


def stray_of(source: Source, table: str, id_: object, session: str, why: str) -> Stray:
    """Return the stray that a row is, by its table and its id as stored."""
    unit = source.unit(table, plain(id_))
    return Stray(unit, _KINDS[table], why, session, plain(id_))
