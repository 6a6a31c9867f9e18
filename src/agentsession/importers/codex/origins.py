"""Origins: what a file was copied from, where it no longer says so itself.

A backtrack's file (0.45 to 0.77) names its origin only by the copy of that thread's first line,
which is its second one. Where that line is damaged or missing the lines behind it tell, if the
origin is in the source: nobody but Codex repeats another thread word for word, answers included,
without a pause in which a model could have answered. Spec: codex 5.1 and 5.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.lines import Line, string
from agentsession.importers.codex.units import is_output

if TYPE_CHECKING:
    from agentsession.importers.codex.rollouts import Rollout

AT_ONCE: Final = 50_000_000
"""Nanoseconds: what is copied has its lines within so short a time of each other."""

PAUSE: Final = 250_000_000
"""Nanoseconds: no model answers within so short a time, and no copy takes longer for a line."""

_SKIPPED: Final = 64
_RENEWED: Final = frozenset({"id", "type"})
_COUNTER: Final = "token_count"
_SAID: Final = frozenset({"forked_from_id", "parent_thread_id", "history_base"})


def origin_of(rollout: Rollout, others: Iterable[Rollout]) -> str:
    """Return the thread that a file begins with a copy of, by what it repeats; empty for none.

    Args:
        rollout: a file whose second line is damaged.
        others: the files it may be a copy of.
    """
    best, most = "", 0
    for other in sorted(others, key=lambda one: one.created, reverse=True):
        if other.thread != rollout.thread and other.created < rollout.created:
            repeated = _repeated(rollout, other)
            if repeated > most:
                best, most = other.thread, repeated
    return best


def _repeated(rollout: Rollout, other: Rollout) -> int:
    """How many lines of a file repeat another one, up to the last that a model made."""
    mine, theirs = rollout.lines(), other.lines()
    head = next(mine, None)
    plain = head is not None and head.is_plain
    next(theirs, None)
    made = 0
    before: int | None = None
    for count, line in enumerate(mine):
        if not count and line.kind == lines.BROKEN:
            continue
        now = lines.moment(line.time)
        if line.time or not plain:
            if now is None or (before is not None and now.nanoseconds - before > PAUSE):
                break
            before = now.nanoseconds
        if not is_next(line, theirs):
            break
        if is_made(line):
            made = count
    return made


def has_lost_head(path: str, first: Line | None, second: Line | None) -> bool:
    """Return whether a file lacks the line that says what it is a copy of, as far as it tells.

    That line is damaged, or a model's answer stands right where the file begins. A plain file
    never says it.

    Args:
        path: the file.
        first: the line that begins the thread.
        second: the one behind it.
    """
    if first is None or second is None or second.kind == lines.BROKEN:
        return second is not None and second.kind == lines.BROKEN
    if first.is_plain:
        try:
            return unmarked(lines.read_lines(path, "")) > 0
        except (OSError, ValueError):
            return False
    if second.kind == lines.META or not _SAID.isdisjoint(first.payload):
        return False
    try:
        return _answers_at_once(first, lines.read_lines(path, ""))
    except (OSError, ValueError):
        return False


def _answers_at_once(first: Line, found: Iterable[Line]) -> bool:
    began = lines.moment(first.time)
    for line in found:
        now = lines.moment(line.time)
        if began is None or now is None or now.nanoseconds - began.nanoseconds > AT_ONCE:
            return False
        if is_made(line):
            return True
    return False


def unmarked(found: Iterable[Line]) -> int:
    """Return how many lines behind its header a plain file copied; 0 for none.

    0.27 to 0.29 begin a file anew where a thread is resumed, with the items of the one before.
    Markers stand before each answer of a file's own, and none among items that were copied.
    """
    count = made = 0
    said = False
    for at, line in enumerate(found):
        if at == 0:
            if not line.is_plain:
                return 0
        elif line.kind == lines.ITEM:
            said, count = True, at
            made += is_made(line)
        elif line.kind != lines.STATE:
            return 0
        elif said:
            break
    return count if made else 0


def is_next(line: Line, theirs: Iterator[Line]) -> bool:
    """Return whether a thread, read from where it is, soon says what a line says."""
    for _ in range(_SKIPPED):
        other = next(theirs, None)
        if other is None:
            return False
        if _is_same(line, other):
            return True
    return False


def is_made(line: Line) -> bool:
    """Return whether there was a model's answer where a line was first written."""
    if line.kind == lines.ITEM:
        return is_output(line.name, string(line.payload.get("role")))
    if line.name == _COUNTER:
        return isinstance(line.payload.get("info"), dict)
    return line.kind in {lines.USAGE, lines.COMPACTED}


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
