"""What a draft is made of: units to be put into contexts, and the nodes they become.

Spec: decision D3.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsession.settings import Settings


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


class TextUnit:
    """One item to be put into a context, as text; what :class:`Unit` is with values.

    Attributes:
        key: tells the items of a context apart.
        native_id: the agent's id of the record it comes from.
        text: the item, as JSON text in the format's spelling.
        origin: where it comes from, in that spelling; empty for nothing.
        ts: when, as the format writes it.
        role: tells several items of one record apart.
        response: the model call that produced it.
        native: JSON text of what the agent recorded beside it.
        hidden: it was sent, but nobody said it.
    """

    __slots__ = (
        "hidden",
        "key",
        "native",
        "native_id",
        "origin",
        "response",
        "role",
        "text",
        "ts",
    )

    def __init__(self, key: Hashable, native_id: str, item: bytes, origin: bytes, ts: str) -> None:
        self.key = key
        self.native_id = native_id
        self.text = item
        self.origin = origin
        self.ts = ts
        self.role = "item"
        self.response = ""
        self.native = b""
        self.hidden = False


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
        level: how many nodes are above.
        jump: a node far up, so that one at a given level is found in few steps.
        state: what the importer wants to remember here.
        first, below: the nodes that add an item to the context here, by their keys.
    """

    __slots__ = (
        "below",
        "context",
        "depth",
        "entry_id",
        "first",
        "folded",
        "homes",
        "jump",
        "key",
        "last",
        "level",
        "parent",
        "settings",
        "state",
    )

    def __init__(
        self,
        entry_id: str,
        parent: Node | None,
        depth: int,
        settings: Settings,
        *,
        key: Hashable = None,
        folded: tuple[Hashable, ...] | None = None,
        homes: tuple[str, ...] = (),
    ) -> None:
        self.entry_id = entry_id
        self.parent = parent
        self.depth = depth
        self.settings = settings
        self.key = key
        self.folded = folded
        self.homes = homes
        self.context = self
        self.last = self
        self.level = 0
        self.jump = self
        if parent is not None:
            self.level = parent.level + 1
            far = parent.jump
            # Jumps of equal length are joined: a way up takes few more steps than the logarithm
            # of its length.
            is_joined = parent.level - far.level == far.level - far.jump.level
            self.jump = far.jump if is_joined else parent
        self.state: Any = None
        # Nearly every context is gone on from in one way only.
        self.first: Node | None = None
        self.below: dict[Hashable, Node] | None = None

    def let_go(self) -> None:
        """Let go of the nodes around; the node is of no use afterwards."""
        del self.parent, self.context, self.last, self.jump, self.first, self.below

    def is_below(self, node: Node) -> bool:
        """Return whether another node is this one, or stands on the way up from it."""
        at, level = self, node.level
        while at.level > level:
            far = at.jump
            at = far if far.level >= level or at.parent is None else at.parent
        return at is node

    def following(self, key: Hashable) -> Node | None:
        """Return the node that adds an item to the context here; ``None`` for none yet."""
        if self.first is not None and self.first.key == key:
            return self.first
        return self.below.get(key) if self.below is not None else None

    def followed(self, node: Node) -> None:
        """Take in a node that adds an item here; of two that add the same the first counts."""
        if self.first is None:
            self.first = node
        elif self.first.key != node.key:
            if self.below is None:
                self.below = {}
            self.below.setdefault(node.key, node)
