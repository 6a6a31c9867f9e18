"""A draft that is a tree: a session being written for an agent whose history branches.

Each model call is written below the context that was sent with it. A context that is there
already is found again, one that goes on from it is appended, one that leaves it on the way
becomes a branch, and one that is none of these a compaction: the general fold.

Entry ids follow from what entries say and where they stand. Spec: decisions D3 and D5.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry
from agentsession.header import Header
from agentsession.importers.fold import fold
from agentsession.importers.identity import entry_id
from agentsession.reading import load
from agentsession.record_entries import CustomEntry
from agentsession.session import Session
from agentsession.settings import Settings

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Unit:
    """One item to be put into a context.

    Attributes:
        key: tells the items of a context apart; equal keys mean the same item.
        item: the item, as plain values.
        native_id: the agent's id of the record it comes from.
        role: tells several items of one record apart.
        ts: when, as the format writes it.
        response: the model call that produced it.
        origin: where it comes from, in the words of :class:`agentsession.wire.Origin`.
        native: JSON text of what the agent recorded beside it.
        hidden: it was sent, but nobody said it.
        record: the record's number in the account, -1 for none.
    """

    key: Hashable
    item: Mapping[str, Any]
    native_id: str
    role: str = "item"
    ts: str = ""
    response: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    native: bytes = b""
    hidden: bool = False
    record: int = -1


@dataclass(eq=False, slots=True)
class Node:
    """An entry of the draft, and the context at it.

    Attributes:
        entry_id: its id; empty for the root that is no entry.
        parent: the entry above; ``None`` for the root.
        context: the nearest node from here up that adds an item.
        depth: how many items the context has.
        key: the key of the item it adds; ``None`` when it adds none.
        folded: all keys of the context, of a compaction and of the root.
        homes: for each of these the entry that holds the item; empty for pinned ones.
        settings: the settings here.
        last: the last node written in a line after it that adds no item.
        state: what the importer wants to remember here.
    """

    entry_id: str
    parent: Node | None
    depth: int
    settings: Settings
    key: Hashable = None
    folded: tuple[Hashable, ...] | None = None
    homes: tuple[str, ...] = ()
    context: Node = field(init=False)
    last: Node = field(init=False)
    state: Any = None

    def __post_init__(self) -> None:
        self.context = self
        self.last = self


class TreeDraft:
    """A session being written as a tree.

    Args:
        header: the session's header.
        namespace: the agent's name space for what the format has no place for.
    """

    def __init__(self, header: Header, namespace: str) -> None:
        self._session = Session(header)
        self._ids: set[str] = set()
        self._fresh: list[tuple[type[Entry], int, int, str, str | None, str]] = []
        self._text = bytearray()
        self._types: Counter[str] = Counter()
        self._mark = b',"%b":' % namespace.encode()
        self.namespace = namespace
        self.root = Node("", None, 0, Settings(), folded=())
        self.last = self.root
        self._next: dict[tuple[int, Hashable], Node] = {}

    # Finding.

    def walk(self, node: Node, keys: Sequence[Hashable]) -> tuple[Node, int]:
        """Follow keys down from a node; return where it ends and how many were found."""
        at = node.context
        for found, key in enumerate(keys):
            following = self._next.get((id(at), key))
            if following is None:
                return (at.last if found else node.context.last), found
            at = following
        return (at.last if keys else node.context.last), len(keys)

    def keys_at(self, node: Node) -> tuple[list[Hashable], list[str]]:
        """Return the keys of the context at a node, and the entries that hold the items."""
        keys: list[Hashable] = []
        homes: list[str] = []
        at = node.context
        while at.folded is None:
            keys.append(at.key)
            homes.append(at.entry_id)
            assert at.parent is not None
            at = at.parent.context
        return [*at.folded, *reversed(keys)], [*at.homes, *reversed(homes)]

    # Writing.

    def put(self, node: Node, unit: Unit, entry: Entry | None = None) -> Node:
        """Append an item below a node; return the new node.

        Args:
            node: where.
            unit: the item.
            entry: the entry that adds the item, where it is no item entry: a branch summary.
        """
        if entry is not None:
            added = self._append(node, entry, unit.native_id, unit.role, unit.ts)
            return self._placed(node, unit, added)
        said = b'{"item":%b' % spelled(unit.item)
        if unit.response:
            said += b',"response":' + spelled(unit.response)
        if unit.hidden:
            said += b',"visible":false'
        body = said[1:]
        # The members an import adds beside the item do not decide what the entry says.
        if unit.native:
            body += self._mark + text.compact(unit.native)
        if unit.origin:
            body += b',"origin":' + spelled(unit.origin)
        added = self.write(
            node, ItemEntry, body, unit.native_id, role=unit.role, ts=unit.ts, content=said
        )
        return self._placed(node, unit, added)

    def _placed(self, node: Node, unit: Unit, added: str) -> Node:
        new = Node(added, node, node.depth + 1, node.settings, key=unit.key)
        new.state = node.state
        self._next.setdefault((id(node.context), unit.key), new)
        return new

    def add(self, node: Node, entry: Entry, native_id: str, role: str, ts: str) -> Node:
        """Append an entry that adds no item below a node; return the new node."""
        settings = node.settings
        if isinstance(entry, ConfigEntry):
            settings = settings.apply(entry)
        new = Node(self._append(node, entry, native_id, role, ts), node, node.depth, settings)
        new.context = node.context
        new.state = node.state
        if node.context.last is node:
            node.context.last = new
        return new

    def place(
        self,
        node: Node,
        entry_type: type[Entry],
        body: bytes,
        native_id: str,
        *,
        role: str,
        ts: str,
    ) -> Node:
        """Append an entry that adds no item, given as JSON text; see :meth:`write`."""
        new = Node(
            self.write(node, entry_type, body, native_id, role=role, ts=ts),
            node,
            node.depth,
            node.settings,
        )
        new.context = node.context
        new.state = node.state
        if node.context.last is node:
            node.context.last = new
        return new

    def note(self, node: Node, data: Any, native_id: str, role: str, ts: str) -> Node:
        """Append what no entry type has a place for; ``data`` is plain values or JSON text."""
        return self.add(node, CustomEntry(self.namespace, data), native_id, role, ts)

    def fold(
        self,
        node: Node,
        sent: Sequence[Unit],
        native_id: str,
        ts: str,
        *,
        tokens_before: int = 0,
        usage: Mapping[str, Any] | None = None,
        native: bytes = b"",
    ) -> Node:
        """Append the compaction after which the context is what was sent; return its node.

        Args:
            node: where.
            sent: what was sent; not empty.
            native_id: what caused it.
            ts: when.
            tokens_before: how large the context was.
            usage: the usage of the call that made the summary.
            native: JSON text of what the agent recorded of it.
        """
        path_keys, homes = self.keys_at(node)
        keys = [unit.key for unit in sent]
        known = ("fold", tuple(keys))
        found = self._next.get((id(node), known))
        if found is not None:
            return found
        keepable = 0
        while keepable < len(homes) and homes[-1 - keepable]:
            keepable += 1
        folding = fold(path_keys, keys, keepable)
        at = node
        if folding.kept:
            first_kept = homes[-folding.kept]
        else:
            if not at.entry_id or at.context is at:
                at = self.note(at, {"kept": "nothing"}, native_id, "anchor", ts)
            first_kept = at.entry_id
        changed = sent[: folding.changed]
        origins = {
            str(unit.item["id"]): dict(unit.origin)
            for unit in changed
            if unit.origin and unit.item.get("id")
        }
        unknown: dict[str, Any] = {}
        if origins:
            unknown["origins"] = origins
        if native:
            unknown[self.namespace] = native
        entry = CompactionEntry(
            first_kept,
            dict(changed[0].item),
            pinned=[dict(unit.item) for unit in changed[1:]],
            config=at.settings,
            tokens_before=tokens_before,
            usage=usage,
            unknown=unknown,
        )
        kept = homes[len(homes) - folding.kept :]
        new = Node(
            self._append(at, entry, native_id, "compaction", ts),
            at,
            len(keys),
            at.settings,
            folded=tuple(keys),
            homes=("",) * folding.changed + tuple(kept),
        )
        new.state = at.state
        self._next[id(node), known] = new
        return new

    def _append(self, node: Node, entry: Entry, native_id: str, role: str, ts: str) -> str:
        parent = node.entry_id or None
        new = entry_id(parent, native_id, role, entry)
        while new in self._ids:
            role += "+"
            new = entry_id(parent, native_id, role, entry)
        self._take(entry.sealed(new, parent, ts))
        return new

    def write(
        self,
        node: Node,
        entry_type: type[Entry],
        body: bytes,
        native_id: str,
        *,
        role: str,
        ts: str,
        content: bytes | None = None,
    ) -> str:
        """Append an entry given as JSON text below a node; return its id.

        Args:
            node: where.
            entry_type: its type.
            body: its members beside the envelope, in their order, without braces.
            native_id: what it comes from.
            role: tells several entries of one record apart.
            ts: when.
            content: what of it decides its id; the body by default.
        """
        parent = node.entry_id
        said = body if content is None else content
        while True:
            place = f"{parent}\0{native_id}\0{role}\n".encode("utf-8", "replace")
            new = hashlib.sha256(place + said).hexdigest()[:_DIGITS]
            if new not in self._ids:
                break
            role += "+"
        kind = entry_type.TYPE
        above = b'"%b"' % parent.encode() if parent else b"null"
        line = b'{"type":"%b","id":"%b","parent":%b,"ts":"%b",%b}' % (
            kind.encode(),
            new.encode(),
            above,
            ts.encode(),
            body,
        )
        self._keep(entry_type, line, new, parent or None, ts)
        return new

    def _take(self, entry: Entry) -> None:
        self._keep(type(entry), entry.line, entry.id, entry.parent, entry.ts_text)

    def _keep(
        self, entry_type: type[Entry], line: bytes, name: str, parent: str | None, ts: str
    ) -> None:
        start = len(self._text)
        self._text += line
        self._ids.add(name)
        self._types[entry_type.TYPE] += 1
        self._fresh.append((entry_type, start, len(self._text), name, parent, ts))
        self._text += b"\n"

    @property
    def session(self) -> Session:
        """The session, with all that was written so far."""
        # Nothing written here can break a rule of appending, and asking for each entry
        # whether its call was rejected would walk the path once for every call.
        for entry_type, start, end, name, parent, ts in self._fresh:
            line = bytes(self._text[start:end])
            entry = entry_type.from_line(line, entry_type.TYPE, name, parent, ts)
            self._session.commit(entry)
        self._fresh.clear()
        return self._session

    def counts(self) -> dict[str, int]:
        """Return how many entries of each type were written."""
        return dict(self._types)

    def finished(self) -> Session:
        """Return the session as one that was read: its entries are decoded when asked for.

        The draft is empty afterwards.
        """
        written = b"%b\n%b" % (self._session.header.line, bytes(self._text))
        self._text.clear()
        self._fresh.clear()
        return load(written)


_encode: Final = msgspec.json.Encoder().encode


def spelled(value: Any) -> bytes:
    """Return plain values as compact JSON in the format's spelling. Spec: format 6."""
    try:
        written = _encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return text.encode(value)
    # The fast encoder writes the two line separators of Unicode as they are.
    return text.encode(value) if b"\xe2\x80" in written else written
