"""Runs: the turns of a conversation, from an input to the step that ends them.

OpenCode stores no turns before 2.0; they follow from how each step finished. OpenCode 2
ends one with a row of its own. Spec: format 4.6, context 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession.importers.opencode.convert.draft import NAMESPACE, Draft
from agentsession.record_entries import RunEntry
from agentsession.runs import Run, runs

_GOES_ON: Final = frozenset({"", "tool-calls", "unknown"})


def ends_turn(finish: str, *, failed: bool) -> bool:
    """Return whether a step was the last of its turn."""
    return failed or finish not in _GOES_ON


class Turns:
    """The run entries of a draft.

    Attributes:
        open: the native id of the input that opened the run at the tip; empty for none.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._start = ""
        self.open = ""

    def begin(self, native_id: str, millis: int) -> None:
        """Open a run, unless one is open: an input then joins it."""
        if self.open:
            return
        self.open = native_id
        entry = RunEntry.start(native_id, "input")
        self._start = self._draft.add(entry, native_id, "run", millis)

    def end(
        self,
        native_id: str,
        millis: int,
        *,
        reason: str = "",
        native: Mapping[str, Any] | None = None,
    ) -> str:
        """Close the run that is open; return the entry's id, empty when none is open.

        Args:
            native_id: what ended it.
            millis: when.
            reason: why, where the agent says it in the format's words.
            native: what OpenCode recorded of it.
        """
        if not self.open:
            return ""
        segment = self._draft.segment(self._start)
        found = runs(segment)
        run: Run | None = found[0] if found else None
        if run is None:
            self.open = ""
            return ""
        unknown = {NAMESPACE: self._draft.kept(native)} if native else None
        entry = RunEntry.end(
            self.open, reason or run.reason(), pending=run.pending(), unknown=unknown
        )
        self.open = ""
        return self._draft.add(entry, native_id, "end", millis)

    def leave(self) -> None:
        """Forget the run that is open: the next input begins another."""
        self.open = ""
