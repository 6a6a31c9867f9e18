"""Amended runs: the runs of an import that is written in a later draft, by the rules of that.

An importer works out how a run began and ended by the rules of the draft it converts to. Later
ones have a run answer for earlier calls that it takes up, and take an output for that of the
latest call with its id. Where a log is damaged they may say otherwise.

Spec: later drafts 10.4 and 11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentsession.entries import Entry
from agentsession.later_runs import RunFacts
from agentsession.record_entries import RunEntry
from agentsession.runs import UNCOMPUTED, runs
from agentsession.session import Session


@dataclass(frozen=True, slots=True)
class Amended:
    """What a start or an end of a run says by its entries.

    Attributes:
        source: why it began; empty for an end.
        reason: why it ended; empty for a start.
        pending: on an end, its calls without an output.
    """

    source: str = ""
    reason: str = ""
    pending: tuple[str, ...] = ()

    def of(self, entry: RunEntry) -> RunEntry:
        """Return an entry that says this, and the rest of what the one given says."""
        if self.source:
            return RunEntry.start(
                entry.run_id, self.source, entry.ref, unknown=entry.unknown, ts=entry.ts
            )
        return RunEntry.end(
            entry.run_id,
            self.reason,
            entry.ref,
            pending=self.pending,
            unknown=entry.unknown,
            ts=entry.ts,
        )


def amended(session: Session) -> Mapping[str, Amended]:
    """Return what the run entries of a session of a later draft should say, by their ids.

    Only those are told of that say something else now. An error or an interruption stands.
    """
    found: dict[str, Amended] = {}
    seen: set[str] = set()
    if not any(isinstance(entry, RunEntry) for entry in session.entries):
        return found
    for leaf in session.leaves:
        path = session.path(leaf.id)
        here = {entry.id for entry in path if isinstance(entry, RunEntry)}
        if here <= seen:
            continue
        seen |= here
        for entry_id, said in _amend(path):
            found.setdefault(entry_id, said)
    return found


def _amend(path: Sequence[Entry]) -> Iterator[tuple[str, Amended]]:
    facts, position = RunFacts(), 0
    for run in runs(path):
        first = run.stop - len(run.segment)
        for entry in path[position:first]:
            facts.feed(entry)
        facts.begin()
        for entry in run.segment:
            facts.feed(entry)
        position = run.stop
        if not facts.fits(run.start.source, ended=run.end is not None):
            yield run.start.id, Amended(source=facts.source())
        if run.end is not None:
            yield from _ended(run.end, facts)


def _ended(end: RunEntry, facts: RunFacts) -> Iterator[tuple[str, Amended]]:
    reason = end.reason if end.reason in UNCOMPUTED else facts.reason()
    pending = facts.pending()
    if reason != end.reason or Counter(pending) != Counter(end.pending):
        yield end.id, Amended(reason=reason, pending=pending)
