"""V1 messages and parts as units: what each becomes in a later request.

Spec: opencode 6.2, 6.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.convert.script import stringify
from agentsession.importers.opencode.convert.units import (
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
    user_item,
)
from agentsession.importers.opencode.records import MessageRecord, PartRecord
from agentsession.importers.opencode.v1 import Message, Part
from agentsession.wire import Origin

COMPACTION_QUESTION: Final = "What did we do so far?"
SUBTASK_QUESTION: Final = "The following tool was executed by the user"
_UNSENT_FILES: Final = frozenset({"text/plain", "application/x-directory"})
_IDS: Final = frozenset({"id", "sessionID", "messageID"})
_NO_KEY: Final = "ProviderAuthError"


@dataclass(slots=True)
class Lowered:
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
    """

    record: MessageRecord
    info: Message
    steps: list[list[Unit]] = field(default_factory=list)
    outputs: list[list[Unit]] = field(default_factory=list)
    later: dict[str, Unit] = field(default_factory=dict)
    pruned: dict[str, int] = field(default_factory=dict)
    dropped: bool = False
    beside: dict[int, dict[str, Any]] = field(default_factory=dict)
    unsettled: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def is_user(self) -> bool:
        """Whether a user, or OpenCode in its name, said it."""
        return self.info.role == names.ROLE_USER

    @property
    def own(self) -> list[Unit]:
        """The message's own items, without outputs."""
        return [unit for step in self.steps for unit in step]

    @property
    def made_request(self) -> bool:
        """Whether a model was called: not for a user's shell command or subtask, or without a key.

        Spec: opencode 6.
        """
        if self.is_user:
            return False
        error = self.info.error
        if error is not None and error.name == _NO_KEY and not self.record.parts:
            return False
        types = {part.part.type for part in self.record.parts if part.part is not None}
        ran = names.PART_TOOL in types
        spoke = types & {names.PART_TEXT, names.PART_REASONING, names.PART_STEP_START}
        return not (ran and not spoke)

    def sent(self, at: int, rules: Rules) -> Iterator[Unit]:
        """Yield the units a request made at a time holds of the message.

        Behind each step stands what its calls returned, in the order of the calls; a call
        without a result is sent with a notice in that order too. Spec: opencode 6.3.
        """
        if self.dropped:
            return
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
    lowered = Lowered(record, record.info)
    if record.info.role == names.ROLE_USER:
        _lower_user(lowered, rules)
    else:
        _lower_assistant(lowered, rules)
    return lowered


def _lower_user(lowered: Lowered, rules: Rules) -> None:
    content: list[dict[str, Any]] = []
    hidden = True
    for place, found in enumerate(lowered.record.parts):
        part = found.part
        if part is None:
            continue
        said = _user_part(part, rules)
        rest = without(part.value, _IDS)
        if said is not None:
            content.append(said)
            hidden = hidden and part.synthetic
            rest.pop("text" if "text" in said else "url", None)
            if part.type == names.PART_FILE and said.get("filename") == part.filename:
                rest.pop("filename", None)
        lowered.beside[place] = {"id": found.id, **rest}
    if content:
        name = lowered.record.id
        unit = Unit((name, ""), user_item(name, content), hidden=hidden)
        lowered.steps.append([unit])
        lowered.outputs.append([])
    else:
        lowered.dropped = True


def _user_part(part: Part, rules: Rules) -> dict[str, Any] | None:
    if part.type == names.PART_TEXT:
        if part.ignored or (rules.empty_text_skipped and not part.text):
            return None
        return text_part(part.text)
    if part.type == names.PART_FILE and part.mime not in _UNSENT_FILES:
        return media_part(part.mime, part.url, part.filename)
    if part.type == names.PART_COMPACTION:
        return text_part(COMPACTION_QUESTION)
    if part.type == names.PART_SUBTASK:
        return text_part(SUBTASK_QUESTION)
    return None


def _lower_assistant(lowered: Lowered, rules: Rules) -> None:
    lowered.dropped = _is_dropped(lowered.info, lowered.record.parts)
    step, fresh = 0, True
    lowered.steps.append([])
    lowered.outputs.append([])
    for place, found in enumerate(lowered.record.parts):
        part = found.part
        if part is None:
            continue
        if part.type == names.PART_STEP_START:
            if not fresh:
                step += 1
                lowered.steps.append([])
                lowered.outputs.append([])
            fresh = True
        unit = _assistant_unit(lowered, part, place, rules)
        if unit is None:
            lowered.beside[place] = {"id": found.id, **without(part.value, _IDS)}
            continue
        fresh = False
        lowered.steps[step].append(unit)
    if not lowered.own:
        lowered.dropped = True


def _is_dropped(info: Message, parts: Sequence[PartRecord]) -> bool:
    kinds = {part.part.type for part in parts if part.part is not None}
    if values.truthy(info.value.get("error")):
        aborted = info.error is not None and info.error.name == names.ERROR_ABORTED
        if not aborted or not kinds - {names.PART_STEP_START, names.PART_REASONING}:
            return True
    return not kinds - {names.PART_STEP_START}


def _origin(info: Message, message: str, step: int, **more: Any) -> Origin:
    return Origin(
        message=message, step=step, provider=info.provider_id, model=info.model_id, **more
    )


def _assistant_unit(lowered: Lowered, part: Part, place: int, rules: Rules) -> Unit | None:
    info, message, step = lowered.info, lowered.record.id, len(lowered.steps) - 1
    name = lowered.record.parts[place].id
    start = values.millis(values.member(part.time, "start"))
    if part.type in {names.PART_TEXT, names.PART_REASONING}:
        metadata, secret, place_of_secret = secret_of(part.metadata)
        origin = _origin(info, message, step, metadata=metadata, encrypted=place_of_secret)
        rest = without(part.value, _IDS | {"type", "text", "metadata"})
        cut = isinstance(part.time, dict) and part.time.get("end") is None
        item = (
            reasoning_item(name, part.text, secret)
            if part.type == names.PART_REASONING
            else assistant_item(name, part.text, cut=cut)
        )
        return Unit((name, ""), item, origin, start, rest, place)
    if part.type != names.PART_TOOL:
        return None
    executed = values.metadata_bool(part.metadata, "providerExecuted")
    metadata = part.metadata if isinstance(part.metadata, dict) else {}
    origin = _origin(info, message, step, metadata=metadata, executed=executed)
    state = part.state
    called = {} if state is None or state.input is None else state.input
    call_id = part.call_id or name
    item = call_item(name, call_id, part.tool, stringify(called))
    rest = without(part.value, _IDS | {"type", "callID", "tool", "metadata", "state"})
    _lower_state(lowered, part, place, rules)
    began = values.millis(state.time.start) if state and state.time else None
    return Unit((name, ""), item, origin, began, rest, place)


def _lower_state(lowered: Lowered, part: Part, place: int, rules: Rules) -> None:
    state, info, message = part.state, lowered.info, lowered.record.id
    name, step = lowered.record.parts[place].id, len(lowered.steps) - 1
    call_id = part.call_id or name
    origin = _origin(info, message, step)
    failed = _origin(info, message, step, error=True)
    status = state.status if state is not None else ""
    rest = {} if state is None else state_rest(state.value)
    ended = values.millis(state.time.end) if state and state.time else None
    if state is None or status not in {names.TOOL_COMPLETED, names.TOOL_ERROR}:
        notice = output_item(name, call_id, NOTICE)
        lowered.later[name] = Unit((name, NOTICED), notice, failed, None, {}, place, hidden=True)
        if rest:
            lowered.unsettled[place] = {"id": name, "state": rest}
        return
    output: object = state.error
    if status == names.TOOL_COMPLETED:
        output, origin_of_output = state.output, origin
        media = [
            media_part(file.mime, file.url, file.filename)
            for file in map(values.attachment, state.attachments)
            if file is not None
        ]
        if media:
            output = [text_part(state.output), *media]
    else:
        origin_of_output = failed
        interrupted = state.interrupted() if rules.interrupted_is_output else None
        if interrupted is not None:
            output, origin_of_output = interrupted, origin
            rest["error"] = state.error
    item = output_item(name, call_id, output)
    unit = Unit((item["id"], ""), item, origin_of_output, ended, {"state": rest}, place)
    lowered.outputs[step].append(unit)
    date = state.compacted()
    if date is not None:
        cleared = output_item(name, call_id, PLACEHOLDER)
        lowered.later[item["id"]] = Unit(
            (item["id"], PRUNED), cleared, origin, date, {}, place, hidden=True
        )
        lowered.pruned[item["id"]] = date


def state_rest(state: dict[str, Any]) -> dict[str, Any]:
    """Return a tool state without what the items hold, and without what is set later.

    The metadata often repeats the output; a member that does is left out.
    """
    rest = without(state, {"input", "output", "error"})
    output = state.get("output", state.get("error"))
    metadata = rest.get("metadata")
    if isinstance(metadata, dict) and isinstance(output, str) and output:
        rest["metadata"] = {name: value for name, value in metadata.items() if value != output}
    time = rest.get("time")
    if isinstance(time, dict):
        rest["time"] = without(time, {"compacted"})
    attachments = rest.pop("attachments", None)
    if isinstance(attachments, list):
        files = [without(a, {"url"}) if isinstance(a, dict) else a for a in attachments]
        rest["attachments"] = files
    return rest


def without(value: dict[str, Any], left_out: set[str] | frozenset[str]) -> dict[str, Any]:
    """Return an object without some of its members."""
    return {name: member for name, member in value.items() if name not in left_out}
