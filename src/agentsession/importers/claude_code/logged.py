"""Logged requests as units: each message of a request found among the records, or injected.

Spec: claude-code 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import bare, injected
from agentsession.importers.claude_code.blocks import Block
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.requestlog import Request, RequestLog
from agentsession.importers.claude_code.transcript import Transcript
from agentsession.importers.claude_code.units import Units


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands: records near it and further above, and the units before it."""

    near: Sequence[Record]
    above: Mapping[Record, int]
    until: int
    ts: str
    used: set[Any]


class Logged:
    """What logged requests held, as units.

    Args:
        log: the request log.
        transcript: the records of the conversation.
        units: makes the units of records.
    """

    def __init__(self, log: RequestLog, transcript: Transcript, units: Units) -> None:
        self.log = log
        self._transcript = transcript
        self._units = units
        self._texts: dict[bytes, list[Record]] = {}
        self._indexed = False
        self._attached: dict[bytes, list[Record]] = {}
        self._words: dict[Record, tuple[str, ...]] = {}
        self._sought: set[str] = set()
        self.told: dict[str, list[Record]] = {}

    def pieces(
        self,
        request: Request,
        hashes: Sequence[str],
        near: Sequence[Record],
        ts: str,
        above: Sequence[Record] = (),
    ) -> list[Piece]:
        """Return the units of some of a request's messages.

        Args:
            request: the request.
            hashes: the hashes of the messages, in order.
            near: the records that are most likely to be in them.
            ts: the time of what no record holds.
            above: the attachments that stand further above, nearest first.

        Raises:
            CannotRebuild: when a message is not in the files.
        """
        for record in above:
            self._take(record)
        places = {record: place for place, record in enumerate(above)}
        found: list[Piece] = []
        used: set[Any] = set()
        for digest in hashes:
            message = self.log.message(digest)
            place = _Place(near, places, request.record.index, ts, used)
            for piece in self._message(digest, message, place):
                used.add(piece.key)
                found.append(piece)
        return found

    def _message(self, digest: str, message: dict[str, Any], place: _Place) -> Iterable[Piece]:
        role = message.get("role")
        role = role if isinstance(role, str) else "user"
        blocks: list[Block] = message["content"]
        at = 0
        while at < len(blocks):
            piece = self._matching(blocks, at, role, place)
            if piece is None:
                piece = self._units.injected(digest, at, blocks[at], role=role, ts=place.ts)
                self._credit(str(piece.native_id), blocks[at], place)
            yield piece
            at += max(1, len(piece.blocks))

    def _take(self, record: Record) -> None:
        """Remember what an attachment says, which many requests may ask for."""
        if record in self._words:
            return
        told = injected(record)
        blocks = told.blocks if told is not None else ()
        self._words[record] = tuple(bare(block).strip() for block in blocks)
        for mark in dict.fromkeys(map(_mark, blocks)):
            self._attached.setdefault(mark, []).append(record)

    def _credit(self, native_id: str, block: Block, place: _Place) -> None:
        """Note which attachments an injected text was made of."""
        words = block.get("text")
        if not isinstance(words, str) or native_id in self.told:
            return
        sources = list(place.near)
        if place.above and native_id not in self._sought:
            # What is further above now was so when the text was first sent.
            self._sought.add(native_id)
            sources += place.above
        found: list[Record] = []
        for record in sources:
            if record.type == names.ATTACHMENT:
                self._take(record)
                parts = self._words[record]
            elif record.is_meta:
                parts = tuple(str(part.get("text", "")).strip() for part in record.blocks)
            else:
                continue
            if parts and all(part and part in words for part in parts):
                found.append(record)
        if found:
            self.told[native_id] = found

    def _matching(self, blocks: Sequence[Block], at: int, role: str, place: _Place) -> Piece | None:
        block = blocks[at]
        for record in self._candidates(block, role, place):
            for piece in self._units.of(record):
                sent = list(blocks[at : at + len(piece.blocks)])
                if piece.key in place.used:
                    continue
                if sent == list(piece.blocks):
                    return piece
                if _is_variant(piece.blocks, sent):
                    return self._units.variant(piece, sent, record)
        return None

    def _candidates(self, block: Block, role: str, place: _Place) -> Iterable[Record]:
        near = place.near
        call = block.get("tool_use_id") if block.get("type") == "tool_result" else None
        if isinstance(call, str):
            found = self._transcript.result_of(call)
            return [found] if found is not None else []
        call = block.get("id") if block.get("type") == "tool_use" else None
        if isinstance(call, str):
            owner = self._transcript.owner(call)
            return [r for r in owner.records if call in r.calls] if owner is not None else []
        if role == "system":
            return [r for r in near if r.type == names.USER and r.message.get("role") == "system"]
        wanted = role == "assistant"
        likely = [r for r in near if r.is_answer is wanted and r.type != names.SYSTEM]
        if not wanted:
            above = place.above
            said = self._attached.get(_mark(block), ()) if above else ()
            likely += sorted((r for r in said if r in above), key=above.__getitem__)
        return [*likely, *self._known(block, wanted, place.until)]

    def _known(self, block: Block, answers: bool, until: int) -> Iterable[Record]:
        if not self._indexed:
            self._indexed = True
            for record in self._transcript.originals():
                if record.type in (names.USER, names.ASSISTANT):
                    for part in record.blocks[:1]:
                        self._texts.setdefault(_mark(part), []).append(record)
                    record.forget()
        found = self._texts.get(_mark(block), [])
        return [r for r in found if r.is_answer is answers and r.index < until]


def _mark(block: Block) -> bytes:
    words = block.get("text")
    if block.get("type") == "text" and isinstance(words, str):
        return words.rstrip("\n").encode("utf-8", "replace")
    return text.encode(block)


def _is_variant(stored: Sequence[Block], sent: Sequence[Block]) -> bool:
    """Return whether blocks are others as a request spelled them."""
    if len(stored) != len(sent):
        return False
    for one, other in zip(stored, sent, strict=True):
        kind = one.get("type")
        if kind != other.get("type"):
            return False
        if kind == "text":
            if str(one.get("text")).rstrip("\n") != str(other.get("text")).rstrip("\n"):
                return False
        elif kind == "tool_result":
            if one.get("tool_use_id") != other.get("tool_use_id"):
                return False
        elif kind == "tool_use":
            if one.get("id") != other.get("id"):
                return False
        elif one != other:
            return False
    return True
