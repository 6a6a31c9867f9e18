"""Runs: the turns of a conversation, from an input to the step that ends them.

OpenCode stores no turns before 2.0; they follow from how each step finished. OpenCode 2
ends one with a row of its own. Spec: format 4.6, context 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsession.importers.opencode.convert.draft import NAMESPACE, Draft, Step
from agentsession.record_entries import RunEntry
from agentsession.runs import ABORTED, DONE, ERROR, STOPPED

_RUN: Final = RunEntry.TYPE
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
        self._place = 0
        self.open = ""

    def begin(self, native_id: str, millis: int) -> None:
        """Open a run, unless one is open: an input then joins it."""
        if self.open:
            return
        self.open = native_id
        self._place = len(self._draft.path)
        members = {"run_id": native_id, "phase": "start", "source": "input"}
        self._start = self._draft.write(_RUN, members, native_id, "run", millis, plain=True)

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
        run_id, self.open = self.open, ""
        segment = self._draft.segment(self._start, self._place)
        if not segment:
            return ""
        found, pending = _ending(segment)
        members: dict[str, Any] = {"run_id": run_id, "phase": "end", "reason": reason or found}
        members["pending"] = pending
        if native:
            members[NAMESPACE] = native
        return self._draft.write(_RUN, members, native_id, "end", millis, plain=not native)

    def leave(self) -> None:
        """Forget the run that is open: the next input begins another."""
        self.open = ""


def _ending(segment: Sequence[Step]) -> tuple[str, list[str]]:
    """Return why a run ended by what it holds, and its calls without an output.

    Spec: context 9.3, for a run without decisions.
    """
    pending: dict[str, None] = {}
    answered: set[str] = set()
    calling: set[str] = set()
    last: Mapping[str, Any] | None = None
    outputs = 0
    for _, entry_type, told, response in segment:
        if told is None:
            continue
        if entry_type == "response":
            last = told
        elif entry_type == "item":
            kind = told["type"]
            if kind == "function_call":
                call_id = told["call_id"]
                if call_id not in pending and call_id not in answered:
                    pending[call_id] = None
                    calling.add(response)
            elif kind == "function_call_output":
                outputs += 1
                call_id = told["call_id"]
                if call_id in pending:
                    del pending[call_id]
                    answered.add(call_id)
    return _reason(last, calling, outputs, pending=bool(pending)), [*pending]


def _reason(
    last: Mapping[str, Any] | None, calling: set[str], outputs: int, *, pending: bool
) -> str:
    if last is not None and "error" in last:
        return ERROR
    if pending or (last is not None and "incomplete" in last):
        return ABORTED
    if last is not None and last["response_id"] not in calling:
        return DONE
    return STOPPED if last is not None and outputs else ABORTED
