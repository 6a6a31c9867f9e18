"""The tables of an OpenCode database, found by name; columns by name, never by place.

Spec: opencode 4, 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentsession.importers.opencode.columns import Column, Columns
from agentsession.importers.snapshot import Text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

SESSION: Final = "session"
SESSION_V2: Final = "session_v2"
MESSAGE: Final = "message"
PART: Final = "part"
SESSION_MESSAGE: Final = "session_message"
PROJECT: Final = "project"
KV: Final = "kv"
QUEUES: Final = {
    "session_pending": "admitted_seq",
    "session_inbox": "enqueued_seq",
    "session_input": "admitted_seq",
}
"""The tables of queued input, and the column that orders each."""

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    SESSION: ("id",),
    SESSION_V2: ("id",),
    MESSAGE: ("id", "session_id", "data"),
    PART: ("id", "message_id", "data"),
    SESSION_MESSAGE: ("id", "session_id", "data"),
    **dict.fromkeys(QUEUES, ("id", "session_id")),
    PROJECT: ("id",),
    KV: ("key", "value"),
}
"""The tables that are read, each with the columns it cannot be read without."""

SECRET: Final = frozenset({"account", "account_state", "control_account", "credential"})
"""Tables that hold secrets; they are listed and never opened."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables that are there, under the names of this package.

    Attributes:
        prefix: what a deployment put before every table's name.
        columns: each readable table's columns.
        lacking: tables that lack a column they cannot be read without.
        others: the tables that hold no conversation, under their full names.
    """

    prefix: str
    columns: Mapping[str, Sequence[str]]
    lacking: Mapping[str, str]
    others: Sequence[str]

    def has(self, table: str, column: str = "") -> bool:
        """Return whether a table can be read, and has a column."""
        return table in self.columns and (not column or column in self.columns[table])

    def missing(self) -> tuple[str, ...]:
        """Return the tables that must be there, because of what is there.

        A session table without any of its rows' tables has lost them; the
        preview's databases have ``session_message`` alone.
        """
        there = {t for t in NEEDED if self.has(t) or t in self.lacking}
        wanted: set[str] = set()
        if there & {MESSAGE, PART} or there & {SESSION, SESSION_MESSAGE} == {SESSION}:
            wanted |= {MESSAGE, PART}
        if SESSION_V2 in there:
            wanted.add(SESSION_MESSAGE)
        return tuple(t for t in NEEDED if t in wanted - there)

    def table(self, table: str) -> str:
        """Return a table's full name, quoted."""
        return quoted(self.prefix + table)

    def order(self, table: str, *columns: str) -> str:
        """Return an ORDER BY clause of those columns that the table has."""
        there = [quoted(c) for c in columns if self.has(table, c)]
        return f" ORDER BY {', '.join(there)}" if there else ""

    def column(self, table: str, column: str) -> str:
        """Return a column's name for a SELECT, ``NULL`` when the table lacks it."""
        return quoted(column) if self.has(table, column) else "NULL"


def read_schema(connection: sqlite3.Connection) -> Schema:
    """Return the schema of a database.

    Raises:
        sqlite3.Error: the schema table itself cannot be read.
    """
    found = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
    tables = [plain(name) for (name,) in found.fetchall() if isinstance(name, Text)]
    prefix = _prefix(tables)
    columns: dict[str, tuple[str, ...]] = {}
    lacking: dict[str, str] = {}
    for table, needed in NEEDED.items():
        if prefix + table not in tables:
            continue
        there = table_columns(connection, prefix + table)
        missing = [c for c in needed if c not in there]
        if missing:
            lacking[table] = ", ".join(missing)
        else:
            columns[table] = there
    known = {prefix + table for table in NEEDED}
    others = [t for t in sorted(tables) if t not in known and not t.startswith("sqlite_")]
    return Schema(prefix, columns, lacking, others)


def table_columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Return the names of a table's columns, in order."""
    found = connection.execute(f"PRAGMA main.table_info({quoted(table)})")
    return tuple(plain(row[1]) for row in found.fetchall())


def rows_of(cursor: sqlite3.Cursor) -> Iterator[Columns]:
    """Yield the rows of a cursor as columns by name."""
    header = [column[0] for column in cursor.description or ()]
    for row in cursor:
        yield Columns(
            Column(name, plain(value) if isinstance(value, Text) else value)
            for name, value in zip(header, row, strict=True)
        )


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def plain(value: object) -> str:
    """Return a text column's value as a string; empty for anything else."""
    return str(value, "utf-8", "replace") if isinstance(value, Text) else ""


def _prefix(tables: Sequence[str]) -> str:
    """Return what stands before every table's name, the shortest of several."""
    found = {
        table.removesuffix(ending)
        for table in tables
        for ending in (SESSION, SESSION_V2)
        if table.endswith(ending)
        and {table.removesuffix(ending) + t for t in (MESSAGE, SESSION_MESSAGE)} & set(tables)
    }
    return min(found, key=lambda p: (len(p), p), default="")
