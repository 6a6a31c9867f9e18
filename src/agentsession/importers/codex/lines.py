"""Lines: what a rollout file holds, one record at a time, in each of its three generations.

Nothing is interpreted here and nothing raises: what is no record says so.

Spec: codex 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._regular import open_regular
from agentsession._scan import may_be_too_deep
from agentsession.errors import AgentSessionError
from agentsession.importers.holding import held
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
_MEMBERS: Final = frozenset({"timestamp", "ordinal", "type", "payload", "metadata"})


Beside = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class Line:
    """One record of a rollout.

    Attributes:
        place: its file's name and its line number, which tell it apart.
        kind: the line type, ``state`` for the first generation's markers, ``unknown`` for a
            type no release wrote, ``broken`` for what is no JSON object.
        name: the type of its payload; empty when it has none.
        text: the payload's own JSON text.
        time: when it was written; empty when that is missing or absurd.
        ordinal: its place in the thread's history (third generation).
        metadata_text: what stands beside an item as JSON text; empty when there is nothing.
        size: how many bytes it has.
        beside: members of the line that no release writes.
        changed: whether a value that no entry can hold was replaced in what was decoded.
        repeated: whether it stood in its file before.
        is_plain: whether it is the header of a file whose lines have no envelope.
    """

    place: str
    kind: str
    name: str = ""
    text: bytes = b"{}"
    time: str = ""
    ordinal: int | None = None
    metadata_text: bytes = b""
    size: int = 0
    beside: Beside = ()
    changed: bool = False
    repeated: bool = False
    is_plain: bool = False
    _payload: dict[str, Any] | None = None
    _metadata: dict[str, Any] | None = None

    @property
    def payload(self) -> dict[str, Any]:
        """The payload, decoded when it is first asked for: much of what is shown never is."""
        if self._payload is None:
            self._payload, self.text = self._decoded(self.text)
        return self._payload

    @property
    def metadata(self) -> dict[str, Any]:
        """What stands beside an item (third generation)."""
        if self._metadata is None:
            self._metadata, self.metadata_text = self._decoded(self.metadata_text)
        return self._metadata

    def _decoded(self, raw: bytes) -> tuple[dict[str, Any], bytes]:
        """The object that a text is, and the text; as an entry can hold both."""
        if not raw:
            return {}, raw
        try:
            # It takes no number beyond any double.
            return mapping(msgspec.json.decode(raw)), raw
        except (msgspec.MsgspecError, RecursionError, ValueError):
            value, changed = held(mapping(text.parse(raw)))
        self.changed = self.changed or changed
        return value, text.encode(value) if changed else raw


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
    with open_regular(path) as file:
        for number, raw in enumerate(file, 1):
            stripped = raw.strip(b" \t\r\n")
            if number == 1 or b"\0" in raw:
                stripped = _bare(stripped)
            if only and _is_other(stripped, only):
                yield Line(f"{name}:{number}", UNKNOWN, size=len(stripped))
            elif stripped:
                yield from _records(stripped, f"{name}:{number}")


def marks(found: Iterable[Line]) -> Iterator[bytes]:
    """Yield what tells each record from others, however its line is spelled around it.

    What cannot be read is no record.
    """
    for line in found:
        if line.kind != BROKEN:
            said = (line.kind.encode("utf-8", "replace"), line.time.encode(), line.text)
            yield blake2b(b"\0".join(said), digest_size=16).digest()


def _bare(raw: bytes) -> bytes:
    """A line without what an editor or a crash put around it; zero bytes alone stay."""
    return raw.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n\0") or raw


def _is_other(raw: bytes, only: Sequence[bytes]) -> bool:
    """Whether a line is a record, and none of some kinds."""
    if not raw or any(mark in raw for mark in only):
        return False
    try:
        _object(raw)
    except _REFUSALS:
        return False
    return True


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


class _Envelope(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of the later generations, its payload not looked into."""

    type: str
    payload: msgspec.Raw
    timestamp: str = ""
    ordinal: Any = None
    metadata: msgspec.Raw = msgspec.Raw()


class _Wider(_Envelope, gc=False, forbid_unknown_fields=False):
    """The same of a line that has more members."""


class _Named(msgspec.Struct, gc=False):
    """What an event says of itself before anything else."""

    type: str = ""


class _Object(msgspec.Struct, gc=False):
    """An object, nothing in it looked at."""


_object: Final = msgspec.json.Decoder(_Object).decode
_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_wider: Final = msgspec.json.Decoder(_Wider).decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_named: Final = msgspec.json.Decoder(_Named).decode
_REFUSALS: Final = (msgspec.MsgspecError, AgentSessionError, ValueError, RecursionError)


def decoded(raw: bytes, place: str) -> Line:
    """Return the record that a line's bytes are."""
    line = _quickly(raw, place)
    if line is not None:
        return line
    try:
        value = text.parse(raw)
    except AgentSessionError:
        value = None
    if not isinstance(value, dict):
        return Line(place, BROKEN, size=len(raw))
    value, changed = held(value)
    line = _line(text.encode(value) if changed else raw, value, place)
    line.changed = changed
    return line


def _quickly(raw: bytes, place: str) -> Line | None:
    """The record of a line as releases write them; ``None`` for one to be looked at closely."""
    if may_be_too_deep(raw):
        return None
    more: Beside = ()
    try:
        try:
            found = _envelope(raw)
        except msgspec.ValidationError:
            found, more = _with_more(raw)
        payload = bytes(found.payload)
        if found.type not in _KINDS or not payload.startswith(b"{"):
            return None
        # Events are many, and most of them are not read any further.
        name = _named(payload).type if found.type == EVENT else ""
    except _REFUSALS:
        return None
    beside = bytes(found.metadata)
    line = Line(
        place,
        found.type,
        name,
        payload,
        time_of(found.timestamp),
        integer(found.ordinal),
        beside if beside.startswith(b"{") else b"",
        len(raw),
        more,
    )
    if found.type != EVENT:
        line.name = string(line.payload.get("type"))
    return line


def _with_more(raw: bytes) -> tuple[_Envelope, Beside]:
    """A line with members that no release writes, and these."""
    found = _wider(raw)
    more = [(name, value) for name, value in _members(raw).items() if name not in _MEMBERS]
    return found, tuple((name, text.parse(bytes(value))) for name, value in more)


def _line(raw: bytes, value: dict[str, Any], place: str) -> Line:
    payload = value.get("payload")
    kind = string(value.get("type"))
    time = time_of(value.get("timestamp"))
    if "payload" not in value:
        return _plain(raw, value, place)
    if not isinstance(payload, dict) or kind not in _KINDS:
        return Line(place, UNKNOWN, kind, raw, time, size=len(raw), _payload=value)
    members = text.split_members(raw)
    beside = value.get("metadata")
    return Line(
        place,
        kind,
        string(payload.get("type")),
        members["payload"],
        time,
        integer(value.get("ordinal")),
        members["metadata"] if isinstance(beside, dict) else b"",
        len(raw),
        tuple((name, member) for name, member in value.items() if name not in _MEMBERS),
        _payload=payload,
        _metadata=mapping(beside),
    )


def _plain(raw: bytes, value: dict[str, Any], place: str) -> Line:
    """A line of the first generation, which has no envelope."""
    size = len(raw)
    name = string(value.get("type"))
    if string(value.get("record_type")) == STATE:
        more = tuple((n, member) for n, member in value.items() if n != "record_type")
        return Line(place, STATE, size=size, beside=more)
    if name and "timestamp" not in value:
        return Line(place, ITEM, name, raw, size=size, _payload=value)
    time = time_of(value.get("timestamp"))
    if not name and string(value.get("id")) and "timestamp" in value:
        return Line(place, META, "", raw, time, size=size, is_plain=True, _payload=value)
    return Line(place, UNKNOWN, name, raw, time, size=size, _payload=value)
