"""History: what a request of an early release held, put together from the tree.

Spec: claude-code 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.transcript import Answer, Transcript


@dataclass(frozen=True, slots=True)
class Stretch:
    """What lies between one request and the answer before it.

    Attributes:
        before: the answer before; ``None`` at the beginning, or after a compaction.
        boundary: the compaction that the history begins anew with; its summary where it has no
            record of its own, as in the log of an agent that was told too much.
        chain: the records between, oldest first.
        through_progress: whether the chain runs through records that only show progress.
        end: the record of the answer before that the chain ends at, as it stands in the file:
            it may be a copy, with a chain of its own.
    """

    before: Answer | None
    boundary: Record | None
    chain: tuple[Record, ...]
    through_progress: bool = False
    end: Record | None = None


def stretch_to(
    transcript: Transcript,
    start: Record | None,
    answer: Answer | None,
    *,
    copies: bool = False,
    live: bool = True,
) -> Stretch:
    """Return what lies between a place in the tree and the answer before it.

    Args:
        transcript: the tree.
        start: the record to go up from, itself included.
        answer: the answer whose own records are passed over.
        copies: go up the chain that the copies have, not that of what they are copies of.
        live: as the process had it that wrote it: what only shows progress may hang below an
            older record than what was there when it was written.
    """
    chain: list[Record] = []
    before: Answer | None = None
    boundary: Record | None = None
    end: Record | None = None
    summary: Record | None = None
    progress = False
    at = start
    while at is not None:
        found = transcript.answer_of(at)
        if found is not None and found is not answer:
            if summary is None:
                before, end = found, at
            else:
                boundary = summary
                del chain[chain.index(summary) + 1 :]
            break
        if found is None:
            chain.append(at.original or at)
            if at.is_summary and summary is None:
                summary = chain[-1]
        if at.type == names.PROGRESS:
            progress = True
        if at.is_boundary:
            boundary = at
            break
        written = transcript.written_before(at) if live and not copies else None
        at = written or (transcript.parent_in_file(at) if copies else transcript.parent(at))
    chain.reverse()
    return Stretch(before, boundary, tuple(chain), progress, end)


def gathered(
    transcript: Transcript,
    stretch: Stretch,
    until: int,
    file: int,
    kept: Sequence[Record] = (),
    *,
    strict: bool = False,
    by_time: bool = False,
    in_order: bool = False,
) -> list[Record]:
    """Return the records that were sent after an answer, in the order they were sent.

    Results come first, in the order they arrived, whichever of several parallel ones the
    chain runs through; attachments stand before the prompt they belong to.

    Args:
        transcript: the tree.
        stretch: the records.
        until: only records before this place of the file.
        file: the file in which they were sent.
        kept: the older records that a compaction kept; they stand behind its summary.
        strict: a resumed process kept the chain alone.
        by_time: a resumed process added the results that the chain passes by, sorted by time.
        in_order: what was said between two results was sent between them.
    """
    on_chain = set(stretch.chain)
    results: list[Record] = []
    if stretch.before is not None:
        found = [r for r in stretch.before.results if r.index < until]
        found = _told_once(transcript, found, on_chain, file)
        results = [r for r in found if not strict or r in on_chain]
        if by_time:
            results = _added_by_time(results, on_chain, stretch.before)
    rest = [record for record in stretch.chain if record not in results]
    seen = set(rest) | set(results)
    beside = _commands_below(transcript, stretch, until)
    for record in [*results, *rest]:
        if strict or record in on_chain:
            left = [r for r in transcript.beside(record) if r.is_local_command]
        else:
            left = list(transcript.beside(record))
        while left:
            extra = left.pop()
            if extra in seen or extra.index >= until or extra.original is not None:
                continue
            seen.add(extra)
            beside.append(extra)
            left += transcript.beside(extra)
    rest = sorted([*rest, *beside], key=lambda record: record.index)
    if kept:
        rest = _with_kept(rest, kept)
    if in_order and results and rest:
        last = results[-1].index
        results = sorted(
            [*results, *(r for r in rest if r.index < last)], key=lambda record: record.index
        )
        rest = [record for record in rest if record.index >= last]
    return _floated([*results, *rest])


def _added_by_time(results: list[Record], chain: set[Record], answer: Answer) -> list[Record]:
    """Put results that the chain passes by behind the answer's blocks, sorted by their times.

    The chain runs through those between two of the blocks, and through the last one.
    """
    last = answer.last.index
    beside = sorted((r for r in results if r not in chain), key=lambda r: r.nanoseconds or 0)
    before = [r for r in results if r in chain and r.index < last]
    return [*before, *beside, *(r for r in results if r in chain and r.index > last)]


def _commands_below(transcript: Transcript, stretch: Stretch, until: int) -> list[Record]:
    """The outputs of commands that hang below an answer beside the next prompt.

    One that something stands below is of another branch. Spec: claude-code 5.1.
    """
    if stretch.before is None or not stretch.chain:
        return []
    return [
        extra
        for record in stretch.before.records
        for extra in transcript.beside(record)
        if extra.is_local_command
        and extra.index < until
        and extra not in stretch.chain
        and not transcript.goes_on_from(extra)
    ]


def _told_once(
    transcript: Transcript, results: list[Record], chain: set[Record], file: int
) -> list[Record]:
    """Leave out the results that other files have of a call.

    Copies that parted while a tool ran have each a result of its own, and one was sent.
    """
    if not results or results[0].file == results[-1].file:
        return results
    told: dict[str, Record] = {}

    def rank(record: Record) -> tuple[bool, bool]:
        return record in chain, transcript.is_in(record, file)

    for record in results:
        for call in record.results:
            known = told.get(call)
            if known is None or (known.file != record.file and rank(known) < rank(record)):
                told[call] = record
    return [
        record
        for record in results
        if any(told[call].file == record.file for call in record.results)
    ]


def _floated(records: Sequence[Record]) -> list[Record]:
    """Move attachments up, to the answer or the result before them. Spec: claude-code 5.4."""
    moved: list[Record] = []
    waiting: list[Record] = []
    for record in reversed(records):
        if record.type == names.ATTACHMENT:
            waiting.append(record)
            continue
        if record.is_answer or record.results:
            moved += waiting
            waiting = []
        moved.append(record)
    moved += waiting
    return moved[::-1]


def preserved(transcript: Transcript, boundary: Record) -> list[Record]:
    """Return the older records that a compaction kept, as its boundary names them.

    Releases name each, or the ends alone; notices of errors among them are not sent.
    Spec: claude-code 3.2, 5.1.
    """
    told = boundary.value("compactMetadata")
    told = told if isinstance(told, dict) else {}
    kept, ends = told.get("preservedMessages"), told.get("preservedSegment")
    uuids = kept.get("uuids") if isinstance(kept, dict) else None
    if isinstance(uuids, list):
        every = [transcript.named(uuid) for uuid in uuids if isinstance(uuid, str)]
        found = [record for record in every if record is not None]
    else:
        found = _segment(transcript, ends) if isinstance(ends, dict) else []
    return [
        record
        for record in found
        if record.index < boundary.index and not (record.is_synthetic and record.is_error)
    ]


def _segment(transcript: Transcript, ends: Mapping[str, object]) -> list[Record]:
    """The records from one to another one below it; none where it does not stand below."""
    first, last = ends.get("headUuid"), ends.get("tailUuid")
    head = transcript.named(first) if isinstance(first, str) else None
    tail = transcript.named(last) if isinstance(last, str) else None
    if head is None or tail is None:
        return []
    found = [tail]
    for record in transcript.above(tail):
        if found[-1] is head:
            break
        found.append(record)
    return found[::-1] if found[-1] is head else []


def _with_kept(records: Sequence[Record], kept: Sequence[Record]) -> list[Record]:
    """Return records with those that a compaction kept behind its summary."""
    at = next((place for place, record in enumerate(records) if record.is_summary), None)
    if at is None:
        return [*kept, *records]
    return [*records[: at + 1], *kept, *records[at + 1 :]]


def is_sent(record: Record, rules: Rules, file: int) -> bool:
    """Return whether a record that is no attachment and no model's answer was sent.

    Args:
        record: the record.
        rules: the rules of the release that made the request.
        file: the file in which the request was made.

    Spec: claude-code 5.1.
    """
    if record.type == names.USER:
        if not record.is_shown_only:
            return True
        return rules.prompt_hooks_sent and "<user-prompt-submit-hook>" in str(
            record.message.get("content")
        )
    if record.is_synthetic:
        if not record.is_error:
            return True
        if record.unflagged_from is not None and file >= record.unflagged_from:
            return True
        words = str(record.message.get("content"))
        return rules.length_notice_sent and "output token maximum" in words
    return record.is_local_command and rules.commands_sent


def sent_blocks(answer: Answer, until: int, rules: Rules, *, resumed: bool = False) -> list[Record]:
    """Return the records of an answer that a later request held.

    Args:
        answer: the answer.
        until: the place of the request.
        rules: the rules of the release that made the request.
        resumed: another process had the answer. Those of releases that lose calls left out
            answers of thinking alone before others did, and blank texts.

    Spec: claude-code 5.2.
    """
    settled = {call for r in answer.results if r.index < until for call in r.results}
    kept = [r for r in answer.records if all(call in settled for call in r.calls)]
    if resumed and rules.blank_lost_on_resume:
        kept = [r for r in kept if not _is_blank(r)]
    if (resumed or not rules.thinking_only_sent) and all(_is_thinking(record) for record in kept):
        return []
    return kept


def _is_blank(record: Record) -> bool:
    return bool(record.kinds) and all(
        kind == "text" and not str(block.get("text", "x")).strip()
        for kind, block in zip(record.kinds, record.blocks, strict=False)
    )


def _is_thinking(record: Record) -> bool:
    return bool(record.kinds) and all(
        kind in ("thinking", "redacted_thinking") for kind in record.kinds
    )
