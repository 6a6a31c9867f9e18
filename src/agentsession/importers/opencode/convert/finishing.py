"""What was written, as the session it is: its entries are decoded when asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from agentsession.header import Header
from agentsession.rows import Rows
from agentsession.session import Session

Written = tuple[str, str | None, str, bytes]
"""An entry: its id, its parent's, its type and its line."""

_BLOCK: Final = 1 << 16


def finished(header: Header, entries: Sequence[Written]) -> Session:
    """Return the session of these entries, as one that was read."""
    rows = Rows(header.version)
    ids, parents, types, lines = [list(column) for column in zip(*entries, strict=True)] or (
        [],
        [],
        [],
        [],
    )
    written = b"\n".join([header.line, *lines, b""])
    lengths = [len(line) + 1 for line in lines]
    starts = [*accumulate(lengths, initial=len(header.line) + 1)]
    first = 0
    while first < len(ids):
        # Blocks are as long as those of a reader, which splits one when a line is asked for.
        last = min(bisect_right(starts, starts[first] + _BLOCK, first + 1), len(ids))
        place = (written, starts[first], starts[last])
        rows.extend(ids[first:last], parents[first:last], types[first:last], place)
        first = last
    return Session.restored(header, rows, truncated=None, notes=[], source=written)
