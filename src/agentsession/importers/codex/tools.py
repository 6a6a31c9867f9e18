"""Tools: what the files tell of a call beside its output.

Spec: codex 4 and 5.4, decisions D7 and D12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession import text
from agentsession.errors import AgentSessionError
from agentsession.importers.codex.lines import integer, mapping, sequence, string
from agentsession.timestamp import Timestamp

REJECTED: Final = "rejected by user"
"""What an output says of a call that the user declined."""

_REFUSED: Final = "exec_command failed for "
_LONGEST: Final = 400
_DURATION: Final = '"duration_seconds"'
_TAIL: Final = 400
_SECOND: Final = 1_000_000_000
_LONG: Final = 1 << 32
_RAN: Final = ("Exit code:", "Chunk ID:", "{")


def shown(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a display item tells of a call: its status, exit code and duration."""
    told: dict[str, Any] = {}
    for name in ("status", "exit_code", "process_id"):
        if item.get(name) is not None:
            told[name] = item[name]
    duration = mapping(item.get("duration"))
    seconds, nanos = integer(duration.get("secs")), integer(duration.get("nanos"))
    if seconds is not None:
        told["duration_ms"] = round(seconds * 1000 + (nanos or 0) / 1_000_000, 3)
    children = [name for name in sequence(item.get("receiver_thread_ids")) if string(name)]
    if string(item.get("tool")) == "spawn_agent" and children:
        told["child"] = children[0]
    return told


def child_of(output: object) -> str:
    """Return the thread that a spawning call's output names; empty when it names none."""
    if not isinstance(output, str) or "agent_id" not in output:
        return ""
    try:
        return string(mapping(text.parse(output)).get("agent_id"))
    except AgentSessionError:
        return ""


def began(output: object, ended: str) -> str:
    """Return when a tool began whose output tells how long it ran; empty where it does not.

    That is its end, when the output was recorded, less its duration. Outputs of 0.34 to 0.101
    are JSON text with a ``duration_seconds`` among their metadata.

    Args:
        output: the output.
        ended: when it was recorded; empty when that is not known.
    """
    if not isinstance(output, str) or _DURATION not in output[-_TAIL:] or not ended:
        return ""
    try:
        told = mapping(mapping(text.parse(output)).get("metadata")).get("duration_seconds")
    except AgentSessionError:
        return ""
    if isinstance(told, bool) or not isinstance(told, (int, float)) or not 0 <= told < _LONG:
        return ""
    end = Timestamp.parse(ended).nanoseconds
    return Timestamp.from_nanoseconds(max(end - round(told * _SECOND), 0)).text


def is_rejected(output: object) -> bool:
    """Return whether an output says that the user declined the call. Spec: codex 4."""
    if not isinstance(output, str) or len(output) > _LONGEST or output.startswith(_RAN):
        return False
    if output.startswith(_REFUSED):
        return "Rejected(" in output
    return REJECTED in output


def millis(value: object) -> str:
    """Return milliseconds since the epoch as a time; empty for what is none."""
    found = integer(value)
    if found is None:
        return ""
    try:
        return Timestamp.from_nanoseconds(found * 1_000_000).text
    except (ValueError, OverflowError):
        return ""
