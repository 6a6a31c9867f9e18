"""Compacting: the compactions of a conversation, each written once where it stands.

Spec: claude-code 5.3, decision D3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agentsession.importers.claude_code.history import Stretch, preserved, stretch_to
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.sending import Tail
from agentsession.importers.claude_code.usage import count
from agentsession.importers.drafting import Node

if TYPE_CHECKING:
    from agentsession.importers.claude_code.convert import Conversion

_NEAR: Final = 64


class Compacting:
    """Writes the compactions of a conversation, and what goes on after them.

    Args:
        conversion: the conversion.
    """

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._compacted: dict[Record, tuple[Node, list[Piece]]] = {}

    def node(self, boundary: Record) -> tuple[Node, list[Piece]]:
        """Write the compaction of a boundary, once; return its node and its units."""
        known = self._compacted.get(boundary)
        if known is not None:
            return known
        tip = self._before(boundary)
        summary, kept = self._kept(boundary)
        pieces = [*(self._conversion.units.of(summary) if summary is not None else ()), *kept]
        if not pieces:
            self._compacted[boundary] = (self._conversion.draft.root, [])
            return self._compacted[boundary]
        told = boundary.value("compactMetadata")
        before = told.get("preTokens") if isinstance(told, dict) else 0
        node = self._conversion.draft.fold(
            tip,
            [piece.unit for piece in pieces],
            boundary.where,
            self._conversion.times.of(boundary),
            tokens_before=count(before),
            native=boundary.beside(),
        )
        self._conversion.accounts.find("side-request-unrecorded", boundary.where)
        for record in dict.fromkeys((boundary, summary)):
            if record is not None:
                self._conversion.accounts.entry(record.number, node.entry_id)
        self._compacted[boundary] = (node, pieces)
        return node, pieces

    def _before(self, boundary: Record) -> Node:
        """The node that a compaction stands below, with all that came before it."""
        transcript = self._conversion.transcript
        if boundary.is_summary:
            last = transcript.parent(boundary)
        else:
            last = transcript.named(boundary.text("logicalParentUuid"))
        if last is None or last.index >= boundary.index:
            return self._conversion.draft.root
        return self.at(last, boundary.index)

    def at(self, last: Record, until: int) -> Node:
        """Return the node at a record, after writing what led to it and was never sent."""
        stretch = stretch_to(self._conversion.transcript, last, None)
        rules = self._conversion.sending.rules(last)
        if stretch.before is not None and not self._conversion.was_asked(stretch.before):
            return self._conversion.draft.root
        sending = self._conversion.sending
        turns = sending.turns(stretch.before.first.model if stretch.before is not None else "")
        tail = sending.tail(stretch, until, rules, last.file, turns=turns)
        if stretch.boundary is not None:
            node, pieces = self.node(stretch.boundary)
            return self.after(node, pieces, stretch, tail, last)
        return self._conversion.extend(self._conversion.base(stretch), tail, last)

    def _kept(self, boundary: Record) -> tuple[Record | None, list[Piece]]:
        """The summary of a compaction, and the older messages that were kept behind it."""
        if boundary.is_summary:
            return boundary, []
        summary = None
        for record in self._conversion.records[boundary.index + 1 : boundary.index + _NEAR]:
            if record.is_tree and record.is_summary and record.original is None:
                summary = record
                break
        pieces: list[Piece] = []
        for kept in preserved(self._conversion.transcript, boundary):
            pieces += self._conversion.units.of(kept)
        return summary, pieces

    def after(
        self, node: Node, pieces: list[Piece], stretch: Stretch, tail: Tail, record: Record
    ) -> Node:
        """Go on after a compaction; return where.

        Attachments may stand before its summary, which a process with stream input can have
        forgotten.
        """
        held = {piece.key for piece in pieces}
        told = {piece.key for piece in tail.pieces}
        summary = next((p.native_id for p in pieces), "")
        whole: list[Piece] = []
        placed = False
        for piece in tail.pieces:
            if piece.native_id == summary and not placed:
                placed = True
                # A release that does not know of it sends nothing of what the compaction kept.
                whole += [one for one in pieces if one.key in told]
            elif piece.key not in held:
                whole.append(piece)
        if not placed:
            # Nothing was sent that the chain does not run through: a prompt may stand right
            # below the boundary. A request of nothing at all is none that was made.
            whole = list(tail.pieces) or pieces
        if whole[: len(pieces)] != pieces:
            node = self._conversion.fold(node, whole, record)
            for sent in tail.sent:
                if self._conversion.accounts.is_open(sent.number):
                    self._conversion.accounts.folded(sent.number, node.entry_id)
            tail = replace(tail, pieces=[])
            return self._conversion.extend(node, tail, record)
        return self._conversion.extend(node, replace(tail, pieces=whole[len(pieces) :]), record)
