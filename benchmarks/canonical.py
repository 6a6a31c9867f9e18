"""Speed of canonical JSON against the rfc8785 package and the standard library.

Prints, for each kind of document, how many times faster `canonical_json` is
than each baseline in the same run, as min / median / max over the rounds.
"""

from __future__ import annotations

import base64
import json
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

import rfc8785

from agentsession.canonical import canonical_json, canonical_text

if TYPE_CHECKING:
    from collections.abc import Callable

ASCII = 'read file parse the line \n\t"name": value, returns None for src/main.py'
# Both an emoji and a fullwidth comma: text whose names need a look before they count as sorted.
MIXED = ASCII + " é für 文件\uff0c完成 😀 \x1b[0m"
VOCABULARIES = (ASCII.split(" "), MIXED.split(" "))


def words(rng: random.Random, length: int) -> str:
    vocabulary = rng.choice(VOCABULARIES)
    parts: list[str] = []
    while sum(map(len, parts)) + len(parts) < length:
        parts.extend(rng.choices(vocabulary, k=20))
    return " ".join(parts)[:length]


def item(rng: random.Random, number: int) -> dict[str, Any]:
    """Return one item as agents record them: messages, calls and their outputs."""
    kind = number % 4
    call_id = f"call_{number // 4:08d}"
    if kind == 0:
        part = {"type": "input_text", "text": words(rng, 200)}
        return {"type": "message", "role": "user", "content": [part]}
    if kind == 1:
        part = {"type": "output_text", "text": words(rng, 300), "annotations": [], "logprobs": []}
        return {
            "type": "message",
            "id": f"msg_{rng.getrandbits(64):016x}",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    if kind == 2:
        return {
            "type": "function_call",
            "id": f"fc_{rng.getrandbits(64):016x}",
            "call_id": call_id,
            "name": "read_file",
            "arguments": json.dumps({"path": "src/main.py", "limit": rng.randrange(999)}),
            "status": "completed",
        }
    if number % 100 == 99:
        image = "data:image/png;base64," + base64.b64encode(rng.randbytes(30_000)).decode()
        part = {"type": "input_image", "image_url": image, "detail": "auto"}
        return {"type": "function_call_output", "call_id": call_id, "output": [part]}
    return {
        "type": "function_call_output",
        "call_id": call_id,
        "output": words(rng, rng.choice([120, 400, 2000, 20000])),
    }


def request(rng: random.Random, items: int, temperature: float) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": False,
    }
    tools = [
        {
            "type": "function",
            "name": f"tool_{number}",
            "description": words(rng, 300),
            "parameters": parameters,
            "strict": True,
        }
        for number in range(12)
    ]
    return {
        "model": "gpt-5",
        "input": [item(rng, number) for number in range(items)],
        "instructions": words(rng, 4000),
        "tools": tools,
        "tool_choice": "auto",
        "temperature": temperature,
        "max_output_tokens": 8192,
        "store": False,
    }


def stdlib(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def seconds(work: Callable[[Any], bytes], values: list[Any], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        for value in values:
            work(value)
    return time.perf_counter() - start


def compare(name: str, values: list[Any], repeat: int, rounds: int = 9) -> None:
    """Print the ratios of one kind of document."""
    texts = [json.dumps(value).encode() for value in values]
    for value, text in zip(values, texts, strict=True):
        assert canonical_json(value) == canonical_text(text) == rfc8785.dumps(value)
    ratios: dict[str, list[float]] = {"rfc8785": [], "json.dumps": [], "own text": []}
    for _ in range(rounds):
        own = seconds(canonical_json, values, repeat)
        ratios["rfc8785"].append(seconds(rfc8785.dumps, values, repeat) / own)
        ratios["json.dumps"].append(seconds(stdlib, values, repeat) / own)
        ratios["own text"].append(seconds(canonical_text, texts, repeat) / own)
    size = sum(map(len, texts)) // len(texts)
    for baseline, found in ratios.items():
        low, middle, high = min(found), statistics.median(found), max(found)
        print(
            f"{name:<28} {size:>9} bytes  time of {baseline:<10} / time of canonical_json: "
            f"{low:6.1f} / {middle:6.1f} / {high:6.1f}"
        )


def main() -> None:
    """Run every comparison."""
    rng = random.Random(7)
    items = [item(rng, number) for number in range(400)]
    compare("items", items, 2)
    compare("items below 1 KB", [one for one in items if len(str(one)) < 1000], 4)
    compare("requests of 400 items", [request(rng, 400, 0.7)], 2)
    compare("the same, temperature 1.0", [request(rng, 400, 1.0)], 2)
    compare("requests of 20 items", [request(rng, 20, 0.2) for _ in range(10)], 2)


if __name__ == "__main__":
    main()
