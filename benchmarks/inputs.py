"""Seeded inputs of realistic shape: words, Unicode, escapes, data URLs, long outputs."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path

import agentsession as ags

_WORDS = (
    "the file module returns error test function value path session entry tool output line "
    "build failed with status while reading config naïve café 東京 — «quoted» emoji 🙂 done"
).split()


def text(rng: random.Random, size: int) -> str:
    """Prose and code of about ``size`` characters, with escapes and some Unicode."""
    words: list[str] = []
    length = 0
    while length < size:
        word = rng.choice(_WORDS)
        if rng.random() < 0.08:
            word += rng.choice(['"', "\\", "\n", "\t", "\n    ", "<b>", "&"])
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def data_url(rng: random.Random, size: int) -> str:
    """A data URL of about ``size`` characters."""
    return "data:image/png;base64," + base64.b64encode(rng.randbytes(size * 3 // 4)).decode()


def item(rng: random.Random, size: int, call: int) -> dict[str, object]:
    """A message, a call or a call's output of about ``size`` bytes of JSON."""
    choice = rng.random()
    if size > 5000:
        return {
            "type": "function_call_output",
            "call_id": f"call_{call}",
            "output": text(rng, size),
        }
    if choice < 0.3:
        arguments = json.dumps({"path": f"src/m{call}.py", "query": text(rng, max(10, size - 220))})
        return {
            "type": "function_call",
            "id": f"fc_{call}",
            "status": "completed",
            "call_id": f"call_{call}",
            "name": "read_file",
            "arguments": arguments,
        }
    if choice < 0.6:
        return {
            "type": "function_call_output",
            "call_id": f"call_{call}",
            "output": text(rng, max(10, size - 80)),
        }
    role = "assistant" if choice < 0.8 else "user"
    kind = "output_text" if role == "assistant" else "input_text"
    part: dict[str, object] = {"type": kind, "text": text(rng, max(10, size - 120))}
    if role == "assistant":
        part["annotations"] = []
    return {"type": "message", "role": role, "content": [part]}


def lines(
    size: int, *, seed: int = 7, item_size: int = 300, share: float = 0.4, output_size: int = 20_000
) -> Iterator[bytes]:
    """The lines of a session of about ``size`` bytes.

    ``share`` of the bytes stand in tool outputs of ``output_size``, the rest in items of
    ``item_size``; every eighth entry is a response.
    """
    rng = random.Random(seed)
    header = {
        "type": "session",
        "format": "agentsession/0.2",
        "id": f"session-{seed}",
        "created_at": "2026-03-01T08:15:30Z",
        "payload": "openresponses/2026-04-24",
    }
    yield json.dumps(header, separators=(",", ":")).encode() + b"\n"
    written = big = 0
    parent: str | None = None
    number = 0
    while written < size:
        number += 1
        entry_id = f"{rng.getrandbits(32):08x}{number:x}"
        clock = f"08:{number % 60:02d}:{number % 59:02d}.{number % 999:03d}"
        ts = f"2026-03-{1 + number % 28:02d}T{clock}Z"
        entry: dict[str, object] = {"type": "item", "id": entry_id, "parent": parent, "ts": ts}
        large = bool(share) and big < share * (written + 1)
        if number % 8 == 0:
            entry |= {
                "type": "response",
                "response_id": f"resp_{number}",
                "model": "m-1",
                "status": "completed",
                "usage": {"input_tokens": number, "output_tokens": 7, "total_tokens": number + 7},
                "latency_ms": number % 5000,
            }
        else:
            entry["item"] = item(rng, output_size if large else item_size, number)
        line = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        if large and number % 8:
            big += len(line)
        written += len(line)
        parent = entry_id
        yield line


ONE_KIND: dict[str, dict[str, object]] = {
    "labels": {"type": "label", "target": "0", "label": "seen"},
    "leaf marks": {"type": "label", "target": "0", "label": "leaf"},
    "info entries": {"type": "info", "name": "a name"},
    "configs of a model": {"type": "config", "model": "m-1"},
    "runs": {"type": "run", "phase": "start", "run_id": "r-1", "source": "human"},
    "extensions": {"type": "acme:x", "a": 1},
    "times with an offset": {"type": "item", "item": {"type": "message", "content": "Hi there"}},
}
"""Files of the shortest lines of one kind, by name: what each line says beside its envelope."""


def lines_of(kind: str, size: int) -> Iterator[bytes]:
    """The lines of a session of about ``size`` bytes whose entries are all of one kind."""
    yield next(lines(1))
    zone = "+02:00" if kind == "times with an offset" else "Z"
    written = number = 0
    parent: str | None = None
    while written < size:
        ts = f"2026-03-01T08:{number % 60:02d}:{number % 59:02d}.{number % 999:03d}{zone}"
        body = dict(ONE_KIND[kind])
        entry = {"type": body.pop("type"), "id": f"{number:x}", "parent": parent, "ts": ts, **body}
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        parent = f"{number:x}"
        number += 1
        written += len(line)
        yield line


def file_of_kind(path: Path, kind: str, size: int) -> Path:
    """Write a session of one kind of entries; kept from run to run."""
    return _written(path, lines_of(kind, size))


def hashed_file(path: Path, size: int) -> Path:
    """Write a session of 0.11, whose ids are hashes; kept from run to run."""
    if path.exists():
        return path
    made = ags.Session(ags.Header(format="agentsession/0.11", id="bench"))
    rng = random.Random(8)
    written = number = 0
    while written < size:
        number += 1
        response = ags.ResponseEntry(f"resp_{number}", model="m", status="completed")
        for entry in (ags.ItemEntry(item(rng, 300, number)), response):
            made.append(entry)
        written += 1000
    return _written(path, iter([ags.dump(made)]))


def session_file(path: Path, size: int, **options: object) -> Path:
    """Write a session of about ``size`` bytes; kept from run to run."""
    return _written(path, lines(size, **options))  # type: ignore[arg-type]


def _written(path: Path, found: Iterator[bytes]) -> Path:
    if not path.exists():
        beside = path.with_suffix(".tmp")
        with beside.open("wb") as file:
            file.writelines(found)
        beside.rename(path)
    return path
