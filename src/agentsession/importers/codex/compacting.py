"""Compactions: what the history is afterwards, and the entry that says so.

Spec: codex 6, decisions D3 and D4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agentsession import text
from agentsession.importers.codex.calls import Call
from agentsession.importers.codex.lines import Line, integer, mapping, sequence, string
from agentsession.importers.codex.releases import version_of
from agentsession.importers.codex.rolling import Folded
from agentsession.importers.codex.state import ASKED_BY_TOOL, State
from agentsession.importers.codex.units import (
    Unit,
    alone,
    anew,
    bridged,
    is_bare,
    rebuilt,
    said,
    settled_with,
    told_text,
    unit_of,
)
from agentsession.importers.codex.usage import usage_of

if TYPE_CHECKING:
    from agentsession.importers.codex.reading import Reading
    from agentsession.importers.codex.writer import Writer

_APART: Final = (0, 55)
"""Releases before made one message of what the user said and a summary."""

_NO_INTERRUPTS: Final = (0, 99)
"""Releases before kept what tells of an interrupt as if the user had said it."""

_WITHOUT_CONTEXT: Final = (0, 107)
"""Releases from here on rebuild such a history without the context before it, nor what tells
of an interrupt."""

_ROW: Final = 32
"""How many context messages in a row are looked at: a process begins with fewer."""

_IN_ITEMS: Final = frozenset({"replacement_history", "replacement_history_metadata", "message"})


def compacted(reading: Reading, line: Line, number: int) -> None:
    """Replace the history as a compaction did."""
    calling, state, writer = reading.calling, reading.state, reading.writer
    summary = string(line.payload.get("message"))
    call = None if calling.copied else calling.consume(summary)
    history = _replacement(line)
    held = history is not None
    state.anew = 0
    native = _native(line, call)
    native["rebuilt"] = history is None
    if history is None:
        release = version_of(state.release)
        units = said(state.history, interrupts=release < _NO_INTERRUPTS)
        kept = [_told(reading, unit) for unit in units]
        if is_bare(summary) and release < _APART:
            history = bridged(state.history, [words for _, words in kept], summary)
        else:
            context = anew(state.history)
            history = rebuilt(context, kept, summary)
            state.anew = len(context)
        reading.accounts.find("history-rebuilt", line.place)
    state.history, state.same = history, True
    later = history if held else _later(history, state.anew)
    state.steps.append(Folded(tuple(later), held))
    state.recount()
    state.asked = ASKED_BY_TOOL if state.active or not state.bordered else ""
    usage = usage_of(call.counts) if call is not None and call.counts is not None else None
    if history:
        entry_id = writer.fold(history, _name(line), line.time, usage=usage, native=native)
    else:
        writer.empty()
        told = native if usage is None else {**native, "usage": usage}
        entry_id = writer.note(told, _name(line), "compaction", line.time)
    if call is not None:
        reading.accounts.find("summary-prompt-not-stored", line.place)
        if call.counts is not None:
            calling.converted.add(call.counts)
        for folded in [*(element.number for element in call.elements), *call.numbers]:
            calling.folded(folded, entry_id)
    reading.accounts.entry(number, entry_id, code="fork-copy" if calling.copied else "")


def retold(reading: Reading, unit: Unit) -> None:
    """Tell the context of a rebuilt history as a process that resumes the thread tells it.

    It rebuilds the history from the file, and so tells the context before it by its own
    settings; then it tells it again behind the history. Spec: codex 6.

    Args:
        reading: the thread.
        unit: the item that was taken last.
    """
    state, writer = reading.state, reading.writer
    if not unit.context:
        state.telling = []
    elif len(state.telling) < _ROW:
        state.telling = [*state.telling, unit]
        _settle(state, writer)


def resumed(reading: Reading, release: str) -> None:
    """Leave out the context before a rebuilt history where a newer release goes on with it.

    It tells the context behind the history, as that of a first turn.

    Args:
        reading: the thread.
        release: the oldest release that could have written the line that was read last.
    """
    state = reading.state
    if not state.anew or not release or version_of(release) < _WITHOUT_CONTEXT:
        return
    state.history, state.same = _later(state.history, state.anew), False
    state.anew = 0
    state.recount()


def _later(history: Sequence[Unit], anew: int) -> list[Unit]:
    """A rebuilt history as releases from 0.107 on rebuild it: what the user said, and summary."""
    end = next((at for at, unit in enumerate(history) if unit.summary), len(history))
    kept = [unit for unit in history[anew:end] if not unit.is_interrupt]
    return [*kept, *history[end:]]


def _settle(state: State, writer: Writer) -> None:
    """Let a rebuilt history begin with the settings of the process that tells them now."""
    own = settled_with(state.telling, state.begun)
    state.begun = state.begun or own
    if not own or not state.anew:
        return
    texts = [writer.item(told).json_text for told in own]
    if texts == [writer.item(told).json_text for told in state.history[: state.anew]]:
        return
    # They stand in the history twice, and only the later ones in a file.
    before = [
        replace(told, text=item, made=True, home="", key=0, value=None)
        for told, item in zip(own, texts, strict=True)
    ]
    state.history[: state.anew] = before
    state.anew, state.same = len(before), False


def _told(reading: Reading, unit: Unit) -> tuple[Unit, str]:
    """A user's message as a compaction keeps it, and the text that it is told by."""
    content = mapping(text.parse(reading.writer.item(unit).json_text)).get("content")
    words = told_text(content)
    return alone(unit, content, words), words


def _name(line: Line) -> str:
    return string(line.payload.get("window_id"))


def _replacement(line: Line) -> list[Unit] | None:
    """The history that a compaction's line holds, ``None`` when it holds none."""
    items = line.payload.get("replacement_history")
    if not isinstance(items, list):
        return None
    texts = text.split_elements(text.split_members(line.text)["replacement_history"])
    beside = sequence(line.payload.get("replacement_history_metadata"))
    units: list[Unit] = []
    for at, (item, item_text) in enumerate(zip(items, texts, strict=True)):
        if not isinstance(item, dict):
            continue
        metadata = mapping(beside[at]) if at < len(beside) else {}
        number = integer(metadata.get("history_sequence"))
        unit = unit_of(item, item_text, sequence_number=number)
        # These are kept for as long as they are sent, so their text has to do.
        unit.value = None
        unit.summary = unit.turn and string(line.payload.get("message")).startswith(
            unit.words or "\0"
        )
        units.append(unit)
    return units


def _native(line: Line, call: Call | None) -> dict[str, Any]:
    """What Codex recorded of a compaction beside the history."""
    native: dict[str, Any] = {
        name: value for name, value in line.payload.items() if name not in _IN_ITEMS
    }
    if call is None:
        return native
    items = [text.parse(element.unit.text) for element in call.elements]
    if items:
        native["summary"] = items
    if call.response_id:
        native["response_id"] = call.response_id
    return native | call.counted
