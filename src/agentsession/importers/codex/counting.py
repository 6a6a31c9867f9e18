"""Counting: what each model call used, straight from the files, one line at a time.

Spec: codex 7, decision D12.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from agentsession.importers.codex import lines
from agentsession.importers.codex.copies import copied_lines
from agentsession.importers.codex.lines import Line, mapping, marks, string
from agentsession.importers.codex.rollouts import Index, Rollout
from agentsession.importers.codex.usage import (
    Counter,
    Counts,
    counts_of,
    is_odd,
    key_of,
    usage_of,
)
from agentsession.importers.diverging import Kept
from agentsession.importers.usage import Tell, Unread, UsageRecord

_COUNTER: Final = "token_count"
_MARKS: Final = (
    b'"token_count"',
    b'"token_usage_record"',
    b'"turn_context"',
    b'"session_meta"',
    b'"thread_settings_applied"',
)


def records_of(index: Index, tell: Tell | None = None) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used, each once.

    Copies in forks and children are passed over, and so are counters that were written again.
    A segment's counters go on from its base's, which is read again for that.

    Args:
        index: the source.
        tell: called with what could not be read.
    """
    for place, error in index.unreadable.items():
        Unread(place, tell).file(error)
    for place in index.empty:
        Unread(place, tell).empty()
    for thread in index.ordered():
        for rollout in index.threads[thread]:
            yield from _Counting(index, rollout, Unread(rollout.path, tell)).records()
        yield from _diverged(index, thread, tell)


def _diverged(index: Index, thread: str, tell: Tell | None) -> Iterator[UsageRecord]:
    """What only the copies of a thread's files hold that went on differently."""
    kept: dict[tuple[str, str], Kept] = {}
    for other in index.diverged.get(thread, ()):
        if other.key not in kept:
            first = next(one for one in index.threads[thread] if one.key == other.key)
            kept[other.key] = Kept(marks(first.lines()))
        known = kept[other.key]
        yield from _Counting(index, other, Unread(other.path, tell), known).records()
        known.take(marks(other.lines()))


class _Used(NamedTuple):
    """What a line says that a call used."""

    counts: Counts
    name: str = ""
    odd: bool = False


@dataclass(slots=True)
class _Counting:
    index: Index
    rollout: Rollout
    unread: Unread
    known: Kept | None = None
    counter: Counter = field(default_factory=Counter)
    model: str = ""
    provider: str = ""
    cwd: str = ""
    unclear: bool = False

    def records(self) -> Iterator[UsageRecord]:
        base, end = self.rollout.base
        self._follow(self.index.file(base), end, frozenset())
        copied = copied_lines(self.index, self.rollout)
        for at, line in enumerate(self.rollout.lines(_MARKS)):
            if line.kind == lines.BROKEN:
                self.unread.line(_number_of(line))
            if line.repeated:
                continue
            if 0 < at <= copied or (self.known is not None and self.known.holds(marks((line,)))):
                self._pass(line)
                if at <= copied and (self.unclear or line.kind == lines.BROKEN):
                    self.counter.lose()
                continue
            used = list(self._read(line))
            yield from (self._record(line, one) for one in used)
            if self.unclear:
                # What counts here cannot be told from what was counted before.
                self.unread.line(_number_of(line))
        self.unread.done()

    def _follow(self, base: Rollout | None, end: int | None, above: frozenset[str]) -> None:
        """Read what a file goes on from, for where its counters stand."""
        if base is None or base.path in above:
            return
        earlier, before = base.base
        self._follow(self.index.file(earlier), before, above | {base.path})
        for line in base.lines(_MARKS):
            if line.ordinal is not None and end is not None and line.ordinal >= end:
                return
            if not line.repeated:
                self._pass(line)

    def _pass(self, line: Line) -> None:
        """Read what counts for another file, for where the counters stand."""
        for _ in self._read(line):
            pass

    def _read(self, line: Line) -> Iterator[_Used]:
        payload, self.unclear = line.payload, False
        if line.kind == lines.META:
            self.provider = string(payload.get("model_provider")) or self.provider
            self.cwd = string(payload.get("cwd")) or self.cwd
        elif line.kind == lines.CONTEXT:
            self.model = string(payload.get("model")) or self.model
            self.cwd = string(payload.get("cwd")) or self.cwd
        elif line.kind == lines.USAGE:
            self.counter.record()
            used = payload.get("usage")
            yield _Used(counts_of(used), string(payload.get("response_id")), is_odd(used))
        elif line.name == _COUNTER:
            info = payload.get("info")
            counted = self.counter.feed(info)
            self.unclear = counted.unclear
            if counted.hidden is not None:
                yield _Used(counted.hidden)
            if counted.last is not None:
                yield _Used(counted.last, "", is_odd(mapping(info).get("last_token_usage")))
        elif line.name == "thread_settings_applied":
            applied = mapping(payload.get("thread_settings"))
            self.provider = string(applied.get("model_provider_id")) or self.provider

    def _record(self, line: Line, used: _Used) -> UsageRecord:
        thread = self.rollout.thread
        return UsageRecord(
            thread,
            self.model,
            self.provider,
            lines.moment(line.time),
            self.cwd,
            usage_of(used.counts),
            key=key_of(thread, used.name),
            odd=used.odd,
        )


def _number_of(line: Line) -> int:
    """The number of a line in its file."""
    return int(line.place.rpartition(":")[2].rstrip("+"))
