"""Telling: entries that add no item, written into a draft from their plain members.

A response stands behind each model call and a dispatch before each output. Made as entries they
would be encoded, taken apart and encoded once more for their ids; from their members both texts
follow at once, and are the same.

Spec: decision D5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentsession import text
from agentsession.canonical import canonical_json
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.importers.drafting import Node, TreeDraft


class Told:
    """An entry by its members, as far as a draft needs one.

    Args:
        entry_type: its type, none that changes the settings.
        members: its members beside the envelope, in the order in which the type writes them,
            other members behind those by name; what it does not write is left out.

    Attributes:
        type: the type's name.
        canonical_content: what decides its id.
        line: its line, once it has a place.

    Raises:
        InvalidEntry: when a member has no JSON form.
    """

    __slots__ = ("_body", "canonical_content", "line", "type")

    def __init__(self, entry_type: type[Entry], members: Mapping[str, Any]) -> None:
        self.type = entry_type.TYPE
        self._body = text.encode(members)
        self.canonical_content = _content(members)
        self.line = b""

    def sealed(self, name: str, parent: str | None, ts: str) -> Told:
        """Return the entry with its place in a session and its line encoded."""
        above = f'"{parent}"' if parent else "null"
        head = f'{{"type":"{self.type}","id":"{name}","parent":{above},"ts":"{ts}",'
        self.line = head.encode() + self._body[1:]
        return self


def _content(members: Mapping[str, Any]) -> bytes:
    try:
        return canonical_json(members)
    except AgentSessionError:
        return b"\n".join(text.encode(value) for value in members.values())


def tell(
    draft: TreeDraft,
    node: Node,
    told: Told,
    native_id: str,
    *,
    role: str,
    ts: str,
) -> Node:
    """Append an entry below a node; return the new node.

    The line and the id are those that the draft gives an entry with these members.
    """
    return draft.add(node, cast("Entry", told), native_id, role, ts)


def given(**members: Any) -> dict[str, Any]:
    """Return the members that say anything: not ``None``, ``""`` or 0."""
    return {name: value for name, value in members.items() if value not in (None, "", 0)}
