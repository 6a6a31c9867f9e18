"""Codex's tool outputs: how the files' ones were spelled and shortened for a request.

Codex shortens an output where it takes it into its history, and from a fifth above what its
model is said to take; the files hold the output as it was before. Spec: codex 8.1; what no page
says was read off requests that releases of 0.50 to 0.171 sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession import text as json_text
from agentsession.errors import NotJSON

Items = list[dict[str, Any]]

_SHELLS: Final = frozenset({"shell", "container.exec", "apply_patch"})
_LINES: Final = re.compile(r"Total output lines: (\d+)\n\n?")
_OMITTED: Final = re.compile(r"\[\.\.\. omitted \d+ of (\d+) lines \.\.\.\]")
_SHORTENED: Final = re.compile(r"…\d+ (chars|tokens) truncated…")
_SPARE: Final = (6, 5)
_NOTE: Final = 100
"""More bytes than the note of a cut has."""

_TOKEN: Final = 4
_MOST_BYTES: Final = 10_240
_MOST_LINES: Final = 256


@dataclass(frozen=True, slots=True)
class Limit:
    """What a model is said to take of an output.

    Attributes:
        tokens: it is counted in tokens, of four bytes each, and not in bytes.
        size: how many, with a fifth to spare.
        again: what a process found in its files was cut twice, the note of the first cut being
            too much for the second.
    """

    tokens: bool
    size: int
    again: bool = False

    @property
    def bytes(self) -> int:
        """The same in bytes."""
        return self.size * _TOKEN if self.tokens else self.size


def limit_of(mode: object, limit: object, *, again: bool) -> Limit | None:
    """Return the limit that a recorded ``truncation_policy`` says; ``None`` for none."""
    if mode not in {"bytes", "tokens"} or not isinstance(limit, int) or limit < 0:
        return None
    more, less = _SPARE
    return Limit(mode == "tokens", limit * more // less, again=again)


def shortened(items: Items, limit: Limit) -> Items:
    """Return items with their outputs as a history under a limit holds them."""
    begun = max((at for at, item in enumerate(items) if _is_users(item)), default=-1)
    found: Items = []
    for at, item in enumerate(items):
        short = _with_output(item, lambda output: _within(output, limit))
        if limit.again and at < begun:
            short = _with_output(short, lambda output: _within(output, limit))
        found.append(short)
    return found


def shortened_again(items: Items, *, tokens: bool) -> Items:
    """Return items with those outputs cut once more that are too long by the note of a cut.

    The files of 0.145 on hold outputs that are cut. The note tells what the limit is in.

    Args:
        items: the items.
        tokens: the second cut counts in tokens whatever the first one counted in.
    """
    return [_with_output(item, lambda output: _again(output, tokens=tokens)) for item in items]


def shortened_whole(items: Items, limit: Limit, *, tokens: bool) -> Items:
    """Return items of a thread that was begun when outputs were still stored whole.

    Args:
        items: the items.
        limit: what the model takes of an output, by who went on with the thread.
        tokens: see :func:`shortened_again`.
    """

    def change(output: Any) -> Any:
        long = isinstance(output, str) and len(output.encode("utf-8", "replace")) > (
            limit.bytes + _NOTE
        )
        if not long and _noted(output) is not None:
            return _again(output, tokens=tokens)
        return _within(output, limit)

    return [_with_output(item, change) for item in items]


def in_lines(items: Items) -> Items:
    """Return items with their outputs as a history of 0.53 to 0.58 holds them."""
    return [
        _with_output(item, lambda output: _headed(output) if isinstance(output, str) else output)
        for item in items
    ]


def _with_output(item: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    output = item.get("output")
    if not isinstance(output, (str, list)):
        return item
    changed = change(output)
    return item if changed is output else {**item, "output": changed}


def _is_users(item: dict[str, Any]) -> bool:
    return item.get("type") == "message" and item.get("role") == "user"


def _within(output: Any, limit: Limit) -> Any:
    """An output that is no longer than a limit."""
    if isinstance(output, str):
        return output if len(output) * 4 <= limit.bytes else _cut(output, limit)
    texts = [part["text"] for part in output if _is_text(part)]
    if sum(len(words) for words in texts) * 4 <= limit.bytes:
        return output
    left, omitted = limit.size, 0
    parts: list[Any] = []
    for part in output:
        if not _is_text(part):
            parts.append(part)
            continue
        cost = len(part["text"].encode("utf-8", "replace"))
        cost = -(-cost // _TOKEN) if limit.tokens else cost
        if cost <= left:
            parts.append(part)
            left -= cost
        elif left:
            short = _cut(part["text"], Limit(limit.tokens, left))
            parts.append({**part, "text": short})
            left = 0
        else:
            omitted += 1
    if omitted:
        parts.append({"type": "input_text", "text": f"[omitted {omitted} text items ...]"})
    return parts


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _noted(output: Any) -> re.Match[str] | None:
    """The note of a cut in an output."""
    texts = [output] if isinstance(output, str) else [p["text"] for p in output if _is_text(p)]
    return next((found for words in texts if (found := _SHORTENED.search(words))), None)


def _again(output: Any, *, tokens: bool) -> Any:
    noted = _noted(output)
    if noted is None:
        return output
    in_tokens = noted[1] == "tokens"
    size = 12_000 if in_tokens else 3_000 if tokens else 12_000
    return _within(output, Limit(in_tokens or tokens, size))


def _cut(words: str, limit: Limit) -> str:
    """A text without its middle, when it has too many bytes."""
    data, most = words.encode("utf-8", "replace"), limit.bytes
    if len(data) <= most:
        return words
    left = data[: most // 2].decode("utf-8", "ignore")
    right = data[len(data) - (most - most // 2) :].decode("utf-8", "ignore")
    if limit.tokens:
        gone = f"{-(-(len(data) - most) // _TOKEN)} tokens"
    else:
        gone = f"{len(words) - len(left) - len(right)} chars"
    return f"{left}…{gone} truncated…{right}"


def _headed(words: str) -> str:
    """The first and last lines of a text, when it has too many, or too many bytes."""
    data = words.encode("utf-8", "replace")
    lines = data.split(b"\n")
    segments = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    if len(data) <= _MOST_BYTES and len(segments) <= _MOST_LINES:
        return words
    half = _MOST_LINES // 2
    first = segments[:half]
    last = segments[len(first) :][-half:]
    omitted = len(segments) - len(first) - len(last)
    note = f"\n[... output truncated to fit {_MOST_BYTES} bytes ...]\n\n"
    if omitted:
        note = f"\n[... omitted {omitted} of {len(segments)} lines ...]\n\n"
    head = b"".join(first)[: _MOST_BYTES // 2].decode("utf-8", "ignore")
    left = _MOST_BYTES - len(head.encode()) - len(note)
    tail = b"".join(last)
    end = tail[max(len(tail) - left, 0) :].decode("utf-8", "ignore")
    return f"Total output lines: {len(segments)}\n\n{head}{note}{end}"


def structured(items: Sequence[dict[str, Any]]) -> Items:
    """Return items whose JSON shell outputs are texts. Spec: codex 8.1, step 3."""
    shells = {
        _string(item, "call_id")
        for item in items
        if item.get("type") == "local_shell_call"
        or (
            item.get("type") in {"function_call", "custom_tool_call"}
            and _string(item, "name") in _SHELLS
        )
    }
    return [
        {**item, "output": _as_text(item["output"])}
        if _string(item, "call_id") in shells and isinstance(item.get("output"), str)
        else item
        for item in items
    ]


def _string(item: Mapping[str, Any], name: str) -> str:
    """A member as a string: what a damaged log has there may be anything."""
    found = item.get(name)
    return found if isinstance(found, str) else ""


def _as_text(output: str) -> str:
    try:
        stored = json_text.parse(output)
    except NotJSON:
        return output
    metadata = stored.get("metadata") if isinstance(stored, dict) else None
    if not isinstance(metadata, dict) or not isinstance(stored.get("output"), str):
        return output
    code, seconds = metadata.get("exit_code"), metadata.get("duration_seconds")
    if not isinstance(code, int) or not isinstance(seconds, (int, float)):
        return output
    said = stored["output"]
    total = ""
    counted = _LINES.match(said)
    if counted is not None:
        total, said = counted[1], said[counted.end() :]
    elif found := _OMITTED.search(said):
        total = found[1]
    parts = [f"Exit code: {code}", f"Wall time: {seconds:g} seconds"]
    if total:
        parts.append(f"Total output lines: {total}")
    return "\n".join([*parts, "Output:", said])
