"""The general fold: how what was sent differs from the path, said as one compaction.

A path's context and the list a model was really sent often share an end. That end stays
on the path; what was sent before it becomes a compaction's summary and pinned items. Kept
tails, pruned outputs, edited contexts and replaced histories are all this.

Spec: decision D3, format 4.4, context 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Folding:
    """A compaction that turns one list into another.

    Attributes:
        changed: how many of the items sent it carries; the first is its summary, the
            others are pinned. Never 0.
        kept: how many items at the end of the path stay, from its ``first_kept`` on; 0
            when nothing is kept and ``first_kept`` names an entry that adds no item.
    """

    changed: int
    kept: int


def continues(path: Sequence[Hashable], sent: Sequence[Hashable], agreed: int = 0) -> bool:
    """Return whether what was sent is the path's context, or goes on from it.

    Args:
        path: what tells the items of the path's context apart, in order.
        sent: the same of the list that was sent.
        agreed: how many of both are known to be equal.
    """
    if len(sent) < len(path):
        return False
    return all(path[at] == sent[at] for at in range(agreed, len(path)))


def fold(path: Sequence[Hashable], sent: Sequence[Hashable], keepable: int) -> Folding:
    """Return the compaction after which the path's context is the list that was sent.

    The longest end that both share is kept, as far as it can be: the items of an earlier
    compaction are no entries of their own, and a compaction needs a summary.

    Args:
        path: what tells the items of the path's context apart, in order.
        sent: the same of the list that was sent; not empty.
        keepable: how many items at the end of the path are entries of their own.

    Raises:
        ValueError: when nothing was sent.
    """
    if not sent:
        raise ValueError("nothing was sent: no compaction stands for an empty context")
    limit = min(keepable, len(path), len(sent) - 1)
    kept = 0
    while kept < limit and path[-1 - kept] == sent[-1 - kept]:
        kept += 1
    return Folding(len(sent) - kept, kept)
