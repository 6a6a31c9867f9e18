"""Grafting: what came later in a session of which the source has lost the beginning.

A fork may stand on lines that only its origin's file holds. Once that is deleted, its
conversion begins in another way, and nothing in it has the id that it was stored under. What
is stored is then the better account of the past: only what is newer than all of it is written,
below the entries that say in the store what it stood below.

Spec: decision D6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agentsession import text
from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.importers.identity import entry_id, imported_id
from agentsession.migration import LEGACY_ID, REFERENCES
from agentsession.record_entries import LinkEntry
from agentsession.session import Session

Own = Callable[[Entry, str | None, str], Entry]
"""Makes an entry one that stands below another entry, under an id of the merge's own."""

ROLE: Final = "later"
"""What grafts are called where their ids are made."""

_SAID: Final = frozenset({"item", "response", "compaction", "branch_summary"})


@dataclass(slots=True)
class Grafts:
    """What is new in a session, for the place that it has in the store.

    Attributes:
        entries: the new entries, in order.
        moved: by the id of each converted entry, the entry that stands for it in the store,
            or the nearest above it that does.
        held: the same, by the id that the import gave it.
    """

    entries: list[Entry] = field(default_factory=list)
    moved: dict[str, str | None] = field(default_factory=dict)
    held: dict[str, tuple[str, ...]] = field(default_factory=dict)


def grafted(stored: Session, converted: Session, own: Own) -> Grafts:
    """Return what in a session came later than all that is stored of it.

    Args:
        stored: the session as the store has it.
        converted: the session without the beginning that it was stored with.
        own: makes an entry one of the merge.
    """
    known: dict[bytes, str] = {}
    last: str | None = None
    newest = -1
    for entry in stored.entries:
        known.setdefault(_mark(entry, {}), entry.id)
        if imported_id(entry):
            last = entry.id if entry.type in _SAID else last
            newest = max(newest, _time(entry)) if entry.type in _SAID else newest
    grafts = Grafts()
    homes: dict[str, str] = {}
    for entry in converted.entries:
        above = grafts.moved.get(entry.parent or "", last)
        home = entry.id if entry.id in stored else known.get(_mark(entry, homes))
        if home is None and _time(entry) >= newest and not _hangs(entry, homes):
            made = own(_renamed(entry, homes), above, ROLE)
            grafts.entries.append(made)
            home = made.id
        if home is not None:
            homes[entry.id] = home
        at = home or above
        grafts.moved[entry.id] = at
        grafts.held[imported_id(entry)] = (at,) if at is not None else ()
    return grafts


def has_grafts(stored: Session) -> bool:
    """Return whether anything of a stored session was grafted on."""
    return any(_is_graft(entry) for entry in stored.entries)


def _is_graft(entry: Entry) -> bool:
    given = imported_id(entry)
    return bool(given) and entry_id(entry.parent, "", ROLE, _renamed(entry, {})) == given


def _time(entry: Entry) -> int:
    return entry.ts.nanoseconds if entry.ts is not None else -1


def _hangs(entry: Entry, homes: Mapping[str, str]) -> bool:
    """Whether an entry is about one that is in the store under no name."""
    return any(name not in homes for name in _references(entry).values())


def _references(entry: Entry) -> dict[str, str]:
    """The entries that an entry names, by the member."""
    found = {}
    for wire in REFERENCES.get(entry.type, ()):
        value = entry.text_of(wire)
        if value is not None and value.startswith(b'"') and value != b'""':
            found[wire] = str(text.parse(value))
    return found


def _renamed(entry: Entry, homes: Mapping[str, str]) -> Entry:
    """The entry with the names that others have in the store, and without an older id."""
    made = entry.moved()
    made._texts = _members(entry, homes)
    return made


def _members(entry: Entry, homes: Mapping[str, str]) -> dict[str, bytes]:
    texts = {name: told for name, told in entry.held_texts().items() if name != LEGACY_ID}
    for wire, name in _references(entry).items():
        texts[wire] = text.encode(homes.get(name, name))
    return texts


def _mark(entry: Entry, homes: Mapping[str, str]) -> bytes:
    """What an entry says, wherever it stands."""
    if isinstance(entry, ItemEntry):
        # Whether it was asked for here or in another session changes nothing that was said.
        said = [entry.item.json_text]
    elif isinstance(entry, ResponseEntry):
        said = [text.encode(entry.response_id)]
    elif isinstance(entry, LinkEntry):
        # Its time is that of what stands above it.
        return b"\n".join([entry.type.encode(), entry.rel.encode(), entry.session.encode()])
    else:
        texts = _members(entry, homes)
        said = [part for name in sorted(texts) for part in (name.encode(), texts[name])]
    return b"\n".join([entry.type.encode(), b"%d" % _time(entry), *said])
