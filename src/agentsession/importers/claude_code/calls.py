"""Calls: which entries hold a session's calls, each under a call id of its own.

A request can hold a call once more on another branch: after an answer that it cut, or with
arguments that it spelled anew; and a damaged log can have two calls of one id in one answer. For
the session that is another call, and it gets another id.

Spec: later drafts 8.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.drafting import Node
from agentsession.importers.settling import Settled

_CALL: Final = "tool_use"


class Calls:
    """The calls of a session that is being written, by the ids their provider gave them."""

    def __init__(self) -> None:
        self._told = Settled()
        self._answered = Settled()
        self._nodes: dict[str, list[Node]] = {}
        self._names: dict[str, str] = {}
        self._answers: dict[str, str] = {}

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

    def written(self, node: Node, piece: Piece, name: str) -> None:
        """Take in the node that holds a call, or its result.

        Args:
            node: the node.
            piece: the call or the result, under the id that the provider gave the call.
            name: the call id it was written under.
        """
        call = piece.call_id
        if piece.kind != _CALL:
            self._answered.take(name, node)
            return
        self._nodes.setdefault(call, []).append(node)
        self._answers[node.entry_id] = piece.response
        if name != call:
            self._nodes[name] = [node]
            self._names[node.entry_id] = name

    def told(self, node: Node, name: str) -> None:
        """Take in a decision about a call, or its dispatch, under the call id it has here."""
        self._told.take(name, node)

    def is_settled(self, node: Node, name: str) -> bool:
        """Return whether the path to a node says already what became of a call."""
        return self._answered.knows(name, node) or self._told.knows(name, node)

    def name(self, home: str, call: str) -> str:
        """Return the call id that a call has in the entry that holds it."""
        return self._names.get(home, call)

    def home(self, node: Node, call: str) -> str:
        """Return the entry on the path that holds a call; empty when there is none.

        Of several in one answer that is the first one without a result.
        """
        written = self._nodes.get(call)
        if written is None:
            return ""
        found: list[str] = []
        for one in sorted(filter(node.is_below, written), key=_level, reverse=True):
            if found and self._answers[one.entry_id] != self._answers[found[0]]:
                break
            found.append(one.entry_id)
        waiting = (
            home
            for home in reversed(found if len(found) > 1 else [])
            if not self._answered.knows(self.name(home, call), node)
        )
        return next(waiting, found[0] if found else "")


def _level(node: Node) -> int:
    return node.level
