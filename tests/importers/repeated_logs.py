"""Logs made long: what a recording says, said again and again under ids and times of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHORT = re.compile(r"[0-9a-f]{8}")
_NAME = re.compile(r"[\w.:-]{4,80}")
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_IDS = {
    *("uuid", "parentUuid", "id", "parentId", "call_id", "callId", "tool_use_id", "toolUseID"),
    *("toolCallId", "turn_id", "response_id", "responseId", "requestId", "messageId", "item_id"),
    *("sourceToolAssistantUUID", "logicalParentUuid", "leafUuid", "promptId", "firstKeptEntryId"),
}


def repeat(log: Path, times: int, head: int) -> None:
    """Have a log say so many times what it says after its first lines.

    Args:
        log: a log of one JSON object a line; other lines are dropped.
        times: how many times.
        head: how many lines are not repeated.
    """
    records = [(line, record) for line in log.read_text().splitlines() if (record := _read(line))]
    begun, said = records[:head], records[head:]
    known = {name for _, record in begun for name in _ids(record)}
    names = {name for _, record in said for name in _ids(record)} - known
    every = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    spelled = re.compile(f'"({every})"') if names else None
    lines = [line for line, _ in begun]
    last = ""
    for number in range(times):
        lines += [_said_again(line, number, spelled, last) for line, _ in said]
        placed = [one for one in map(_read, lines) if "parentUuid" in one or "parentId" in one]
        last = (placed[-1].get("uuid") or placed[-1].get("id", "")) if placed else ""
    log.write_text("\n".join(lines) + "\n")


def _said_again(line: str, number: int, names: re.Pattern[str] | None, last: str) -> str:
    """A line of a repetition, which goes on from the last line of the one before."""
    if number and names is not None:
        line = names.sub(lambda found: f'"{_renamed(found[1], number)}"', line)
    line = _TIME.sub(lambda found: _later(found[0], number), line)
    for parent in ("parentUuid", "parentId") if last else ():
        line = line.replace(f'"{parent}":null', f'"{parent}":"{last}"')
    return line


def _read(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _ids(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for member, inner in value.items():
            yield from _ids(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner, name)
    elif name in _IDS and isinstance(value, str) and _NAME.fullmatch(value):
        yield value


def _renamed(name: str, number: int) -> str:
    if _UUID.fullmatch(name) or _SHORT.fullmatch(name):
        return f"{(int(name[:8], 16) + number * 7919) & 0xFFFFFFFF:08x}{name[8:]}"
    return f"{name}x{number}"


def _later(time: str, hours: int) -> str:
    moment = datetime.fromisoformat(time.removesuffix("Z")) + timedelta(hours=hours)
    return f"{moment.isoformat(timespec='milliseconds')}Z"
