"""Usage: what Claude Code stores of each answer's tokens, counted once.

``input_tokens`` counts uncached input, cache reads and cache writes; ``output_tokens`` holds
the thinking tokens in all releases. Spec: format 5.6, decision D12, claude-code 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsession.importers.usage import Told

_MOST: Final = 1 << 53
_NAMES: Final = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)
_INNER: Final = (
    ("cache_creation", ("ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens")),
    ("output_tokens_details", ("thinking_tokens",)),
)


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
    """Return a count, which may be spelled as a whole number with a fraction; 0 for none."""
    if type(value) is int:
        return value if 0 < value < _MOST else 0
    return int(value) if type(value) is float and 0 < value < _MOST and value % 1 == 0 else 0


def is_odd(native: object) -> bool:
    """Return whether an answer's counts say something that is no number of tokens."""
    if not isinstance(native, dict):
        return False
    if _has_odd(native, _NAMES):
        return True
    for member, inner in _INNER:
        told = native.get(member)
        if isinstance(told, dict) and _has_odd(told, inner):
            return True
    return False


def _has_odd(native: Mapping[str, Any], counts: Sequence[str]) -> bool:
    for name in counts:
        found = native.get(name)
        if found is not None and count(found) != found:
            return True
    return False


def key_of(message_id: str) -> str:
    """Return what names an answer in every copy of it."""
    return message_id


def told_of(message_id: str, native: Mapping[str, Any]) -> Told:
    """Return what is to say of an answer that an import left in an entry.

    Args:
        message_id: the answer's id.
        native: what was recorded beside its response.
    """
    complete = native.get("stop_reason") is not None
    return Told(key_of(message_id), complete=complete, odd=is_odd(native.get("usage")))


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
