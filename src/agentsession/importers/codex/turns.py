"""Turns: the run of each turn, and what its entries say of its end.

Codex records that a turn is complete also where a summary or a command of the user's was all
there was to it, and where the request failed without a word. What a run ends with is what its
entries bear out; only an error and an interrupt stand by themselves.

Spec: codex 4, format 4.6, context 9.
"""

from __future__ import annotations

from typing import Final

from agentsession.entries import Entry, ResponseEntry
from agentsession.importers.codex.writer import NAMESPACE, Writer
from agentsession.importers.segments import Segment
from agentsession.record_entries import RunEntry
from agentsession.runs import Run, open_run
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
                reason = RunReason(_borne_out(writer, run))
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
    segment = _segment(writer, start)
    if segment:
        return open_run(segment)
    tip = writer.node.entry_id
    return open_run(writer.draft.session.path(tip)) if tip else None


def _segment(writer: Writer, start: str) -> list[Entry]:
    """The entries from one on the way to the tip up to there; none when it is not there."""
    session = writer.draft.session
    found: list[Entry] = []
    at: str | None = writer.node.entry_id
    while start and at:
        entry = session[at]
        found.append(entry)
        if at == start:
            return found[::-1]
        at = entry.parent
    return []


def _borne_out(writer: Writer, run: Run) -> str:
    """Why a run ended by what it holds; what came before it is asked only where that matters."""
    reason = run.reason()
    last = next((e for e in reversed(run.segment) if isinstance(e, ResponseEntry)), None)
    cut = run.pending() or (last is not None and last.incomplete is not None)
    if cut or reason == RunReason.ERROR:
        return reason
    whole = open_run(writer.draft.session.path(writer.node.entry_id))
    return reason if whole is None else whole.reason()
