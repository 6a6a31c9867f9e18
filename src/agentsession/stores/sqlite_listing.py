"""The sessions of a SQLite store, from its ``sessions`` table alone.

Spec: stores 2 and 5.4, decision B3.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol, TypeVar

from agentsession.codec import Undecodable, decode_header
from agentsession.errors import AgentSessionError, DamagedFile, UnsupportedFormat
from agentsession.stores import sqlite_scan
from agentsession.stores.base import ListFilter, Summary
from agentsession.stores.layout import shown
from agentsession.stores.sqlite_errors import failing
from agentsession.stores.sqlite_scan import is_damage
from agentsession.stores.sqlite_schema import Tables, names_in_entries
from agentsession.timestamp import Timestamp

T = TypeVar("T")

_PAGE: Final = 500
_NAMED: Final = 20
# octet_length reads no text to count it; older releases of SQLite have no such function.
_OCTETS: Final = (
    "octet_length({})" if sqlite3.sqlite_version_info >= (3, 43) else "length(CAST({} AS BLOB))"
)
_LINES_SIZE: Final = (
    f"SELECT COALESCE(SUM({_OCTETS.format('line')} + 1), 0) "  # noqa: S608 - no values in it
    "FROM entries WHERE session_id = sessions.id"
)
_SIZE: Final = f"{_OCTETS.format('header')} + 1 + ({_LINES_SIZE})"


class Reads(Protocol):
    """A database that can be read."""

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what work gives for a connection."""
        ...


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of ``sessions``; what an older database has not is ``None``."""

    session_id: str
    created_at: str
    header: bytes
    modified: str
    name: str | None
    superseded_by: str | None
    size: int | None


def list_sessions(
    database: Reads, path: Path, asked: ListFilter, *, allow_newer: bool = False
) -> Iterator[Summary | AgentSessionError]:
    """Yield the sessions, newest first, then an error for each row that cannot be read.

    Filters and limit are applied by SQLite, and again to the headers; a page is read at a
    time, so that a reader that stops early, or is slow, holds nothing up. Sessions of minor
    versions this release does not know are errors unless ``allow_newer`` is set.

    Spec: stores 5.4.
    """
    errors: list[AgentSessionError] = []
    yielded = 0
    after: _Row | None = None
    seen: set[str] = set()
    while True:
        wanted = min(asked.limit - yielded, _PAGE) if asked.limit else _PAGE
        try:
            with failing("list", path=path):
                rows = database.read(_page(asked, after, wanted))
        except AgentSessionError as error:
            rows, further = _scanned(database, path, error)
            errors.append(further)
            # All of them in one page: nothing comes behind.
            wanted = len(rows) + 1
        for row in rows:
            if row.session_id in seen:
                continue
            seen.add(row.session_id)
            after = row
            try:
                summary = _summary(row, path, allow_newer=allow_newer)
            except AgentSessionError as error:
                errors.append(error)
                continue
            if asked.keep(summary):
                yielded += 1
                yield summary
                if asked.limit and yielded >= asked.limit:
                    break
        if len(rows) < wanted or (asked.limit and yielded >= asked.limit):
            break
    yield from errors


def _scanned(
    database: Reads, path: Path, error: AgentSessionError
) -> tuple[list[_Row], AgentSessionError]:
    """The rows of a damaged database that can be read, newest first, and what to say of it."""
    if not is_damage(error.__cause__):
        return [], error
    try:
        with failing("list", path=path):
            rows, ids = database.read(_scan)
    except AgentSessionError:
        return [], error
    lost = sorted(set(ids) - {row.session_id for row in rows})
    named = ", ".join(shown(session_id) for session_id in lost[:_NAMED])
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    what = f"; the rows of these sessions are lost: {named}{more}" if lost else ""
    sentence = f"is a SQLite database that cannot be read in full: {error.__cause__}{what}"
    return rows, DamagedFile(sentence, path=path)


def _scan(connection: sqlite3.Connection) -> tuple[list[_Row], list[str]]:
    columns = ", ".join(_columns(ListFilter(), Tables.of(connection)))
    found = [_Row(*row) for row in sqlite_scan.rows(connection, columns, "sessions")]
    found.sort(key=lambda row: (row.created_at, row.session_id), reverse=True)
    return found, sqlite_scan.known(connection, "SELECT id FROM sessions")


def _page(
    asked: ListFilter, after: _Row | None, count: int
) -> Callable[[sqlite3.Connection], list[_Row]]:
    def read(connection: sqlite3.Connection) -> list[_Row]:
        tables = Tables.of(connection)
        if "sessions" not in tables.columns:
            return []
        statement, values = _query(asked, after, count, tables)
        rows = [_Row(*row) for row in connection.execute(statement, values)]
        return [_completed(connection, row) for row in rows] if tables.missing else rows

    return read


def _query(
    asked: ListFilter, after: _Row | None, count: int, tables: Tables
) -> tuple[str, list[object]]:
    conditions: list[tuple[str, tuple[object, ...]]] = []
    if asked.cwd:
        conditions.append(("cwd = ?", (asked.cwd,)))
    if asked.parent_session:
        conditions.append(("parent_session = ?", (asked.parent_session,)))
    if isinstance(asked.after, Timestamp):
        conditions.append(("created_at > ?", (asked.after.sql(),)))
    if isinstance(asked.before, Timestamp):
        conditions.append(("created_at < ?", (asked.before.sql(),)))
    if asked.current and "superseded_by" not in tables.missing:
        conditions.append(("superseded_by = ''", ()))
    if after is not None:
        conditions.append(("(created_at, id) < (?, ?)", (after.created_at, after.session_id)))
    where = f" WHERE {' AND '.join(text for text, _ in conditions)}" if conditions else ""
    statement = (
        f"SELECT {', '.join(_columns(asked, tables))} FROM sessions{where} "  # noqa: S608 - no values in it
        "ORDER BY created_at DESC, id DESC LIMIT ?"
    )
    return statement, [*(value for _, values in conditions for value in values), count]


def _columns(asked: ListFilter, tables: Tables) -> tuple[str, ...]:
    missing = tables.missing
    return (
        "id",
        "created_at",
        "CAST(header AS BLOB)",
        "updated_at",
        *("NULL" if name in missing else name for name in ("name", "superseded_by")),
        _SIZE if asked.with_sizes and "entries" in tables.columns else "NULL",
    )


def _completed(connection: sqlite3.Connection, row: _Row) -> _Row:
    """The row of an older database, with what its entries say."""
    _, name, successor = next(names_in_entries(connection, row.session_id), ("", "", ""))
    return replace(
        row,
        name=name if row.name is None else row.name,
        superseded_by=successor if row.superseded_by is None else row.superseded_by,
    )


def _summary(row: _Row, path: Path, *, allow_newer: bool) -> Summary:
    place = f"{path}: session {shown(row.session_id)}"
    try:
        header = decode_header(row.header, allow_newer=allow_newer)
    except Undecodable as error:
        raise DamagedFile(str(error), path=place) from error
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{place}: {error}", format=error.format) from error
    if header.id != row.session_id:
        raise DamagedFile(f'the header names session "{shown(header.id)}"', path=place)
    return Summary(
        header=header,
        name=row.name or "",
        superseded_by=row.superseded_by or "",
        size=row.size,
        modified_ns=_nanoseconds(row.modified),
    )


def _nanoseconds(text: str) -> int | None:
    try:
        return Timestamp.parse(text).nanoseconds
    except ValueError:
        return None
