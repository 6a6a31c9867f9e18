"""What the entries of a run say about its end, by the rules up to 0.4.

Spec: context 9.3 and 9.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agentsession._undoing import Journal
from agentsession.calls import CallLog
from agentsession.entries import Entry, ResponseEntry
from agentsession.record_entries import DecisionEntry
from agentsession.vocabulary import RunReason


@dataclass(slots=True)
class SegmentFacts:
    """What the cascades of context 9.3 ask about a stretch of a path.

    Attributes:
        journal: what changes it.
        log: the calls on it.
        last: its last response, or ``None``.
        decisions: how many decisions it holds.
    """

    journal: Journal = field(default_factory=Journal, repr=False)
    log: CallLog = field(init=False)
    last: ResponseEntry | None = None
    decisions: int = 0

    def __post_init__(self) -> None:
        self.log = CallLog(journal=self.journal)

    def feed(self, entry: Entry) -> int | None:
        """Take the next entry; return the place of the call that it changed."""
        changed = self.log.feed(entry)
        if isinstance(entry, ResponseEntry):
            self.journal.let(self, "last", entry)
        elif isinstance(entry, DecisionEntry):
            self.journal.let(self, "decisions", self.decisions + 1)
        return changed

    @property
    def last_has_calls(self) -> bool:
        """Whether the last response made calls."""
        return self.last is not None and self.has_calls_of(self.last)

    def has_calls_of(self, response: ResponseEntry) -> bool:
        """Return whether a response's calls are among the entries."""
        return response.response_id in self.log.responses

    @property
    def waits(self) -> bool:
        """Whether some pending call is held, and no pending call was dispatched."""
        pending = [self.log.call(call_id) for call_id in self.log.pending]
        return any(call.held for call in pending) and not any(call.dispatch for call in pending)


def segment_facts(entries: Sequence[Entry]) -> SegmentFacts:
    """Return what a stretch of a path says."""
    facts = SegmentFacts()
    for entry in entries:
        facts.feed(entry)
    return facts


class EarlierRun(NamedTuple):
    """What the entries of a run say of it, by the rules up to 0.4.

    Attributes:
        pending: the ids of its calls without an output on it.
        reason: why it ended, by the cascade of 0.3.
        earliest: why it ended, by that of 0.2.
    """

    pending: tuple[str, ...]
    reason: str
    earliest: str


def earlier_run(segment: SegmentFacts, path: SegmentFacts) -> EarlierRun:
    """Return what a run says, by its segment and by the path to its end."""
    pending = tuple(segment.log.pending)
    return EarlierRun(pending, earlier_reason(segment, path), earliest_reason(segment))


def earlier_reason(segment: SegmentFacts, path: SegmentFacts) -> str:
    """Return the end reason of a run by the cascade of 0.3.

    Args:
        segment: what its segment says.
        path: what the path to its end says.

    Spec: context 9.3.
    """
    cut = _cut_reason(segment)
    if cut:
        return cut
    if segment.last is not None and not path.has_calls_of(segment.last):
        return RunReason.DONE
    answered = segment.decisions or segment.log.outputs
    if path.last_has_calls and not path.log.waits and answered:
        return RunReason.STOPPED
    return RunReason.ABORTED


def earliest_reason(segment: SegmentFacts) -> str:
    """Return the end reason of a run by the cascade of 0.2.

    Spec: context 9.3.
    """
    cut = _cut_reason(segment)
    if cut or segment.last is None:
        return cut or RunReason.ABORTED
    return RunReason.STOPPED if segment.last_has_calls else RunReason.DONE


def _cut_reason(segment: SegmentFacts) -> str:
    """The end reason of a run that did not come to its end, by both; empty when it may have."""
    last = segment.last
    if last is not None and last.error is not None:
        return RunReason.ERROR
    if segment.waits:
        return RunReason.INPUT_REQUIRED
    if segment.log.waits or (last is not None and last.incomplete is not None):
        return RunReason.ABORTED
    return ""
