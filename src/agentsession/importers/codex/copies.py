"""Copies: how many lines of a file another thread wrote.

Up to 0.150 a fork begins with a copy of its parent's lines, so does a child with its parent's
context, and so did a backtrack up to 0.77. Spec: codex 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.lines import Line, integer, mapping, string
from agentsession.importers.codex.origins import AT_ONCE, PAUSE, is_made, is_next, unmarked
from agentsession.importers.codex.rollouts import Index, Rollout, id_time
from agentsession.timestamp import Timestamp

_SETTINGS: Final = "thread_settings_applied"


def copied_lines(index: Index, rollout: Rollout) -> int:
    """Return how many lines behind a file's first one were copied from another thread.

    The file itself tells which of its lines are older than it, so that what it copied is known
    as such also where its parent's log is damaged, shorter, or not there. The parent's lines
    tell of those that could be either's.
    """
    start = integer(rollout.meta.get("subagent_history_start_ordinal"))
    if start is not None:
        return _before(rollout, start)
    plain = unmarked(rollout.lines())
    if plain:
        return plain
    origin = string(rollout.meta.get("forked_from_id")) or rollout.copied_from
    if not origin or rollout.base[0]:
        return 0
    if not rollout.copied_from and not _lost_its_copied_head(rollout):
        # The parent's own first line begins every copy.
        return 0
    parent = index.file(origin) or index.file(rollout.copied_from)
    known = parent is not None and parent.path != rollout.path
    return _copied(rollout, parent.lines() if parent is not None and known else iter(()))


def _lost_its_copied_head(rollout: Rollout) -> bool:
    """Whether a fork's second line is damaged, or of a turn that is older than the file."""
    second = next(_own(rollout), None)
    if second is None:
        return False
    return second.kind == lines.BROKEN or _Times(lines.moment(rollout.created)).is_older(second)


def _own(rollout: Rollout) -> Iterator[Line]:
    found = rollout.lines()
    next(found, None)
    yield from found


def _before(rollout: Rollout, start: int) -> int:
    """How many lines stand before the first one of a child's own."""
    count = 0
    for line in _own(rollout):
        if not line.repeated and (line.ordinal is None or line.ordinal >= start):
            break
        count += 1
    return count


def _copied(rollout: Rollout, theirs: Iterator[Line]) -> int:
    """How many lines are copies, by what the file tells and by what the parent says."""
    times = _Times(lines.moment(rollout.created))
    shared = told = sure = maybe = 0
    sharing, older = True, True
    for count, line in enumerate(_own(rollout), 1):
        if line.repeated:
            continue
        if line.kind != lines.BROKEN:
            # What a damaged line said is not known: it may be a copy as well.
            sharing = sharing and is_next(line, theirs)
            shared = count if sharing else shared
        older = older and times.goes_on(line)
        if older:
            # Settings are written again right before the file's own first turn.
            told = told if line.name == _SETTINGS else count
            if times.is_older(line):
                sure = count
            elif times.at_once and is_made(line):
                maybe = count
        if not sharing and not older:
            break
    if not shared:
        return told
    # Without a border nothing tells a copied answer from one of the file's own.
    return max(shared, sure, 0 if older else maybe)


@dataclass(slots=True)
class _Times:
    """What the times of a file's lines tell of copies: they came in one go, of older turns.

    Attributes:
        began: when the file was begun.
        at_once: whether all lines without a turn came without a pause a model could answer in.
    """

    began: Timestamp | None
    at_once: bool = True
    _before: int | None = None

    def is_older(self, line: Line) -> bool:
        """Return whether a line is of a turn that is older than the file."""
        turn = id_time(_turn_of(line))
        return (
            turn is not None
            and self.began is not None
            and turn * 1_000_000 < self.began.nanoseconds
        )

    def goes_on(self, line: Line) -> bool:
        """Return whether a line may have come with those before it."""
        turn = id_time(_turn_of(line))
        if turn is not None and self.began is not None and not self.is_older(line):
            return False
        now = lines.moment(line.time)
        if now is None:
            return True
        if turn is None and self._before is not None:
            pause = now.nanoseconds - self._before
            self.at_once = self.at_once and pause <= AT_ONCE
            if pause > PAUSE:
                return False
        self._before = now.nanoseconds
        return True


def _turn_of(line: Line) -> str:
    beside = mapping(line.payload.get("internal_chat_message_metadata_passthrough"))
    return string(line.payload.get("turn_id")) or string(beside.get("turn_id"))
