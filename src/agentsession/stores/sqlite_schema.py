"""The tables of a SQLite store: made, brought up to date, or refused.

Spec: stores 5.1 and 5.2.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final, Self

from agentsession.errors import DamagedFile
from agentsession.stores.listing import scan

_TABLES: Final = {
    "sessions": """
        CREATE TABLE IF NOT EXISTS sessions (
            id TEXT NOT NULL PRIMARY KEY,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            cwd TEXT NOT NULL DEFAULT '',
            parent_session TEXT NOT NULL DEFAULT '',
            name TEXT NOT NULL DEFAULT '',
            superseded_by TEXT NOT NULL DEFAULT '',
            header TEXT NOT NULL
        ) STRICT""",
    "entries": """
        CREATE TABLE IF NOT EXISTS entries (
            session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            parent TEXT,
            type TEXT NOT NULL,
            line TEXT NOT NULL,
            UNIQUE (session_id, seq),
            UNIQUE (session_id, id)
        ) STRICT""",
    "holders": """
        CREATE TABLE IF NOT EXISTS holders (
            session_id TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
            pid INTEGER NOT NULL,
            host TEXT NOT NULL,
            token TEXT NOT NULL,
            since TEXT NOT NULL,
            heartbeat TEXT NOT NULL
        ) STRICT""",
}
_INDEXES: Final = {
    "sessions_created_at": "sessions (created_at)",
    "sessions_cwd_created_at": "sessions (cwd, created_at)",
}
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "sessions": (
        "id",
        "created_at",
        "updated_at",
        "cwd",
        "parent_session",
        "name",
        "superseded_by",
        "header",
    ),
    "entries": ("session_id", "seq", "id", "parent", "type", "line"),
    "holders": ("session_id", "pid", "host", "token", "since", "heartbeat"),
}
# Columns that came after the table, in the order they came.
_ADDED: Final = ("name", "superseded_by")


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables a database has.

    Attributes:
        columns: by table, the names of its columns; only tables of a store.
        others: the names of all other tables.
        indexed: whether the two indexes of ``sessions`` are there, under whatever names.

    Spec: stores 5.1.
    """

    columns: Mapping[str, tuple[str, ...]]
    others: tuple[str, ...]
    indexed: bool

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Self:
        """Return the tables of an open database."""
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            )
            if not name.startswith("sqlite_")
        ]
        return cls(
            {name: _columns(connection, name) for name in COLUMNS if name in names},
            tuple(name for name in names if name not in COLUMNS),
            "sessions" in names and _is_indexed(connection),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there are no tables at all."""
        return not self.columns and not self.others

    @property
    def is_readable(self) -> bool:
        """Whether sessions and entries are there."""
        return self.columns.keys() >= {"sessions", "entries"}

    @property
    def missing(self) -> tuple[str, ...]:
        """The columns that an older store has not yet."""
        found = self.columns.get("sessions", _ADDED)
        return tuple(name for name in _ADDED if name not in found)

    @property
    def is_current(self) -> bool:
        """Whether nothing has to be made or brought up to date."""
        return self.columns.keys() == COLUMNS.keys() and not self.missing and self.indexed

    def problem(self) -> str:
        """Return why this is no database of sessions, or an empty string.

        Spec: stores 5.2.
        """
        if self.others and not self.columns:
            return (
                "is a SQLite database, and not one of sessions: it has the tables "
                f"{', '.join(self.others[:8])}"
            )
        for table, found in self.columns.items():
            expected = COLUMNS[table]
            optional = set(_ADDED) if table == "sessions" else set()
            if set(found) - set(expected) or set(expected) - set(found) - optional:
                return (
                    f"is a SQLite database, and not one of sessions: its table {table} has the "
                    f"columns {', '.join(found)}, where a store has {', '.join(expected)}"
                )
        if "entries" in self.columns and "sessions" not in self.columns:
            return "is a SQLite database, and not one of sessions: it has entries and no sessions"
        return ""

    def check(self, path: Path) -> None:
        """Refuse a database that is not one of sessions.

        Raises:
            DamagedFile: saying which tables it has, or which columns.
        """
        problem = self.problem()
        if problem:
            raise DamagedFile(problem, path=path)


def _columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(
        name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    )


def _is_indexed(connection: sqlite3.Connection) -> bool:
    found = {
        tuple(
            column
            for (column,) in connection.execute("SELECT name FROM pragma_index_info(?)", (index,))
        )
        for (index,) in connection.execute("SELECT name FROM pragma_index_list('sessions')")
    }
    return {("created_at",), ("cwd", "created_at")} <= found


def make_current(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables that are missing, and bring older ones up to date, all or nothing.

    Spec: stores 5.2.

    Raises:
        DamagedFile: when it is not a database of sessions; it is not changed.
        sqlite3.Error: when it cannot be written.
    """
    if Tables.of(connection).is_current:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        tables = Tables.of(connection)
        tables.check(path)
        _make(connection, tables)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _make(connection: sqlite3.Connection, tables: Tables) -> None:
    for table, statement in _TABLES.items():
        if table not in tables.columns:
            connection.execute(statement)
    for column in tables.missing:
        connection.execute(f"ALTER TABLE sessions ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    if tables.missing:
        connection.executemany(
            "UPDATE sessions SET name = ?, superseded_by = ? WHERE id = ?",
            [
                (name, successor, session_id)
                for session_id, name, successor in names_in_entries(connection)
            ],
        )
    if not tables.indexed:
        for index, columns in _INDEXES.items():
            connection.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {columns}")


def names_in_entries(
    connection: sqlite3.Connection, session_id: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield id, display name and successor of sessions, as their entries give them.

    Args:
        connection: the database.
        session_id: only this session; all for an empty one.

    Spec: stores 5.2.
    """
    where = "AND session_id = ?" if session_id else ""
    rows: Iterable[tuple[str, bytes]] = connection.execute(
        "SELECT session_id, CAST(line AS BLOB) FROM entries "  # noqa: S608 - two fixed texts
        f"WHERE type IN ('info', 'link') {where} ORDER BY session_id, seq",
        (session_id,) if session_id else (),
    )
    for found, lines in groupby(rows, key=lambda row: row[0]):
        name, successor = scan(b"\n".join(line for _, line in lines))
        yield found, name, successor
