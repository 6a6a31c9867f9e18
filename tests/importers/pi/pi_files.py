"""Sessions of pi written line by line, and their calls counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentsession.importers.counted import Count
from agentsession.importers.pi import Pi
from agentsession.importers.usage import UsageRecord

Lines = Sequence[dict[str, Any] | bytes]


def header(session_id: str = "s1", **more: Any) -> dict[str, Any]:
    return {
        "type": "session",
        "version": 3,
        "id": session_id,
        "timestamp": "2026-05-01T10:00:00.000Z",
        "cwd": "/home/dev/project",
        **more,
    }


def entry(kind: str, name: str, parent: str | None, /, **more: Any) -> dict[str, Any]:
    at = f"2026-05-01T10:{sum(map(ord, name)) % 60:02}:00.000Z"
    return {"type": kind, "id": name, "parentId": parent, "timestamp": at, **more}


def user(name: str, parent: str | None, words: Any = "hello") -> dict[str, Any]:
    return entry("message", name, parent, message={"role": "user", "content": words})


def assistant(name: str, parent: str | None, *blocks: Any, **more: Any) -> dict[str, Any]:
    said = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    message = {
        "role": "assistant",
        "content": said,
        "api": "openai-completions",
        "provider": "p",
        "model": "m",
        "usage": {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 1}},
        "stopReason": "stop",
        "responseId": f"resp-{name}",
        "rawStopReason": "stop",
        **more,
    }
    return entry("message", name, parent, message=message)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": "bash", "arguments": arguments}


def result(name: str, parent: str, call_id: str, words: str, **more: Any) -> dict[str, Any]:
    message = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": "bash",
        "content": [{"type": "text", "text": words}],
        "isError": False,
        "timestamp": 1777629600000,
        **more,
    }
    return entry("message", name, parent, message=message)


def written(place: Path, lines: Lines) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    text = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    place.write_bytes(b"".join(line + b"\n" for line in text))
    return place


def in_files(place: Path) -> list[UsageRecord]:
    importer = Pi()
    return [r for source in importer.find([place]) for r in importer.usage_records(source)]


def counted(*sources: list[UsageRecord]) -> dict[str, Any]:
    count = Count()
    for number, records in enumerate(sources):
        for record in records:
            count.add(record, number)
    return count.report().totals
