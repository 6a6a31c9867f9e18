"""Sending: what each request held, as units, and from which place of the draft it goes on.

Spec: claude-code 3 to 5, decision D3.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import (
    QUEUED,
    SNAPSHOT,
    injected,
    is_known,
    is_whole_snapshot,
    kind_of,
)
from agentsession.importers.claude_code.history import (
    Stretch,
    gathered,
    is_sent,
    preserved,
    sent_blocks,
    stretch_to,
)
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.starting import Starts, starts_process
from agentsession.importers.claude_code.transcript import Answer, Transcript
from agentsession.importers.claude_code.units import Units

_SPOKEN: Final = names.TREE - {names.PROGRESS}


@dataclass(slots=True)
class Tail:
    """What a request held beyond an earlier one.

    Attributes:
        pieces: the units, in the order they were sent.
        sent: the records they are made of.
        beside: records on the way that were not sent.
        snapshots: the prompt snapshots on the way.
        through_progress: whether the chain runs through records that only show progress.
    """

    pieces: list[Piece]
    sent: list[Record]
    beside: list[Record]
    snapshots: list[Record]
    through_progress: bool = False


class Sending:
    """Puts together what requests held from the records alone.

    Args:
        transcript: the records.
        units: makes the units of records.
        prompt: what the conversation began with, where no record of it says so.
        starts: when processes of the program are known to have begun.
        own: how many of the files a new process of the program reads.
    """

    def __init__(
        self,
        transcript: Transcript,
        units: Units,
        prompt: Piece | None = None,
        starts: Starts | None = None,
        own: int = 1,
    ) -> None:
        self._transcript = transcript
        self._units = units
        self._prompt = prompt
        self._starts = starts or {}
        self._own = own
        self._untimely: bool | None = None
        self._turns = _turns(transcript)
        self._sent: dict[tuple[int, Rules, int, bool, bool], list[Hashable]] = {}

    def stretch(self, answer: Answer, *, loaded: bool = False) -> Stretch:
        """Return what lies between an answer's request and the answer before it.

        Args:
            answer: the answer.
            loaded: as a new process reads it from the file.
        """
        start = self._transcript.parent(answer.first)
        return stretch_to(self._transcript, start, answer, live=not loaded)

    def copied(self, stretch: Stretch, rules: Rules, answer: Answer) -> Stretch | None:
        """Return the same as a copy has it that an answer's turn went on from.

        ``None`` where it went on from no copy, or of a release whose copies have all there was.
        """
        if not rules.forgets_prompts or stretch.before is None:
            return None
        start = self._transcript.parent_in_file(answer.first)
        found = stretch_to(self._transcript, start, answer, copies=True)
        return found if found.end is not None and found.end.original is not None else None

    def rules(self, record: Record) -> Rules:
        """Return the rules of the release that wrote a record."""
        return Rules.of(record.version)

    def turns(self, model: str) -> bool:
        """Return whether requests to a model held messages of role ``system`` in their midst.

        The prompt snapshots of its requests say so. One that none was written for gets what
        every model takes. Spec: claude-code 5.4.
        """
        if not self._turns:
            return True
        return self._turns.get(model, False) if model else any(self._turns.values())

    def tail(
        self,
        stretch: Stretch,
        until: int,
        rules: Rules,
        file: int,
        *,
        turns: bool = True,
        loaded: bool = False,
    ) -> Tail:
        """Return what was sent after the request of the answer before.

        Args:
            stretch: what lies between.
            until: the place of the request in the file.
            rules: the rules of the release that sent it.
            file: the file in which it was sent.
            turns: whether it could hold messages of role ``system`` in its midst.
            loaded: a new process had read it from the file.
        """
        strict = loaded and rules.loads_chain
        turns = turns and rules.takes_system_turns
        tail = Tail([], [], [], [], stretch.through_progress)
        before = stretch.before
        if before is None and stretch.boundary is None and self._prompt is not None:
            tail.pieces.append(self._prompt)
        if before is not None:
            kept = sent_blocks(before, until, rules, resumed=strict)
            if strict:
                kept, among = self._chained(before, stretch, kept)
                stretch = replace(stretch, chain=(*among, *stretch.chain))
                if rules.parts_answers:
                    kept = sorted([*kept, *among], key=lambda record: record.index)
            for record in kept:
                tail.pieces += self._units.of(record)
            tail.sent += kept
        told = set(tail.sent)
        kept = []
        if stretch.boundary is not None and rules.keeps_preserved:
            kept = preserved(self._transcript, stretch.boundary)
        records = gathered(
            self._transcript,
            stretch,
            until,
            file,
            kept,
            strict=strict,
            by_time=loaded and rules.loader_adds_by_time,
            in_order=rules.hooks_between_results,
        )
        if strict and before is not None:
            calls = {call for record in tail.sent for call in record.calls}
            owned = set(before.calls)
            records = [
                r
                for r in records
                if r not in told and (not r.results or not owned & set(r.results) - calls)
            ]
        self._compose(tail, records, set(kept), rules, file, turns=turns)
        return tail

    def _chained(
        self, before: Answer, stretch: Stretch, kept: list[Record]
    ) -> tuple[list[Record], list[Record]]:
        """The blocks of an answer that a chain of parents runs through, and the results among them.

        Results may stand between two blocks: tools start while the answer still streams.
        """
        start = stretch.chain[0] if stretch.chain else None
        at = self._transcript.parent(start) if start is not None else before.last
        chain: set[Record] = set()
        among: list[Record] = []
        while at is not None:
            chain.add(at)
            if self._transcript.answer_of(at) is not before:
                among.append(at)
            if at is before.first:
                break
            at = self._transcript.parent(at)
        among.reverse()
        settled = {call for record in (*among, *stretch.chain) for call in record.results}
        blocks = [r for r in kept if r in chain and all(call in settled for call in r.calls)]
        return blocks, among

    def _compose(
        self,
        tail: Tail,
        records: Sequence[Record],
        kept: set[Record],
        rules: Rules,
        file: int,
        *,
        turns: bool,
    ) -> None:
        turn: list[Record] = []

        def flush() -> None:
            if turn:
                tail.pieces.append(self._units.system_turn(turn))
                turn.clear()

        for record in records:
            if record.is_boundary or record.type not in _SPOKEN:
                continue
            if record in kept:
                tail.pieces += self._units.of(record)
                continue
            if record.type == names.ATTACHMENT:
                self._attach(tail, turn if turns else None, record, rules)
                continue
            if not is_sent(record, rules, file):
                tail.beside.append(record)
                continue
            pieces = self._units.of(record)
            if record.is_answer:
                flush()
            tail.pieces += pieces
            (tail.sent if pieces else tail.beside).append(record)
        flush()

    def _attach(self, tail: Tail, turn: list[Record] | None, record: Record, rules: Rules) -> None:
        """Add an attachment, to the system's turn where the request has one."""
        kind = kind_of(record)
        if kind == SNAPSHOT:
            tail.snapshots.append(record)
            return
        told = injected(record) if is_known(kind, rules) else None
        if told is None:
            tail.beside.append(record)
        elif told.role == "system" and turn is not None and kind == QUEUED:
            # What the user said stays the user's.
            tail.pieces.append(self._units.queued_turn(record))
            tail.sent.append(record)
        elif told.role == "system" and turn is not None:
            turn.append(record)
            tail.sent.append(record)
        else:
            tail.pieces += self._units.of(record)
            tail.sent.append(record)

    def resumed(self, stretch: Stretch, rules: Rules, answer: Answer) -> bool:
        """Return whether a new process lost, or put elsewhere, what the chain passes by."""
        if changes_release(stretch, answer):
            return True
        if not rules.loader_follows_parents and not (
            rules.loader_adds_by_time and (self._transcript.has_late_news or self._unsorted())
        ):
            return False
        records = self._transcript.records
        return starts_process(records, stretch.chain, answer.first, self._starts)

    def _unsorted(self) -> bool:
        """Whether results of an answer stand in another order than that of their times."""
        if self._untimely is None:
            self._untimely = any(
                (one.nanoseconds or 0) > (other.nanoseconds or 0)
                for answer in self._transcript.answers
                for one, other in pairwise(answer.results)
            )
        return self._untimely

    def whole(
        self,
        stretch: Stretch,
        until: int,
        rules: Rules,
        file: int,
        *,
        turns: bool = True,
        loaded: bool = False,
    ) -> list[Piece]:
        """Return all that was sent since the last compaction, put together anew.

        The arguments are those of :meth:`tail`.
        """
        tails = [
            self.tail(at, place, rules, file, turns=turns, loaded=loaded)
            for at, place in self._back(stretch, until, rules, loaded=loaded)
        ]
        return [piece for tail in reversed(tails) for piece in tail.pieces]

    def whole_keys(
        self,
        stretch: Stretch,
        until: int,
        rules: Rules,
        file: int,
        *,
        turns: bool = True,
        loaded: bool = False,
    ) -> list[Hashable]:
        """Return the keys of the units that :meth:`whole` returns, which has the same arguments.

        Those of earlier requests are remembered: a long session may be resumed many times.
        """
        parts: list[list[Hashable]] = []
        for at, place in self._back(stretch, until, rules, loaded=loaded):
            told = place, rules, file, turns, loaded
            keys = self._sent.get(told)
            if keys is None:
                tail = self.tail(at, place, rules, file, turns=turns, loaded=loaded)
                keys = self._sent[told] = [piece.key for piece in tail.pieces]
            parts.append(keys)
        return [key for keys in reversed(parts) for key in keys]

    def whole_of_copy(self, stretch: Stretch, until: int, rules: Rules, file: int) -> list[Piece]:
        """Return all that a copy has that a turn went on from, and what the turn began with.

        Args:
            stretch: as :meth:`copied` returns it.
            until: the place of the request in the file.
            rules: the rules of the release that sent it.
            file: the file in which it was sent.
        """
        parts = [self.tail(stretch, until, rules, file).pieces]
        while stretch.before is not None and stretch.end is not None:
            before, at = stretch.before, stretch.end
            stretch = stretch_to(self._transcript, at, before, copies=True)
            parts.append(self.tail(stretch, before.first.index, rules, file).pieces)
        return [piece for part in reversed(parts) for piece in part]

    def _back(
        self, stretch: Stretch, until: int, rules: Rules, *, loaded: bool
    ) -> Iterator[tuple[Stretch, int]]:
        """Yield a stretch with the place of its request, and those before it, newest first.

        A new process finds nothing above an answer that an agent's log has alone.
        """
        strict = loaded and rules.loads_chain
        while True:
            before = stretch.before
            if strict and before is not None and before.first.file >= self._own:
                before, stretch = None, replace(stretch, before=None)
            yield stretch, until
            if before is None:
                return
            until = before.first.index
            stretch = self.stretch(before, loaded=loaded)


def changes_release(stretch: Stretch, answer: Answer) -> bool:
    """Return whether an answer goes on from one that another release asked for.

    That was another process, whatever else is known of processes.
    """
    before = stretch.before
    if before is None:
        return False
    old, new = before.first.version, answer.first.version
    return bool(old and new) and old != new


def _turns(transcript: Transcript) -> dict[str, bool]:
    """Whether models take messages of role ``system`` in mid-conversation, as snapshots say.

    The first snapshot of a process has the prompt alone; the whole one follows the answer to
    its first request.
    """
    found: dict[str, bool] = {}
    for record in transcript.originals():
        if record.type != names.ATTACHMENT or b'"prompt_snapshot"' not in record.raw:
            continue
        value = record.value("attachment")
        record.forget()
        if not isinstance(value, dict) or not is_whole_snapshot(value):
            continue
        above = (transcript.answer_of(one) for one in transcript.above(record))
        answer = next((one for one in above if one is not None), None)
        if answer is not None:
            turns = value.get("systemTurns") is True
            found[answer.first.model] = turns or found.get(answer.first.model, False)
    return found
