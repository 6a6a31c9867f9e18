"""Entries in an order that reads: each behind its parent, otherwise as they stand.

Spec: design "Damage is data", format 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Draft:
    """An entry on its way into a salvaged session.

    Attributes:
        number: the line it stands on in the file.
        start, end: its byte range in the file.
        id, parent: as in its line.
        line: its line where that is not what stands in the file.
    """

    __slots__ = ("end", "id", "line", "number", "parent", "placed", "start")

    def __init__(
        self,
        place: tuple[int, int, int],
        entry_id: str,
        parent: str | None,
        line: bytes | None,
    ) -> None:
        self.number, self.start, self.end = place
        self.id = entry_id
        self.parent = parent
        self.line = line
        self.placed = False

    @property
    def place(self) -> tuple[int, int, int]:
        """Line number and byte range."""
        return self.number, self.start, self.end


class Order(NamedTuple):
    """Entries in order, and what had to be done for it.

    Attributes:
        drafts: all entries; those of ``orphans`` and ``circular`` as roots.
        orphans: entries whose parents are not there.
        circular: entries that were below themselves.
        late: entries that stood before their parents.
    """

    drafts: list[Draft]
    orphans: list[Draft]
    circular: list[Draft]
    late: list[Draft]


def in_order(drafts: Sequence[Draft], by_id: Mapping[str, Draft]) -> Order:
    """Return the entries in an order in which every parent comes first.

    Args:
        drafts: the entries as they stand in the file.
        by_id: the same by their ids, which are all different.
    """
    order = Order([], [], [], [])
    waiting: dict[str, list[Draft]] = {}
    for draft in drafts:
        parent = None if draft.parent is None else by_id.get(draft.parent)
        if parent is not None and not parent.placed:
            waiting.setdefault(parent.id, []).append(draft)
            continue
        if parent is None and draft.parent is not None:
            order.orphans.append(draft)
        _place(draft, order, waiting)
    for draft in drafts:
        if not draft.placed:
            order.circular.append(draft)
            _place(draft, order, waiting)
    return order


def _place(draft: Draft, order: Order, waiting: dict[str, list[Draft]]) -> None:
    """Place an entry and, behind it, those that waited for it."""
    pending = [draft]
    while pending:
        draft = pending.pop()
        draft.placed = True
        order.drafts.append(draft)
        if draft.id in waiting:
            released = [child for child in waiting.pop(draft.id) if not child.placed]
            order.late.extend(child for child in released if child.start < draft.start)
            pending.extend(reversed(released))
