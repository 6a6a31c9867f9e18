"""Lines of a Claude Code log, one at a time: each whole, damaged, or no record.

Spec: claude-code 2.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._regular import open_regular
from agentsession.errors import AgentSessionError
from agentsession.importers.holding import holdable

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
REFUSALS: Final = (msgspec.MsgspecError, RecursionError, ValueError)
"""What a fast decoder raises where only the exact way can tell."""

_BUFFER: Final = 1 << 20
_DEPTH: Final = 400
_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BRACKETS: Final = bytes({0x5B: 1, 0x7B: 1, 0x5D: 255, 0x7D: 255}.get(b, 0) for b in range(256))

Members = dict[str, msgspec.Raw]


def raw_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the lines of a file without their ends; blank ones too.

    Raises:
        OSError: when the file cannot be read.
    """
    with open_regular(path, _BUFFER) as file:
        for line in file:
            yield line.rstrip(b"\r\n")


def is_blank(line: bytes) -> bool:
    """Return whether a line says nothing; runs of zero bytes after a crash are nothing too."""
    return not line.strip(b" \t\r\n\0")


def members_of(line: bytes) -> Members | None:
    """Return the members of a line, each as JSON text; ``None`` when it is no JSON object.

    Invalid UTF-8, lone surrogates and deep nesting take an exact way, which hands out
    text that every reader accepts.
    """
    line = line.strip(b" \t\r\n\0").removeprefix(b"\xef\xbb\xbf")
    if not line.startswith(b"{"):
        return None
    if text.is_utf8(line) and b"\\ud" not in line and b"\\uD" not in line:
        try:
            return _members(line)
        except REFUSALS:
            pass
    try:
        value = text.parse(line)
        if not isinstance(value, dict):
            return None
        return {name: msgspec.Raw(text.encode(member)) for name, member in value.items()}
    except (AgentSessionError, RecursionError, MemoryError):
        return None


def plain_members(line: msgspec.Raw) -> Members | None:
    """Return the members of an object's text that has no escapes to be looked at."""
    try:
        return _members(line)
    except REFUSALS:
        return members_of(bytes(line))


def is_deep(line: bytes) -> bool:
    """Return whether a line is nested so deeply that its values are better left alone."""
    # Taking a byte out is quicker than counting how often it is there.
    if 2 * len(line) - len(line.replace(b"[", b"")) - len(line.replace(b"{", b"")) <= _DEPTH:
        return False
    steps = _STRINGS.sub(b"", line).translate(_BRACKETS)
    depths = accumulate(-1 if step == 255 else step for step in steps)
    return max(depths, default=0) > _DEPTH


def value_of(raw: bytes | msgspec.Raw | None) -> Any:
    """Return the value of JSON text, ``None`` for no text or what cannot be read.

    A number that no double can hold is a string.
    """
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except REFUSALS:
        pass
    try:
        return holdable({"": text.parse(bytes(raw))})[""]
    except (AgentSessionError, RecursionError, MemoryError):
        return None


class Agent(msgspec.Struct, gc=False):
    """What tells of an agent in the result of a tool."""

    id: Any = msgspec.field(default=None, name="agentId")


ToolResult = Agent | str | list[msgspec.Raw] | float | int | bool | None
"""The result of a tool, of which no more than its agent is known."""

_agent = msgspec.json.Decoder(Agent).decode


def agent_of(raw: bytes | msgspec.Raw | None) -> str:
    """Return the id of the agent that a tool's result is of; empty for any other result."""
    if raw is None or not bytes(raw).startswith(b"{"):
        return ""
    try:
        found = _agent(raw).id
    except REFUSALS:
        value = value_of(raw)
        found = value.get("agentId") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def agent_in(found: object) -> str:
    """Return the id of the agent that a tool's decoded result is of; empty for any other one."""
    if isinstance(found, Agent):
        name = found.id
    elif isinstance(found, msgspec.Raw):
        return agent_of(found)
    else:
        name = found.get("agentId") if isinstance(found, dict) else None
    return name if isinstance(name, str) else ""


def text_of(raw: bytes | msgspec.Raw | None) -> str:
    """Return the string that JSON text holds; empty when it holds something else."""
    value = value_of(raw) if raw is not None else None
    return value if isinstance(value, str) else ""


def is_true(raw: bytes | msgspec.Raw | None) -> bool:
    """Return whether JSON text is ``true``."""
    return raw is not None and bytes(raw) == b"true"


def split_tail(line: bytes) -> list[bytes]:
    """Return the records of a line that two writes were glued into; the line alone otherwise.

    A process that was killed can leave a line without an end, and the next one then writes
    on. What can be told apart is told apart at the beginning of a record.
    """
    if members_of(line) is not None:
        return [line]
    for start in (b'{"parentUuid":', b'{"type":'):
        at = line.find(start, 1)
        while at > 0:
            if members_of(line[at:]) is not None:
                return [line[:at], line[at:]]
            at = line.find(start, at + 1)
    return [line]
