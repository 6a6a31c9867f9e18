"""Turns: the runs of a session, from what a user says to the answer that calls no tool.

pi stores no turns; they follow from who speaks, and from how each answer stopped. Spec: pi 7,
format 4.6, context 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from agentsession.importers.drafting import Node, TreeDraft
from agentsession.importers.pi.records import ASSISTANT, USER, string
from agentsession.importers.pi.transcript import Native
from agentsession.importers.segments import Segment, borne_out, run_at
from agentsession.vocabulary import RunReason, RunSource

_GOES_ON: Final = "toolUse"
_REASONS: Final[Mapping[str, str]] = {
    "error": RunReason.ERROR,
    "aborted": RunReason.INTERRUPTED,
}
"""The reasons that hold whatever a run's entries say, by how its last answer stopped."""


@dataclass(frozen=True, slots=True)
class Running:
    """A run that is open at an entry.

    Attributes:
        segment: what it holds so far.
        start: the entry that began it; empty until that is written.
        failed: its last answer failed and is a branch: a retry goes on with it.
    """

    segment: Segment
    start: str = ""
    failed: bool = False


class Turns:
    """The runs of a draft.

    Attributes:
        now: the run that is open where something is being written; ``None`` for none.
    """

    def __init__(self) -> None:
        self.now: Running | None = None
        self._open: dict[int, Running | None] = {}
        self._callers: set[str] = set()

    def enter(self, entry: Native) -> None:
        """Go to where an entry stands."""
        self.now = self._open[entry.parent.place] if entry.parent is not None else None

    def leave(self, entry: Native) -> None:
        """Remember what is open below an entry."""
        self._open[entry.place] = self.now

    def begins(self, entry: Native) -> bool:
        """Return whether a run begins with an entry: steering joins the one that goes on.

        What is said right after an answer that called tools came after a kill.
        """
        if self.now is None:
            return True
        above = entry.parent
        killed = above is not None and above.record.role == ASSISTANT
        return entry.record.role == USER and (self.now.failed or killed)

    def begin(self, entry: Native) -> dict[str, Any]:
        """Open a run; return the members of its entry."""
        self.now = Running(Segment(entry.name))
        return {"run_id": entry.name, "phase": "start", "source": str(RunSource.INPUT)}

    def branch(self) -> Running | None:
        """Go on with a copy of what is open, for a branch; return what to come back to."""
        kept = self.now
        if kept is not None:
            self.now = replace(kept, segment=kept.segment.copy(), failed=False)
        return kept

    def back(self, kept: Running | None) -> None:
        """Leave a branch on which an answer failed: a retry goes on with what was open."""
        self.now = None if kept is None else replace(kept, failed=True)

    def wrote(self, node: Node) -> None:
        """Take note of an entry that was written."""
        if self.now is not None:
            segment = self.now.segment
            if segment.tip is None:
                segment.tip = node.parent
                self.now = replace(self.now, start=node.entry_id)
            segment.follow(node.parent, node)

    def item(self, item: Mapping[str, Any], response: str) -> None:
        """Take note of an item that was written."""
        if self.now is not None:
            self.now.segment.item(item)
        if response and item.get("type") == "function_call":
            self._callers.add(response)

    def responded(self, response: str, *, whole: bool) -> None:
        """Take note of a response that was written."""
        if self.now is not None:
            self.now.segment.responded(response, whole=whole)

    def end(
        self, draft: TreeDraft, node: Node, message: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Close the run that an answer ends; return the members of its entry.

        ``None`` when none is open there, or the run goes on.

        Args:
            draft: the session.
            node: where the answer stands.
            message: the answer.
        """
        running, stopped = self.now, string(message.get("stopReason"))
        if running is None or stopped == _GOES_ON:
            return None
        self.now = None
        segment, reason = running.segment, _REASONS.get(stopped, "")
        pending: tuple[str, ...] = ()
        if not reason and segment.is_done() and segment.last not in self._callers:
            reason = RunReason.DONE
        elif not (reason and segment.is_settled()):
            opened = partial(run_at, draft.session, tip=node.entry_id)
            run = opened(running.start)
            if run is None or run.id != segment.run:
                return None
            if not reason:
                reason = borne_out(run, self._callers.__contains__, partial(opened, ""))
            pending = run.pending()
        return {
            "run_id": segment.run,
            "phase": "end",
            "reason": str(reason),
            "pending": list(pending),
        }
