"""The order of items: in a context, and as a reader of the document meets them.

Spec: export 12, decision E2.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from agentsession import text
from agentsession.canonical import canonical_text
from agentsession.entries import BranchSummaryEntry, CompactionEntry, Entry, ItemEntry
from agentsession.errors import CannotHash
from agentsession.export.plan import Kind, Step
from agentsession.export.usage import view
from agentsession.items import Item

Place = tuple[str, int]
"""An item: the entry it comes from, and its number among that entry's items."""


def item_order(
    steps: Sequence[Step], entries: Sequence[Entry], omitted: Container[str]
) -> list[int] | None:
    """Return the places in reading order of the context's items, in context order.

    ``None`` when these are all places in order, which is the rule: they differ where an output
    was recorded after something else that made a step, and where items are left out of requests.
    """
    folds = {step.entry.id for step in steps if step.boundary and step.entry is not None}
    read = [place for step in steps for place in _read(step)]
    at = {place: number for number, place in enumerate(read)}
    order = [
        at[place]
        for entry in entries
        for place in _contributed(entry, folds)
        if place in at and entry.id not in omitted
    ]
    return None if order == list(range(len(read))) else order


def _read(step: Step) -> Iterator[Place]:
    if step.kind is Kind.COMPACTION:
        if step.boundary and step.entry is not None:
            yield from _folded(step.entry)
        return
    if step.entry is not None:
        yield step.entry.id, 0
    for entry in step.items:
        yield entry.id, 0
    for result in step.results:
        if result.entry is not None:
            yield result.entry.id, 0


def _contributed(entry: Entry, folds: set[str]) -> Iterator[Place]:
    if isinstance(entry, ItemEntry | BranchSummaryEntry):
        yield entry.id, 0
    elif entry.id in folds:
        yield from _folded(entry)


def _folded(entry: Entry) -> Iterator[Place]:
    seen = view(entry)
    assert isinstance(seen, CompactionEntry)
    for number in range(1 + len(seen.pinned)):
        yield entry.id, number


def not_among(items: Sequence[Item], path: Sequence[Entry]) -> tuple[int, ...]:
    """Return the positions of the items that no item entry of the path holds."""
    wanted = {position: _form(item.json_text) for position, item in enumerate(items)}
    for entry in path:
        if not wanted:
            break
        if isinstance(entry, ItemEntry):
            found = _form(view(entry).text_of("item") or b"")
            wanted = {position: form for position, form in wanted.items() if form != found}
    return tuple(wanted)


def _form(json_text: bytes) -> bytes:
    try:
        return canonical_text(json_text)
    except CannotHash:
        return text.compact(json_text)
