"""Rollout files made line by line, and a thread's conversion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentsession.importers.base import Converted
from agentsession.importers.codex import Codex

DATA = Path(__file__).parents[2] / "data"
RECORDINGS = DATA / "codex"
HOSTILE = DATA / "codex-hostile"

THREAD = "01a22e3a-5167-7df1-906b-8422524e4ab1"
OTHER = "01a22e3a-5367-7d41-9cfe-9d715fc2d876"

Lines = list[dict[str, Any]]


def meta(thread: str = THREAD, version: str = "0.145.0", **more: Any) -> dict[str, Any]:
    payload = {
        "id": thread,
        "timestamp": "2026-11-30T20:51:43.600Z",
        "cwd": "/home/dev/project",
        "cli_version": version,
        "source": "cli",
        "model_provider": "mock",
        **more,
    }
    return line("session_meta", payload)


def line(kind: str, payload: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-11-30T20:51:44.000Z",
        "type": kind,
        "payload": dict(payload),
        **more,
    }


def said(role: str, words: str, **more: Any) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": words}]
    return line("response_item", {"type": "message", "role": role, "content": content, **more})


def called(call_id: str, name: str = "exec_command") -> dict[str, Any]:
    return line(
        "response_item",
        {"type": "function_call", "name": name, "arguments": "{}", "call_id": call_id},
    )


def returned(call_id: str, output: Any = "done") -> dict[str, Any]:
    return line(
        "response_item", {"type": "function_call_output", "call_id": call_id, "output": output}
    )


def event(name: str, **more: Any) -> dict[str, Any]:
    return line("event_msg", {"type": name, **more})


def counters(total: int, last: int) -> dict[str, Any]:
    def used(tokens: int) -> dict[str, int]:
        return {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}

    info = {"total_token_usage": used(total), "last_token_usage": used(last)}
    return event("token_count", info=info)


def context(model: str = "gpt-5-codex", **more: Any) -> dict[str, Any]:
    return line("turn_context", {"cwd": "/home/dev/project", "model": model, **more})


def write(
    home: Path, lines: Iterable[Mapping[str, Any] | bytes], thread: str = THREAD, segment: str = ""
) -> Path:
    folder = home / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True, exist_ok=True)
    later = f"_{segment}" if segment else ""
    path = folder / f"rollout-2026-11-30T20-51-43-{thread}{later}.jsonl"
    path.write_bytes(
        b"".join(
            one + b"\n" if isinstance(one, bytes) else json.dumps(one).encode() + b"\n"
            for one in lines
        )
    )
    return path


def convert(home: Path, thread: str = THREAD) -> Converted:
    importer = Codex()
    (source,) = importer.find([home])
    return importer.convert(source, thread)


def codes(converted: Converted) -> set[str]:
    return {finding.code for finding in converted.findings} | {
        record.code for record in converted.records if record.code
    }


def texts(converted: Converted) -> list[str]:
    """The texts of the context at the leaf."""
    return [item.text for item in converted.session.context().items]
