"""The rows of a SQLite database with damaged pages, without the help of its indexes.

A table is read by its row numbers, and what cannot be read is stepped over. What the
indexes still know of rows that are lost names them.

Spec: decisions B3 and B4.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from typing import Any, Final, NamedTuple

from agentsession.stores.sqlite_errors import code_of

_FURTHEST: Final = 1_000_000
"""How many row numbers behind the last readable row are tried one by one."""
_BLIND: Final = 10_000
"""The same where nothing says how many rows there are."""
_NAMED: Final = 20


def is_damage(error: BaseException | None) -> bool:
    """Return whether SQLite found a page of the database itself damaged."""
    return isinstance(error, sqlite3.Error) and code_of(error) == sqlite3.SQLITE_CORRUPT


def rows(
    connection: sqlite3.Connection, columns: str, table: str, condition: str = "1", *values: object
) -> list[tuple[Any, ...]]:
    """Return the columns of all rows that can be read and fit the condition.

    Raises:
        sqlite3.Error: for everything but damage.
    """
    select = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE {condition} AND rowid"  # noqa: S608
    found: list[tuple[Any, ...]] = []
    at = 0
    last: int | None = None
    while True:
        try:
            for row in connection.execute(f"{select} > ? ORDER BY rowid", (*values, at)):
                at = row[0]
                found.append(row[1:])
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
        else:
            return found
        if last is None:
            last = _last(connection, table, at)
        # From here one by one, up to the first that can be read again.
        for at in range(at + 1, min(last, at + _FURTHEST) + 1):  # noqa: B020 - goes on from there
            one = _tolerant(connection, f"{select} = ?", (*values, at))
            if one:
                found.append(one[0][1:])
                break
        else:
            return found


def known(connection: sqlite3.Connection, statement: str, *values: object) -> list[Any]:
    """Return the first column of what a query gives before it meets damage."""
    return [row[0] for row in _tolerant(connection, statement, values)]


def _tolerant(
    connection: sqlite3.Connection, statement: str, values: Sequence[object]
) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    try:
        found.extend(connection.execute(statement, values))
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
    return found


def _last(connection: sqlite3.Connection, table: str, at: int) -> int:
    """The number of the last row, or one that is high enough when that cannot be read."""
    # The second query is answered by an index, where that is whole.
    for statement in (f"SELECT max(rowid) FROM {table} NOT INDEXED", f"SELECT rowid FROM {table}"):  # noqa: S608
        numbers = [found for found in known(connection, statement) if isinstance(found, int)]
        if numbers:
            return max(numbers)
    return at + _BLIND


class Rows(NamedTuple):
    """What could be read of a session.

    Attributes:
        header: the header; ``None`` when its row is lost.
        lines: the lines of its entries, in order.
        lost: the ``seq`` of each entry that is known to be lost.
    """

    header: bytes | None
    lines: list[bytes]
    lost: tuple[int, ...]

    @property
    def content(self) -> bytes:
        """The bytes of a file with these lines."""
        header = () if self.header is None else (self.header,)
        return b"".join(line + b"\n" for line in (*header, *self.lines))

    def losses(self) -> Iterator[str]:
        """Yield sentences on what is lost."""
        if self.header is None:
            yield "the row of the session cannot be read: its header is left out"
        if self.lost:
            yield f"entries {spans(self.lost)} cannot be read and are left out"


def session(connection: sqlite3.Connection, session_id: str) -> Rows | None:
    """Return what can be read of a session; ``None`` when nothing is left of it."""
    headers = rows(connection, "CAST(header AS BLOB)", "sessions", "id = ?", session_id)
    seqs = known(
        connection, "SELECT seq FROM entries WHERE session_id = ? ORDER BY seq", session_id
    )
    found = dict(
        rows(connection, "seq, CAST(line AS BLOB)", "entries", "session_id = ?", session_id)
    )
    if not headers and not found and not seqs:
        return None
    last = max((seq for seq in (*seqs, *found) if isinstance(seq, int)), default=0)
    # Entries are numbered without gaps.
    expected = range(1, last + 1) if last <= _FURTHEST else sorted({*seqs, *found})
    lines = [bytes(found[seq] or b"") for seq in sorted(found)]
    lost = tuple(seq for seq in expected if seq not in found)
    return Rows(bytes(headers[0][0] or b"") if headers else None, lines, lost)


def spans(numbers: Iterable[int]) -> str:
    """Return ascending numbers in short, such as ``1, 4-7``."""
    counter = count()
    runs = [list(run) for _, run in groupby(numbers, key=lambda number: number - next(counter))]
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return ", ".join(texts[:_NAMED]) + (", …" if len(texts) > _NAMED else "")
