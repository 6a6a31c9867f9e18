"""Answering: a model call's items and its response as entries.

Spec: codex 8, decisions D4 and D8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession import text
from agentsession.calls import CALL_TYPE, call_part
from agentsession.entries import ResponseEntry
from agentsession.importers.accounts import Accounts
from agentsession.importers.codex import lines, tools
from agentsession.importers.codex.calls import Call, Element, Ending, Shown
from agentsession.importers.codex.lines import string
from agentsession.importers.codex.releases import CUT_WHEN_STORED, version_of
from agentsession.importers.codex.state import State
from agentsession.importers.codex.units import Unit
from agentsession.importers.codex.usage import Counts, Sum, usage_of
from agentsession.importers.codex.writer import NAMESPACE, Writer
from agentsession.importers.telling import given
from agentsession.items import Item
from agentsession.record_entries import DecisionEntry, DispatchEntry, LinkEntry

_ENDED: Final = Ending()
_SHOWN: Final = frozenset({"CommandExecution", "FileChange", "McpToolCall", "CollabAgentToolCall"})


class Answering:
    """Writes the model calls of a thread, and the items beside them.

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

    def _remember(self, unit: Unit) -> None:
        self.state.history.append(unit)
        if unit.is_call:
            self.state.waiting[unit.call_id] = unit
        elif unit.is_result:
            self.state.waiting.pop(unit.call_id, None)

    # Calls.

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
        if call.side and call.sampled is None and call.counts is None:
            whole = True
        elif call.side:
            whole = False
        if whole:
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
        data = {"summary": items, "usage": usage_of(call.counts), **call.counted}
        if call.response_id:
            data["response_id"] = call.response_id
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
        if not state.release:
            native |= {} if state.streamed else {"streamed": False}
            native |= {"resumed": state.resumed} if state.resumed else {}
        if state.turn:
            native["turn_id"] = state.turn
        if call.attempts > 1:
            native["attempts"] = call.attempts
        if not call.certain:
            native["uncertain"] = True
        if state.lost:
            native["history"] = "not stored"
        if call.steered and not state.chained and not state.bordered:
            native["steered"] = call.steered
        if state.policy:
            native["truncation_policy"] = dict(state.policy)
        if state.whole and version_of(state.release) >= CUT_WHEN_STORED:
            native["whole_outputs"] = True
        native |= call.counted
        used = None if call.counts is None else usage_of(call.counts)
        members = {
            "response_id": name,
            **given(model=state.model),
            "status": status,
            **given(usage=used, incomplete=incomplete, error=error),
            NAMESPACE: native,
            **given(provider=state.provider),
        }
        if call.counts is not None:
            self.converted.add(call.counts)
        entry_id = self.writer.tell(ResponseEntry, members, name, "response", call.time)
        if self.writer.segment is not None:
            self.writer.segment.responded(name, whole=incomplete is None and error is None)
        for number in call.numbers:
            self.folded(number, entry_id)
        self._tell(call, name, status)

    def _tell(self, call: Call, name: str, status: str) -> None:
        state = self.state
        if not call.has_output and not state.release and state.streamed and not state.chat:
            # The first generation kept the partial text in the history, and not in the file;
            # on the chat wire it kept none.
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
        if unit.is_result and not unit.made and not self.copied:
            self._tell_of_tool(element)
        origin = None
        if unit.type == "reasoning" and self.state.model:
            origin = {"provider": self.state.provider, "model": self.state.model}
        native = element.native
        if element.shown:
            native = _with_shown(native, element.shown)
        is_call = unit.type == CALL_TYPE and bool(call_part(Item(writer.value(unit))))
        entry_id = writer.put(unit, element.time, response=response, origin=origin, native=native)
        if is_call:
            # Decisions and dispatches are about function calls alone. Spec: format 8.3.
            self._homes[unit.call_id] = entry_id
        if element.number >= 0:
            code = "fork-copy" if self.copied else ""
            self.accounts.entry(element.number, entry_id, code=code)
        for number in element.beside:
            self.folded(number, entry_id)
        return entry_id

    def _tell_of_tool(self, element: Element) -> None:
        """Write what is known of a call before its output: a child, a decision or a dispatch."""
        unit, writer, time = element.unit, self.writer, element.time
        call, output = unit.call_id, writer.value(unit).get("output")
        child = tools.child_of(output) or string(element.shown.get("child"))
        if child and child not in self._linked:
            self._linked.add(child)
            writer.add(LinkEntry.subsession(child, call), call, "link", time)
        home = self._homes.get(call, "")
        if not home or not call or writer.settled.knows(call, writer.node):
            return
        if tools.is_rejected(output):
            entry = DecisionEntry(call, home, "reject", "human", reason=tools.REJECTED)
            writer.add(entry, call, "decision", time)
            return
        began = element.began or tools.began(output, time)
        if element.shown or began:
            members = {"call_id": call, "target": home}
            writer.tell(DispatchEntry, members, call, "dispatch", time, began=began)

    def shows(self, item: Mapping[str, Any], number: int, began: object) -> bool:
        """Take what a display item tells of a call; return whether its output is to come.

        Args:
            item: the item.
            number: its record in the account.
            began: when it began, in milliseconds.
        """
        name = string(item.get("id"))
        if string(item.get("type")) not in _SHOWN or name not in self.state.waiting:
            return False
        when = lines.time_of(tools.millis(began))
        self.state.shown[name] = Shown(number, tools.shown(item), when)
        return True


def _with_shown(native: bytes, shown: Mapping[str, Any]) -> bytes:
    encoded = b'"shown":' + text.encode(shown)
    return native[:-1] + b"," + encoded + b"}" if native else b"{" + encoded + b"}"
