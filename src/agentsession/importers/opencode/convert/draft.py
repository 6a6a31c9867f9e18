"""A draft: a session being written, and what its context holds at the tip.

Entry ids follow from what the entries say and where they stand, so that equal pasts have
equal ids and a rewritten past branches by itself. Spec: decision D5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agentsession.entries import (
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.importers.fold import fold
from agentsession.importers.identity import entry_id
from agentsession.importers.opencode.convert.clock import iso
from agentsession.importers.opencode.convert.units import Unit
from agentsession.importers.opencode.members import Members
from agentsession.record_entries import CustomEntry
from agentsession.session import Session
from agentsession.settings import Settings

NAMESPACE = "opencode"

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Mark:
    tip: str | None
    keys: list[Key]
    homes: list[str]
    length: int
    settings: Settings
    configured: Any


class Draft:
    """A session that grows at a tip, with the keys of the items in its context there.

    Attributes:
        session: the session.
        tip: the entry the next one goes below.
        keys: what tells the items of the context at the tip apart.
        settings: the settings at the tip.
        configured: what the last config entry on the path said; the converter's own.
    """

    def __init__(self, header: Header) -> None:
        self.session = Session(header)
        self.tip: str | None = None
        self.keys: list[Key] = []
        self.settings = Settings()
        self.configured: Any = None
        self.lost = 0
        self.home: dict[str, str] = {}
        self._homes: list[str] = []

    def add(self, entry: Entry, native_id: str, role: str, millis: int) -> str:
        """Append an entry below the tip, which moves to it; return its id."""
        new = entry_id(self.tip, native_id, role, entry)
        while new in self.session:
            role += "+"
            new = entry_id(self.tip, native_id, role, entry)
        # Nothing written here can break a rule of appending, and asking for each entry
        # whether its call was rejected would walk the path once for every call.
        self.session.commit(entry.sealed(new, self.tip, iso(millis)))
        self.tip = new
        return new

    def put(
        self,
        unit: Unit,
        millis: int,
        *,
        response: str = "",
        role: str = "item",
        native: Mapping[str, Any] | None = None,
        queued_from: str = "",
    ) -> str:
        """Append an item below the tip; return its entry's id."""
        unknown: dict[str, Any] = {}
        origin = unit.origin.to_dict()
        if origin:
            unknown["origin"] = self.kept(origin)
        said = unit.native if native is None else native
        if said:
            unknown[NAMESPACE] = self.kept(said)
        entry = ItemEntry(
            dict(unit.item),
            response=response,
            visible=False if unit.hidden else None,
            queued_from=queued_from,
            unknown=unknown,
        )
        new = self.add(entry, unit.key[0], f"{role}{unit.key[1]}", millis)
        self.keys.append(unit.key)
        self._homes.append(new)
        self.home[unit.key[0]] = new
        return new

    def configure(self, entry: ConfigEntry, native_id: str, millis: int) -> str:
        """Append a config entry; the settings at the tip follow it."""
        self.settings = self.settings.apply(entry)
        return self.add(entry, native_id, "config", millis)

    def note(self, data: Mapping[str, Any], native_id: str, role: str, millis: int) -> str:
        """Append what no entry type has a place for."""
        return self.add(CustomEntry(NAMESPACE, self.kept(data)), native_id, role, millis)

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
        path = {entry.id for entry in self.session.path(self.tip)} if self.tip else set()
        origins = {
            unit.key[0]: unit.origin.to_dict()
            for unit in changed
            if self.home.get(unit.key[0]) not in path and unit.origin.to_dict()
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
        at = self.tip
        while at is not None:
            entry = self.session[at]
            if isinstance(entry, ResponseEntry):
                return at
            if entry.CONTEXT:
                break
            at = entry.parent
        if self.tip is not None and not isinstance(self.session[self.tip], ItemEntry):
            return self.tip
        return self.note({"kept": "nothing"}, native_id, "anchor", millis)

    def segment(self, start: str) -> list[Entry]:
        """Return the entries from one on the path to the tip."""
        found: list[Entry] = []
        at = self.tip
        while at is not None:
            entry = self.session[at]
            found.append(entry)
            if at == start:
                break
            at = entry.parent
        return found[::-1]

    def restart(self) -> None:
        """Begin a new root: nothing that came before is in the context."""
        self.tip = None
        self.keys, self._homes = [], []
        self.settings = Settings()
        self.configured = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Write a branch: afterwards the tip and its context are what they were before."""
        mark = _Mark(
            self.tip, self.keys, self._homes, len(self.keys), self.settings, self.configured
        )
        try:
            yield
        finally:
            self.tip, self.keys, self._homes = mark.tip, mark.keys, mark.homes
            del self.keys[mark.length :]
            del self._homes[mark.length :]
            self.settings, self.configured = mark.settings, mark.configured

    def kept(self, value: Mapping[str, Any]) -> bytes:
        """Return native values as JSON text; what cannot be written is counted as lost."""
        try:
            return Members(dict(value)).encode()
        except (AgentSessionError, RecursionError):
            self.lost += 1
            return b"{}"
