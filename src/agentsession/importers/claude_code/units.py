"""Records as units: the items that a request can hold of each record.

Spec: claude-code 5.1, 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import QUEUED, bare, injected, kind_of, tagged
from agentsession.importers.claude_code.blocks import (
    Block,
    Made,
    assistant_item,
    hidden_item,
    user_items,
)
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.plain import plain_answer_item, plain_user_item
from agentsession.importers.claude_code.records import Record

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


class Units:
    """Makes the units of records; each record's units are always the same.

    Args:
        times: when each record was written.
        replaced: by call, the words that its result was sent as.
    """

    def __init__(self, times: Times, replaced: Mapping[str, str] | None = None) -> None:
        self._times = times
        self._replaced = replaced or {}
        self._made: dict[Record, list[Piece]] = {}

    def of(self, record: Record) -> list[Piece]:
        """Return what a record of the tree adds to a request; nothing for most system records."""
        made = self._made.get(record)
        if made is None:
            if len(self._made) >= _KEPT:
                for known in list(self._made)[: _KEPT // 2]:
                    known.forget()
                    del self._made[known]
            made = self._made[record] = self._make(record)
            # Most records are asked for once; again, their blocks are decoded for it.
            record.content = None
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
        role = "system" if record.role == "system" else "user"
        beside = record.beside()
        if self._replaced and not self._replaced.keys().isdisjoint(record.results):
            return self._shortened(record, role, beside)
        if record.is_meta and record.value("ownNote") is True:
            made = user_items(record.uuid, [tagged(block) for block in record.blocks], role)
        else:
            item, origin = plain_user_item(record, role)
            if item:
                return [self._plain(record, item, origin, native=beside, hidden=record.is_meta)]
            made = user_items(record.uuid, record.blocks, role)
        return [
            self._piece(record, place, one, hidden=record.is_meta, native=b"" if place else beside)
            for place, one in enumerate(made)
        ]

    def _shortened(self, record: Record, role: str, beside: bytes) -> list[Piece]:
        """What a record with results is sent as that were put aside for their size.

        The whole results are kept beside. Spec: claude-code 2.3.
        """
        whole, sent = [], []
        for block in record.blocks:
            call = block.get("tool_use_id")
            words = self._replaced.get(call) if isinstance(call, str) else None
            if words is not None and block.get("type") == "tool_result":
                whole.append(block)
                sent.append({**block, "content": words})
            else:
                sent.append(block)
        told = text.parse(beside or b"{}")
        told = {**told, "replaced": whole} if isinstance(told, dict) else {"replaced": whole}
        native = text.encode(told)
        return [
            self._piece(record, place, one, hidden=record.is_meta, native=b"" if place else native)
            for place, one in enumerate(user_items(record.uuid, sent, role))
        ]

    def _answer(self, record: Record) -> list[Piece]:
        found = []
        response = "" if record.is_synthetic else record.message_id
        item, origin = plain_answer_item(record)
        if item:
            native = record.beside(_OF_ANSWER)
            return [self._plain(record, item, origin, native=native, response=response)]
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
            piece.derived = told.derived
            pieces.append(piece)
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
        piece.key, piece.role = key, "system"
        return piece

    def queued_turn(self, record: Record) -> Piece:
        """Return what a user said in mid-turn, where the rest is the system's to say."""
        told = injected(record)
        words = "\n".join(bare(block) for block in told.blocks) if told is not None else ""
        made = hidden_item(record.uuid, {"type": "text", "text": words}, "user")
        native = record.beside(names.ENVELOPE | {"rendered"})
        piece = self._piece(record, 0, made, native=native)
        piece.key, piece.role = ("turn", record.uuid), "turn"
        return piece

    def variant(self, piece: Piece, blocks: Sequence[Block], record: Record) -> Piece:
        """Return a record's unit with its content as a request had it."""
        sent = list(blocks)
        name = str(piece.item["id"])
        if record.is_answer:
            made = assistant_item(name, sent[0], record.message_id, record.model)
        elif sent[0].get("type") == "tool_result":
            made = hidden_item(name, sent[0], "user")
        else:
            role = piece.item.get("role")
            made = next(user_items(name, sent, role if isinstance(role, str) else "user"))
        found = Piece.of(made, (piece.key, text.encode(sent)), piece.native_id, piece.ts)
        found.role, found.response, found.native = piece.role, piece.response, piece.native
        found.hidden, found.record = piece.hidden, piece.record
        found.kind, found.call_id, found.derived = piece.kind, piece.call_id, piece.derived
        found.sent = tuple(sent)
        return found

    def prompt(self, words: str, session: str, ts: str) -> Piece:
        """Return the unit of what an agent was asked, where only the call of it says so."""
        block: Block = {"type": "text", "text": words}
        found = Piece.of(hidden_item(f"{session}.prompt", block, "user"), "prompt", session, ts)
        found.role = "prompt"
        return found

    def continuation(self, before: Record, words: str, ts: str) -> Piece:
        """Return the unit of the prompt that had a cut answer go on.

        Args:
            before: the last record of the answer that was cut.
            words: the prompt.
            ts: when.
        """
        name = f"{before.uuid}.continued"
        made = hidden_item(name, {"type": "text", "text": words}, "user")
        found = Piece.of(made, ("continued", before.uuid), before.uuid, ts)
        found.role, found.hidden, found.derived = "continued", True, True
        return found

    def injected(self, digest: str, place: int, block: Block, *, role: str, ts: str) -> Piece:
        """Return the unit of a block that stands in no record."""
        made = hidden_item(f"{digest[:24]}.{place}", block, role)
        found = Piece.of(made, ("injected", digest, place), f"{digest}.{place}", ts)
        found.role, found.hidden = "injected", True
        return found

    def _plain(
        self,
        record: Record,
        item: bytes,
        origin: bytes,
        *,
        hidden: bool = False,
        native: bytes = b"",
        response: str = "",
    ) -> Piece:
        """The one unit of a record whose message is one plain block."""
        name = record.uuid
        found = Piece(name, name, item, origin, record.time or self._times.of(record))
        found.source = record
        found.response, found.native, found.hidden = response, native, hidden
        found.record = record.number
        content = record.content
        found.kind = content[0].type if isinstance(content, list) else "text"
        calls = record.calls or record.results
        found.call_id = calls[0] if calls else ""
        return found

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
        key = (record.uuid, place) if place else record.uuid
        found = Piece.of(made, key, record.uuid, self._times.of(record))
        if place:
            found.role = f"item{place}"
        found.response, found.native, found.hidden = response, native, hidden
        found.record = record.number
        return found


def replaced_in(records: Sequence[Record]) -> dict[str, str]:
    """Return the words that the results of some calls were sent as, by call.

    A release puts the largest results of a message aside before it is first sent, and they
    are never sent whole. Spec: claude-code 2.3.
    """
    found: dict[str, str] = {}
    for record in records:
        told = record.value("replacements") if record.type == names.REPLACEMENT else None
        for one in told if isinstance(told, list) else ():
            call = one.get("toolUseId") if isinstance(one, dict) else None
            words = one.get("replacement") if isinstance(one, dict) else None
            if isinstance(call, str) and isinstance(words, str):
                found[call] = words
    return found


class Times:
    """When each record was written; what has no time gets that of the record before.

    Args:
        records: all records of a conversation, in order.
        start: the time of those before the first one that has any.
    """

    def __init__(self, records: Sequence[Record], start: str) -> None:
        self._records = records
        self._start = start
        self._filled: dict[int, str] = {}
        self.missing = 0

    def of(self, record: Record) -> str:
        """Return the time of a record as the format writes it."""
        found = record.time
        if found:
            return found
        if record.is_tree:
            self.missing += 1
        # Those that were asked for before are remembered: a log may have no times at all.
        for at in range(record.index - 1, -1, -1):
            found = self._records[at].time or self._filled.get(at, "")
            if found:
                break
        found = self._filled[record.index] = found or self._start
        return found
