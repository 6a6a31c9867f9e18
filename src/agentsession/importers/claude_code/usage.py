"""Usage: what Claude Code stores of each answer's tokens, counted once.

``input_tokens`` counts uncached input, cache reads and cache writes; ``output_tokens`` holds
the thinking tokens in all releases. Spec: format 5.6, decision D12, claude-code 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from agentsession.importers.base import Source
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.lines import value_of
from agentsession.importers.usage import UsageRecord
from agentsession.timestamp import Timestamp

_MARK: Final = b'"usage"'
_BUFFER: Final = 1 << 20
_REFUSALS: Final = (msgspec.MsgspecError, RecursionError, ValueError)


def usage_of(native: object) -> dict[str, Any] | None:
    """Return an answer's counts as usage; ``None`` when it has none."""
    if not isinstance(native, dict):
        return None
    read = count(native.get("cache_read_input_tokens"))
    written = count(native.get("cache_creation_input_tokens"))
    lifetimes = native.get("cache_creation")
    hour = minutes = 0
    if isinstance(lifetimes, dict):
        hour = count(lifetimes.get("ephemeral_1h_input_tokens"))
        minutes = count(lifetimes.get("ephemeral_5m_input_tokens"))
    written = max(written, hour + minutes)
    given = count(native.get("input_tokens")) + read + written
    made = count(native.get("output_tokens"))
    details: dict[str, Any] = {"cached_tokens": read}
    if written:
        details["cache_creation_tokens"] = written
    if hour:
        details["cache_creation_1h_tokens"] = hour
    thought = native.get("output_tokens_details")
    thinking = count(thought.get("thinking_tokens")) if isinstance(thought, dict) else 0
    return {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": given + made,
        "input_tokens_details": details,
        "output_tokens_details": {"reasoning_tokens": thinking},
    }


def count(value: object) -> int:
    """Return a count; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 < value < 1 << 53 else 0


def best_usage(found: list[tuple[object, object]]) -> tuple[Mapping[str, Any] | None, bool]:
    """Return the usage of an answer from those of its records, and whether it is final.

    Args:
        found: for each record its usage and its stop reason.
    """
    best: Mapping[str, Any] | None = None
    final = False
    for usage, stop in found:
        final = final or stop is not None
        if isinstance(usage, dict) and (
            best is None or count(usage.get("output_tokens")) >= count(best.get("output_tokens"))
        ):
            best = usage
    return best, final


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    usage: Any = None
    stop_reason: Any = None


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    uuid: Any = None
    session: Any = msgspec.field(default=None, name="sessionId")
    agent: Any = msgspec.field(default=None, name="agentId")
    origin: Any = msgspec.field(default=None, name="requestSessionId")
    timestamp: Any = None
    cwd: Any = None
    cost: Any = msgspec.field(default=None, name="costUSD")
    message: _Message | None = None


_decode = msgspec.json.Decoder(_Line).decode


def file_usage(path: Path) -> Iterator[UsageRecord]:
    """Yield the usage of each answer of one file, once for each answer; nothing is converted.

    A file that cannot be read has none.
    """
    waiting: dict[str, _Line] = {}
    ended: set[str] = set()
    try:
        with path.open("rb", buffering=_BUFFER) as file:
            for line in file:
                if _MARK not in line:
                    continue
                try:
                    read: _Line | None = _decode(line)
                except _REFUSALS:
                    read = _exact(line)
                if read is not None and read.type == names.ASSISTANT:
                    _take(read, waiting, ended)
    except OSError:
        pass
    for key, read in waiting.items():
        found = _record(key, read, complete=key in ended)
        if found is not None:
            yield found


def _take(read: _Line, waiting: dict[str, _Line], ended: set[str]) -> None:
    message = read.message
    if message is None or message.model == names.SYNTHETIC or message.usage is None:
        return
    key = message.id if isinstance(message.id, str) and message.id else read.uuid
    key = key if isinstance(key, str) else ""
    if message.stop_reason is not None:
        ended.add(key)
    known = waiting.get(key)
    if known is not None and key and _made(known) > _made(read):
        return
    if known is None or key:
        waiting[key] = read


def _made(read: _Line) -> int:
    usage = read.message.usage if read.message is not None else None
    return count(usage.get("output_tokens")) if isinstance(usage, dict) else 0


def _record(key: str, read: _Line, *, complete: bool) -> UsageRecord | None:
    message = read.message
    usage = usage_of(message.usage) if message is not None else None
    if message is None or usage is None:
        return None
    session = _string(read.origin) or _string(read.session)
    if isinstance(read.agent, str) and read.agent:
        session = f"{session}-agent-{read.agent}"
    cost = read.cost
    return UsageRecord(
        session,
        _string(message.model),
        names.PROVIDER,
        _time(read.timestamp),
        _string(read.cwd),
        usage,
        float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None,
        key,
        complete,
    )


def _exact(line: bytes) -> _Line | None:
    """A line that the fast decoder refuses, read the exact way."""
    value = value_of(line)
    if not isinstance(value, dict):
        return None
    message = value.get("message")
    inner = message if isinstance(message, dict) else {}
    return _Line(
        value.get("type"),
        value.get("uuid"),
        value.get("sessionId"),
        value.get("agentId"),
        value.get("requestSessionId"),
        value.get("timestamp"),
        value.get("cwd"),
        value.get("costUSD"),
        _Message(inner.get("id"), inner.get("model"), inner.get("usage"), inner.get("stop_reason")),
    )


def usage_records(source: Source) -> Iterator[UsageRecord]:
    """Yield the usage of every answer in a source, straight from its files.

    Copies of one answer, which resumes and forks make, have one ``key``: of these the one
    with the most output tokens counts. Spec: decision D12.
    """
    from agentsession.importers.claude_code.places import logs  # noqa: PLC0415 - a cycle

    for path in source.paths:
        for log in logs(Path(path)):
            yield from file_usage(log)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _time(value: object) -> Timestamp | None:
    if not isinstance(value, str):
        return None
    try:
        return Timestamp.parse(value)
    except ValueError:
        return None
