"""What can still be read of damaged tables, as temporary tables that stand before them.

A temporary table hides the table of its name, so the queries stay the same.
Rows are taken in the order of their row numbers, without any index, in chunks
that shrink around what cannot be read.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from agentsession.importers.opencode.records import TABLE, Stray
from agentsession.importers.opencode.schema import plain, quoted, table_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CHUNK: Final = 4096
_LAST: Final = (1 << 63) - 1
# A damaged page hides some dozens of rows: look at each place after a gap's
# start before leaping, so that readable rows between two gaps are not missed.
_NEAR: Final = 2048
_INDEXED: Final = ("id", "session_id", "message_id", "project_id", "parent_id")


def salvage(connection: sqlite3.Connection, unit: str, tables: Iterable[str]) -> list[Stray]:
    """Put what can be read of the tables before them; return a stray for each loss.

    Args:
        connection: the database, which may be read-only.
        unit: the database's name in reports.
        tables: full names of the tables.
    """
    losses: list[Stray] = []
    for table in tables:
        try:
            copy = _Copy(connection, table)
        except sqlite3.Error as error:
            losses.append(_stray(unit, table, f"its definition cannot be read: {error}"))
            continue
        copy.run()
        losses += [_stray(unit, table, why) for why in copy.losses()]
    return losses


class _Copy:
    """One table's rows on their way into a temporary table."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._columns: Sequence[str] = table_columns(connection, table)
        self._from = f"main.{quoted(table)} NOT INDEXED"
        self._into = f"temp.{quoted(table)}"
        self._gaps: list[tuple[int, int]] = []
        self._cut: list[str] = []
        names = ", ".join(quoted(c) for c in self._columns)
        connection.execute(f"CREATE TEMP TABLE {quoted(table)} ({names})")
        for column in self._columns:
            if column in _INDEXED:
                index = quoted(f"{table} {column}")
                connection.execute(
                    f"CREATE INDEX temp.{index} ON {quoted(table)} ({quoted(column)})"
                )

    def run(self) -> None:
        """Copy every row that can be read."""
        last, size = 0, _CHUNK
        while last < _LAST:
            try:
                copied = self._copy(last, size, self._columns)
            except sqlite3.Error:
                if size > 1:
                    size //= 8
                    continue
                last = self._pass(last)
                continue
            if not copied:
                return
            last = self._number(f"SELECT max(rowid) FROM {self._into}") or _LAST  # noqa: S608
            size = min(_CHUNK, size * 8)

    def losses(self) -> list[str]:
        """Return a sentence for each stretch of rows, and each row, that was lost."""
        found = []
        for first, last in self._gaps:
            end = "to the end" if last == _LAST else f"to {last}"
            found.append(f"the database is damaged: rows {first} {end} cannot be read")
        if self._cut:
            rows = ", ".join(self._cut[:20]) + (", …" if len(self._cut) > 20 else "")
            found.append(
                f"the database is damaged: {len(self._cut)} rows are read in part ({rows})"
            )
        return found

    def _copy(self, after: int, size: int, columns: Sequence[str]) -> int:
        names = ", ".join(["rowid", *(quoted(c) for c in columns)])
        return self._connection.execute(
            f"INSERT INTO {self._into} ({names}) SELECT {names} FROM {self._from}"  # noqa: S608
            " WHERE rowid > ? ORDER BY rowid LIMIT ?",
            (after, size),
        ).rowcount

    def _pass(self, last: int) -> int:
        """Return the place to go on from, after the row or the rows that cannot be read."""
        row = self._probe(last + 1)
        if row is None or row < 0:
            following = self._following(last + 1)
            if following is None:
                self._gap(last + 1, _LAST)
                return _LAST
            self._gap(last + 1, following - 1)
            return following - 1
        # The row is there, and what it holds is not: its first columns may be.
        for end in range(len(self._columns) - 1, 0, -1):
            try:
                if self._copy(row - 1, 1, self._columns[:end]):
                    self._cut.append(self._id(row))
                    return row
            except sqlite3.Error:
                continue
        self._gap(row, row)
        return row

    def _gap(self, first: int, last: int) -> None:
        if self._gaps and self._gaps[-1][1] == first - 1:
            first, _ = self._gaps.pop()
        self._gaps.append((first, last))

    def _probe(self, start: int) -> int | None:
        """Return the first row number from a place on, -1 for none, ``None`` when unreadable."""
        try:
            found = self._number(
                f"SELECT rowid FROM {self._from} WHERE rowid >= ? ORDER BY rowid LIMIT 1",  # noqa: S608
                start,
            )
        except sqlite3.Error:
            return None
        return -1 if found is None else found

    def _following(self, start: int) -> int | None:
        """Return the first row after a place that can be found again, ``None`` for none."""
        for place in range(start, min(start + _NEAR, _LAST)):
            row = self._probe(place)
            if row is not None:
                return row if row >= 0 else None
        bad, step = start + _NEAR, _NEAR
        while True:
            place = min(bad + step, _LAST)
            row = self._probe(place)
            if row is not None or place == _LAST:
                break
            bad, step = place, step * 2
        if row is None:
            return None
        while place - bad > 1:
            middle = (place + bad) // 2
            found = self._probe(middle)
            if found is None:
                bad = middle
            else:
                place, row = middle, found
        return row if row >= 0 else None

    def _number(self, sql: str, *values: int) -> int | None:
        found = self._connection.execute(sql, values).fetchone()
        return found[0] if found is not None and isinstance(found[0], int) else None

    def _id(self, row: int) -> str:
        first = quoted(self._columns[0])
        found = self._connection.execute(
            f"SELECT {first} FROM {self._into} WHERE rowid = ?",  # noqa: S608
            (row,),
        ).fetchone()
        return plain(found[0]) or str(row)


def _stray(unit: str, table: str, why: str) -> Stray:
    return Stray(f"{unit}:{table}", TABLE, why, id=table, malformed=True)
