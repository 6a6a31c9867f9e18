"""A draft that is a tree: a session being written for an agent whose history branches.

Each model call is written below the context that was sent with it. A context that is there
already is found again, one that goes on from it is appended, one that leaves it on the way
becomes a branch, and one that is none of these a compaction: the general fold.

Entry ids follow from what entries say and where they stand. Spec: decisions D3 and D5.
"""

from __future__ import annotations

import hashlib
import io
from array import array
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession.codec import ENTRY_TYPES
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry
from agentsession.header import Header
from agentsession.importers.fold import fold
from agentsession.importers.identity import entry_id
from agentsession.importers.nodes import Node, TextUnit, Unit
from agentsession.record_entries import CustomEntry
from agentsession.rows import Rows
from agentsession.session import Session
from agentsession.settings import Settings

__all__ = ["Node", "TextUnit", "TreeDraft", "Unit", "has_separator", "spelled"]

_DIGITS: Final = 16
_MOST_ROOM: Final = 1 << 30


class TreeDraft:
    """A session being written as a tree.

    Args:
        header: the session's header.
        namespace: the agent's name space for what the format has no place for.
        room: about how many bytes the session will have, when that is known: a text that
            does not outgrow its room is never moved.
    """

    def __init__(self, header: Header, namespace: str, room: int = 0) -> None:
        self._session = Session(header)
        self.header = self._session.header
        # The file as it is going to be: nothing of it is copied when it is finished.
        # Room that is not written to costs nothing, up to what a system promises lightly.
        self._text = io.BytesIO(bytes(min(room, _MOST_ROOM)))
        self._text.write(self.header.line + b"\n")
        self._nodes: list[Node] = []
        self._types: list[str] = []
        self._ends = array("q", [self._text.tell()])
        self._taken: set[str] = set()
        self._mark = b',"%b":' % namespace.encode()
        self.namespace = namespace
        self.root = Node("", None, 0, Settings(), folded=())
        self.last = self.root
        self._folds: dict[tuple[int, tuple[Hashable, ...]], Node] = {}

    # Finding.

    def walk(self, node: Node, keys: Sequence[Hashable]) -> tuple[Node, int]:
        """Follow keys down from a node; return where it ends and how many were found."""
        at = node.context
        for found, key in enumerate(keys):
            following = at.following(key)
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
        origin = spelled(unit.origin) if unit.origin else b""
        written = TextUnit(unit.key, unit.native_id, spelled(unit.item), origin, unit.ts)
        written.role, written.response = unit.role, unit.response
        written.native, written.hidden = unit.native, unit.hidden
        return self.put_text(node, written)

    def put_text(self, node: Node, unit: TextUnit) -> Node:
        """Append an item below a node, given as JSON text; return the new node."""
        rest = b',"response":' + _name(unit.response) if unit.response else b""
        if unit.hidden:
            rest += b',"visible":false'
        # The members an import adds beside the item do not decide what the entry says.
        more: tuple[bytes, ...] = (self._mark, text.compact(unit.native)) if unit.native else ()
        if unit.origin:
            more += (b',"origin":', unit.origin)
        place = (unit.native_id, unit.role, '{"item":')
        added = self._write(node, ItemEntry.TYPE, place, (unit.text, rest), unit.ts, more=more)
        return self._placed(node, unit, added)

    def _placed(self, node: Node, unit: Unit | TextUnit, added: str) -> Node:
        new = Node(added, node, node.depth + 1, node.settings, key=unit.key)
        self._nodes.append(new)
        new.state = node.state
        node.context.followed(new)
        return new

    def add(self, node: Node, entry: Entry, native_id: str, role: str, ts: str) -> Node:
        """Append an entry that adds no item below a node; return the new node."""
        settings = node.settings
        if isinstance(entry, ConfigEntry):
            settings = settings.apply(entry)
        return self._hung(node, self._append(node, entry, native_id, role, ts), settings)

    def _hung(self, node: Node, added: str, settings: Settings) -> Node:
        new = Node(added, node, node.depth, settings)
        self._nodes.append(new)
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
        """Append an entry that adds no item, given as JSON text.

        Args:
            node: where.
            entry_type: its type.
            body: its members beside the envelope, in their order, without braces.
            native_id: what it comes from.
            role: tells several entries of one record apart.
            ts: when.
        """
        added = self._write(node, entry_type.TYPE, (native_id, role, ""), (body, b""), ts)
        return self._hung(node, added, node.settings)

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
        known = (id(node), tuple(keys))
        found = self._folds.get(known)
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
        self._nodes.append(new)
        new.state = at.state
        self._folds[known] = new
        return new

    def _append(self, node: Node, entry: Entry, native_id: str, role: str, ts: str) -> str:
        parent = node.entry_id or None
        new = entry_id(parent, native_id, role, entry)
        while new in self._taken:
            role += "+"
            new = entry_id(parent, native_id, role, entry)
        line = entry.sealed(new, parent, ts).line
        self._text.writelines((line, b"\n"))
        self._keep(entry.type, new)
        return new

    def _write(
        self,
        node: Node,
        kind: str,
        place: tuple[str, str, str],
        said: tuple[bytes, bytes],
        ts: str,
        *,
        more: Sequence[bytes] = (),
    ) -> str:
        """Append an entry given as pieces of JSON text below a node; return its id.

        Args:
            node: where.
            kind: its type.
            place: the id of the record that it comes from, its role there, and how what it
                says begins, with the brace before that.
            said: what it says, which decides its id together with the place.
            ts: when.
            more: what it says beside that, which does not.
        """
        parent = node.entry_id
        native_id, role, opening = place
        says, rest = said
        while True:
            stands = f"{parent}\0{native_id}\0{role}\n{opening}"
            digest = _sha256(stands.encode("utf-8", "replace"))
            digest.update(says)
            if rest:
                digest.update(rest)
            new = digest.hexdigest()[:_DIGITS]
            if new not in self._taken:
                break
            role += "+"
        above = f'"{parent}"' if parent else "null"
        head = f'{{"type":"{kind}","id":"{new}","parent":{above},"ts":"{ts}",{opening[1:]}'
        self._text.writelines((head.encode(), says, rest, *more, b"}\n"))
        self._keep(kind, new)
        return new

    def _keep(self, entry_type: str, name: str) -> None:
        """Take in the entry whose line was just written."""
        self._taken.add(name)
        self._types.append(entry_type)
        self._ends.append(self._text.tell())

    @property
    def session(self) -> Session:
        """The session, with all that was written so far."""
        # Nothing written here can break a rule of appending, and asking for each entry
        # whether its call was rejected would walk the path once for every call.
        done = len(self._session)
        if done < len(self._nodes):
            with self._text.getbuffer() as written:
                lines = [
                    bytes(written[self._ends[row] : self._ends[row + 1] - 1])
                    for row in range(done, len(self._nodes))
                ]
            for row, line in enumerate(lines, done):
                node = self._nodes[row]
                made = ENTRY_TYPES[self._types[row]].from_line
                self._session.commit(made(line, self._types[row], node.entry_id, _above(node)))
        return self._session

    def counts(self) -> dict[str, int]:
        """Return how many entries of each type were written."""
        return dict(Counter(self._types))

    def finished(self) -> Session:
        """Return the session as one that was read: its entries are decoded when asked for.

        The draft is of no use afterwards.
        """
        self._text.truncate()
        written = self._text.getvalue()
        self._text.close()
        nodes = self._nodes
        columns = ([one.entry_id for one in nodes], [_above(one) for one in nodes], self._types)
        # They hold each other, and only a collection of all that was made would find them.
        for node in (self.root, *nodes):
            node.let_go()
        rows = Rows.written(self.header.version, columns, written, self._ends)
        return Session.restored(self.header, rows, truncated=None, notes=[], source=written)


def _above(node: Node) -> str | None:
    """The id of the entry above the one of a node; ``None`` for a root's."""
    return node.parent.entry_id or None if node.parent is not None else None


_sha256: Final = hashlib.sha256
_encode: Final = msgspec.json.Encoder().encode


def spelled(value: Any) -> bytes:
    """Return plain values as compact JSON in the format's spelling. Spec: format 6."""
    try:
        written = _encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return text.encode(value)
    # The fast encoder writes the two line separators of Unicode as they are.
    return text.encode(value) if has_separator(written) else written


_name: Final = lru_cache(maxsize=64)(spelled)
"""The spelling of an id that several entries in a row have."""


def has_separator(found: bytes) -> bool:
    """Return whether text has one of the line separators that the format escapes."""
    if found.isascii():
        return False
    # One byte is looked for far quicker than three, and these are rare.
    if b"\xa8" in found and b"\xe2\x80\xa8" in found:
        return True
    return b"\xa9" in found and b"\xe2\x80\xa9" in found
