"""Records as units: the items that a request can hold of each record.

Spec: claude-code 5.1, 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import QUEUED, bare, injected, kind_of
from agentsession.importers.claude_code.blocks import (
    Block,
    Made,
    assistant_item,
    hidden_item,
    user_items,
)
from agentsession.importers.claude_code.records import Record
from agentsession.importers.drafting import Unit

_OF_ANSWER: Final = names.ENVELOPE | {
    "requestId",
    "requestRef",
    "requestSessionId",
    "requestedModel",
    "promptCacheRequested",
    "effort",
    "perTurnEffort",
    "madeBy",
    "entrypoint",
    "attributionAgent",
    "attributionSkill",
    "isApiErrorMessage",
}
"""Members of an answer's records that its response says once."""


_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit, and the blocks that it stands for on the wire.

    Attributes:
        unit: the unit.
        blocks: the blocks.
        kind: the type of the first block.
        call_id: of a call or its result, the call's id.
        derived: its words are those of one release, and may have been others.
    """

    unit: Unit
    blocks: tuple[Block, ...]
    kind: str
    call_id: str = ""
    derived: bool = False


class Units:
    """Makes the units of records; each record's units are always the same."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._made: dict[Record, list[Piece]] = {}

    def of(self, record: Record) -> list[Piece]:
        """Return what a record of the tree adds to a request; nothing for most system records."""
        made = self._made.get(record)
        if made is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            made = self._made[record] = self._make(record)
            record.forget()
        return made

    def _make(self, record: Record) -> list[Piece]:
        if record.type == names.USER:
            return self._user(record)
        if record.is_answer:
            return self._answer(record)
        if record.type == names.ATTACHMENT:
            return self._attachment(record)
        if record.is_local_command:
            block: Block = {"type": "text", "text": record.text("content")}
            return [self._piece(record, 0, hidden_item(record.uuid, block, "user"), hidden=True)]
        return []

    def _user(self, record: Record) -> list[Piece]:
        role = record.message.get("role")
        made = user_items(record.uuid, record.blocks, "system" if role == "system" else "user")
        beside = record.beside()
        return [
            self._piece(record, place, one, hidden=record.is_meta, native=b"" if place else beside)
            for place, one in enumerate(made)
        ]

    def _answer(self, record: Record) -> list[Piece]:
        found = []
        response = "" if record.is_synthetic else record.message_id
        for place, block in enumerate(record.blocks):
            name = f"{record.uuid}.{place}" if place else record.uuid
            made = assistant_item(name, block, record.message_id, record.model)
            native = b"" if place else record.beside(_OF_ANSWER)
            found.append(self._piece(record, place, made, native=native, response=response))
        return found

    def _attachment(self, record: Record) -> list[Piece]:
        told = injected(record)
        if told is None:
            return []
        hidden = kind_of(record) != QUEUED
        native = record.beside(names.ENVELOPE | {"rendered", "renderedRole"})
        pieces = []
        for place, block in enumerate(told.blocks):
            name = f"{record.uuid}.{place}" if place else record.uuid
            made = hidden_item(name, block, "user")
            kept = b"" if place else native
            piece = self._piece(record, place, made, hidden=hidden, native=kept)
            pieces.append(replace(piece, derived=told.derived))
        return pieces

    def system_turn(self, records: Sequence[Record]) -> Piece:
        """Return the one system message that the attachments of a user's message make."""
        texts = [
            "\n".join(bare(block) for block in told.blocks)
            for record in records
            for told in [injected(record)]
            if told is not None
        ]
        first = records[0]
        block: Block = {"type": "text", "text": "\n\n".join(texts)}
        made = hidden_item(first.uuid, block, "system")
        key = ("system", *(record.uuid for record in records))
        hidden = all(kind_of(record) != QUEUED for record in records)
        attached = [record.beside(names.ENVELOPE | {"rendered"}) for record in records]
        native = b'{"attachments":[%b]}' % b",".join(attached)
        piece = self._piece(first, 0, made, hidden=hidden, native=native)
        return replace(piece, unit=replace(piece.unit, key=key, role="system"))

    def variant(self, piece: Piece, blocks: Sequence[Block], record: Record) -> Piece:
        """Return a record's unit with its content as a request had it."""
        sent = list(blocks)
        if record.is_answer:
            made = assistant_item(
                str(piece.unit.item["id"]), sent[0], record.message_id, record.model
            )
        elif sent[0].get("type") == "tool_result":
            made = hidden_item(str(piece.unit.item["id"]), sent[0], "user")
        else:
            role = piece.unit.item.get("role")
            name = str(piece.unit.item["id"])
            made = next(user_items(name, sent, role if isinstance(role, str) else "user"))
        key = (piece.unit.key, text.encode(sent))
        unit = replace(piece.unit, key=key, item=made.item, origin=made.origin)
        return replace(piece, unit=unit, blocks=tuple(sent))

    def injected(self, digest: str, place: int, block: Block, *, role: str, ts: str) -> Piece:
        """Return the unit of a block that stands in no record."""
        made = hidden_item(f"{digest[:24]}.{place}", block, role)
        unit = Unit(
            ("injected", digest, place),
            made.item,
            f"{digest}.{place}",
            role="injected",
            ts=ts,
            origin=made.origin,
            hidden=True,
        )
        return Piece(unit, made.blocks, made.kind, made.call_id)

    def _piece(
        self,
        record: Record,
        place: int,
        made: Made,
        *,
        hidden: bool = False,
        native: bytes = b"",
        response: str = "",
    ) -> Piece:
        unit = Unit(
            (record.uuid, place),
            made.item,
            record.uuid,
            role=f"item{place}" if place else "item",
            ts=self._times.of(record),
            response=response,
            origin=made.origin,
            native=native,
            hidden=hidden,
            record=record.number,
        )
        return Piece(unit, made.blocks, made.kind, made.call_id)


class Times:
    """When each record was written; what has no time gets that of the record before.

    Args:
        records: all records of a conversation, in order.
        start: the time of those before the first one that has any.
    """

    def __init__(self, records: Sequence[Record], start: str) -> None:
        self._records = records
        self._start = start
        self.missing = 0

    def of(self, record: Record) -> str:
        """Return the time of a record as the format writes it."""
        found = record.time
        if found:
            return found
        if record.is_tree:
            self.missing += 1
        for before in reversed(self._records[: max(record.index, 0)]):
            found = before.time
            if found:
                return found
        return self._start


def any_text(value: Any) -> str:
    """Return a value that is a string; empty for anything else."""
    return value if isinstance(value, str) else ""
