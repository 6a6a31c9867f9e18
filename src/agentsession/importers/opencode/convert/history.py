"""History: which messages of a V1 session a request held, and in which order.

Spec: opencode 6.1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
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
        start: the place of the first message that is sent: of what is kept before the
            question, or the question's own when nothing is kept.
    """

    question: int
    start: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A compaction that is sent before what it kept.

    Attributes:
        question: the place of the compaction's user message.
        summary: the place of the first answer to it, finished or not.
        tail: the place of the first message it kept.
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
        self._keeping = [place for place in range(len(records)) if self._kept_from(place)]
        self._deleted: set[int] = set()
        self._lowered: dict[int, Lowered] = {}
        self._rules: Rules | None = None
        self._state: tuple[int, Moved | None, int, int] | None = None
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

        ``None`` for a summary that never ended the walk back. Where a summary itself begins
        the history, so does one that failed or was cut short.
        """
        info = self.records[summary].info
        if info is None or not info.is_summary:
            return None
        asked = self._places.get(info.parent_id)
        if asked is None or asked >= summary or self.compaction(asked) is None:
            return summary if rules.summary_starts else None
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
                best = Boundary(question, self._start(question))
        self._looked, self._best, self._seen = under, best, seen
        return best

    def _kept_from(self, place: int) -> str:
        """Return the id of the first message a compaction kept; empty when it kept none."""
        part = self.compaction(place)
        return part.tail_start_id if part is not None else ""

    def _start(self, question: int) -> int:
        """Return where a history begins: the walk back ends at what was kept, or never."""
        kept = self._kept_from(question)
        if not kept or kept == self.records[question].id:
            return question
        start = self._places.get(kept)
        return 0 if start is None or start > question or start in self._deleted else start

    def moved(self, start: int, upto: int, rules: Rules) -> Moved | None:
        """Return the compaction that a request sent before what it kept.

        It is the last one that kept something, whether or not its summary came to an end.
        """
        if not rules.tail_behind:
            return None
        known = bisect_left(self._keeping, upto)
        questions = (self._keeping[at] for at in range(known - 1, -1, -1))
        question = next((place for place in questions if place not in self._deleted), -1)
        tail = self._places.get(self._kept_from(question)) if question >= start else None
        if tail is None or not start <= tail < question or tail in self._deleted:
            return None
        asked = self.records[question].id
        for at in range(bisect_right(self._summaries, question), len(self._summaries)):
            summary = self._summaries[at]
            if summary >= upto:
                break
            info = self.records[summary].info
            if info is not None and info.parent_id == asked and summary not in self._deleted:
                return Moved(question, summary, tail)
        return None

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
        start = boundary.start if boundary is not None else 0
        moved = self.moved(start, upto, rules)
        state = (start, moved, bisect_right(self._pruned, at), len(self._deleted))
        if state != self._state or upto < self._upto:
            self._state = state
            self._sent = []
            self.renewed += 1
            order = list(_order(start, moved, upto))
        else:
            order = list(range(self._upto, upto))
        self._upto = upto
        for place in order:
            if _is_turn(self.records[place]) and place not in self._deleted:
                self._sent.extend(self.lowered(place, rules).sent(at, rules))
        return self._sent


def _order(start: int, moved: Moved | None, upto: int) -> Sequence[int]:
    if moved is None:
        return range(start, upto)
    pair = range(moved.question, moved.summary + 1)
    after = range(moved.summary + 1, upto)
    return [*pair, *range(moved.tail, moved.question), *after]


def _is_turn(record: MessageRecord) -> bool:
    return record.info is not None and record.info.role in {names.ROLE_USER, names.ROLE_ASSISTANT}
