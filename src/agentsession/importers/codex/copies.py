"""Copies: how many lines of a file another thread wrote.

Up to 0.150 a fork begins with a copy of its parent's lines, so does a child with its parent's
context, and so did a backtrack up to 0.77. Spec: codex 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.lines import Line, integer, mapping, string
from agentsession.importers.codex.rollouts import Index, Rollout, id_time

_PAUSE: Final = 250_000_000
_SKIPPED: Final = 64
_RENEWED: Final = frozenset({"id", "type"})


def copied_lines(index: Index, rollout: Rollout) -> int:
    """Return how many lines behind a file's first one were copied from another thread."""
    start = integer(rollout.meta.get("subagent_history_start_ordinal"))
    if start is not None:
        return _before(rollout, start)
    origin = string(rollout.meta.get("forked_from_id")) or rollout.copied_from
    if not origin or rollout.base[0]:
        return 0
    if not rollout.copied_from:
        # The parent's own first line begins every copy.
        return 0
    parent = index.file(origin) or index.file(rollout.copied_from)
    if parent is not None and parent.path != rollout.path:
        found = _shared(rollout, parent)
        if found:
            return found
    return _told_by_times(rollout)


def _own(rollout: Rollout) -> Iterator[Line]:
    found = rollout.lines()
    next(found, None)
    yield from found


def _before(rollout: Rollout, start: int) -> int:
    """How many lines stand before the first one of a child's own."""
    count = 0
    for line in _own(rollout):
        if line.ordinal is None or line.ordinal >= start:
            break
        count += 1
    return count


def _shared(rollout: Rollout, parent: Rollout) -> int:
    """How many lines say what the parent's say, one after the other."""
    theirs = parent.lines()
    count = 0
    for line in _own(rollout):
        for _ in range(_SKIPPED):
            other = next(theirs, None)
            if other is None or _is_same(line, other):
                break
        else:
            break
        if other is None:
            break
        count += 1
    return count


def _is_same(line: Line, other: Line) -> bool:
    """Whether a line says what another one does; a newer release's copy may say more."""
    if line.kind != other.kind or line.name != other.name:
        return False
    if line.text == other.text:
        return True
    mine, theirs = line.payload, other.payload
    if line.kind == lines.META:
        return string(mine.get("id")) == string(theirs.get("id"))
    shared = (mine.keys() & theirs.keys()) - _RENEWED
    return bool(shared) and all(mine[name] == theirs[name] for name in shared)


def _told_by_times(rollout: Rollout) -> int:
    """How many lines are of turns older than the file, or came with it in one go."""
    began = lines.moment(rollout.created)
    count = 0
    before: int | None = None
    for line in _own(rollout):
        turn = id_time(_turn_of(line))
        if turn is not None and began is not None and turn * 1_000_000 >= began.nanoseconds:
            break
        now = lines.moment(line.time)
        if (
            turn is None
            and now is not None
            and before is not None
            and now.nanoseconds - before > _PAUSE
        ):
            break
        before = now.nanoseconds if now is not None else before
        count += 1
    return count


def _turn_of(line: Line) -> str:
    beside = mapping(line.payload.get("internal_chat_message_metadata_passthrough"))
    return string(line.payload.get("turn_id")) or string(beside.get("turn_id"))
