"""Where a session goes on: the leaf a label marks, and the one a file resumes at.

Spec: format 8.4, later drafts 7.
"""

from __future__ import annotations

from agentsession import versions
from agentsession.entries import Entry
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
    return row >= base_row(rows, header) and not rows.marks_leaf(row)


def rested(rows: Rows, header: Header, entry_id: str | None) -> str | None:
    """Return an entry, or, for a leaf label, the nearest one above where a leaf may rest."""
    if versions.leaf_rests_on_labels(header.version):
        return entry_id
    while entry_id is not None:
        row = rows.index[entry_id]
        if not rows.marks_leaf(row):
            break
        entry_id = rows.parents[row]
    return entry_id


def resumed(rows: Rows, header: Header) -> str | None:
    """Return the leaf of a file that was read."""
    found = _mark_in_force(rows, header)
    if found is None:
        return rested(rows, header, rows.ids[-1] if rows.ids else None)
    leaf, written_at = found
    start = rows.index[leaf] + 1
    if rows.parents[start:] == rows.ids[start - 1 : -1]:
        # Each stands below the one before it, so that all of them do below the mark's target.
        return rested(rows, header, rows.ids[-1] if len(rows) - 1 > written_at else leaf)
    below = {leaf}
    for row, parent in enumerate(rows.parents[start:], start):
        if parent in below:
            below.add(rows.ids[row])
            if row > written_at:
                leaf = rows.ids[row]
    return rested(rows, header, leaf)


def _mark_in_force(rows: Rows, header: Header) -> tuple[str, int] | None:
    """The target of the leaf label in force, and where that label stands."""
    uncovers = versions.clearing_uncovers_marks(header.version)
    cleared = set()
    for row, (target, label) in reversed(rows.marks.items()):
        if label is None:
            cleared.add(target)
        elif may_mark(rows, header, target):
            if target not in cleared:
                return target, row
            if not uncovers:
                break
    return None


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
