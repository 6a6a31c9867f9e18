"""Continuing: how the program had an answer go on that was cut at the token limit.

It asks for the rest by a prompt of its own, which stood in the requests of that turn and
which releases up to 2.1.299 do not store. The turn is a branch with that prompt; what comes
after it goes on from the same records without.

Spec: claude-code 5.3, 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.history import Stretch
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.transcript import Answer
from agentsession.importers.drafting import Node

if TYPE_CHECKING:
    from agentsession.importers.claude_code.convert import Conversion

_SAID: Final = frozenset({names.USER, names.ASSISTANT, names.ATTACHMENT})


class Continuing:
    """Writes the prompts by which cut answers went on, and where their turns rest without.

    Args:
        conversion: the conversion.
    """

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._resting: dict[str, Node] = {}

    def base(self, stretch: Stretch) -> Node | None:
        """Return the node a new turn goes on from; ``None`` where no prompt is left behind."""
        before = stretch.before
        if before is None or not self._resting or not begins_turn(stretch):
            return None
        return self._resting.get(before.id)

    def asked(self, node: Node, stretch: Stretch, answer: Answer, rules: Rules) -> Node:
        """Append the prompt, where an answer went on from one that was cut; return where."""
        before = stretch.before
        if before is None or not is_continued(stretch, rules):
            return node
        conversion = self._conversion
        self._resting.setdefault(answer.id, node)
        conversion.accounts.find("continuation-derived", answer.id)
        ts = conversion.times.of(answer.first)
        piece = conversion.units.continuation(before.last, rules.continuation, ts)
        return conversion.writer.put(node, piece)

    def rest(self, stretch: Stretch, answer: Answer) -> None:
        """Note where a turn stands without the prompt, at an answer that is a part of it."""
        before = stretch.before
        if before is None or before.id not in self._resting or begins_turn(stretch):
            return
        conversion, first = self._conversion, answer.first
        tail = conversion.sending.tail(
            stretch, first.index, conversion.sending.rules(first), first.file
        )
        self._resting[answer.id] = conversion.extend(self._resting[before.id], tail, first)


def is_continued(stretch: Stretch, rules: Rules) -> bool:
    """Return whether an answer went on from one that was cut at the token limit.

    Nothing was said between the two, by anyone.

    Args:
        stretch: what lies between the two.
        rules: the rules of the release that made the request.
    """
    before = stretch.before
    if before is None or before.calls or not rules.continuation:
        return False
    if any(record.type in _SAID for record in stretch.chain):
        return False
    stops = [r.stop_reason for r in before.records if r.stop_reason is not None]
    # Early releases write a record before its answer ends, without the reason.
    return "max_tokens" in stops or not (stops or rules.usage_is_final)


def begins_turn(stretch: Stretch) -> bool:
    """Return whether the user said something new, and not only tools and the program."""
    return any(
        record.type == names.USER and not record.results and not record.is_meta
        for record in stretch.chain
    )
