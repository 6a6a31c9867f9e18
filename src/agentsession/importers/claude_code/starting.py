"""Starting: where in a conversation a new process of the program began.

No record says so. Releases from 2.0.30 to 2.1.28 start agents to warm their caches up when a
process begins: where a folder has such agents, their times tell. Later ones write their last
prompt down when a process ends; a screen's prompts lack the list of things to do in a process
that went on from another. Elsewhere it is a guess by how long the program took.

Spec: claude-code 5.2, 6.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.looking import Log
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.stamps import time_of
from agentsession.timestamp import Timestamp

_NEAR: Final = 4
_START_UP: Final = 10_000_000
_PAUSE: Final = 700_000_000
_BETWEEN: Final = frozenset({names.QUEUE, names.LAST_PROMPT})
_NOTICE: Final = "<task-notification>"

Starts = Mapping[str, Sequence[int]]
"""By release, when its processes began, in nanoseconds and in order."""


def starts_of(logs: Iterable[Log]) -> Starts:
    """Return when the agents began that processes start by themselves.

    Args:
        logs: the logs of these agents.
    """
    found: dict[str, list[int]] = {}
    for log in logs:
        time = time_of(log.first)
        if time:
            found.setdefault(log.release, []).append(Timestamp.parse(time).nanoseconds)
    return {release: sorted(times) for release, times in found.items()}


def starts_process(
    records: Sequence[Record], chain: Sequence[Record], answer: Record, starts: Starts
) -> bool:
    """Return whether a new process seems to begin with the prompt in a chain.

    Args:
        records: those of the conversation.
        chain: those between the prompt's answer and the answer before.
        answer: the first record of the prompt's answer.
        starts: when processes are known to have begun.
    """
    if any(record.is_synthetic and not record.is_error for record in chain):
        # The loader answers a prompt that was left alone.
        return True
    prompt = next((r for r in chain if r.type == names.USER and not r.results), None)
    if prompt is None or prompt.index < 2:
        return False
    place = prompt.index - 1
    while place >= 0 and prompt.index - place < _NEAR and records[place].type != names.QUEUE:
        place -= 1
    queued = records[place]
    if queued.type != names.QUEUE or queued.text("operation") != "dequeue":
        # What was taken in by a turn that ran stood in no queue of a new process.
        return _starts_screen(records, chain, prompt)
    ended = False
    while place > 0 and records[place].type in _BETWEEN:
        ended = ended or records[place].type == names.LAST_PROMPT
        place -= 1
    taken, asked, before = queued.nanoseconds, prompt.nanoseconds, records[place].nanoseconds
    if taken is None or asked is None or before is None:
        return False
    known, end = starts.get(prompt.version), answer.nanoseconds
    if known and end is not None:
        # An agent whose own prompt is not stored is first heard of when it answers.
        return bisect_right(known, end) > bisect_right(known, before)
    if ended:
        return True
    if _NOTICE in str(prompt.message.get("content")):
        return False
    # A process that runs takes a queued prompt in at once. A new one needs a moment before it
    # writes the prompt, and comes some time after what was before it.
    return asked - taken >= _START_UP and taken - before >= _PAUSE


def _starts_screen(records: Sequence[Record], chain: Sequence[Record], prompt: Record) -> bool:
    """Return whether a new process with a screen seems to begin with a prompt.

    A screen has no queue for it. From 2.1.70 on it wrote its last prompt down when it ended;
    those from 2.1.80 on do so at other times as well. Prompts from 2.0.65 to 2.1.62 hold the
    list of things to do, which a resumed process did not know of until it was written anew.
    """
    if not Rules.of(prompt.version).loader_follows_parents:
        return False
    place = prompt.index - 1
    while place >= 0 and not records[place].is_tree:
        if records[place].type in _BETWEEN:
            return records[place].type == names.LAST_PROMPT
        place -= 1
    typed = next((record for record in chain if _is_typed(record)), None)
    if typed is None or _has_todos(typed):
        return False
    before = (records[at] for at in range(typed.index - 1, -1, -1))
    earlier = next((record for record in before if _is_typed(record)), None)
    return earlier is not None and _has_todos(earlier)


def _is_typed(record: Record) -> bool:
    """Whether the user typed a record into a screen, as far as its members tell."""
    if record.type != names.USER or record.results or record.is_meta:
        return False
    return any(record.value(name) is not None for name in ("permissionMode", "thinkingMetadata"))


def _has_todos(record: Record) -> bool:
    return isinstance(record.value("todos"), list)
