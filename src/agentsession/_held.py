"""Strings as their caller held them, lone surrogates and all.

The spelling of the format replaces a lone surrogate, which would leave nothing to record
where later drafts ask for the source of what was changed.

Spec: later drafts 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from agentsession import payload, text
from agentsession.errors import InvalidEntry

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}".encode()


def may_differ(encoded: bytes) -> bool:
    """Return whether a text may stand for strings it could not hold."""
    return _REPLACEMENT in encoded


def held_text(value: object, encoded: bytes) -> bytes | None:
    """Return a value's JSON text with its lone surrogates as escapes, where it has any.

    Args:
        value: the value a caller gave for a member.
        encoded: its text in the spelling of the format.
    """
    if not may_differ(encoded):
        return None
    if isinstance(value, str) != encoded.startswith(b'"'):
        return None  # JSON text, which was kept as it is
    try:
        spelled, found = _spelled(payload.plain(value))
        return text.encode(spelled) if found else None
    except (RecursionError, InvalidEntry):
        return None


def _spelled(value: Any) -> tuple[Any, bool]:
    """The value with each string that holds lone surrogates as raw text, and whether one does."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return msgspec.Raw(_escaped(value)), True
        return value, False
    if isinstance(value, Mapping):
        pairs = {name: _spelled(member) for name, member in value.items()}
        spelled = {name: member for name, (member, _) in pairs.items()}
        return spelled, any(found for _, found in pairs.values())
    if isinstance(value, (list, tuple)):
        elements = [_spelled(element) for element in value]
        return [element for element, _ in elements], any(found for _, found in elements)
    return value, False


def _escaped(value: str) -> bytes:
    pieces = []
    for character in value:
        if "\ud800" <= character <= "\udfff":
            pieces.append(b"\\u%04x" % ord(character))
        else:
            pieces.append(text.encode(character)[1:-1])
    return b'"' + b"".join(pieces) + b'"'
