"""History: which messages of a V1 session a request held, and in which order.

Spec: opencode 6.1.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentsession.importers.opencode import names
from agentsession.importers.opencode.convert.lowering import Lowered, lower
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.convert.units import Unit
from agentsession.importers.opencode.records import MessageRecord
from agentsession.importers.opencode.v1 import Part


@dataclass(frozen=True, slots=True)
class Boundary:
    """The compaction a history begins with.

    Attributes:
        question: the place of the compaction's user message; its summary's where a
            release had no such message.
        summary: the place of the summary.
        tail: the place of the first message kept before the question; the question's own
            when nothing is kept.
    """

    question: int
    summary: int
    tail: int


class History:
    """The messages of one V1 session, and what each request held of them.

    Args:
        records: the session's messages in order.
    """

    def __init__(self, records: Sequence[MessageRecord]) -> None:
        self.records = records
        self._places: dict[str, int] = {}
        for place, record in enumerate(records):
            self._places.setdefault(record.id, place)
        self._summaries = [
            place
            for place, record in enumerate(records)
            if record.info is not None and record.info.is_summary
        ]
        self._deleted: set[int] = set()
        self._lowered: dict[int, Lowered] = {}
        self._rules: Rules | None = None
        self._state: tuple[Boundary | None, int, int] | None = None
        self._upto = 0
        # What the last look at the summaries was under, the boundary it found, and how many it saw.
        self._looked: tuple[Rules | None, int] = (None, 0)
        self._best: Boundary | None = None
        self._seen = 0
        self._sent: list[Unit] = []
        self._pruned: list[int] = []
        self.renewed = 0

    def delete(self, places: Iterable[int]) -> None:
        """Say that messages were deleted: no later request holds them."""
        self._deleted.update(places)

    def place_of(self, message_id: str) -> int | None:
        """Return the place of a message, ``None`` when there is no such message."""
        return self._places.get(message_id)

    def lowered(self, place: int, rules: Rules) -> Lowered:
        """Return a readable message as units, under the rules of a release."""
        if rules is not self._rules and rules != self._rules:
            self._rules = rules
            self._lowered.clear()
            self._pruned.clear()
            self._state = None
            self._upto = 0
        found = self._lowered.get(place)
        if found is None:
            found = self._lowered[place] = lower(self.records[place], rules)
            if found.pruned:
                for date in found.pruned.values():
                    insort(self._pruned, date)
        return found

    def compaction(self, place: int) -> Part | None:
        """Return a user message's compaction part, ``None`` when it has none."""
        record = self.records[place]
        if record.info is None or record.info.role != names.ROLE_USER:
            return None
        for part in record.parts:
            if part.part is not None and part.part.type == names.PART_COMPACTION:
                return part.part
        return None

    def question_of(self, summary: int, rules: Rules) -> int | None:
        """Return the place of what a finished summary answers.

        ``None`` for a summary that never ended the walk back.
        """
        info = self.records[summary].info
        if info is None or not info.is_summary:
            return None
        asked = self._places.get(info.parent_id)
        if asked is None or asked >= summary or self.compaction(asked) is None:
            return summary if rules.summary_starts and info.error is None else None
        if not info.finish or (info.error is not None and not rules.failed_summary_counts):
            return None
        return asked

    def boundary(self, upto: int, rules: Rules) -> Boundary | None:
        """Return the compaction that the history before a place begins with."""
        under = rules, len(self._deleted)
        best, seen = self._best, self._seen
        # A request nearly always goes on from one before it, whose summaries were looked at.
        if under != self._looked or (seen and self._summaries[seen - 1] >= upto):
            best, seen = None, 0
        while seen < len(self._summaries) and self._summaries[seen] < upto:
            place = self._summaries[seen]
            seen += 1
            if place in self._deleted:
                continue
            question = self.question_of(place, rules)
            if question is not None and (best is None or question > best.question):
                best = Boundary(question, place, self._tail(question))
        self._looked, self._best, self._seen = under, best, seen
        return best

    def _tail(self, question: int) -> int:
        part = self.compaction(question)
        start = self._places.get(part.tail_start_id) if part and part.tail_start_id else None
        return question if start is None or start >= question else start

    def only_grows(self, upto: int) -> bool:
        """Return whether requests up to a place hold every message before them, unchanged."""
        summaries = self._summaries
        compacted = bool(summaries) and summaries[0] < upto
        return not (compacted or self._pruned or self._deleted)

    def sent(self, upto: int, at: int, rules: Rules) -> list[Unit]:
        """Return what a request held that was made at a time, before the message at a place.

        The list is the history's own and grows with the next call; :attr:`renewed` counts
        how often it began anew.
        """
        boundary = self.boundary(upto, rules)
        same = rules is self._rules or rules == self._rules
        for place in range(self._upto if same else 0, upto):
            if _is_turn(self.records[place]):
                self.lowered(place, rules)
        state = (boundary, bisect_right(self._pruned, at), len(self._deleted))
        if state != self._state or upto < self._upto:
            self._state = state
            self._sent = []
            self.renewed += 1
            order = list(_order(boundary, upto))
        else:
            order = list(range(self._upto, upto))
        self._upto = upto
        for place in order:
            if _is_turn(self.records[place]) and place not in self._deleted:
                self._sent.extend(self.lowered(place, rules).sent(at, rules))
        return self._sent


def _order(boundary: Boundary | None, upto: int) -> Sequence[int]:
    if boundary is None:
        return range(upto)
    after = range(boundary.summary + 1, upto)
    pair = range(boundary.question, boundary.summary + 1)
    return [*pair, *range(boundary.tail, boundary.question), *after]


def _is_turn(record: MessageRecord) -> bool:
    return record.info is not None and record.info.role in {names.ROLE_USER, names.ROLE_ASSISTANT}
