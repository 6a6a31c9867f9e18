"""Where a session goes on: the leaf a label marks, and the one a file resumes at.

Spec: format 8.4, later drafts 7.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentsession import versions
from agentsession.entries import LEAF_LABEL, Entry
from agentsession.forks import is_leaf_label
from agentsession.header import Header
from agentsession.record_entries import LabelEntry
from agentsession.rows import Rows


def base_row(rows: Rows, header: Header) -> int:
    """Return the position of the entry that a fork's own entries hang below; 0 without a base."""
    return rows.index.get(header.base, 0) if header.base else 0


def may_mark(rows: Rows, header: Header, target: str) -> bool:
    """Return whether a leaf label moves the leaf to its target.

    From 0.5 on the target may neither lie above the base nor be a leaf label itself.
    """
    row = rows.index.get(target)
    if row is None or versions.leaf_rests_on_labels(header.version):
        return row is not None
    return row >= base_row(rows, header) and not is_leaf_label(rows[row])


def rested(rows: Rows, header: Header, entry_id: str | None) -> str | None:
    """Return an entry, or, for a leaf label, the nearest one above where a leaf may rest."""
    if versions.leaf_rests_on_labels(header.version):
        return entry_id
    while entry_id is not None:
        row = rows.index[entry_id]
        if rows.types[row] != LabelEntry.TYPE or not is_leaf_label(rows[row]):
            break
        entry_id = rows.parents[row]
    return entry_id


def resumed(rows: Rows, header: Header, labels: Iterable[Entry]) -> str | None:
    """Return the leaf of a file that was read.

    Args:
        rows: its entries.
        header: its header.
        labels: the label entries among them, in file order; others may be there too.
    """
    marks: list[tuple[str, str]] = []
    for entry in labels:
        if not isinstance(entry, LabelEntry):
            continue
        if entry.label == LEAF_LABEL and may_mark(rows, header, entry.target):
            marks.append((entry.id, entry.target))
        elif entry.label is None:
            marks = _uncleared(marks, entry.target, header)
    if not marks:
        return rested(rows, header, rows.ids[-1] if rows.ids else None)
    marked_at, marked = marks[-1]
    below = {marked}
    leaf = marked
    written_at = rows.index[marked_at]
    for row in range(rows.index[marked] + 1, len(rows)):
        if rows.parents[row] in below:
            below.add(rows.ids[row])
            if row > written_at:
                leaf = rows.ids[row]
    return rested(rows, header, leaf)


def _uncleared(marks: list[tuple[str, str]], target: str, header: Header) -> list[tuple[str, str]]:
    """The marks in force after a null label on a target."""
    if versions.clearing_uncovers_marks(header.version):
        return [mark for mark in marks if mark[1] != target]
    return [] if marks and marks[-1][1] == target else marks


def after(rows: Rows, header: Header, leaf: str | None, added: Entry) -> str | None:
    """Return the leaf after an entry was added.

    Up to 0.4 every append moves it; later only one below it does, and a label that marks.
    """
    if is_leaf_label(added):
        if isinstance(added, LabelEntry) and may_mark(rows, header, added.target):
            return added.target
        return added.id if versions.leaf_rests_on_labels(header.version) else leaf
    if versions.append_always_moves_leaf(header.version) or added.parent == leaf:
        return added.id
    return leaf
