"""Ordering: each record of a file behind the one that it hangs below.

A line can be written before the one that it hangs below, such as an answer before its prompt.
All that reads a conversation goes by its order, and up a chain to what stands earlier: that
this ends, whatever a damaged file says, is settled here.

Spec: claude-code 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsession.importers.claude_code.records import Record


def behind_parents(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records of one file, each behind the first with the id that it hangs below.

    What stands in order stays as it stands. A record that hangs below itself, by way of others,
    stays as well; where it stands its parent is then not found.

    Args:
        records: in the order of the file.
    """
    places: dict[str, int] = {}
    for place, record in enumerate(records):
        if record.is_tree:
            places.setdefault(record.uuid, place)
    above = [
        places.get(record.parent, -1) if record.is_tree and record.parent else -1
        for record in records
    ]
    if all(parent <= place for place, parent in enumerate(above)):
        return records
    _cut_rings(above)
    below: dict[int, list[int]] = {}
    found: list[Record] = []
    written = [False] * len(records)
    for first, parent in enumerate(above):
        if parent >= 0 and not written[parent]:
            below.setdefault(parent, []).append(first)
            continue
        waiting = [first]
        while waiting:
            place = waiting.pop()
            written[place] = True
            found.append(records[place])
            waiting += reversed(below.pop(place, ()))
    return found


def _cut_rings(above: list[int]) -> None:
    """Cut each ring of links at the link that leads back to it; what is cut leads to ``-1``."""
    ends = [False] * len(above)
    for start in range(len(above)):
        chain: list[int] = []
        on_chain: set[int] = set()
        place = start
        while place >= 0 and not ends[place]:
            if place in on_chain:
                first = min(chain[chain.index(place) :])
                above[first] = -1
                break
            chain.append(place)
            on_chain.add(place)
            place = above[place]
        for passed in chain:
            ends[passed] = True
