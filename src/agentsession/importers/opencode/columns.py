"""Rows of database tables as values: columns by name, and one JSON object for the whole."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from agentsession import text
from agentsession.errors import NotJSON
from agentsession.members import join_members, string_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_JSON_COLUMNS: Final = frozenset(
    {
        "commands",
        "data",
        "fork_boundary",
        "metadata",
        "model",
        "payload",
        "permission",
        "prompt",
        "revert",
        "sandboxes",
        "summary_diffs",
        "value",
    }
)


class Column(NamedTuple):
    """One column of a row: its name, and its value as SQLite holds it.

    Text is ``str`` with U+FFFD for what is not UTF-8, a blob ``bytes``.
    """

    name: str
    value: int | float | str | bytes | None


class Columns(tuple[Column, ...]):
    """A row of a table, in the table's column order."""

    __slots__ = ()

    def __new__(cls, columns: Iterable[Column] = ()) -> Self:
        """Return a row of the columns given."""
        return super().__new__(cls, columns)

    def value(self, name: str) -> int | float | str | bytes | None:
        """Return a column's value, ``None`` when the row has no such column."""
        return next((c.value for c in self if c.name == name), None)

    def text(self, name: str) -> str:
        """Return a text column's value; empty when it is absent, null or no text."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def decoded(self, name: str) -> Any:
        """Return the value of a column that holds JSON text, ``None`` when it holds none."""
        value = self.value(name)
        if not isinstance(value, (str, bytes)):
            return value
        try:
            return text.parse(value)
        except NotJSON:
            return None

    def json(self) -> bytes:
        """Return the row as one JSON object, a member for each column, in order.

        A column of JSON text is the value it holds when it holds one; other text
        is a string, a number a number, null null, and a blob base64 text.
        """
        return join_members({column.name: _member(column) for column in self})


def _member(column: Column) -> bytes:
    value = column.value
    if value is None:
        return b"null"
    if isinstance(value, bytes):
        return text.encode(base64.b64encode(value).decode("ascii"))
    if isinstance(value, str) and column.name in _JSON_COLUMNS:
        try:
            return text.compact(value.encode())
        except NotJSON:
            return text.encode(value)
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no infinity, and SQLite stores no NaN.
        return text.encode(str(value))
    return string_text(value) if isinstance(value, str) else text.encode(value)
