"""History: what a request of an early release held, put together from the tree.

Spec: claude-code 5.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        boundary: the compaction that the history begins anew with.
        chain: the records between, oldest first.
        through_progress: whether the chain runs through records that only show progress.
    """

    before: Answer | None
    boundary: Record | None
    chain: tuple[Record, ...]
    through_progress: bool = False


def stretch_to(transcript: Transcript, start: Record | None, answer: Answer | None) -> Stretch:
    """Return what lies between a place in the tree and the answer before it.

    Args:
        transcript: the tree.
        start: the record to go up from, itself included.
        answer: the answer whose own records are passed over.
    """
    chain: list[Record] = []
    before: Answer | None = None
    boundary: Record | None = None
    progress = False
    at = start
    while at is not None:
        found = transcript.answer_of(at)
        if found is not None and found is not answer:
            before = found
            break
        if found is None:
            chain.append(at)
        if at.type == names.PROGRESS:
            progress = True
        if at.is_boundary:
            boundary = at
            break
        at = transcript.parent(at)
    chain.reverse()
    return Stretch(before, boundary, tuple(chain), progress)


def gathered(
    transcript: Transcript, stretch: Stretch, until: int, file: int, *, strict: bool = False
) -> list[Record]:
    """Return the records that were sent after an answer, in the order they were sent.

    Results come first, in the order they arrived, whichever of several parallel ones the
    chain runs through; attachments stand before the prompt they belong to.

    Args:
        transcript: the tree.
        stretch: the records.
        until: only records before this place of the file.
        file: the file in which they were sent.
        strict: a resumed process kept the chain alone.
    """
    on_chain = set(stretch.chain)
    results: list[Record] = []
    if stretch.before is not None:
        found = [r for r in stretch.before.results if r.index < until]
        found = _told_once(transcript, found, on_chain, file)
        results = [r for r in found if not strict or r in on_chain]
    rest = [record for record in stretch.chain if record not in results]
    seen = set(rest) | set(results)
    beside: list[Record] = []
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
    return _floated([*results, *rest])


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
    return record.is_local_command


def sent_blocks(answer: Answer, until: int, rules: Rules, *, resumed: bool = False) -> list[Record]:
    """Return the records of an answer that a later request held.

    Args:
        answer: the answer.
        until: the place of the request.
        rules: the rules of the release that made the request.
        resumed: another process had the answer. Those of releases that lose calls left out
            answers of thinking alone before others did.

    Spec: claude-code 5.2.
    """
    settled = {call for r in answer.results if r.index < until for call in r.results}
    kept = [r for r in answer.records if all(call in settled for call in r.calls)]
    if (resumed or not rules.thinking_only_sent) and all(_is_thinking(record) for record in kept):
        return []
    return kept


def _is_thinking(record: Record) -> bool:
    return bool(record.kinds) and all(
        kind in ("thinking", "redacted_thinking") for kind in record.kinds
    )


def starts_process(transcript: Transcript, chain: Sequence[Record]) -> bool:
    """Return whether a new process seems to begin with the prompt in a chain.

    It is a guess: a process that runs takes a queued prompt in at once, a new one needs
    a moment before it writes the prompt, and comes some time after what was before it.
    Spec: claude-code 5.2.
    """
    prompt = next((r for r in chain if r.type == names.USER and not r.results), None)
    if prompt is None or prompt.index < 2:
        return False
    place = prompt.index - 1
    records = transcript.records
    while place >= 0 and prompt.index - place < _NEAR and records[place].type != names.QUEUE:
        place -= 1
    queued = records[place]
    if queued.type != names.QUEUE:
        return False
    while place > 0 and records[place].type == names.QUEUE:
        place -= 1
    taken, asked, before = queued.nanoseconds, prompt.nanoseconds, records[place].nanoseconds
    if taken is None or asked is None or before is None:
        return False
    wait, pause = asked - taken, taken - before
    return wait >= _START_UP and pause >= _PAUSE


_NEAR = 4
_START_UP = 18_000_000
_PAUSE = 700_000_000
