"""Steps: an assistant's V1 message as items, a response, dispatches and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.clock import EARLIEST, LATEST, is_plausible
from agentsession.importers.opencode.convert.draft import (
    DISPATCH,
    NAMESPACE,
    RESPONSE,
    Pending,
    origin_of,
)
from agentsession.importers.opencode.convert.frame import MESSAGE_IDS, Frame
from agentsession.importers.opencode.convert.lowering import Lowered
from agentsession.importers.opencode.convert.ordinary import Ordinary
from agentsession.importers.opencode.convert.outcomes import status_of
from agentsession.importers.opencode.convert.rules import Rules, release_of
from agentsession.importers.opencode.convert.units import Unit, without
from agentsession.importers.opencode.convert.usage import Counts, usage_from
from agentsession.importers.opencode.records import Revert
from agentsession.importers.opencode.v1 import Message, child_of
from agentsession.importers.spelling import Spelling, dispatch_spelling, spelled
from agentsession.record_entries import LinkEntry

Leaf = Callable[[int, int], str | None]
"""Writes what a request would hold of the messages before a place, and of the parts before
another in the message there; returns the entry it stands at."""

_IN_RESPONSE: Final = MESSAGE_IDS | {"modelID", "providerID", "system"}


class Steps:
    """Writes assistants' messages.

    Attributes:
        reverted_at: the entry a staged revert goes back to, ``None`` for none.
        reverted: how many messages it hides.
        unsettled: states of calls that have no result yet.
    """

    def __init__(self, frame: Frame, revert: Revert | None, leaf: Leaf) -> None:
        self._frame = frame
        self._revert = revert
        self._leaf = leaf
        self.reverted_at: str | None = None
        self.reverted = 0
        self._awaited: int | None = None
        self.unsettled: list[dict[str, Any]] = []

    def watch(self, place: int) -> None:
        """Note where a staged revert begins, before a message is written."""
        frame = self._frame
        self._awaited = None
        if self._revert is None or frame.draft.tip is None:
            return
        if self.reverted:
            self.reverted += 1
        elif frame.records[place].id == self._revert.message_id:
            self.reverted = 1
            self._begin_revert(place)

    def _begin_revert(self, place: int) -> None:
        frame = self._frame
        record, rules = frame.records[place], frame.timeline.rules(place)
        wanted = self._revert.part_id if self._revert is not None else ""
        part = next((at for at, part in enumerate(record.parts) if part.id == wanted), 0)
        if record.info is not None and record.info.role == names.ROLE_ASSISTANT and part:
            if not frame.lowered(place).dropped and frame.history.question_of(place, rules) is None:
                # It moves on when the part comes.
                self.reverted_at, self._awaited = frame.draft.tip, part
                return
            part = 0
        self.reverted_at = self._leaf(place, part)

    def _pass(self, place: int, part: int | None) -> None:
        """Note that what follows is behind a part, where a staged revert begins at one.

        Args:
            place: the message's place.
            part: the place of the part that is about to be written; ``None`` for the end.
        """
        awaited = self._awaited
        if awaited is not None and (part is None or part >= awaited):
            self._awaited = None
            self.reverted_at = self._leaf(place, awaited)

    def write(self, place: int, lowered: Lowered, *, request: bool, skip: int = 0) -> None:
        """Write a message: its items, the response, and what its calls returned.

        Args:
            place: the message's place.
            lowered: the message.
            request: whether a model call made it.
            skip: how many of its first items stand on the path already.
        """
        frame = self._frame
        entry_id = ""
        # No output may stand before the response: its own request did not hold any. What a
        # message said after its first outputs is therefore behind it. Spec: opencode 6.3.
        last = next((at for at, found in enumerate(lowered.outputs) if found), -1)
        last = last if last >= 0 else len(lowered.steps) - 1
        for step, units in enumerate(lowered.steps):
            calls: list[tuple[Unit, str]] = []
            response = frame.records[place].id if request and step <= last else ""
            there = min(skip, len(units))
            skip -= there
            for unit in units[there:] if there else units:
                target = self._put(place, unit, response)
                if unit.item["type"] == "function_call":
                    calls.append((unit, target))
                    self._note_invalid(place, unit)
            if self._awaited is not None and step == len(lowered.steps) - 1:
                self._pass(place, None)
            if request and step == last:
                entry_id = self._respond(place, lowered)
            self._dispatch(place, calls)
            for unit in lowered.outputs[step]:
                self._put(place, unit, "")
        if not request:
            entry_id = self._beside(place, lowered)
        self._settle(place, lowered, entry_id)

    def _settle(self, place: int, lowered: Lowered, entry_id: str) -> None:
        self._frame.settle(place, lowered.beside, entry_id)
        if lowered.unsettled:
            self.unsettled += lowered.unsettled.values()

    def response_of(
        self, place: int, step: Ordinary, info: Message, rules: Rules
    ) -> tuple[dict[str, Any], Spelling] | None:
        """Return the members of an ordinary step's response and how they are spelled.

        ``None`` when the step has to be written as any other: only the exact way can spell
        them, or a staged revert begins within it.
        """
        if self._awaited is not None:
            return None
        twice = place in self._frame.twice_read
        members = _members(step.name, info, rules, step.counts, step.beside, twice=twice)
        said = spelled(members, plain=True)
        return None if said is None else (members, said)

    def write_ordinary(
        self, place: int, step: Ordinary, members: Mapping[str, Any], responded: Spelling
    ) -> None:
        """Write an ordinary step, its response given by its members and their spelling."""
        frame, info, name = self._frame, self._frame.info(place), step.name
        line, canonical = responded[0][1:], responded[1]
        done = self.done(place, info)
        origin = f'"{name}","response"'
        response: Pending = (RESPONSE, line, canonical, origin, done, members, "")
        *written, entry_id = frame.draft.extend([*step.own, response])
        if step.calls:
            dispatches = step.dispatches(written)
            written += frame.draft.extend([*dispatches, *step.outputs])[len(dispatches) :]
        frame.draft.hold(step.keys, written)
        frame.converted.count(step.counts, info.value.get("cost"))
        frame.settle_step(place, step, written, entry_id)

    def splits(self, place: int, lowered: Lowered) -> bool:
        """Return whether a later request left out some of a message's own items."""
        frame = self._frame
        for later in range(place + 1, len(frame.records)):
            if frame.records[later].info is not None:
                if not lowered.later and not lowered.dropped:
                    return False
                rules = frame.timeline.rules(later)
                sent = {unit.key for unit in lowered.sent(frame.at(place), rules)}
                return any(unit.key not in sent for unit in lowered.own)
        return False

    def write_split(self, place: int, lowered: Lowered, *, request: bool) -> None:
        """Write a message of which later requests held only a part.

        What they held stays on the path; what they did not is a branch, with the response.
        """
        frame = self._frame
        sent = list(lowered.sent(frame.at(place), frame.timeline.rules(place + 1)))
        own = lowered.own
        shared = 0
        while shared < min(len(own), len(sent)) and own[shared].key == sent[shared].key:
            shared += 1
        response = frame.records[place].id if request else ""
        for unit in own[:shared]:
            self._put(place, unit, response)
            self._note_invalid(place, unit)
        with frame.draft.aside():
            self.write(place, lowered, request=request, skip=shared)
        for unit in sent[shared:]:
            returned = unit.item["type"] == "function_call_output"
            self._put(place, unit, "" if returned else response, role="copy")
            self._note_invalid(place, unit)
        frame.accounts.find("interrupted-call-unsent", frame.records[place].id)

    def done(self, place: int, info: Message) -> int:
        """Return when a step was done, or when it was made."""
        completed = values.millis(values.member(info.value.get("time"), "completed"))
        if completed is not None and is_plausible(completed):
            return completed
        return self._frame.at(place)

    def _put(self, place: int, unit: Unit, response: str, role: str = "item") -> str:
        frame, part = self._frame, unit.part
        if part is not None and self._awaited is not None:
            self._pass(place, part)
        at = unit.time
        if at is None or not EARLIEST <= at < LATEST:
            at = frame.at(place)
        entry_id = frame.draft.put(unit, at, response=response, role=role)
        if part is not None:
            frame.settle_part(place, part, entry_id)
        return entry_id

    def _note_invalid(self, place: int, unit: Unit) -> None:
        if unit.item.get("name") == "invalid":
            frame = self._frame
            frame.accounts.find("invalid-call-arguments-lost", frame.records[place].id)

    def _beside(self, place: int, lowered: Lowered) -> str:
        """Keep what OpenCode recorded of a message that no model call made."""
        frame = self._frame
        data = frame.told(place, lowered)
        if place >= frame.copies:
            frame.converted.count(lowered.counts, lowered.info.cost)
        return frame.draft.note(data, frame.records[place].id, "message", frame.at(place))

    def _respond(self, place: int, lowered: Lowered) -> str:
        frame, info = self._frame, lowered.info
        name, rules = frame.records[place].id, frame.timeline.rules(place)
        twice = place in frame.twice_read
        members = _members(name, info, rules, lowered.counts, lowered.beside, twice=twice)
        lost = frame.lost(place)
        if lost is not None:
            members[NAMESPACE]["lost_parts"] = lost
        frame.converted.count(lowered.counts, info.value.get("cost"))
        done = self.done(place, info)
        return frame.draft.write("response", members, name, "response", done, plain=lowered.plain)

    def _dispatch(self, place: int, calls: Sequence[tuple[Unit, str]]) -> None:
        """Write, for each call whose tool began, its child session and its dispatch."""
        frame = self._frame
        draft, parts = frame.draft, frame.records[place].parts
        for unit, target in calls:
            if unit.part is None or unit.time is None or unit.origin.get("executed"):
                continue
            part = parts[unit.part].part
            state = part.value.get("state") if part is not None else None
            if not isinstance(state, dict) or state.get("status") == names.TOOL_PENDING:
                continue
            at = unit.time if EARLIEST <= unit.time < LATEST else frame.at(place)
            name, call_id = unit.key[0], unit.call_id
            child = child_of(state.get("metadata"))
            if child:
                draft.add(LinkEntry.subsession(child, call_id), name, "link", at)
            line, canonical = dispatch_spelling(call_id, target)
            place_in = origin_of(name, "dispatch")
            draft.extend([(DISPATCH, line[1:], canonical, place_in, at, None, "")])


def _members(
    name: str,
    info: Message,
    rules: Rules,
    counts: Counts,
    beside: Mapping[int, dict[str, Any]],
    *,
    twice: bool,
) -> dict[str, Any]:
    """Return the members of a response, in the order they are written."""
    status, incomplete, error = status_of(info)
    native: dict[str, Any] = {
        **without(info.value, _IN_RESPONSE),
        "release": release_of(rules.version),
    }
    if beside:
        native["parts"] = [*beside.values()]
    members = response_members(
        name,
        values.string(info.value.get("modelID")),
        status,
        usage_from(counts, values.member(info.value.get("tokens"), "total"), twice=twice),
    )
    if incomplete is not None:
        members["incomplete"] = incomplete
    if error is not None:
        members["error"] = error
    members[NAMESPACE] = native
    provider = values.string(info.value.get("providerID"))
    if provider:
        members["provider"] = provider
    return members


def response_members(
    name: str, model: str, status: str, usage: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the first members of a response entry, in their order. Spec: format 4.2."""
    members: dict[str, Any] = {"response_id": name}
    if model:
        members["model"] = model
    members["status"] = status
    if usage is not None:
        members["usage"] = usage
    return members
