"""What was written, as the session it is: its entries are decoded when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from agentsession.header import Header
from agentsession.rows import Rows
from agentsession.session import Session

Written = tuple[str, str | None, str, bytes]
"""An entry: its id, its parent's, its type and its line."""


def finished(header: Header, entries: Sequence[Written]) -> Session:
    """Return the session of these entries, as one that was read."""
    ids, parents, types, lines = [list(column) for column in zip(*entries, strict=True)] or (
        [],
        [],
        [],
        [],
    )
    written = b"\n".join([header.line, *lines, b""])
    ends = [*accumulate((len(line) + 1 for line in lines), initial=len(header.line) + 1)]
    rows = Rows.written(header.version, (ids, parents, types), written, ends)
    return Session.restored(header, rows, truncated=None, notes=[], source=written)
