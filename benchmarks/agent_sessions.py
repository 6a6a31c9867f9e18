"""Sessions as an agent records them: turns of calls, answers and outputs, with hashed requests.

Seeded, and quick to make: texts are cut from a pool, and the hashes are put in afterwards.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import agentsession as ags
from benchmarks import inputs

_POOL = 200_000
_NO_HASH = b"sha256:" + b"0" * 64
_TOOLS = ("read_file", "run", "search", "edit")


class Texts:
    """Texts to take from: making each anew would take longer than what is measured."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._pool = inputs.text(self.rng, _POOL)

    def some(self, middle: int, most: int = 40_000) -> str:
        """Return a text; half of them are shorter than ``middle`` characters."""
        size = min(most, max(8, int(self.rng.lognormvariate(0, 1.0) * middle)))
        begin = self.rng.randrange(len(self._pool) - size)
        return self._pool[begin : begin + size]


def lines(texts: Texts, session_id: str, size: int, day: int = 1) -> Iterator[bytes]:
    """Yield the lines of a session of about ``size`` bytes on one path, hashes left blank."""
    written = number = 0
    parent: str | None = None

    def line(kind: str, **more: object) -> bytes:
        nonlocal written, number, parent
        number += 1
        minute = number // 60
        clock = f"{minute // 60 % 24:02}:{minute % 60:02}:{number % 60:02}.{number % 1000:03}Z"
        entry: dict[str, object] = {"type": kind, "id": f"{number:08x}", "parent": parent}
        entry |= {"ts": f"2026-03-{1 + day % 28:02}T{clock}", **more}
        parent = f"{number:08x}"
        made = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        written += len(made)
        return made

    header = {
        "type": "session",
        "format": "agentsession/0.2",
        "id": session_id,
        "created_at": f"2026-03-{1 + day % 28:02}T08:15:30.{day % 1000:03}Z",
        "payload": "openresponses/2026-04-24",
        "harness": {"name": "benchmark", "version": "1"},
        "cwd": f"/srv/project-{day % 20}",
    }
    yield json.dumps(header, separators=(",", ":")).encode() + b"\n"
    yield line("config", model="m-1", instructions=texts.some(2000), tools_added=_tools(texts))
    turn = 0
    while written < size:
        turn += 1
        if turn % 8 == 1:
            yield line("item", item=_message("user", "input_text", texts.some(300)))
        response, call = f"resp_{turn}", f"call_{turn}"
        said = _message("assistant", "output_text", texts.some(200))
        yield line("item", item=said, response=response)
        asked = {"type": "function_call", "id": f"fc_{turn}", "call_id": call}
        asked |= {"name": texts.rng.choice(_TOOLS), "status": "completed"}
        asked["arguments"] = json.dumps({"path": f"src/m{turn}.py", "text": texts.some(150)})
        yield line("item", item=asked, response=response)
        usage = {"input_tokens": written // 4, "output_tokens": 90}
        usage["total_tokens"] = usage["input_tokens"] + 90
        yield line(
            "response",
            response_id=response,
            model="m-1-large",
            status="completed",
            usage=usage,
            request_hash=_NO_HASH.decode(),
            latency_ms=turn % 5000,
        )
        output = {"type": "function_call_output", "call_id": call, "output": texts.some(1500)}
        yield line("item", item=output)


def _message(role: str, kind: str, text: str) -> dict[str, object]:
    part: dict[str, object] = {"type": kind, "text": text}
    if kind == "output_text":
        part["annotations"] = []
    return {"type": "message", "role": role, "content": [part]}


def _tools(texts: Texts) -> list[dict[str, object]]:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    return [
        {
            "type": "function",
            "name": name,
            "description": texts.some(200),
            "parameters": parameters,
            "strict": True,
        }
        for name in _TOOLS
    ]


def session_file(path: Path, size: int) -> Path:
    """Write one session of about ``size`` bytes with its request hashes; kept from run to run."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".tmp")
    with beside.open("wb") as file:
        file.writelines(lines(Texts(11), "session-1", size))
    hashes = (result.rebuilt.encode() for result in ags.read(beside).verify_all())
    whole = path.with_suffix(".whole")
    with beside.open("rb") as source, whole.open("wb") as file:
        for line in source:
            is_response = line.startswith(b'{"type":"response"')
            file.write(line.replace(_NO_HASH, next(hashes), 1) if is_response else line)
    beside.unlink()
    whole.rename(path)
    return path


def store(root: Path, sessions: int, size: int) -> Path:
    """Write a file store of so many sessions, each of about ``size`` bytes; kept as well."""
    if root.exists():
        return root
    beside = root.with_suffix(".tmp")
    texts = Texts(13)
    for number in range(sessions):
        session_id = f"session-{number:05}"
        project = beside / f"srv-project-{number % 20}"
        project.mkdir(parents=True, exist_ok=True)
        stamp = f"2026-03-{1 + number % 28:02}T08-15-30.{number % 1000:03}Z"
        with (project / f"{stamp}_{session_id}.jsonl").open("wb") as file:
            file.writelines(lines(texts, session_id, size, number))
    beside.rename(root)
    return root
