"""Tools: what the files tell of a call beside its output.

Spec: codex 4 and 5.4, decisions D7 and D12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentsession import text
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.importers.codex.lines import integer, mapping, sequence, string
from agentsession.items import Item
from agentsession.record_entries import DecisionEntry, DispatchEntry, LinkEntry
from agentsession.timestamp import Timestamp

_REJECTED: Final = "rejected by user"
_REFUSED: Final = "exec_command failed for "
_LONGEST: Final = 400
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


def child_of(item: Item) -> str:
    """Return the thread that a spawning call's output names; empty when it names none."""
    output = item.output
    if not isinstance(output, str) or "agent_id" not in output:
        return ""
    try:
        return string(mapping(text.parse(output)).get("agent_id"))
    except AgentSessionError:
        return ""


def told(item: Item, shown_item: Mapping[str, Any], home: str) -> Iterator[tuple[Entry, str, str]]:
    """Yield what is to be written before an output: a link, a decision or a dispatch.

    Args:
        item: the output.
        shown_item: what :func:`shown` told of its call.
        home: the entry that holds the call; empty for none.
    """
    child = child_of(item) or string(shown_item.get("child"))
    if child:
        yield LinkEntry.subsession(child, item.call_id), "link", ""
    if not home or not item.call_id:
        return
    if is_rejected(item.output):
        yield (
            DecisionEntry(item.call_id, home, "reject", "human", reason=_REJECTED),
            "decision",
            "",
        )
    elif shown_item:
        yield DispatchEntry(item.call_id, home), "dispatch", ""


def is_rejected(output: object) -> bool:
    """Return whether an output says that the user declined the call. Spec: codex 4."""
    if not isinstance(output, str) or len(output) > _LONGEST or output.startswith(_RAN):
        return False
    if output.startswith(_REFUSED):
        return "Rejected(" in output
    return _REJECTED in output


def millis(value: object) -> str:
    """Return milliseconds since the epoch as a time; empty for what is none."""
    found = integer(value)
    if found is None:
        return ""
    try:
        return Timestamp.from_nanoseconds(found * 1_000_000).text
    except (ValueError, OverflowError):
        return ""
