"""Reading a thread: each line's effect on the history, the calls and the session.

Every entry follows from the lines before it, so that a grown thread gives the same entries
and more. Spec: codex 4 to 8, decisions D6 and D8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agentsession import text
from agentsession.importers.accounts import Accounts
from agentsession.importers.codex import lines, plain, rolling
from agentsession.importers.codex.calling import Calling
from agentsession.importers.codex.calls import Element, Ending, Shown, error_of
from agentsession.importers.codex.compacting import compacted, resumed, retold
from agentsession.importers.codex.known import unknown_in
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.origins import PAUSE
from agentsession.importers.codex.releases import CUT_WHEN_STORED, at_least, version_of
from agentsession.importers.codex.settings import Settings
from agentsession.importers.codex.showing import DISPLAY, Showing
from agentsession.importers.codex.state import ASKED_BY_TOOL, ASKED_BY_USER, State
from agentsession.importers.codex.turns import COMPLETE, ended
from agentsession.importers.codex.units import (
    GHOST,
    Unit,
    aborted,
    is_output,
    is_sent,
    unit_of,
)
from agentsession.importers.codex.writer import Writer
from agentsession.importers.segments import Segment
from agentsession.importers.unknown import Strange, Unknown
from agentsession.record_entries import RunEntry

_INTERRUPTED: Final = Ending("interrupted")
_COMPACTED_NOTICE: Final = "Compact task completed"
_NO_NUMBER: Final = -1


class Reading:
    """Reads the lines of one session's threads into its entries.

    Args:
        writer: the session.
        accounts: the account of its records.
        display: the files hold no items of a model: display items stand in for them.

    Attributes:
        unknown: what is not known.
    """

    def __init__(self, writer: Writer, accounts: Accounts, *, display: bool) -> None:
        self.writer = writer
        self.accounts = accounts
        self.calling = Calling(writer, accounts)
        self.settings = Settings(writer)
        self.showing = Showing(self) if display else None
        self.unknown = Unknown(accounts)
        self.names: list[str] = []
        self._handlers: dict[str, Callable[[Line, int], None]] = {
            lines.META: self._meta,
            lines.ITEM: self._item,
            lines.EVENT: self._event,
            lines.CONTEXT: self._context,
            lines.COMPACTED: self._compacted,
            lines.USAGE: self._usage,
            lines.STATE: self._state,
        }
        self._events: dict[str, Callable[[Line, int], None]] = {
            "task_started": self._started,
            "turn_started": self._started,
            "task_complete": self._completed,
            "turn_complete": self._completed,
            "turn_aborted": self._aborted,
            "token_count": self._counted,
            "thread_rolled_back": self._rolled_back,
            "item_completed": self._shown,
            "user_message": self._prompted,
            "agent_message": self._said,
            "thread_name_updated": self._named,
            "thread_settings_applied": self._applied,
        }

    @property
    def state(self) -> State:
        """Where the reading stands."""
        return self.calling.state

    @state.setter
    def state(self, state: State) -> None:
        self.calling.state = state

    def feed(self, line: Line, number: int, *, copied: bool = False) -> None:
        """Read a line.

        Args:
            line: the line.
            number: its record in the account.
            copied: it was copied from another thread, and caused no request.
        """
        self.calling.copied = copied
        if line.kind == lines.BROKEN:
            self._lost(number)
            return
        if not line.time and line.kind != lines.STATE:
            self.accounts.find("time-missing", line.place)
        self.state.pass_by(line.kind)
        handler = self._handlers.get(line.kind)
        if handler is not None:
            handler(line, number)
        elif line.kind == lines.WORLD:
            self.accounts.left_out(number, "world-state")
        elif line.kind == lines.AGENTS:
            self.accounts.left_out(number, "display-copy")
        else:
            self._keep(line, number, "unknown-record")
        if copied:
            # Nobody waits for an answer to what was copied.
            self.state.asked = ""
            self.accounts.left_out(number, "fork-copy")
        if number < 0:
            # What another file of the source holds is told, and kept, with that file.
            return
        if line.changed:
            self.accounts.find("value-not-kept", line.place)
        is_again = line.kind == lines.CONTEXT and self.settings.repeated
        for one, is_held in unknown_in(line, copied=copied):
            if is_held and is_again:
                self.unknown.again(one)
                continue
            kept = is_held or self.accounts.code_of(number) == "display-only"
            self.unknown.found(one, line.place, -1 if kept else number)

    def _lost(self, number: int) -> None:
        """Pass over what cannot be read."""
        if self.calling.copied:
            self.state.counter.lose()
        self.accounts.left_out(number, "unreadable-record")

    def end(self, *, final: bool) -> None:
        """Say that a file ends here.

        Args:
            final: whether the thread ends with it. What is on its way there may still go on,
                and is not written as if it had ended.
        """
        self.calling.copied = False
        if final:
            self.calling.leave()
        else:
            self.calling.settle(Ending("interrupted"), certain=False)

    def _written_by(self, line: Line) -> None:
        """Notice that a newer release than the one that made the thread goes on with it."""
        found, state = "" if self.calling.copied else at_least(line), self.state
        if found and version_of(state.release) < version_of(found):
            before, state.release = state.release, found
            rolling.read_again(self, before, found)

    # What belongs to the whole thread.

    def _meta(self, line: Line, number: int) -> None:
        state, payload = self.state, line.payload
        if version_of(string(payload.get("cli_version"))) < CUT_WHEN_STORED:
            state.whole = True
        if self.calling.copied:
            return
        self.calling.flush()
        state.release = string(payload.get("cli_version")) or state.release
        state.provider = string(payload.get("model_provider")) or state.provider
        plain.headed(state, line)
        self.accounts.entry(number, *self.settings.meta(state, line))

    def _named(self, line: Line, number: int) -> None:
        name = string(line.payload.get("thread_name")) or string(line.payload.get("name"))
        if name and not self.calling.copied:
            self.names.append(name)
        self.accounts.left_out(number, "display-copy")

    def _applied(self, line: Line, number: int) -> None:
        self._written_by(line)
        applied = mapping(line.payload.get("thread_settings"))
        provider = string(applied.get("model_provider_id"))
        self.state.provider = provider or self.state.provider
        self.accounts.left_out(number, "setting-unchanged")

    def _context(self, line: Line, number: int) -> None:
        self._written_by(line)
        resumed(self, at_least(line))
        state = self.state
        if not self.calling.copied:
            self.calling.marked_by(line)
        entry_id, is_new = self.settings.context(state, line)
        if is_new:
            self.accounts.entry(number, entry_id)
        elif entry_id:
            self.accounts.folded(number, entry_id)
        else:
            self.accounts.left_out(number, "setting-unchanged")

    def _state(self, line: Line, number: int) -> None:
        state = self.state
        plain.marked(state, line)
        state.states += 1
        if state.states == 2 and not self.calling.copied and state.asked:
            state.marking = True
            self.calling.open(line.time, marked=True)
        self.accounts.left_out(number, "state-marker")

    # Items.

    def _item(self, line: Line, number: int) -> None:
        self._written_by(line)
        item = line.payload
        item_type = string(item.get("type"))
        if item_type == GHOST:
            self.accounts.left_out(number, "undo-snapshot")
            return
        if not is_sent(item_type):
            self._keep(line, number, "unknown-item")
            return
        metadata = line.metadata
        unit = unit_of(
            item, line.text, sequence_number=lines.integer(metadata.get("history_sequence"))
        )
        if not self.state.release:
            plain.begun(self, unit, line.time)
        native = b""
        if line.metadata_text:
            native = b'{"metadata":' + line.metadata_text + b"}"
        self.state.steps.append(unit)
        self.take(unit, number, line.time, native=native, metadata=metadata)
        retold(self, unit)

    def take(
        self,
        unit: Unit,
        number: int,
        time: str,
        *,
        native: bytes = b"",
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Take an item into the history, and into the call it belongs to."""
        metadata = metadata or {}
        shown = self.state.shown.pop(unit.call_id, Shown()) if unit.is_result else Shown()
        element = Element(
            unit,
            number,
            is_output(unit.type, unit.role) and metadata.get("client_authored") is not True,
            time,
            native,
            (shown.number,) if shown.number >= 0 else (),
            shown.told,
            shown.began,
        )
        if element.output:
            sampled = lines.integer(metadata.get("sampled_through_sequence"))
            if self.calling.copied:
                self.state.seen = self.state.seen if sampled is None else sampled
                self.calling.keep(element)
            else:
                self.calling.output(element, sampled)
        elif unit.is_result:
            self._result(element)
        else:
            self._input(element)

    def _result(self, element: Element) -> None:
        state, unit = self.state, element.unit
        known = {u.call_id or u.native_id for u in state.waiting.values()}
        if unit.call_id not in known and not self._replaces(unit):
            data = text.parse(unit.text)
            entry_id = self.writer.note({"output": data}, unit.native_id, "orphan", element.time)
            self.accounts.entry(element.number, entry_id, code="orphan-output")
            self.accounts.find("orphan-output")
            return
        if state.asked != ASKED_BY_USER:
            state.asked = ASKED_BY_TOOL
        self.calling.beside(element)

    def _replaces(self, unit: Unit) -> bool:
        """Take away the output that was made up for a call whose own comes late."""
        state = self.state
        for at in range(len(state.history) - 1, -1, -1):
            earlier = state.history[at]
            if earlier.call_id != unit.call_id:
                continue
            if earlier.made and earlier.is_result:
                self.calling.flush()
                del state.history[at]
                state.same = False
                return True
            if not earlier.is_result and not earlier.is_call:
                return True
        return False

    def _input(self, element: Element) -> None:
        state, unit = self.state, element.unit
        if unit.is_interrupt:
            self.calling.settle(_INTERRUPTED, certain=False)
        elif unit.turn:
            if state.active or not state.bordered:
                if state.asked == ASKED_BY_TOOL or state.steered:
                    # Put into a turn that goes on: the request that the outputs ask for has it.
                    state.steered += 1
                elif (
                    state.asked == ASKED_BY_USER
                    and state.call is None
                    and not _came_together(state.asked_at, element.time, turns=state.bordered)
                ):
                    self.calling.settle(Ending(), certain=True)
                self.calling.flush()
                if not state.bordered:
                    self.abandon(element.time)
                state.asked, state.asked_at = ASKED_BY_USER, element.time
            else:
                self.calling.flush()
        elif state.call is not None and state.call.has_output and state.call.counts is None:
            # Between outputs whose call is counted later.
            self.calling.beside(element)
            return
        else:
            self.calling.flush()
        self.calling.keep(element)

    def abandon(self, time: str) -> None:
        """Answer the calls that nothing will answer any more. Spec: decision D8."""
        state = self.state
        if not state.waiting or self.calling.copied:
            return
        for call in list(state.waiting.values()):
            place = state.history.index(call) + 1
            made = aborted(call)
            if place == len(state.history) and state.same:
                self.calling.keep(Element(made, _NO_NUMBER, output=False, time=time))
            else:
                state.history.insert(place, made)
                state.same = False
            self.accounts.find("aborted-output", call.call_id)
        state.waiting.clear()

    # Turns.

    def _started(self, line: Line, number: int) -> None:
        state = self.state
        rolling.begun(state)
        if self.calling.copied:
            return
        self.calling.settle(Ending(), certain=False)
        state.bordered = state.active = True
        state.asked, state.turn_calls = "", 0
        state.turn = string(line.payload.get("turn_id"))
        self.abandon(line.time)
        if not state.turn:
            self.accounts.left_out(number, "display-copy")
            return
        entry = RunEntry.start(state.turn)
        state.run = self.writer.add(entry, state.turn, "start", line.time)
        self.writer.segment = Segment(state.turn)
        self.accounts.entry(number, state.run)

    def _completed(self, line: Line, number: int) -> None:
        error = line.payload.get("error")
        ending = Ending()
        if isinstance(error, dict):
            ending = Ending("error", error_of(error))
        elif isinstance(error, str):
            ending = Ending("error", {"code": "error", "message": error})
        self._stop(line, number, ending, ending.reason or COMPLETE)

    def _aborted(self, line: Line, number: int) -> None:
        why = string(line.payload.get("reason"))
        self._stop(line, number, Ending(why or "interrupted"), why or "aborted", cut=True)

    def _stop(
        self, line: Line, number: int, ending: Ending, word: str, *, cut: bool = False
    ) -> None:
        state = self.state
        if self.calling.copied:
            return
        self.calling.settle(ending, certain=not cut)
        state.asked, state.active = "", False
        turn = string(line.payload.get("turn_id"))
        if not turn:
            self.accounts.left_out(number, "display-copy")
            return
        entry = ended(self.writer, state.run, turn, word)
        state.run, self.writer.segment = "", None
        self.accounts.entry(number, self.writer.add(entry, turn, "end", line.time))

    # Branches and compactions.

    def _rolled_back(self, line: Line, number: int) -> None:
        rolling.back(self, line, number)

    def go_back(self, kept: list[Unit]) -> None:
        """Take it that the history ends with what is kept of it; the rest is a branch."""
        state = self.state
        rewound = state.same and self.writer.rewind(kept)
        state.history = kept
        state.same = rewound
        state.recount()

    def _compacted(self, line: Line, number: int) -> None:
        compacted(self, line, number)

    # Counting.

    def _usage(self, line: Line, number: int) -> None:
        self.calling.recorded(line, number)

    def _counted(self, line: Line, number: int) -> None:
        self.calling.counted(line, number)

    # Display.

    def _event(self, line: Line, number: int) -> None:
        handler = self._events.get(line.name)
        if handler is not None:
            handler(line, number)
        elif line.name in DISPLAY:
            self._display(line, number)
        else:
            self._keep(line, number, "unknown-event")

    def _display(self, line: Line, number: int) -> None:
        if self.showing is None or not self.showing.event(line, number):
            self.accounts.left_out(number, "display-copy")

    def _said(self, line: Line, number: int) -> None:
        if line.payload.get("message") == _COMPACTED_NOTICE and not self.state.marking:
            self.calling.flush()
            if version_of(self.state.release) < (0, 45) and not self.calling.copied:
                data = {"notice": _COMPACTED_NOTICE}
                entry_id = self.writer.note(data, "", "compaction", line.time)
                self.state.lost = True
                self.accounts.entry(number, entry_id, code="compaction-not-stored")
                self.accounts.find("compaction-not-stored", line.place)
                return
        self._display(line, number)

    def _prompted(self, line: Line, number: int) -> None:
        # Only a message that begins a turn is shown here before there were turns with ids.
        self.state.steered = 0
        self._display(line, number)

    def _shown(self, line: Line, number: int) -> None:
        item = mapping(line.payload.get("item"))
        if self.showing is not None:
            self.showing.item(line, number)
            return
        if self.calling.shows(item, number, line.payload.get("started_at_ms")):
            return
        if string(item.get("type")) in DISPLAY:
            self.accounts.left_out(number, "display-copy")
        else:
            self._keep(line, number, "unknown-item")

    def _keep(self, line: Line, number: int, code: str) -> None:
        self.unknown.size += line.size
        item = mapping(line.payload.get("item"))
        name = string(item.get("type")) or line.name
        if not name:
            name = "of no type" if line.kind == lines.UNKNOWN else f"{line.kind} of no type"
        self.unknown.name(code, name, line.place)
        if self.calling.copied:
            if number >= 0:
                self.unknown.keep(Strange(line.name, "payload", line.payload), line.place, number)
            return
        self.calling.flush()
        entry_id = self.writer.note({"line": line.payload}, "", "unknown", line.time)
        self.accounts.entry(number, entry_id, code=code)


def _came_together(first: str, second: str, *, turns: bool) -> bool:
    """Whether two messages of a turn were taken up at once, and so no request went between."""
    before, after = lines.moment(first), lines.moment(second)
    if not turns or before is None or after is None:
        return False
    return 0 <= after.nanoseconds - before.nanoseconds <= PAUSE
