"""Counting: what each model call used, straight from the files, one line at a time.

Spec: codex 7, decision D12.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.copies import copied_lines
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.rollouts import Index, Rollout
from agentsession.importers.codex.usage import Counter, Counts, counts_of, usage_of
from agentsession.importers.usage import UsageRecord

_MARKS: Final = (
    b'"token_count"',
    b'"token_usage_record"',
    b'"turn_context"',
    b'"session_meta"',
    b'"thread_settings_applied"',
)


def records_of(index: Index) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used, each once.

    Copies in forks and children are passed over, and so are counters that were written again.
    A segment's counters go on from its base's, which is read again for that.
    """
    for thread in index.ordered():
        for rollout in index.threads[thread]:
            yield from _Counting(index, rollout).records()


@dataclass(slots=True)
class _Counting:
    index: Index
    rollout: Rollout
    counter: Counter = field(default_factory=Counter)
    model: str = ""
    provider: str = ""
    cwd: str = ""
    number: int = 0

    def records(self) -> Iterator[UsageRecord]:
        base, end = self.rollout.base
        self._follow(self.index.file(base), end, frozenset())
        copied = copied_lines(self.index, self.rollout)
        for at, line in enumerate(self.rollout.lines(_MARKS)):
            own = not 0 < at <= copied
            for counts, key in self._read(line):
                if own:
                    yield self._record(line, counts, key)

    def _follow(self, base: Rollout | None, end: int | None, above: frozenset[str]) -> None:
        """Read what a file goes on from, for where its counters stand."""
        if base is None or base.path in above:
            return
        earlier, before = base.base
        self._follow(self.index.file(earlier), before, above | {base.path})
        for line in base.lines(_MARKS):
            if line.ordinal is not None and end is not None and line.ordinal >= end:
                return
            for _ in self._read(line):
                pass

    def _read(self, line: Line) -> Iterator[tuple[Counts, str]]:
        payload = line.payload
        if line.kind == lines.META:
            self.provider = string(payload.get("model_provider")) or self.provider
            self.cwd = string(payload.get("cwd")) or self.cwd
        elif line.kind == lines.CONTEXT:
            self.model = string(payload.get("model")) or self.model
            self.cwd = string(payload.get("cwd")) or self.cwd
        elif line.kind == lines.USAGE:
            self.counter.record()
            yield counts_of(payload.get("usage")), string(payload.get("response_id"))
        elif line.name == "token_count":
            counted = self.counter.feed(payload.get("info"))
            for counts in (counted.hidden, counted.last):
                if counts is not None:
                    yield counts, ""
        elif line.name == "thread_settings_applied":
            applied = mapping(payload.get("thread_settings"))
            self.provider = string(applied.get("model_provider_id")) or self.provider

    def _record(self, line: Line, counts: Counts, key: str) -> UsageRecord:
        self.number += 1
        rollout = self.rollout
        name = key or f"{rollout.segment}#{self.number}"
        return UsageRecord(
            rollout.thread,
            self.model,
            self.provider,
            lines.moment(line.time),
            self.cwd,
            usage_of(counts),
            None,
            f"{rollout.thread}:{name}",
        )
