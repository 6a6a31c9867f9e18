"""A transcript: the records of one conversation as a tree, copies told from their originals.

Spec: claude-code 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.usage import best_usage, usage_of

_MEDIA: Final = frozenset({"document", "image"})


class Used(NamedTuple):
    """What an answer's records say of its tokens.

    Attributes:
        native: the counts as the agent has them; ``None`` when there are none.
        final: whether they are final.
        usage: the counts in the payload's form.
    """

    native: Mapping[str, Any] | None
    final: bool
    usage: Mapping[str, Any] | None


@dataclass(eq=False, slots=True)
class Answer:
    """One answer of a model: its records, block by block, and the results of its calls.

    Attributes:
        id: its message id.
        records: its records in the order of the file.
        results: the records with results of its calls, in the order of the file.
        first: its first record.
    """

    id: str
    first: Record
    records: list[Record] = field(default_factory=list)
    results: list[Record] = field(default_factory=list)
    _used: Used | None = None

    @property
    def last(self) -> Record:
        """Its last record."""
        return self.records[-1]

    @property
    def used(self) -> Used:
        """What its records say of its tokens."""
        if self._used is None:
            told = [(record.usage, record.stop_reason) for record in self._distinct()]
            native, final = best_usage(told)
            self._used = Used(native, final, usage_of(native))
        return self._used

    def _distinct(self) -> list[Record]:
        """Its records but for those that say of its tokens what the next one says again."""
        if len(self.records) == 1:
            return self.records
        found: list[Record] = []
        for record in self.records:
            if found and found[-1].tells_of_tokens_like(record):
                found[-1] = record
            else:
                found.append(record)
        return found

    @property
    def calls(self) -> list[str]:
        """The ids of its calls."""
        return [call for record in self.records for call in record.calls]

    @property
    def first_results(self) -> list[Record]:
        """Its results but for those that another copy of the file has of the same call."""
        files: dict[str, int] = {}
        return [
            record
            for record in self.results
            if any(files.setdefault(call, record.file) == record.file for call in record.results)
        ]


class Transcript:
    """The records of one conversation.

    Args:
        records: in the order of its files; sidechains of others are not among them.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.by_uuid: dict[str, Record] = {}
        self.answers: list[Answer] = []
        self.orphans: list[Record] = []
        self.unflagged: list[Record] = []
        self.broken = 0
        self.progress_links = 0
        self._answers: dict[str, Answer] = {}
        self._beside: dict[Record, list[Record]] = {}
        self._results: dict[str, Record] = {}
        self._owner: dict[str, Answer] = {}
        self._alike: dict[tuple[str, str, str], Record] = {}
        self._copied: dict[Record, set[int]] = {}
        self._late: dict[Record, Record] = {}
        before: Record | None = None
        for index, record in enumerate(records):
            record.index = index
            if record.is_tree:
                self._take(record, before)
                if _is_news(record):
                    self._take_news(record, before)
                elif record.original is None:
                    before = record
                record.forget()

    def _take(self, record: Record, before: Record | None) -> None:
        known = self.by_uuid.get(record.uuid)
        if known is not None and _sort_of(known) != _sort_of(record):
            known = self._namesake(record, known)
        if known is not None:
            record.original = known
            if known.results and known.file != record.file:
                self._copied.setdefault(known, set()).add(record.file)
            if known.is_error and not record.is_error and known.unflagged_from is None:
                known.unflagged_from = record.file
                self.unflagged.append(known)
            return
        record.above = parent = self._found_parent(record, before)
        self.by_uuid[record.uuid] = record
        if record.is_answer:
            self._take_answer(record)
        elif record.type == names.USER:
            self._take_results(record)
        if parent is not None and (
            record.type == names.ATTACHMENT
            or record.is_local_command
            or _comes_with(record, parent)
        ):
            self._beside.setdefault(parent, []).append(record)

    def _take_news(self, record: Record, before: Record | None) -> None:
        """Note what was there when a record was written that only shows how things go."""
        parent = record.above
        if before is None or parent is None or before.file != record.file:
            return
        if parent.index < before.index:
            self._late[record] = before

    def _namesake(self, record: Record, known: Record) -> Record | None:
        """Return what a record is a copy of whose id something else has; ``None`` for nothing.

        What stands below such an id stands below the later of the two.
        """
        self._alike.setdefault(_sort_of(known), known)
        found = self._alike.setdefault(_sort_of(record), record)
        return None if found is record else found

    def _found_parent(self, record: Record, before: Record | None) -> Record | None:
        if not record.parent:
            return None
        parent = self.by_uuid.get(record.parent)
        if parent is None:
            self.broken += before is not None
            return before
        return parent.original or parent

    # Copies under new ids. Spec: claude-code 3, "same message.id twice".

    def _take_answer(self, record: Record) -> None:
        if record.is_synthetic:
            return
        name = record.message_id
        answer = self._answers.get(name)
        if answer is None:
            answer = self._answers[name] = Answer(name, record)
            self.answers.append(answer)
        for known in answer.records:
            if (known.kinds == record.kinds and known.says(record)) or _is_part(record, known):
                self._copy(record, known)
                return
        answer.records.append(record)
        record.answer = answer
        for call in record.calls:
            self._owner.setdefault(call, answer)

    def _copy(self, record: Record, known: Record) -> None:
        """Say that a record, and with it all above it, is a copy."""
        mine: Record | None = record.above
        theirs: Record | None = known.above
        record.original = known
        while mine is not None and mine is not theirs and mine.original is None:
            if theirs is not None and mine.index <= theirs.index:
                return
            if mine.answer is not None:
                return
            above = mine.above
            if theirs is not None and mine.says(theirs):
                mine.original = theirs
                theirs = theirs.above
            elif mine.index > known.index:
                # A prompt of several blocks is copied as several records.
                self.orphans.append(mine)
            mine = above

    def _take_results(self, record: Record) -> None:
        calls = record.results
        if not calls:
            return
        known = self._results.get(calls[0])
        if known is not None and known.says(record):
            record.original = known
            if known.file != record.file:
                self._copied.setdefault(known, set()).add(record.file)
            return
        for call in calls:
            self._results.setdefault(call, record)
            owner = self._owner.get(call)
            if owner is not None and (not owner.results or owner.results[-1] is not record):
                owner.results.append(record)

    # Asking.

    def parent(self, record: Record) -> Record | None:
        """Return the record above another one; copies are passed over."""
        found = (record.original or record).above
        return found.original or found if found is not None else None

    def written_before(self, record: Record) -> Record | None:
        """Return what was written last before a record that only shows how things go.

        Such a record hangs below the result it tells of, or below what a request that failed
        went on from. It may be written when the answer is there; the next prompt hangs below
        it. ``None`` where it hangs below what was last, and for any other record.
        """
        return self._late.get(record)

    @property
    def has_late_news(self) -> bool:
        """Whether there is a record for which :meth:`written_before` returns another one."""
        return bool(self._late)

    def parent_in_file(self, record: Record) -> Record | None:
        """Return the record above another one as the file has it, be it a copy or not.

        ``None`` where that does not stand before it.
        """
        found = self.by_uuid.get(record.parent, record.above) if record.parent else None
        return found if found is not None and found.index < record.index else None

    def answer_of(self, record: Record) -> Answer | None:
        """Return the answer that a record is a part of."""
        return (record.original or record).answer

    def beside(self, record: Record) -> Sequence[Record]:
        """Return the attachments and command outputs that hang directly below a record.

        So do the texts and media that come with the result of a call, such as a skill's.
        """
        return self._beside.get(record, ())

    def goes_on_from(self, record: Record) -> bool:
        """Return whether another record stands below one."""
        return any(other.above is record for other in self.records[record.index + 1 :])

    def owner(self, call: str) -> Answer | None:
        """Return the answer that made a call."""
        return self._owner.get(call)

    def is_in(self, result: Record, file: int) -> bool:
        """Return whether a file has a result, as itself or as a copy."""
        return result.file == file or file in self._copied.get(result, ())

    def result_of(self, call: str) -> Record | None:
        """Return the record with the result of a call."""
        return self._results.get(call)

    def named(self, uuid: str) -> Record | None:
        """Return the record of an id; of a copy its original."""
        found = self.by_uuid.get(uuid)
        return found.original or found if found is not None else None

    def above(self, record: Record) -> Iterator[Record]:
        """Yield the records above another one, nearest first."""
        at = self.parent(record)
        while at is not None:
            yield at
            at = self.parent(at)

    def originals(self) -> Iterable[Record]:
        """Yield the records of the tree that are no copies."""
        return (record for record in self.records if record.is_tree and record.original is None)


def _is_part(record: Record, known: Record) -> bool:
    """Whether a record is one block of an answer that was stored whole.

    So an answer is that came in one piece, not as a stream; a resume copies it block by block.
    """
    if len(known.kinds) < 2 or len(record.kinds) != 1 or record.kinds[0] not in known.kinds:
        return False
    return record.blocks[0] in known.blocks


def _is_news(record: Record) -> bool:
    """Whether a record only shows how things go: the progress of a tool, a failed attempt."""
    if record.type == names.SYSTEM:
        return record.text("subtype") == "api_error"
    return record.type == names.PROGRESS


def _comes_with(record: Record, parent: Record) -> bool:
    """Whether a record is what comes with a result: the words of a skill, a document."""
    if record.type != names.USER or not record.is_meta or record.results or not parent.results:
        return False
    return record.value("sourceToolUseID") in parent.results or not _MEDIA.isdisjoint(record.kinds)


def _sort_of(record: Record) -> tuple[str, str, str]:
    """What all copies of a record have in common under its id."""
    return record.uuid, record.type, "" if record.is_synthetic else record.message_id
