"""How much of a session's content is of types that nobody knows. Spec: decision D11."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from agentsession.importers.opencode import names
from agentsession.importers.opencode.records import MessageRecord, Row2

_ROLES: Final = frozenset({names.ROLE_USER, names.ROLE_ASSISTANT})
_KNOWN_PARTS: Final = frozenset(names.KNOWN_PARTS)


def unknown_bytes(
    messages: Iterable[MessageRecord], rows: Iterable[Row2], ordinary: Container[int] = ()
) -> int:
    """Return how many bytes are of a role or a type that OpenCode never wrote.

    Args:
        messages: V1 messages.
        rows: V2 rows.
        ordinary: the places of messages that hold none.
    """
    unknown = 0
    for place, message in enumerate(messages):
        if place in ordinary:
            continue
        role = message.info.role if message.info is not None else names.ROLE_USER
        if role not in _ROLES:
            unknown += _bytes(message)
            continue
        for found in message.parts:
            if found.part is not None:
                kind = found.part.value.get("type")
                if type(kind) is not str or kind not in _KNOWN_PARTS:
                    unknown += len(found.raw)
    return unknown + sum([len(row.raw) for row in rows if row.type not in names.KNOWN_TYPES])


def all_bytes(messages: Iterable[MessageRecord], rows: Iterable[Row2]) -> int:
    """Return how many bytes there are."""
    return sum(map(_bytes, messages)) + sum([len(row.raw) for row in rows])


def _bytes(message: MessageRecord) -> int:
    return len(message.raw) + sum([len(part.raw) for part in message.parts])
