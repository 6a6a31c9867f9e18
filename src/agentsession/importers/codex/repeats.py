"""Repeats: which lines stand in a file a second time.

A file that was put together from copies, or from a log and an older backup of it, begins again
with its first line, word for word and at the same time. What follows and stood in the file
before is then a copy, and caused nothing. Within a log nothing is taken for a copy: a thread may
say the same twice. Spec: codex 2, decisions D11 and D12.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentsession.importers.codex.lines import BROKEN, META, Line, marks


def repeats(found: Iterable[Line]) -> frozenset[int]:
    """Return which of a file's records repeat earlier ones, counted from 0.

    A line without a time is a copy where it comes next as well.

    Args:
        found: the records, whole.
    """
    order: list[bytes] = []
    places: dict[bytes, int] = {}
    repeated: set[int] = set()
    at = -1
    for number, line in enumerate(found):
        if line.kind == BROKEN:
            continue
        (mark,) = marks((line,))
        known = places.get(mark)
        began = at >= 0 or line.kind == META
        is_next = 0 <= at < len(order) - 1 and order[at + 1] == mark
        if began and known is not None and (line.time or is_next):
            repeated.add(number)
            at = at + 1 if is_next else known
        else:
            places.setdefault(mark, len(order))
            order.append(mark)
    return frozenset(repeated)
