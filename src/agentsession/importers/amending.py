"""Amended runs: the runs of an import that is written in a later draft, by the rules of that.

An importer works out how a run began and ended by the rules of the draft it converts to. Later
ones have a run answer for earlier calls that it takes up, and take an output for that of the
latest call with its id. Where a log is damaged they may say otherwise.

Spec: later drafts 10.4 and 11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agentsession._undoing import Journal, walked
from agentsession.entries import Entry
from agentsession.later_runs import RunFacts
from agentsession.record_entries import RunEntry
from agentsession.runs import UNCOMPUTED
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

    Only those are told of that say something else now. An error or an interruption stands. Of a
    run that is open on several paths the first one says why it began.
    """
    entries = session.entries
    if not any(isinstance(entry, RunEntry) for entry in entries):
        return {}
    journal = Journal(keeps=True)
    amending = _Amending(journal)
    for entry, is_leaf in walked(entries, journal):
        amending.feed(entry)
        if is_leaf:
            amending.settle(ended=False)
    return {entry_id: said for entry_id, said in amending.found.items() if said is not None}


class _Amending:
    """A path fed entry by entry; what its runs should say is kept for all paths."""

    def __init__(self, journal: Journal) -> None:
        self.found: dict[str, Amended | None] = {}
        self.run: RunEntry | None = None
        self._journal = journal
        self._facts = RunFacts(journal)

    def feed(self, entry: Entry) -> None:
        """Take the next entry of the path."""
        if isinstance(entry, RunEntry) and entry.is_start:
            self.settle(ended=False)
            self._journal.let(self, "run", entry)
            self._facts.begin()
        self._facts.feed(entry)
        run = self.run
        if run is None or not isinstance(entry, RunEntry) or entry.is_start:
            return
        if entry.run_id == run.run_id:
            self.settle(ended=True)
            self.found[entry.id] = _ended(entry, self._facts)
            self._journal.let(self, "run", None)

    def settle(self, *, ended: bool) -> None:
        """Say why the run began that is open, if one is."""
        if self.run is not None and self.run.id not in self.found:
            fits = self._facts.fits(self.run.source, ended=ended)
            self.found[self.run.id] = None if fits else Amended(source=self._facts.source())


def _ended(end: RunEntry, facts: RunFacts) -> Amended | None:
    reason = end.reason if end.reason in UNCOMPUTED else facts.reason()
    pending = facts.pending()
    if reason == end.reason and Counter(pending) == Counter(end.pending):
        return None
    return Amended(reason=reason, pending=pending)
