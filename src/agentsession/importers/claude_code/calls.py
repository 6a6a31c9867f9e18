"""Calls: which entries hold a session's calls, each under a call id of its own.

A request can hold a call once more on another branch: after an answer that it cut, or with
arguments that it spelled anew. For the session that is another call, and it gets another id.

Spec: later drafts 8.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.drafting import Node

_CALL: Final = "tool_use"
_FAR: Final = 400


class Calls:
    """The calls of a session that is being written, by the ids their provider gave them."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[Node]] = {}
        self._names: dict[str, str] = {}

    def named(self, node: Node, piece: Piece) -> Piece:
        """Return a unit as it is to be written below a node: under the call id it has there."""
        call = piece.call_id
        if not call:
            return piece
        if piece.kind != _CALL:
            name = self.name(self.home(node, call), call) if self._names else call
        else:
            name = self._free(call)
        return piece if name == call else piece.renamed(name)

    def _free(self, call: str) -> str:
        known = self._nodes.get(call)
        if known is None:
            return call
        at = len(known) + 1
        while f"{call}-{at}" in self._nodes:
            at += 1
        return f"{call}-{at}"

    def written(self, node: Node, call: str, name: str) -> None:
        """Take in the node that holds a call.

        Args:
            node: the node.
            call: the id the provider gave the call.
            name: the call id it was written under.
        """
        self._nodes.setdefault(call, []).append(node)
        if name != call:
            self._nodes[name] = [node]
            self._names[node.entry_id] = name

    def name(self, home: str, call: str) -> str:
        """Return the call id that a call has in the entry that holds it."""
        return self._names.get(home, call)

    def home(self, node: Node, call: str) -> str:
        """Return the entry on the path that holds a call; empty when there is none."""
        written = self._nodes.get(call)
        if written is None:
            return ""
        at: Node | None = node.context
        for _ in range(_FAR):
            if at is None:
                return ""
            if at in written:
                return at.entry_id
            at = at.parent.context if at.parent is not None else None
        # So far up there is hardly any call, and looking on would cost too much.
        return written[0].entry_id if len(written) == 1 else ""
