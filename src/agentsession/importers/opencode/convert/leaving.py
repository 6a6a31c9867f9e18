"""Where a staged revert leaves a session: a branch with what the next request would hold.

Spec: opencode 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from agentsession.importers.fold import continues
from agentsession.importers.opencode.convert.frame import Frame
from agentsession.importers.opencode.convert.history import History
from agentsession.importers.opencode.convert.lowering import lower
from agentsession.importers.opencode.convert.rules import Rules

_EVER: Final = 1 << 62
"""Later than any time a store holds."""


@dataclass(slots=True)
class Alignment:
    """How much of what was sent is known to be the context at the tip.

    Attributes:
        agreed: how many items at the beginning of both.
        upto: the context is what was sent of the messages before this place.
        rules: by the rules of that release.
    """

    agreed: int = 0
    upto: int = -1
    rules: Rules | None = None
    _renewed: int = -1

    def agreed_with(self, history: History) -> int:
        """Return how many items at the beginning of a history's list are known to agree."""
        if history.renewed != self._renewed:
            self._renewed, self.agreed = history.renewed, 0
        return self.agreed

    def wrote(self, place: int) -> None:
        """Say that a message was written as later requests hold it, behind what agreed."""
        if self.upto == place:
            self.upto = place + 1

    def begin_anew(self) -> None:
        """Forget what agreed."""
        self.agreed, self._renewed = 0, -1
        self.upto = -1


class Leaf:
    """Writes what a staged revert leaves of the context.

    Args:
        frame: the session on its way.
        alignment: how far its context is known to be what was sent.
    """

    def __init__(self, frame: Frame, alignment: Alignment) -> None:
        self._frame = frame
        self._alignment = alignment

    def __call__(self, place: int, part: int) -> str | None:
        """Write, aside, what a staged revert leaves of the context; return where it stands.

        The next request would hold the messages before a place, and of the message there
        the parts before another, with every output that was pruned by now as it is now.
        """
        frame, at = self._frame, self._frame.at(place)
        rules = frame.timeline.rules(place)
        sent = [*frame.history.sent(place, _EVER, rules)]
        record = frame.records[place]
        if part and record.info is not None:
            rest = lower(replace(record, parts=record.parts[:part]), rules)
            sent += rest.sent(_EVER, rules)
        self._alignment.begin_anew()
        draft = frame.draft
        keys = draft.keys
        if not sent or [unit.key for unit in sent] == keys:
            return draft.tip
        with draft.aside():
            if continues(keys, [unit.key for unit in sent]):
                for unit in sent[len(keys) :]:
                    draft.put(unit, at, role="leaf")
            else:
                draft.fold(sent, record.id, at)
                frame.accounts.find("history-folded", record.id)
            return draft.tip
