"""Repeated notes: what an import keeps because it knows no better is stored once.

Importers keep what no entry has a place for in notes behind all that they wrote. When the
source has grown these stand behind more, under other ids; what they keep is then the same,
and what is in the store already is not written again.

Spec: decisions D6 and D11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agentsession import text
from agentsession.entries import Entry
from agentsession.importers.identity import imported_id
from agentsession.importers.unknown import NOTED
from agentsession.record_entries import CustomEntry, LabelEntry
from agentsession.session import Session

Rewrite = Callable[[Entry, str | None], Entry]
"""Makes an entry of an import one that stands below another entry, under an id of its own."""

_MARK = text.encode(NOTED)


def kept_in(entry: Entry) -> list[bytes]:
    """Return what an import's note keeps, each thing as JSON text; nothing of another entry."""
    if not isinstance(entry, CustomEntry) or not imported_id(entry):
        return []
    told = entry.text_of("data")
    if told is None or _MARK not in told:
        return []
    data = entry.data
    found = data.get(NOTED) if isinstance(data, Mapping) else None
    return [text.encode(one) for one in found] if isinstance(found, list) else []


def is_note(entry: Entry) -> bool:
    """Return whether an entry is nothing but a note of what is not known."""
    return bool(kept_in(entry)) and isinstance(entry, CustomEntry) and len(entry.data) == 1


@dataclass(slots=True)
class Unrepeated:
    """New entries, without what notes of the store keep already.

    Attributes:
        entries: what is left of them, in the same order.
        moved: by the id of a note that is not written as it is, the entry that stands for it
            at the end of the session.
        held: by the id an import gave such a note, the entries that keep what it keeps.
    """

    entries: list[Entry]
    moved: dict[str, str | None] = field(default_factory=dict)
    held: dict[str, tuple[str, ...]] = field(default_factory=dict)


def unrepeated(stored: Session, new: Sequence[Entry], rewrite: Rewrite) -> Unrepeated:
    """Return new entries without what a stored session keeps already.

    Args:
        stored: the session.
        new: entries that it does not have, in order.
        rewrite: makes what is left of a note an entry of its own.
    """
    notes = {entry.id for entry in new if is_note(entry)}
    if not notes:
        return Unrepeated(list(new))
    homes = {one: entry.id for entry in stored.entries for one in kept_in(entry)}
    # What stands below a note, or is about it, needs it as it is.
    needed: set[str] = set()
    for entry in reversed(new):
        if entry.id not in notes or entry.id in needed:
            needed.update(_named(entry))
    found = Unrepeated([])
    for entry in new:
        keeps = kept_in(entry)
        left = [one for one in keeps if one not in homes]
        is_whole = left == keeps and entry.parent not in found.moved
        is_free = entry.id in notes and entry.id not in needed
        if is_whole or not is_free or not isinstance(entry, CustomEntry):
            found.entries.append(entry)
            homes |= dict.fromkeys(keeps, entry.id)
            continue
        at = found.moved.get(entry.parent or "", entry.parent)
        if left:
            rest = CustomEntry(entry.ns, {NOTED: [text.parse(one) for one in left]}, ts=entry.ts)
            own = rewrite(rest, at)
            found.entries.append(own)
            homes |= dict.fromkeys(left, own.id)
            at = own.id
        found.moved[entry.id] = at
        found.held[imported_id(entry)] = tuple(dict.fromkeys(homes[one] for one in keeps))
    return found


def _named(entry: Entry) -> list[str]:
    """The entries that an entry stands below, or is about."""
    names = [entry.parent or ""]
    if isinstance(entry, LabelEntry):
        names.append(entry.target)
    return names
