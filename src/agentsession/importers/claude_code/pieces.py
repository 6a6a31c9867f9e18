"""Pieces: what a record adds to a request, as text to be written and as blocks of the wire."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from agentsession import text
from agentsession.importers.claude_code.blocks import Block, Made
from agentsession.importers.claude_code.records import Record
from agentsession.importers.drafting import TextUnit, Unit, spelled
from agentsession.wire.profiles_claude_code import NATIVE


class Piece(TextUnit):
    """One item of a context, and the blocks that it stands for on the wire.

    Attributes:
        record: the record's number in the account, -1 for none.
        kind: the type of the first block.
        call_id: of a call or its result, the call's id.
        derived: its words are those of one release, and may have been others.
        sent: its blocks, where they are decoded.
        source: the record whose blocks these are, where they are not.
    """

    __slots__ = ("call_id", "derived", "kind", "record", "sent", "source")

    def __init__(self, key: Hashable, native_id: str, item: bytes, origin: bytes, ts: str) -> None:
        # There are many, and a call of each base takes its time.
        self.key = key
        self.native_id = native_id
        self.text = item
        self.origin = origin
        self.ts = ts
        self.role = "item"
        self.response = ""
        self.native = b""
        self.hidden = False
        self.record = -1
        self.kind = ""
        self.call_id = ""
        self.derived = False
        self.sent: tuple[Block, ...] | None = None
        self.source: Record | None = None

    @classmethod
    def of(cls, made: Made, key: Hashable, native_id: str, ts: str) -> Piece:
        """Return the piece of an item that was made of blocks."""
        origin = spelled(made.origin) if made.origin else b""
        found = cls(key, native_id, spelled(made.item), origin, ts)
        found.sent, found.kind, found.call_id = made.blocks, made.kind, made.call_id
        return found

    def renamed(self, call_id: str) -> Piece:
        """Return the same call or result under another call id; the wire's is in its origin."""
        origin = text.parse(self.origin) if self.origin else {}
        origin = origin if isinstance(origin, dict) else {}
        metadata = dict(origin.get("metadata") or {})
        native = dict(metadata.get(NATIVE) or {})
        if "blocks" not in native:
            native["id" if self.kind == "tool_use" else "tool_use_id"] = self.call_id
        origin["metadata"] = {**metadata, NATIVE: native}
        item = spelled({**self.item, "call_id": call_id})
        found = Piece(self.key, self.native_id, item, spelled(origin), self.ts)
        found.role, found.response, found.native = self.role, self.response, self.native
        found.hidden, found.record, found.derived = self.hidden, self.record, self.derived
        found.kind, found.call_id = self.kind, call_id
        found.sent, found.source = self.sent, self.source
        return found

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks."""
        if self.sent is None:
            self.sent = tuple(self.source.blocks) if self.source is not None else ()
            if self.source is not None:
                self.source.forget()
        return self.sent

    @property
    def item(self) -> dict[str, Any]:
        """The item."""
        value = text.parse(self.text)
        return value if isinstance(value, dict) else {}

    @property
    def unit(self) -> Unit:
        """What it is for a draft."""
        return Unit(
            self.key,
            self.item,
            self.native_id,
            role=self.role,
            ts=self.ts,
            response=self.response,
            origin=text.parse(self.origin) if self.origin else {},
            native=self.native,
            hidden=self.hidden,
            record=self.record,
        )

    def _said(self) -> tuple[object, ...]:
        more = (self.role, self.ts, self.response, self.native, self.hidden, self.record)
        return (self.key, self.text, self.origin, self.kind, self.call_id, self.derived, *more)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and self._said() == other._said()

    __hash__ = None  # type: ignore[assignment]
