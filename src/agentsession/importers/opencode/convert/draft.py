"""A draft: a session being written, and what its context holds at the tip.

Entry ids follow from what the entries say and where they stand, so that equal pasts have
equal ids and a rewritten past branches by itself. Nearly every entry is written as text at
once; what the fast spelling cannot tell is built as an entry. Spec: decision D5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from sys import intern
from typing import Any, Final

from agentsession import text
from agentsession.canonical import canonical_json
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry, ResponseEntry
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.importers.fold import fold
from agentsession.importers.identity import entry_id
from agentsession.importers.opencode.convert.clock import iso
from agentsession.importers.opencode.convert.finishing import Written, finished
from agentsession.importers.opencode.convert.units import Unit
from agentsession.importers.opencode.members import Members
from agentsession.importers.spelling import (
    NOTHING,
    Spelling,
    beside,
    given_beside,
    item_spelling,
    line_text,
    spelled,
)
from agentsession.members import join_members
from agentsession.record_entries import DispatchEntry
from agentsession.session import Session
from agentsession.settings import Settings

NAMESPACE = "opencode"

Key = tuple[str, str]

_DIGITS: Final = 16
_NAME: Final = itemgetter(0)
_EMPTY: Final = sha256()
"""A hash over nothing: to copy it is quicker than to begin another."""

ITEM: Final = intern(ItemEntry.TYPE)
RESPONSE: Final = intern(ResponseEntry.TYPE)
DISPATCH: Final = intern(DispatchEntry.TYPE)
_CONTEXT: Final = frozenset({"item", "compaction", "branch_summary"})
_NATIVE: Final = frozenset({NAMESPACE, "origin", "data"})
"""Members that hold what OpenCode stored, whatever it is."""


Step = tuple[str, str, Mapping[str, Any] | None, str]
"""An entry of the path to the tip: its id, its type, and what runs ask about it.

That is an item with the model call that produced it, or the members of a response.
"""

Pending = tuple[str, bytes, bytes, str, int, Mapping[str, Any] | None, str]
"""An entry to come: its type, its members in its line, without their first brace, and as they
are hashed; what it comes from with its role, see :func:`origin_of`; when it was, in milliseconds;
and what runs ask about it, as in :data:`Step`.
"""


def origin_of(native_id: str, role: str) -> str:
    """Return what an entry comes from and its role, which tells several of one record apart."""
    return line_text((native_id, role))[1:-1].decode()


@dataclass(frozen=True, slots=True)
class _Mark:
    tip: str | None
    path: list[Step]
    depth: int
    keys: list[Key]
    homes: list[str]
    length: int
    settings: Settings
    configured: Any


class Draft:
    """A session that grows at a tip, with the keys of the items in its context there.

    Attributes:
        header: the session's header.
        tip: the entry the next one goes below.
        path: the entries from the root to the tip.
        keys: what tells the items of the context at the tip apart.
        settings: the settings at the tip.
        configured: what the last config entry on the path said; the converter's own.
        instructed: whether a config entry gave a system prompt.
        lost: how many native values could not be written.
    """

    def __init__(self, header: Header) -> None:
        self.header = header.filled()
        self.tip: str | None = None
        self.path: list[Step] = []
        self.keys: list[Key] = []
        self.settings = Settings()
        self.configured: Any = None
        self.instructed = False
        self.lost = 0
        self._home: dict[str, str] = {}
        # What was not looked for there yet.
        self._held: list[tuple[Sequence[Key], Sequence[str]]] = []
        self._homes: list[str] = []
        self._origin: tuple[Mapping[str, Any], Spelling | None] = {}, NOTHING
        self._ids: set[str] = set()
        self._written = Written()

    # Entries.

    def add(self, entry: Entry, native_id: str, role: str, millis: int) -> str:
        """Append an entry below the tip, which moves to it; return its id."""
        new = entry_id(self.tip, native_id, role, entry)
        while new in self._ids:
            role += "+"
            new = entry_id(self.tip, native_id, role, entry)
        line = entry.sealed(new, self.tip, iso(millis)).line
        kind = intern(entry.type)
        self._ids.add(new)
        self._written.add(new, self.tip, kind, line)
        self.path.append((new, kind, None, ""))
        self.tip = new
        return new

    def write(
        self,
        kind: str,
        members: Mapping[str, Any],
        native_id: str,
        role: str,
        millis: int,
        *,
        plain: bool = False,
    ) -> str:
        """Append an entry given by its members below the tip; return its id.

        Args:
            kind: its type.
            members: its members beside the envelope, in the order they are written, and
                none that is not.
            native_id: what it comes from.
            role: tells several entries of one record apart.
            millis: when.
            plain: see :func:`spelled`.
        """
        said = spelled(members, plain=plain) or self._exactly(members)
        told = members if kind == RESPONSE else None
        line, canonical = said
        origin = origin_of(native_id, role)
        return self.extend([(kind, line[1:], canonical, origin, millis, told, "")])[0]

    def put(
        self,
        unit: Unit,
        millis: int,
        *,
        response: str = "",
        role: str = "item",
        native: Mapping[str, Any] | None = None,
        plain: bool = False,
        queued_from: str = "",
    ) -> str:
        """Append an item below the tip; return its entry's id.

        Args:
            unit: the item.
            millis: when.
            response: the model call that produced it.
            role: tells several entries of one record apart.
            native: what to keep beside it instead of what the unit has.
            plain: whether the numbers in that are known to be plain, see :func:`spelled`.
            queued_from: the entry it waited as.
        """
        said = unit.native if native is None else native
        plain = unit.plain if native is None else plain
        origin = unit.origin
        if origin is not self._origin[0]:
            # The items of one step have one origin.
            self._origin = origin, beside("origin", origin, plain=unit.plain)
        spelling = item_spelling(
            unit.item,
            given_beside(response, unit.hidden, queued_from),
            beside(NAMESPACE, said, plain=plain) if said else NOTHING,
            self._origin[1],
        )
        if spelling is None:
            members: dict[str, Any] = {"item": unit.item}
            if response:
                members["response"] = response
            if unit.hidden:
                members["visible"] = False
            if queued_from:
                members["queued_from"] = queued_from
            if said:
                members[NAMESPACE] = said
            if origin:
                members["origin"] = origin
            spelling = self._exactly(members)
        name, variant = unit.key
        line, canonical = spelling
        place = origin_of(name, role + variant)
        new = self.extend([(ITEM, line[1:], canonical, place, millis, unit.item, response)])
        self.hold([unit.key], new)
        return new[0]

    def hold(self, keys: Sequence[Key], entries: Sequence[str]) -> None:
        """Say of entries just appended that each adds an item to the context, and which."""
        self.keys += keys
        self._homes += entries
        self._held.append((keys, entries))

    @property
    def home(self) -> Mapping[str, str]:
        """The entry that holds an item, by the item's id."""
        for keys, entries in self._held:
            self._home.update(zip(map(_NAME, keys), entries, strict=True))
        self._held.clear()
        return self._home

    def _exactly(self, members: Mapping[str, Any]) -> Spelling:
        """Return the two spellings of members that the fast way cannot tell."""
        texts = {
            name: self.kept(value) if name in _NATIVE else text.encode(value)
            for name, value in members.items()
        }
        try:
            canonical = canonical_json({name: text.parse(value) for name, value in texts.items()})
        except AgentSessionError:
            canonical = b"\n".join(texts.values())
        return join_members(texts), canonical

    def extend(self, entries: Sequence[Pending]) -> list[str]:
        """Append entries, each below the one before, the first below the tip; return their ids."""
        taken, lines, path = self._ids, self._written.lines, self.path
        found: list[str] = []
        parent = f'"{self.tip or ""}"'
        above = parent if self.tip else "null"
        for kind, line, canonical, origin, millis, told, response in entries:
            digest = _EMPTY.copy()
            digest.update(f"[{parent},{origin}]\n".encode())
            digest.update(canonical)
            new = digest.hexdigest()[:_DIGITS]
            while new in taken:
                # Two entries that say the same of one record: the role gets a mark.
                origin = f'{origin[:-1]}+"'  # noqa: PLW2901 - another one is tried
                again = f"[{parent},{origin}]\n".encode() + canonical
                new = sha256(again).hexdigest()[:_DIGITS]
            taken.add(new)
            head = f'{{"type":"{kind}","id":"{new}","parent":{above},"ts":"{iso(millis)}",'
            lines.append(head.encode() + line)
            path.append((new, kind, told, response))
            found.append(new)
            parent = above = f'"{new}"'
        self._written.follow(self.tip, found, [entry[0] for entry in entries])
        self.tip = found[-1]
        return found

    def configure(self, entry: ConfigEntry, native_id: str, millis: int) -> str:
        """Append a config entry; the settings at the tip follow it."""
        self.settings = self.settings.apply(entry)
        self.instructed = self.instructed or entry.has("instructions_parts")
        return self.add(entry, native_id, "config", millis)

    def note(self, data: Mapping[str, Any], native_id: str, role: str, millis: int) -> str:
        """Append what no entry type has a place for."""
        return self.write("custom", {"ns": NAMESPACE, "data": data}, native_id, role, millis)

    def fold(
        self,
        sent: Sequence[Unit],
        native_id: str,
        millis: int,
        *,
        usage: Mapping[str, Any] | None = None,
        native: Mapping[str, Any] | None = None,
    ) -> str:
        """Append the compaction after which the context is what was sent; return its id.

        Args:
            sent: what was sent; not empty.
            native_id: what caused it.
            millis: when.
            usage: the usage of the call that made the summary.
            native: what OpenCode recorded of it.
        """
        keepable = 0
        while keepable < len(self._homes) and self._homes[-1 - keepable]:
            keepable += 1
        keys = [unit.key for unit in sent]
        folding = fold(self.keys, keys, keepable)
        first_kept = self._homes[-folding.kept] if folding.kept else self._anchor(native_id, millis)
        changed = sent[: folding.changed]
        path, homes = {step[0] for step in self.path}, self.home
        origins = {
            unit.key[0]: unit.origin
            for unit in changed
            if unit.origin and homes.get(unit.key[0]) not in path
        }
        unknown: dict[str, Any] = {}
        if origins:
            unknown["origins"] = self.kept(origins)
        if native:
            unknown[NAMESPACE] = self.kept(native)
        entry = CompactionEntry(
            first_kept,
            dict(changed[0].item),
            pinned=[dict(unit.item) for unit in changed[1:]],
            config=self.settings,
            usage=usage,
            unknown=unknown,
        )
        kept = self._homes[len(self._homes) - folding.kept :]
        new = self.add(entry, native_id, "compaction", millis)
        self.keys = keys
        self._homes = [""] * folding.changed + kept
        return new

    def _anchor(self, native_id: str, millis: int) -> str:
        """Return an entry behind which no item stands: the last response, where it is one.

        One is made where an item stands at the tip.
        """
        for entry, kind, _, _ in reversed(self.path):
            if kind == RESPONSE:
                return entry
            if kind in _CONTEXT:
                break
        if self.path and self.path[-1][1] != ITEM:
            return self.path[-1][0]
        return self.note({"kept": "nothing"}, native_id, "anchor", millis)

    # The tip.

    def segment(self, start: str, place: int) -> list[Step]:
        """Return the entries of the path from one on; empty when it is not there.

        Args:
            start: the entry's id.
            place: how many entries stood above it when it was written.
        """
        path = self.path
        return path[place:] if place < len(path) and path[place][0] == start else []

    def restart(self) -> None:
        """Begin a new root: nothing that came before is in the context."""
        self.tip = None
        self.path, self.keys, self._homes = [], [], []
        self.settings = Settings()
        self.configured = None

    def rest_at(self, entry_id: str) -> None:
        """Move the tip to an entry, for remarks that are to stand below it."""
        self.tip = entry_id
        self.path = []

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Write a branch: afterwards the tip and its context are what they were before."""
        mark = _Mark(
            self.tip,
            self.path,
            len(self.path),
            self.keys,
            self._homes,
            len(self.keys),
            self.settings,
            self.configured,
        )
        try:
            yield
        finally:
            self.tip, self.path = mark.tip, mark.path
            self.keys, self._homes = mark.keys, mark.homes
            del self.path[mark.depth :]
            del self.keys[mark.length :]
            del self._homes[mark.length :]
            self.settings, self.configured = mark.settings, mark.configured

    # What is kept, and what comes out.

    def counts(self) -> Counter[str]:
        """Return how many entries of each type there are."""
        return Counter(self._written.types)

    def kept(self, value: Mapping[str, Any]) -> bytes:
        """Return native values as JSON text; what cannot be written is counted as lost."""
        try:
            return Members(dict(value)).encode()
        except (AgentSessionError, RecursionError):
            self.lost += 1
            return b"{}"

    def finished(self) -> Session:
        """Return the session; its entries are decoded when asked for. Nothing may be added."""
        return finished(self.header, self._written)
