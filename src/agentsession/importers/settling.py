"""Settled calls: of which a path says already what became of them.

A log may answer a call twice, deny it and answer it, or have calls of one id. What is said of a
call that is settled then stands in its item alone: a decision or a dispatch behind it would
contradict what a reader was told.

Spec: context 8 and 10, later drafts 10.3.
"""

from __future__ import annotations

from agentsession.importers.nodes import Node


class Settled:
    """The calls that were decided on, handed to their tool or answered, and where."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[Node]] = {}

    def take(self, call: str, node: Node) -> None:
        """Take in a node that says what became of a call.

        Args:
            call: the call id that the call has in the session.
            node: the node of the decision, the dispatch or the output.
        """
        self._nodes.setdefault(call, []).append(node)

    def knows(self, call: str, node: Node) -> bool:
        """Return whether the path to a node says what became of a call."""
        return any(map(node.is_below, self._nodes.get(call, ())))
