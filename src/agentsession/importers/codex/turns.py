"""Turns: the run of each turn, and what its entries say of its end.

Codex records that a turn is complete also where a summary or a command of the user's was all
there was to it, and where the request failed without a word. What a run ends with is what its
entries bear out; only an error and an interrupt stand by themselves.

Spec: codex 4, format 4.6, context 9.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from agentsession.importers.codex.writer import NAMESPACE, Writer
from agentsession.importers.segments import Segment, borne_out, run_at
from agentsession.record_entries import RunEntry
from agentsession.runs import Run
from agentsession.vocabulary import RunReason

_STANDING: Final = frozenset({RunReason.ERROR, RunReason.INTERRUPTED})
"""The reasons that hold whatever the entries say."""

COMPLETE: Final = "complete"
"""Codex's word for a turn that came to its end."""

_WORDS: Final = {
    COMPLETE: RunReason.DONE,
    "interrupted": RunReason.INTERRUPTED,
    "error": RunReason.ERROR,
}
_REPLACED: Final = "replaced"


def ended(writer: Writer, start: str, turn: str, word: str) -> RunEntry:
    """Return the entry that ends a turn's run at the writer's tip.

    Args:
        writer: the session.
        start: the entry that began the run; empty when that is not known.
        turn: the turn's id.
        word: Codex's word for how the turn ended; kept where the reason is another.
    """
    said = RunReason.INTERRUPTED if word == _REPLACED else RunReason.ABORTED
    reason = _WORDS.get(word, said)
    name, pending = turn, tuple[str, ...]()
    segment = writer.segment
    if segment is not None and reason not in _STANDING and _is_done(writer, segment):
        name, reason = segment.run, RunReason.DONE
    else:
        run = _open(writer, start)
        if run is not None:
            name, pending = run.id, run.pending()
            if reason not in _STANDING:
                whole = partial(_open, writer, "")
                reason = RunReason(borne_out(run, writer.has_called, whole))
    native = {"reason": word} if _WORDS.get(word) != reason else {}
    if name != turn:
        # Only one turn runs at a time: a review in between ends it under an id of its own.
        native["turn_id"] = turn
    unknown = {NAMESPACE: native} if native else None
    return RunEntry.end(name, reason, pending=pending, unknown=unknown)


def _is_done(writer: Writer, segment: Segment) -> bool:
    """Whether a run is done beyond doubt: nowhere does a call name its last response."""
    return segment.is_done() and not writer.has_called(segment.last or "")


def _open(writer: Writer, start: str) -> Run | None:
    """The run that is open at the tip; its path begins with it, where its start is known."""
    return run_at(writer.draft.session, start, writer.node.entry_id)
