"""Calling: which items are the answer to which request, and the entries of both.

Spec: codex 8, decisions D4 and D8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from agentsession.importers.codex.answering import Answering
from agentsession.importers.codex.calls import Call, Element, Ending
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.releases import version_of
from agentsession.importers.codex.state import ASKED_BY_USER
from agentsession.importers.codex.units import Unit, normalised
from agentsession.importers.codex.usage import Counts, counts_of, is_odd, usage_of
from agentsession.importers.numbers import ODD

# Only in turn contexts that are written once for a turn, before it is known what it asks.
_PER_TURN: Final = frozenset(
    {"permission_profile", "current_date", "timezone", "root_turn_id", "approvals_reviewer"}
)

# Releases before sent a request again as it was, without what had come of the answer.
_RESENT_LONGER: Final = (0, 121)

_NO_COUNTER: Final[Mapping[str, Any]] = MappingProxyType({})


class Calling(Answering):
    """Finds the model calls of a thread. See :class:`Answering`."""

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
            goes_on = call is not None and call.sampled in {None, sampled} and call.counts is None
            if not goes_on:
                self.open(element.time, sampled=sampled, side=sampled <= state.done)
        elif self._tells_of_review():
            # It stands in the history, and no request of this thread was for it.
            self.keep(element)
            return
        elif state.bordered and not state.active:
            # No call can have made what comes between turns. Spec: codex 8, rule 6.
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

    def _tells_of_review(self) -> bool:
        """Whether an item that comes now is what a review told the thread it was asked in."""
        state = self.state
        return state.call is None and bool(state.history) and state.history[-1].is_action

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
        steered, state.steered = state.steered, 0
        name = f"{state.turn}.{state.turn_calls}" if state.turn else f"call-{state.calls}"
        call = Call(name, marked=marked, sampled=sampled, side=side, time=time)
        call.steered = 0 if side else steered
        call.response_id, state.answered = state.answered, ""
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
            if counted.unclear:
                state.counter.lose()
            return
        if counted.hidden is not None:
            self._hidden(counted.hidden, counted.total_hidden, line, number)
        if counted.last is None:
            if counted.hidden is not None:
                return
            if call is not None and call.has_output and call.counts is None:
                self._broke_off(call)
            code = "unreadable-counts" if counted.unclear else "usage-repeated"
            self.accounts.left_out(number, code)
            return
        self.native.add(counted.last)
        raw = mapping(mapping(info).get("last_token_usage"))
        counter = {"at": line.time, "total": counted.total}
        if call is not None and call.counts is None and (call.marked or call.has_output):
            self._count(call, counted.last, raw, number, counter)
        elif call is None and state.owed:
            self._doubt(raw, state.owed)
            data = {"usage_of": state.owed, "usage": usage_of(counted.last)}
            data |= {"counted": raw, "counter": counter}
            state.owed = ""
            self.converted.add(counted.last)
            self.accounts.folded(number, self.writer.note(data, "", "usage", line.time))
        else:
            self._count(self.open(line.time, marked=True), counted.last, raw, number, counter)

    def _broke_off(self, call: Call) -> None:
        """Take it that an answer broke off, and that another one begins. Spec: codex 8."""
        if call.has_results or call.marked:
            # Where marks say when a request was sent they say so of the next one too.
            return
        if version_of(self.state.release) < _RESENT_LONGER:
            call.attempts += 1
        else:
            call.border = True

    def _count(
        self,
        call: Call,
        counts: Counts,
        raw: Mapping[str, Any],
        number: int,
        counter: Mapping[str, Any] = _NO_COUNTER,
    ) -> None:
        self._doubt(raw, call.response_id or call.name)
        call.counts, call.raw, call.counter = counts, raw, counter
        call.numbers.append(number)

    def _doubt(self, raw: Mapping[str, Any], where: str) -> None:
        """Say of counts that are no numbers of tokens that they are none."""
        if is_odd(raw):
            self.accounts.find(ODD, where)

    def _hidden(self, counts: Counts, total: int, line: Line, number: int) -> None:
        """Note what calls used that left nothing else, and what the counters stood at then."""
        self.native.add(counts)
        self.converted.add(counts)
        self.accounts.find("hidden-call", line.place)
        data = {"hidden_call": {"usage": usage_of(counts), "total": total}}
        self.accounts.folded(number, self.writer.note(data, "", "hidden", line.time))

    def settle(self, ending: Ending, *, certain: bool) -> None:
        """Say that nothing more of a turn comes. Spec: codex 8, rule 3.

        Args:
            ending: how it ended.
            certain: whether a request that nothing answered was surely sent.
        """
        state, call = self.state, self.state.call
        if call is not None and not certain and call.marked and self._is_unheard(call):
            # Interrupted where a tool had just returned: the mark stands, nothing was sent.
            call.certain = False
        self.flush(ending)
        if state.asked == ASKED_BY_USER and not state.marking and not self.copied:
            self.open("").certain = certain
            self.flush(ending)
        state.asked = state.owed = ""

    def _is_unheard(self, call: Call) -> bool:
        """Whether nothing came of a call that outputs of tools asked for."""
        last = self.state.history[-1:]
        heard = call.elements or call.counts is not None
        return not heard and bool(last) and last[0].is_result

    def consume(self, summary: str) -> Call | None:
        """Take away the call that made a summary, ``None`` when none is being read.

        Args:
            summary: the compaction's message, which ends in the summary: a model's text that
                it does not end in is the answer before.
        """
        state, call = self.state, self.state.call
        if call is None or call.has_results or not self._made(call, summary):
            self.flush()
            return None
        state.call = None
        for element in call.elements:
            state.history.remove(element.unit)
            state.waiting.pop(element.unit.call_id, None)
        return call

    def _made(self, call: Call, summary: str) -> bool:
        """Whether a call may have made a summary."""
        said = [e.unit for e in call.elements if e.unit.type == "message"]
        if not said:
            return True
        words = self.writer.item(said[-1]).text.strip()
        return bool(summary) and summary.rstrip().endswith(words)

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


_WINDOW: Final = 64
"""How far back an item can stand that a request did not hold: those of one step."""
