"""Ordinary steps: an assistant's message as OpenCode nearly always writes it, read in one pass.

It is one step that went well: texts and reasoning that ended, calls that completed, and what
is recorded beside them. Each part is looked at once, and its entries are spelled as it stands
there. Whatever is not exactly so gives nothing and is for
:mod:`agentsession.importers.opencode.convert.lowering`; where a step is ordinary, both give
the same entries. Spec: opencode 4.2, 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from agentsession.importers.opencode import names
from agentsession.importers.opencode.convert.clock import EARLIEST, LATEST
from agentsession.importers.opencode.convert.draft import (
    DISPATCH,
    ITEM,
    Key,
    Pending,
)
from agentsession.importers.opencode.convert.lowering import state_rest, told_by, wrote
from agentsession.importers.opencode.convert.units import (
    IDS,
    OUTPUT,
    assistant_item,
    reasoning_item,
)
from agentsession.importers.opencode.convert.usage import Counts, counts_in
from agentsession.importers.opencode.objects import plain_objects
from agentsession.importers.opencode.records import MessageRecord, PartRecord
from agentsession.importers.opencode.v1 import child_of
from agentsession.importers.spelling import (
    Spelling,
    escaped,
    is_word,
    script_text,
    spelled,
)

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode

_BESIDE: Final = frozenset({names.PART_STEP_FINISH, names.PART_SNAPSHOT, names.PART_PATCH})
_ODD: Final = frozenset({"error", "summary"})
"""Members of an info that a step which went well does not have."""
_SPOKEN_MEMBERS: Final = 3
_CALL_MEMBERS: Final = 4

# The entries of items, from their members on; what stands in them is spelled already.
_SPOKEN: Final = b'"item":%b,"response":"%b","opencode":{"time":%b},"origin":%b}'
_SPOKEN_SORTED: Final = b'{"item":%b,"opencode":{"time":%b},"origin":%b,"response":"%b"}'
_CALL: Final = (
    b'"item":{"type":"function_call","id":"%b","call_id":"%b","name":%b,"arguments":%b}'
    b',"response":"%b","origin":%b}'
)
_CALL_SORTED: Final = (
    b'{"item":{"arguments":%b,"call_id":"%b","id":"%b","name":%b,"type":"function_call"}'
    b',"origin":%b,"response":"%b"}'
)
_OUTPUT: Final = (
    b'"item":{"type":"function_call_output","id":"%b.output","call_id":"%b","output":%b}'
    b',"opencode":{"state":%b},"origin":%b}'
)
_OUTPUT_SORTED: Final = (
    b'{"item":{"call_id":"%b","id":"%b.output","output":%b,"type":"function_call_output"}'
    b',"opencode":{"state":%b},"origin":%b}'
)


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call whose tool ran.

    Attributes:
        place: of its item among those of the step.
        call_id: the call's id.
        name: the part's id.
        began: when the tool began.
    """

    place: int
    call_id: str
    name: str
    began: int


class Ordinary(msgspec.Struct, gc=False):
    """An ordinary step, spelled.

    Attributes:
        name: the message's id.
        counts: its tokens.
        own: the entries of its items.
        outputs: the entries of what its calls returned.
        keys: what tells all those items apart, the outputs' last.
        parts: the places of their parts, likewise.
        calls: the calls among its items.
        beside: the native parts that are no item, by their place.
    """

    name: str
    counts: Counts
    own: list[Pending] = []
    outputs: list[Pending] = []
    keys: list[Key] = []
    parts: list[int] = []
    calls: list[Call] = []
    beside: dict[int, dict[str, Any]] = {}

    def dispatches(self, written: Sequence[str]) -> list[Pending]:
        """Return the entries that say when each tool began.

        Args:
            written: the ids of the entries of the step's items.
        """
        found: list[Pending] = []
        for call in self.calls:
            line = f'"call_id":"{call.call_id}","target":"{written[call.place]}"}}'.encode()
            origin = f'"{call.name}","dispatch"'
            found.append((DISPATCH, line, b"{" + line, origin, call.began, None, ""))
        return found


def ordinary(record: MessageRecord) -> Ordinary | None:
    """Return a readable message as an ordinary step, ``None`` when it is not certainly one."""
    assert record.info is not None
    info = record.info.value
    taken = "".join([record.id, *[part.id for part in record.parts]])
    if not record.plain or not _ODD.isdisjoint(info) or not is_word(taken):
        return None
    known = wrote(info)
    spelling = _wrote(known.get("provider", ""), known.get("model", ""))
    values = plain_objects([part.raw for part in record.parts])
    if spelling is None or values is None:
        return None
    head = f'{{"message":"{record.id}",'.encode()
    origin = head + spelling[0], head + spelling[1]
    told = {"message": record.id, **known}
    reader = _Reader(Ordinary(record.id, counts_in(info.get("tokens"))), told, origin)
    try:
        return reader.step if reader.reads(record.parts, values) else None
    except KeyError:
        # A member that each such part has is not there.
        return None


@lru_cache(maxsize=64)
def _wrote(provider: str, model: str) -> Spelling | None:
    """Return how provider and model are spelled behind an origin's message."""
    if not provider or not model:
        return None
    found = spelled({"provider": provider, "model": model}, plain=True)
    return found and (found[0][1:], found[1][1:])


class _Reader:
    """Reads the parts of one message into a step."""

    __slots__ = ("_message", "_origin", "_told", "step")

    def __init__(self, step: Ordinary, told: dict[str, Any], origin: Spelling) -> None:
        self.step = step
        self._message = step.name.encode()
        self._told = told
        self._origin = origin

    def reads(self, parts: Sequence[PartRecord], values: Sequence[dict[str, Any]]) -> bool:
        """Read the parts, with the object of each; return whether the step is ordinary."""
        step, beside = self.step, self.step.beside
        asked = False
        output_keys: list[Key] = []
        output_parts: list[int] = []
        for place, value in enumerate(values):
            name = parts[place].id
            kind = value.get("type")
            if kind == names.PART_TOOL:
                if not self._called(name, value):
                    return False
                output_keys.append((name + OUTPUT, ""))
                output_parts.append(place)
            elif kind == names.PART_TEXT or kind == names.PART_REASONING:  # noqa: PLR1714
                if not self._spoken(name, value, kind):
                    return False
                asked = True
            elif type(kind) is str and IDS.isdisjoint(value):
                if kind == names.PART_STEP_START and not step.own:
                    asked = True
                elif kind not in _BESIDE:
                    return False
                beside[place] = {"id": name, **value}
                continue
            else:
                return False
            step.keys.append((name, ""))
            step.parts.append(place)
        step.keys += output_keys
        step.parts += output_parts
        return asked and bool(step.own)

    def _spoken(self, name: str, value: dict[str, Any], kind: str) -> bool:
        words, time, metadata = value["text"], value["time"], value.get("metadata")
        if type(words) is not str or not _is_ended(time):
            return False
        if len(value) != (_SPOKEN_MEMBERS if metadata is None else _SPOKEN_MEMBERS + 1):
            return False
        more, secret = ({}, "") if metadata is None else told_by(metadata)
        origin = self._origin_with(more)
        if origin is None:
            return False
        if kind == names.PART_REASONING:
            item = reasoning_item(name, words, secret)
        else:
            item = assistant_item(name, words)
        response, said = self._message, escaped(_encode(item))
        line = _SPOKEN % (said, response, _encode(time), origin[0])
        said, time_sorted = _encode_sorted(item), _encode_sorted(time)
        canonical = _SPOKEN_SORTED % (said, time_sorted, origin[1], response)
        step, place = self.step, f'"{name}","item"'
        step.own.append((ITEM, line, canonical, place, time["start"], None, step.name))
        return True

    def _origin_with(self, more: Mapping[str, Any]) -> Spelling | None:
        """Return the message's origin with more members, spelled."""
        return spelled({**self._told, **more}, plain=True) if more else self._origin

    def _called(self, name: str, value: dict[str, Any]) -> bool:
        call_id, state, metadata = value["callID"], value["state"], value.get("metadata")
        if type(call_id) is not str or type(state) is not dict:
            return False
        if len(value) != (_CALL_MEMBERS if metadata is None else _CALL_MEMBERS + 1):
            return False
        if metadata is not None and (type(metadata) is not dict or "providerExecuted" in metadata):
            return False
        if state["status"] != names.TOOL_COMPLETED or not _is_ended(state["time"]):
            return False
        if "attachments" in state or child_of(state.get("metadata")):
            return False
        if not call_id or not is_word(call_id):
            return False
        origin = self._origin_with({"metadata": metadata} if metadata else {})
        return origin is not None and self._adds_call(name, call_id, value["tool"], state, origin)

    def _adds_call(
        self, name: str, call_id: str, tool: Any, state: dict[str, Any], origin: Spelling
    ) -> bool:
        """Add a call and its output; return whether both are certainly spelled right."""
        called, output, time = state["input"], state["output"], state["time"]
        if type(tool) is not str or type(output) is not str or called is None:
            return False
        rest, arguments = spelled(state_rest(state), plain=True), script_text(called)
        if rest is None or arguments is None or not tool.isascii() or tool == "invalid":
            return False
        if _is_separated(arguments) or _is_separated(output):
            return False
        step, response, part, call = self.step, self._message, name.encode(), call_id.encode()
        named, given, said = _encode(tool), _encode(arguments), _encode(output)
        line = _CALL % (part, call, named, given, response, origin[0])
        canonical = _CALL_SORTED % (given, call, part, named, origin[1], response)
        began, place = time["start"], f'"{name}","item"'
        told = {"type": "function_call", "call_id": call_id}
        step.calls.append(Call(len(step.own), call_id, name, began))
        step.own.append((ITEM, line, canonical, place, began, told, step.name))
        line = _OUTPUT % (part, call, said, rest[0], self._origin[0])
        canonical = _OUTPUT_SORTED % (call, part, said, rest[1], self._origin[1])
        told, place = (
            {"type": "function_call_output", "call_id": call_id},
            f'"{name}{OUTPUT}","item"',
        )
        step.outputs.append((ITEM, line, canonical, place, time["end"], told, ""))
        return True


def _is_ended(time: Any) -> bool:
    """Whether a part's time is a beginning and an end, and nothing else."""
    if type(time) is not dict or len(time) != 2:
        return False
    start, end = time["start"], time["end"]
    return (
        type(start) is int
        and type(end) is int
        and EARLIEST <= start < LATEST
        and EARLIEST <= end < LATEST
    )


def _is_separated(said: str) -> bool:
    """Whether a text holds a line separator of Unicode, which a line writes in its own way."""
    return not said.isascii() and ("\u2028" in said or "\u2029" in said)
