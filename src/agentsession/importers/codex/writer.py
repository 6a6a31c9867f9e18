"""Writing at a tip: where the next entry goes, and which items the context there holds.

Spec: decisions D3 and D5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from agentsession import text
from agentsession.entries import Entry, ItemEntry
from agentsession.header import Header
from agentsession.importers import drafting
from agentsession.importers.codex.lines import mapping
from agentsession.importers.codex.units import Unit
from agentsession.importers.drafting import Node, TreeDraft
from agentsession.importers.segments import Segment
from agentsession.importers.settling import Settled
from agentsession.importers.telling import Told, tell
from agentsession.items import Item

NAMESPACE: Final = "codex"

_FALLBACK: Final = "2025-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to come back to.

    Attributes:
        node: the entry there.
        path: the items of its context.
        folds: how many compactions stand on the way to it.
        configured: the settings in force, in the importer's own words.
    """

    node: Node
    path: tuple[Unit, ...]
    folds: int
    configured: Mapping[str, Any]


@dataclass(slots=True)
class _Before:
    node: Node
    folds: int
    configured: Mapping[str, Any]


@dataclass(slots=True)
class Writer:
    """A session being written at one tip.

    Attributes:
        draft: the session.
        node: the entry the next one goes below.
        path: the items of the context there.
        configured: the settings in force there, in the importer's own words.
        at: the time of the last record that had one.
        segment: what the run that is open holds; ``None`` where that is not watched.
        settled: the calls that have their output.
    """

    draft: TreeDraft
    node: Node
    path: list[Unit] = field(default_factory=list)
    configured: Mapping[str, Any] = field(default_factory=dict)
    at: str = _FALLBACK
    segment: Segment | None = None
    settled: Settled = field(default_factory=Settled)
    _folds: int = 0
    _before: dict[int, _Before] = field(default_factory=dict)
    _keys: int = 0
    _callers: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, header: Header) -> Writer:
        """Return the writer of a new session."""
        draft = TreeDraft(header, NAMESPACE)
        return cls(draft, draft.root)

    def when(self, time: str) -> str:
        """Return a record's time, or that of the last record that had one."""
        self.at = time or self.at
        return self.at

    def put(
        self,
        unit: Unit,
        time: str,
        *,
        response: str = "",
        origin: Mapping[str, Any] | None = None,
        native: bytes = b"",
    ) -> str:
        """Append an item; return its entry's id."""
        key = self._key(unit)
        self._before[key] = _Before(self.node, self._folds, self.configured)
        value = self.value(unit)
        self.node = self.draft.put(
            self.node,
            drafting.Unit(
                key,
                # The draft takes over what is spelled already.
                cast("Any", msgspec.Raw(text.encode(value))),
                unit.native_id,
                ts=self.when(time),
                response=response,
                origin=origin or {},
                native=native,
                hidden=unit.made and unit.is_result,
            ),
        )
        self.path.append(unit)
        if unit.is_result:
            self.settled.take(unit.call_id, self.node)
        if response and unit.is_call:
            self._callers.add(response)
        if self.segment is not None:
            self.segment.item(value)
        unit.home = self.node.entry_id
        unit.text, unit.value = b"", None
        return unit.home

    def has_called(self, response: str) -> bool:
        """Return whether any call that was written names a response, on whatever branch."""
        return response in self._callers

    def add(self, entry: Entry, native_id: str, role: str, time: str) -> str:
        """Append an entry that adds no item; return its id."""
        self.node = self.draft.add(self.node, entry, native_id, role, self.when(time))
        return self.node.entry_id

    def tell(
        self,
        entry_type: type[Entry],
        members: Mapping[str, Any],
        native_id: str,
        role: str,
        time: str,
        *,
        began: str = "",
    ) -> str:
        """Append an entry that adds no item, given by its members; return its id.

        Args:
            entry_type: its type.
            members: see :class:`Told`.
            native_id: what it comes from.
            role: tells several entries of one record apart.
            time: when it was recorded.
            began: when what it tells of began, where that is known to be before.
        """
        at = self.when(time)
        at = began or at
        told = Told(entry_type, members)
        self.node = tell(self.draft, self.node, told, native_id, role=role, ts=at)
        return self.node.entry_id

    def note(self, data: Mapping[str, Any] | bytes, native_id: str, role: str, time: str) -> str:
        """Append what no entry type has a place for; return its entry's id."""
        self.node = self.draft.note(self.node, data, native_id, role, self.when(time))
        return self.node.entry_id

    def item(self, unit: Unit) -> Item:
        """Return the item of a unit, wherever it stands now."""
        if unit.text:
            return Item.from_text(unit.text)
        entry = self.draft.session[unit.home]
        assert isinstance(entry, ItemEntry)
        return entry.item

    @staticmethod
    def value(unit: Unit) -> dict[str, Any]:
        """Return the item of a unit that is not written yet, as plain values."""
        if unit.value is None:
            unit.value = mapping(text.parse(unit.text))
        return unit.value

    def holds(self, sent: Sequence[Unit]) -> bool:
        """Return whether the context is the beginning of what was sent."""
        return len(self.path) <= len(sent) and all(
            mine is theirs for mine, theirs in zip(self.path, sent, strict=False)
        )

    def fold(
        self,
        sent: Sequence[Unit],
        native_id: str,
        time: str,
        *,
        usage: Mapping[str, Any] | None = None,
        native: Mapping[str, Any] | None = None,
    ) -> str:
        """Append the compaction after which the context is what was sent; return its id."""
        units = [drafting.Unit(self._key(unit), self.item(unit), unit.native_id) for unit in sent]
        self.node = self.draft.fold(
            self.node,
            units,
            native_id,
            self.when(time),
            usage=usage,
            native=text.encode(native) if native else b"",
        )
        self.path = list(sent)
        self._folds += 1
        return self.node.entry_id

    def empty(self) -> None:
        """Begin a new root: nothing that came before is in the context."""
        self.node, self.path, self.configured = self.draft.root, [], {}
        self.segment = None

    def rewind(self, kept: Sequence[Unit]) -> bool:
        """Go back to where the context was the items kept; return whether that is a place."""
        count = len(kept)
        if count >= len(self.path) or any(
            mine is not theirs for mine, theirs in zip(self.path, kept, strict=False)
        ):
            return False
        before = self._before.get(self.path[count].key)
        if before is None or before.folds != self._folds or not self.path[count].home:
            return False
        self.node, self.configured = before.node, before.configured
        self.segment = None
        del self.path[count:]
        return True

    def _key(self, unit: Unit) -> int:
        if not unit.key:
            self._keys += 1
            unit.key = self._keys
        return unit.key

    def mark(self) -> Mark:
        """Return the place where the next entry goes."""
        return Mark(self.node, tuple(self.path), self._folds, self.configured)

    def back(self, mark: Mark) -> None:
        """Go to a place."""
        self.node, self.path = mark.node, list(mark.path)
        self._folds, self.configured = mark.folds, mark.configured
        self.segment = None
