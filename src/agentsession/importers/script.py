"""JSON as JavaScript writes it: what agents in it put on the wire for stored values."""

from __future__ import annotations

import re
from typing import Any, Final

from agentsession import text
from agentsession._emit import Style, emit, string_bytes
from agentsession.canonical import canonical_number
from agentsession.errors import AgentSessionError, InvalidEntry
from agentsession.importers.spelling import script_text

_SPACE: Final = re.compile(r"\s*")


def stringify(value: Any, *, plain: bool = False) -> str:
    """Return a JSON value as ``JSON.stringify`` spells it: compact, members as they stand.

    A number no double can hold, or nesting beyond the limit, is spelled as the format
    spells it.

    Args:
        value: the value.
        plain: whether every float in it is spelled one way everywhere.
    """
    if plain:
        found = script_text(value)
        if found is not None:
            return found
    try:
        return emit(value, _STYLE).decode("utf-8", "replace")
    except AgentSessionError:
        pass
    try:
        return text.encode(value).decode("utf-8", "replace")
    except AgentSessionError:
        return "{}"


def _raw(raw: bytes) -> bytes:
    return raw


def _refuse(problem: str, path: str) -> Exception:
    return InvalidEntry(f"{problem} at {path} has no JavaScript spelling")


def _number(value: float) -> str:
    try:
        return canonical_number(value)
    except AgentSessionError as error:
        raise ValueError(str(error)) from error


_STYLE: Final = Style(
    sort=False,
    escape=string_bytes,
    number=_number,
    raw=_raw,
    fast=lambda _value: None,
    error=_refuse,
)
