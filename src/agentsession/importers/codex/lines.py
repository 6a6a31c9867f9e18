"""Lines: what a rollout file holds, one record at a time, in each of its three generations.

Nothing is interpreted here and nothing raises: what is no record says so.

Spec: codex 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentsession import text
from agentsession.errors import AgentSessionError
from agentsession.timestamp import Timestamp, valid

META: Final = "session_meta"
ITEM: Final = "response_item"
EVENT: Final = "event_msg"
CONTEXT: Final = "turn_context"
COMPACTED: Final = "compacted"
WORLD: Final = "world_state"
USAGE: Final = "token_usage_record"
AGENTS: Final = "inter_agent_communication_metadata"
STATE: Final = "state"
UNKNOWN: Final = "unknown"
BROKEN: Final = "broken"

_KINDS: Final = frozenset({META, ITEM, EVENT, CONTEXT, COMPACTED, WORLD, USAGE, AGENTS})
_RECORD: Final = re.compile(rb'\{"timestamp":"')
_YEARS: Final = ("2024", "21")


@dataclass(slots=True)
class Line:
    """One record of a rollout.

    Attributes:
        place: its file's name and its line number, which tell it apart.
        kind: the line type, ``state`` for the first generation's markers, ``unknown`` for a
            type no release wrote, ``broken`` for what is no JSON object.
        name: the type of its payload; empty when it has none.
        payload: the payload.
        text: the payload's own JSON text.
        time: when it was written; empty when that is missing or absurd.
        ordinal: its place in the thread's history (third generation).
        metadata: what stands beside an item (third generation).
        metadata_text: the same as JSON text; empty when there is none.
        size: how many bytes it has.
    """

    place: str
    kind: str
    name: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    text: bytes = b"{}"
    time: str = ""
    ordinal: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    metadata_text: bytes = b""
    size: int = 0


def string(value: object) -> str:
    """Return a string; empty for anything else."""
    return value if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    """Return an integer; ``None`` for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(value: object) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return an array; an empty one for anything else."""
    return value if isinstance(value, list) else []


def time_of(value: object) -> str:
    """Return a time as it stands; empty when it is none that Codex could have written."""
    found = string(value)
    return found if found[:4] >= _YEARS[0] and found[:2] < _YEARS[1] and valid(found) else ""


def moment(time: str) -> Timestamp | None:
    """Return a time that :func:`time_of` returned."""
    return Timestamp.parse(time) if time else None


def read_lines(path: str, name: str, only: Sequence[bytes] = ()) -> Iterator[Line]:
    """Yield the records of a rollout file, in order; blank lines are none.

    Args:
        path: the file.
        name: what its records are named after.
        only: decode only lines that hold one of these; the others are ``unknown``.

    Raises:
        OSError: when the file cannot be read.
    """
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            stripped = raw.strip(b" \t\r\n")
            if only and stripped and not any(mark in stripped for mark in only):
                yield Line(f"{name}:{number}", UNKNOWN, size=len(stripped))
            elif stripped:
                yield from _records(stripped, f"{name}:{number}")


def _records(raw: bytes, place: str) -> Iterator[Line]:
    """The record of one line; of a line that a cut record began, the whole one behind it."""
    line = decoded(raw, place)
    if line.kind != BROKEN:
        yield line
        return
    for found in reversed(list(_RECORD.finditer(raw, 1))):
        start = found.start()
        tail = decoded(raw[start:], f"{place}+")
        if tail.kind == BROKEN:
            continue
        head = decoded(raw[:start].strip(), place)
        yield head
        yield tail
        return
    yield line


def decoded(raw: bytes, place: str) -> Line:
    """Return the record that a line's bytes are."""
    try:
        value = text.parse(raw)
        if not isinstance(value, dict):
            return Line(place, BROKEN, size=len(raw))
        return _line(raw, value, place)
    except AgentSessionError:
        return Line(place, BROKEN, size=len(raw))


def _line(raw: bytes, value: dict[str, Any], place: str) -> Line:
    payload = value.get("payload")
    kind = string(value.get("type"))
    if "payload" not in value:
        return _plain(raw, value, place)
    if not isinstance(payload, dict) or kind not in _KINDS:
        return Line(
            place, UNKNOWN, kind, value, raw, time_of(value.get("timestamp")), size=len(raw)
        )
    members = text.split_members(raw)
    metadata = value.get("metadata")
    return Line(
        place,
        kind,
        string(payload.get("type")),
        payload,
        members["payload"],
        time_of(value.get("timestamp")),
        integer(value.get("ordinal")),
        mapping(metadata),
        members["metadata"] if isinstance(metadata, dict) else b"",
        len(raw),
    )


def _plain(raw: bytes, value: dict[str, Any], place: str) -> Line:
    """A line of the first generation, which has no envelope."""
    size = len(raw)
    name = string(value.get("type"))
    if string(value.get("record_type")) == STATE:
        return Line(place, STATE, size=size)
    if name and "timestamp" not in value:
        return Line(place, ITEM, name, value, raw, size=size)
    if not name and string(value.get("id")) and "timestamp" in value:
        return Line(place, META, "", value, raw, time_of(value.get("timestamp")), size=size)
    return Line(place, UNKNOWN, name, value, raw, time_of(value.get("timestamp")), size=size)
