"""Calling: which items are the answer to which request, and the entries of both.

Spec: codex 8, decisions D4 and D8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession import text
from agentsession.entries import ResponseEntry
from agentsession.importers.accounts import Accounts
from agentsession.importers.codex import tools
from agentsession.importers.codex.calls import Call, Element, Ending
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.state import ASKED_BY_USER, State
from agentsession.importers.codex.units import Unit, normalised
from agentsession.importers.codex.usage import Counts, Sum, counts_of, usage_of
from agentsession.importers.codex.writer import NAMESPACE, Writer

_ENDED: Final = Ending()
# Only in turn contexts that are written once for a turn, before it is known what it asks.
_PER_TURN: Final = frozenset(
    {"permission_profile", "current_date", "timezone", "root_turn_id", "approvals_reviewer"}
)
_SHOWN: Final = frozenset({"CommandExecution", "FileChange", "McpToolCall", "CollabAgentToolCall"})


class Calling:
    """Finds the model calls of a thread, and writes them.

    Args:
        writer: the session.
        accounts: the account of its records.

    Attributes:
        state: where the reading stands.
        copied: whether what is read was copied from another thread.
        native, converted: what calls used, as recorded and as written.
        in_flight: what was on its way when the files ended.
        in_flight_usage: what it used, where that is known already.
    """

    def __init__(self, writer: Writer, accounts: Accounts) -> None:
        self.writer = writer
        self.accounts = accounts
        self.state = State()
        self.copied = False
        self.native = Sum()
        self.converted = Sum()
        self.in_flight: list[Element] = []
        self.in_flight_usage: Counts | None = None
        self._homes: dict[str, str] = {}
        self._linked: set[str] = set()

    # Items.

    def keep(self, element: Element, response: str = "") -> str:
        """Put an item into the history and write it; return its entry's id."""
        self._remember(element.unit)
        return self._write(element, response)

    def beside(self, element: Element) -> None:
        """Put what is no model's item behind the items of the call that is being read."""
        if self.state.call is None:
            self.keep(element)
        else:
            self._remember(element.unit)
            self.state.call.elements.append(element)

    def output(self, element: Element, sampled: int | None) -> None:
        """Put a model's item into the call it belongs to. Spec: codex 8, rules 2 and 5."""
        state = self.state
        call = state.call
        if sampled is not None:
            goes_on = (
                call is not None
                and call.sampled in {None, sampled}
                and (call.counts is None or not call.has_output)
            )
            if not goes_on:
                self.open(element.time, sampled=sampled, side=sampled <= state.done)
        elif self._is_nobodys():
            if call is None or not call.side:
                self.open(element.time, side=True)
        elif call is None or (not call.marked and (call.has_results or call.border or call.side)):
            self.open(element.time)
        call = state.call
        assert call is not None
        if sampled is not None:
            call.sampled = sampled
        self._remember(element.unit)
        call.elements.append(element)
        call.time = element.time or call.time

    def _is_nobodys(self) -> bool:
        """Whether no call can have made an item that comes now. Spec: codex 8, rule 6."""
        state = self.state
        if state.bordered and not state.active:
            return True
        return state.call is None and bool(state.history) and state.history[-1].is_action

    def _remember(self, unit: Unit) -> None:
        self.state.history.append(unit)
        if unit.is_call:
            self.state.waiting[unit.call_id] = unit
        elif unit.is_result:
            self.state.waiting.pop(unit.call_id, None)

    # Calls.

    def open(
        self, time: str, *, marked: bool = False, sampled: int | None = None, side: bool = False
    ) -> Call:
        """Begin a call: its request holds the history as it stands now."""
        self.flush()
        state = self.state
        if not side:
            self._send(sampled, time)
            state.calls += 1
            state.turn_calls += 1
            state.asked = state.owed = ""
        name = f"{state.turn}.{state.turn_calls}" if state.turn else f"call-{state.calls}"
        call = Call(name, marked=marked, sampled=sampled, side=side, time=time)
        state.call = call
        return call

    def marked_by(self, line: Line) -> None:
        """Begin a call where a turn context marks one. Spec: codex 3 and 8."""
        state, call = self.state, self.state.call
        if not _PER_TURN.isdisjoint(line.payload):
            state.marking = False
            return
        if call is not None and call.marked and call.counts is None:
            silent = not call.elements
            broken = call.has_output and (not call.has_results or state.counter.known)
            if silent or broken:
                call.attempts += 1
                state.asked = ""
                self.accounts.find("retried-call", line.place)
                return
        if state.asked:
            state.marking = True
            self.open(line.time, marked=True)

    def recorded(self, line: Line, number: int) -> None:
        """Take the record of a whole response. Spec: codex 7."""
        state, payload = self.state, line.payload
        state.counter.record()
        if self.copied:
            state.done = max(state.done, state.seen)
            return
        counts = counts_of(payload.get("usage"))
        self.native.add(counts)
        call = state.call
        if call is None or call.counts is not None or not (call.has_output or call.marked):
            call = self.open(line.time)
        call.response_id = string(payload.get("response_id"))
        self._count(call, counts, mapping(payload.get("usage")), number)
        state.done = max(state.done, -1 if call.sampled is None else call.sampled)

    def counted(self, line: Line, number: int) -> None:
        """Take a line of the counters. Spec: codex 7."""
        state, call = self.state, self.state.call
        info = line.payload.get("info")
        counted = state.counter.feed(info)
        if self.copied:
            return
        if counted.hidden is not None:
            self._hidden(counted.hidden, line, number)
        if counted.last is None:
            if call is not None and call.has_output and call.counts is None:
                call.border = not call.has_results
            self.accounts.left_out(number, "usage-repeated")
            return
        self.native.add(counted.last)
        raw = mapping(mapping(info).get("last_token_usage"))
        if call is not None and call.counts is None and (call.marked or call.has_output):
            self._count(call, counted.last, raw, number)
        elif call is None and state.owed:
            data = {"usage_of": state.owed, "usage": usage_of(counted.last), "counted": raw}
            state.owed = ""
            self.converted.add(counted.last)
            self.accounts.folded(number, self.writer.note(data, "", "usage", line.time))
        else:
            self._count(self.open(line.time, marked=True), counted.last, raw, number)

    @staticmethod
    def _count(call: Call, counts: Counts, raw: Mapping[str, Any], number: int) -> None:
        call.counts, call.raw = counts, raw
        call.numbers.append(number)

    def _hidden(self, counts: Counts, line: Line, number: int) -> None:
        """Note what a call used that left nothing else."""
        self.flush()
        self.native.add(counts)
        self.converted.add(counts)
        self.accounts.find("hidden-call", line.place)
        data = {"hidden_call": {"usage": usage_of(counts)}}
        self.accounts.folded(number, self.writer.note(data, "", "hidden", line.time))

    def settle(self, ending: Ending, *, certain: bool) -> None:
        """Say that nothing more of a turn comes. Spec: codex 8, rule 3.

        Args:
            ending: how it ended.
            certain: whether a request that nothing answered was surely sent.
        """
        state = self.state
        self.flush(ending)
        if state.asked == ASKED_BY_USER and not state.marking and not self.copied:
            self.open("").certain = certain
            self.flush(ending)
        state.asked = state.owed = ""

    def leave(self) -> None:
        """Leave what is on its way where the files end: it may go on when they have grown.

        What can be written now as it will be written then is written; of the rest the items
        are kept for :attr:`in_flight`.
        """
        state, call = self.state, self.state.call
        if call is None:
            return
        counting = state.counter.known or (bool(state.release) and not state.counter.silent)
        whole = call.counts is not None or (call.has_output and not counting)
        if whole != call.side:
            self.flush()
            return
        state.call = None
        elements = call.elements
        if call.side and call.counts is not None:
            self.in_flight_usage = call.counts
        if call.sampled is None and not call.side:
            while elements and elements[0].output:
                self._write(elements.pop(0), call.name)
        self.in_flight = elements

    def consume(self) -> Call | None:
        """Take away the call that made a summary, ``None`` when none is being read."""
        state, call = self.state, self.state.call
        if call is None or call.has_results:
            self.flush()
            return None
        state.call = None
        for element in call.elements:
            state.history.remove(element.unit)
            state.waiting.pop(element.unit.call_id, None)
        return call

    # Sending.

    def _send(self, sampled: int | None, time: str) -> None:
        """Make the context at the tip what a request sent now holds."""
        state = self.state
        later = [
            unit
            for unit in state.history[-_WINDOW:]
            if sampled is not None and unit.sequence is not None and unit.sequence > sampled
        ]
        if state.same and not state.waiting and not later:
            return
        before = {id(unit) for unit in state.history}
        state.history = normalised(state.history)
        for unit in state.history:
            if id(unit) not in before:
                self.accounts.find("aborted-output", unit.call_id)
        state.waiting.clear()
        gone = {id(unit) for unit in later}
        sent = [unit for unit in state.history if id(unit) not in gone]
        self._become(sent, time)
        state.same = not later

    def _become(self, sent: list[Unit], time: str) -> None:
        writer = self.writer
        if writer.holds(sent):
            for unit in sent[len(writer.path) :]:
                # An item that left the context and came back has its text in its entry.
                unit.text = unit.text or writer.item(unit).json_text
                writer.put(unit, time)
        elif sent:
            self.accounts.find("history-folded")
            writer.fold(sent, "", time)
        else:
            writer.empty()

    # Writing.

    def flush(self, ending: Ending = _ENDED) -> None:
        """Write the call that is being read, if there is one."""
        call, self.state.call = self.state.call, None
        if call is None:
            return
        if call.side:
            self._write_side(call)
            return
        name = call.response_id or call.name
        elements = call.elements
        first = 0
        while first < len(elements) and elements[first].output:
            self._write(elements[first], name)
            first += 1
        self._respond(call, name, ending)
        for element in elements[first:]:
            if element.output:
                self.accounts.find("interleaved-response", name)
            self._write(element, name if element.output else "")

    def _write_side(self, call: Call) -> None:
        """Write what no request answered; a summary that came to nothing is set aside."""
        if call.counts is None:
            for element in call.elements:
                self._write(element, "")
            return
        items = [text.parse(element.unit.text) for element in call.elements]
        for element in call.elements:
            self.state.history.remove(element.unit)
            self.state.waiting.pop(element.unit.call_id, None)
        data = {"summary": items, "usage": usage_of(call.counts), "counted": call.raw}
        self.converted.add(call.counts)
        entry_id = self.writer.note(data, call.response_id, "summary", call.time)
        for number in [*(element.number for element in call.elements), *call.numbers]:
            self.folded(number, entry_id)

    def folded(self, number: int, entry_id: str) -> None:
        """Say that a record, if it is one, is part of an entry."""
        if number >= 0:
            self.accounts.folded(number, entry_id)

    def _respond(self, call: Call, name: str, ending: Ending) -> None:
        state = self.state
        status, incomplete, error = ending.outcome(call, counting=state.counter.known)
        native: dict[str, Any] = {"release": state.release}
        if state.turn:
            native["turn_id"] = state.turn
        if call.attempts > 1:
            native["attempts"] = call.attempts
        if not call.certain:
            native["uncertain"] = True
        if state.lost:
            native["history"] = "not stored"
        if call.raw:
            native["counted"] = dict(call.raw)
        unknown: dict[str, Any] = {NAMESPACE: native}
        if state.provider:
            unknown["provider"] = state.provider
        entry = ResponseEntry(
            name,
            model=state.model,
            status=status,
            usage=None if call.counts is None else usage_of(call.counts),
            incomplete=incomplete,
            error=error,
            unknown=unknown,
        )
        if call.counts is not None:
            self.converted.add(call.counts)
        entry_id = self.writer.add(entry, name, "response", call.time)
        for number in call.numbers:
            self.folded(number, entry_id)
        self._tell(call, name, status)

    def _tell(self, call: Call, name: str, status: str) -> None:
        state = self.state
        if not call.has_output and not state.release:
            # The first generation kept the partial text in the history, and not in the file.
            state.lost = True
            self.accounts.find("partial-answer-not-kept", name)
        if not call.has_output and call.counts is None:
            self.accounts.find("call-without-answer" if call.certain else "call-uncertain", name)
        elif status != "completed":
            self.accounts.find("call-unfinished", name)
        if call.has_output and call.counts is None and not call.marked:
            state.owed = name

    def _write(self, element: Element, response: str) -> str:
        """Write an item, and before an output what is known of its tool."""
        unit, writer = element.unit, self.writer
        item = writer.item(unit)
        if unit.is_result and not unit.made and not self.copied:
            before = tools.told(item, element.shown, self._homes.get(unit.call_id, ""))
            for entry, role, time in before:
                if entry.type == "link":
                    session = string(text.parse(entry.text_of("session") or b'""'))
                    if session in self._linked:
                        continue
                    self._linked.add(session)
                writer.add(entry, unit.call_id, role, time or element.time)
        origin = None
        if unit.type == "reasoning" and self.state.model:
            origin = {"provider": self.state.provider, "model": self.state.model}
        native = element.native
        if element.shown:
            native = _with_shown(native, element.shown)
        entry_id = writer.put(unit, element.time, response=response, origin=origin, native=native)
        if unit.is_call:
            self._homes[unit.call_id] = entry_id
        if element.number >= 0:
            code = "fork-copy" if self.copied else ""
            self.accounts.entry(element.number, entry_id, code=code)
        for number in element.beside:
            self.folded(number, entry_id)
        return entry_id

    def shows(self, item: Mapping[str, Any], number: int) -> bool:
        """Take what a display item tells of a call; return whether its output is to come."""
        name = string(item.get("id"))
        if string(item.get("type")) not in _SHOWN or name not in self.state.waiting:
            return False
        self.state.shown[name] = (number, tools.shown(item))
        return True


_WINDOW: Final = 64
"""How far back an item can stand that a request did not hold: those of one step."""


def _with_shown(native: bytes, shown: Mapping[str, Any]) -> bytes:
    encoded = b'"shown":' + text.encode(shown)
    return native[:-1] + b"," + encoded + b"}" if native else b"{" + encoded + b"}"
