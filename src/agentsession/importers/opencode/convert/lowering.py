"""V1 messages and parts as units: what each becomes in a later request.

Spec: opencode 6.2, 6.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.asking import user_unit
from agentsession.importers.opencode.convert.clock import LATEST
from agentsession.importers.opencode.convert.outcomes import is_before_sending
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.convert.units import (
    IDS,
    NOTICE,
    NOTICED,
    PLACEHOLDER,
    PRUNED,
    Unit,
    assistant_item,
    call_item,
    media_part,
    output_item,
    reasoning_item,
    secret_of,
    text_part,
    without,
)
from agentsession.importers.opencode.convert.usage import NO_COUNTS, Counts, counts_in
from agentsession.importers.opencode.records import MessageRecord, PartRecord
from agentsession.importers.opencode.v1 import Message, ToolState
from agentsession.importers.script import stringify

_IN_SPOKEN: Final = IDS | {"type", "text", "metadata"}
_SPOKEN_TIMED: Final = frozenset({"type", "text", "time"})
_IN_CALL: Final = IDS | {"type", "callID", "tool", "metadata", "state"}
_IN_OUTPUT: Final = frozenset({"input", "output", "error"})
_SPOKEN: Final = frozenset({names.PART_TEXT, names.PART_REASONING, names.PART_STEP_START})


class Lowered(msgspec.Struct, eq=False):
    """A V1 message with what it becomes.

    Attributes:
        record: the message.
        info: its info.
        steps: an assistant's own items, step by step; a user's one item.
        outputs: for each step, the output of each call, as it was first sent.
        later: outputs by item id in another form than the first: pruned, or a notice.
        pruned: when each pruned output was pruned, by item id.
        dropped: no later request holds anything of it.
        beside: the native parts that are no item, by their place.
        unsettled: states of calls that have no result yet, by the place of their part.
        kinds: the types of an assistant's parts.
        plain: whether every float in it and its parts is spelled one way everywhere.
        counts: an assistant's tokens.
    """

    record: MessageRecord
    info: Message
    steps: list[list[Unit]] = []
    outputs: list[list[Unit]] = []
    later: dict[str, Unit] = {}
    pruned: dict[str, int] = {}
    dropped: bool = False
    beside: dict[int, dict[str, Any]] = {}
    unsettled: dict[int, dict[str, Any]] = {}
    kinds: set[str] = set()
    plain: bool = False
    counts: Counts = NO_COUNTS

    @property
    def is_user(self) -> bool:
        """Whether a user, or OpenCode in its name, said it."""
        return self.info.role == names.ROLE_USER

    @property
    def own(self) -> list[Unit]:
        """The message's own items, without outputs."""
        if len(self.steps) == 1:
            return self.steps[0]
        return [unit for step in self.steps for unit in step]

    @property
    def made_request(self) -> bool:
        """Whether a model was called: not for a user's shell command or subtask.

        Nor for a request that was refused before it was sent.

        Spec: opencode 6.
        """
        if self.is_user:
            return False
        error = self.info.error
        if error is not None and is_before_sending(error) and not self.record.parts:
            return False
        ran = names.PART_TOOL in self.kinds
        return not (ran and self.kinds.isdisjoint(_SPOKEN))

    def sent(self, at: int, rules: Rules) -> Iterable[Unit]:
        """Return the units a request made at a time holds of the message.

        Behind each step stands what its calls returned, in the order of the calls; a call
        without a result is sent with a notice in that order too. Spec: opencode 6.3.
        """
        if self.dropped:
            return ()
        if not self.later:
            # Every call has its one output, and these stand in the order of the calls.
            pairs = zip(self.steps, self.outputs, strict=True)
            return [unit for step, outputs in pairs for units in (step, outputs) for unit in units]
        return self._sent(at, rules)

    def _sent(self, at: int, rules: Rules) -> Iterator[Unit]:
        for step, outputs in zip(self.steps, self.outputs, strict=True):
            settled = {unit.part: unit for unit in outputs}
            calls = [unit for unit in step if unit.item["type"] == "function_call"]
            for unit in step:
                waits = unit.item["type"] == "function_call" and unit.part not in settled
                if not waits or rules.unsettled_sent or self.is_user:
                    yield unit
            for call in calls:
                output = settled.get(call.part)
                if output is None:
                    if rules.unsettled_sent:
                        yield self.later[call.key[0]]
                    continue
                name = output.key[0]
                date = self.pruned.get(name)
                yield self.later[name] if date is not None and date <= at else output


def lower(record: MessageRecord, rules: Rules) -> Lowered:
    """Return a readable message as units."""
    assert record.info is not None
    plain = record.plain and False not in [part.plain for part in record.parts]
    lowered = Lowered(record, record.info, plain=plain)
    if record.info.role == names.ROLE_USER:
        _lower_user(lowered, rules)
    else:
        _Assistant(lowered, rules).run()
    return lowered


def _lower_user(lowered: Lowered, rules: Rules) -> None:
    unit, lowered.beside = user_unit(lowered.record, rules)
    lowered.dropped = unit is None
    if unit is not None:
        lowered.steps.append([unit])
        lowered.outputs.append([])


class _Assistant:
    """Lowers an assistant's message, part by part.

    It reads the parts' own objects: a session has very many of them.
    """

    def __init__(self, lowered: Lowered, rules: Rules) -> None:
        self._lowered = lowered
        self._rules = rules
        self._step = 0
        self._message = {"message": lowered.record.id}
        self._wrote = wrote(lowered.info.value)
        self._origin: dict[str, Any] = {**self._message, **self._wrote}

    def run(self) -> None:
        lowered = self._lowered
        lowered.counts = counts_in(lowered.info.value.get("tokens"))
        steps, beside, kinds = lowered.steps, lowered.beside, lowered.kinds
        own: list[Unit] = []
        outputs: list[Unit] = []
        steps.append(own)
        lowered.outputs.append(outputs)
        empty = fresh = True
        for place, found in enumerate(lowered.record.parts):
            if found.part is None:
                continue
            value = found.part.value
            kind = value.get("type")
            if type(kind) is not str:
                kind = ""
            kinds.add(kind)
            if kind == names.PART_TOOL:
                own.append(self._called(found, value, place, outputs))
            elif kind == names.PART_TEXT or kind == names.PART_REASONING:  # noqa: PLR1714
                own.append(self._spoken(found, value, place, kind))
            else:
                if kind == names.PART_STEP_START:
                    if not fresh:
                        own, outputs = [], []
                        steps.append(own)
                        lowered.outputs.append(outputs)
                        self._begin_step(len(steps) - 1)
                    fresh = True
                rest = value if IDS.isdisjoint(value) else without(value, IDS)
                beside[place] = {"id": found.id, **rest}
                continue
            empty = fresh = False
        lowered.dropped = empty or _is_dropped(lowered.info, kinds)

    def _begin_step(self, step: int) -> None:
        self._step = step
        self._origin = {**self._message, "step": step, **self._wrote}

    def _spoken(self, found: PartRecord, value: dict[str, Any], place: int, kind: str) -> Unit:
        read = value.get
        name, origin, time = found.id, self._origin, read("time")
        words, metadata = read("text"), read("metadata")
        if type(words) is not str:
            words = ""
        secret = ""
        if metadata is not None:
            more, secret = told_by(metadata)
            origin = {**origin, **more}
        start = end = None
        if isinstance(time, dict):
            start, end = values.millis(time.get("start")), time.get("end")
        if kind == names.PART_REASONING:
            item = reasoning_item(name, words, secret)
        else:
            item = assistant_item(name, words, cut=end is None and isinstance(time, dict))
        rest = {"time": time} if value.keys() == _SPOKEN_TIMED else without(value, _IN_SPOKEN)
        return Unit((name, ""), item, origin, start, rest, place, plain=found.plain)

    def _called(
        self, found: PartRecord, value: dict[str, Any], place: int, outputs: list[Unit]
    ) -> Unit:
        read = value.get
        name, origin, state, metadata = found.id, self._origin, read("state"), read("metadata")
        if isinstance(metadata, dict) and metadata:
            origin = {**origin, "metadata": metadata}
            if metadata.get("providerExecuted") is True:
                origin["executed"] = True
        call_id, tool = read("callID"), read("tool")
        if type(call_id) is not str or not call_id:
            call_id = name
        if type(tool) is not str:
            tool = ""
        if type(state) is not dict:
            state = None
        called: Any = {} if state is None else state.get("input")
        arguments = "{}" if called is None else stringify(called, plain=found.plain)
        item = call_item(name, call_id, tool, arguments)
        began = self._settled(found, state, call_id, place, outputs)
        rest = {} if value.keys() <= _IN_CALL else without(value, _IN_CALL)
        return Unit((name, ""), item, origin, began, rest, place, plain=found.plain)

    def _settled(
        self,
        found: PartRecord,
        state: dict[str, Any] | None,
        call_id: str,
        place: int,
        outputs: list[Unit],
    ) -> int | None:
        """Take what a call returned; return when it began."""
        name = found.id
        origin: Mapping[str, Any] = self._origin
        if state is None:
            self._wait(name, call_id, {}, place)
            return None
        status, time = state.get("status"), state.get("time")
        began = ended = compacted = None
        if type(time) is dict:
            began, ended = time.get("start"), time.get("end")
            if type(began) is not int or not 0 < began < LATEST:
                began = values.millis(began)
            if type(ended) is not int or not 0 < ended < LATEST:
                ended = values.millis(ended)
            compacted = time.get("compacted")
        rest = state_rest(state)
        if status == names.TOOL_COMPLETED:
            said = state.get("output")
            output: object = said if type(said) is str else ""
            if state.get("attachments"):
                output = _with_media(str(output), ToolState(state)) or output
        elif status == names.TOOL_ERROR:
            output = values.string(state.get("error"))
            interrupted = None
            if self._rules.interrupted_is_output:
                interrupted = ToolState(state).interrupted()
            if interrupted is not None:
                output, rest["error"] = interrupted, output
            else:
                origin = {**origin, "error": True}
        else:
            self._wait(name, call_id, rest, place)
            return began
        item = output_item(name, call_id, output)
        key = item["id"]
        native = {"state": rest}
        plain = found.plain
        outputs.append(Unit((key, ""), item, origin, ended, native, place, plain=plain))
        date = None if compacted is None else ToolState(state).compacted()
        if date is not None:
            cleared = output_item(name, call_id, self._placeholder(state))
            later = Unit((key, PRUNED), cleared, self._origin, date, {}, place, hidden=True)
            self._lowered.later[key] = later
            self._lowered.pruned[key] = date
        return began

    def _placeholder(self, state: dict[str, Any]) -> object:
        """Return what is sent in place of a pruned output."""
        if self._rules.pruned_keeps_media and state.get("attachments"):
            return _with_media(PLACEHOLDER, ToolState(state)) or PLACEHOLDER
        return PLACEHOLDER

    def _wait(self, name: str, call_id: str, rest: dict[str, Any], place: int) -> None:
        """Take a call that never got its result: it may be sent with a notice."""
        notice, origin = output_item(name, call_id, NOTICE), {**self._origin, "error": True}
        lowered = self._lowered
        lowered.later[name] = Unit((name, NOTICED), notice, origin, None, {}, place, hidden=True)
        if rest:
            lowered.unsettled[place] = {"id": name, "state": rest}


def wrote(info: Mapping[str, Any]) -> dict[str, str]:
    """Return the provider and the model that wrote a message, for the origin of its items."""
    provider, model = values.string(info.get("providerID")), values.string(info.get("modelID"))
    told = {"provider": provider, "model": model}
    return told if provider and model else {name: value for name, value in told.items() if value}


def told_by(metadata: object) -> tuple[dict[str, Any], str]:
    """Return what a provider's metadata adds to an item's origin, and the secret it holds."""
    kept, secret, place = secret_of(metadata)
    more: dict[str, Any] = {"metadata": kept} if kept else {}
    if place:
        more["encrypted"] = place
    return more, secret


def _with_media(said: str, state: ToolState) -> list[dict[str, Any]]:
    """Return an output's text and its media; empty when it has none."""
    media = [
        media_part(file.mime, file.url, file.filename)
        for file in map(values.attachment, state.attachments)
        if file is not None
    ]
    return [text_part(said), *media] if media else []


def _is_dropped(info: Message, kinds: set[str]) -> bool:
    if info.value.get("error") is not None and values.truthy(info.value["error"]):
        aborted = info.error is not None and info.error.name == names.ERROR_ABORTED
        if not aborted or not kinds - {names.PART_STEP_START, names.PART_REASONING}:
            return True
    return not kinds - {names.PART_STEP_START}


def state_rest(state: dict[str, Any]) -> dict[str, Any]:
    """Return a tool state without what the items hold, and without what is set later.

    The metadata often repeats the output; a member that does is left out.
    """
    rest = without(state, _IN_OUTPUT)
    output = state.get("output", state.get("error"))
    metadata = rest.get("metadata")
    if type(metadata) is dict and type(output) is str and output and output in metadata.values():
        rest["metadata"] = {name: value for name, value in metadata.items() if value != output}
    time = rest.get("time")
    if type(time) is dict and "compacted" in time:
        rest["time"] = without(time, {"compacted"})
    if "attachments" in rest:
        attachments = rest.pop("attachments")
        if type(attachments) is list:
            files = [without(a, {"url"}) if isinstance(a, dict) else a for a in attachments]
            rest["attachments"] = files
    return rest
