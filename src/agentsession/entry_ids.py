"""Ids that are hashes: an entry's id names its content, its parent, its time and its type.

An id commits to the whole path above its entry.

Spec: later drafts 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentsession import text
from agentsession.canonical import canonical_text, sha256
from agentsession.entries import ENVELOPE
from agentsession.errors import CannotHash, ReservedMember
from agentsession.ids import is_content_id
from agentsession.members import join_members
from agentsession.timestamp import valid as is_time

RESERVED: Final = frozenset({*ENVELOPE, "content"})
"""Names that no member of a body may have at its top (later drafts 3.1)."""

_ONE_SPELLING: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,8}[1-9])?Z\Z"
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a line hashes to.

    Attributes:
        id: the entry's id.
        content: the hash of its body.

    Spec: later drafts 3.1.
    """

    id: str
    content: str


def identity(members: Mapping[str, bytes]) -> Identity:
    """Return the hashes of an entry with these members, the envelope's among them.

    The text has to have passed the I-JSON test; an ``id`` among the members is not looked at.

    Spec: later drafts 3.1.

    Raises:
        ReservedMember: when the body has a member called ``content``.
        CannotHash: when a number has no canonical form.
    """
    if "content" in members:
        raise ReservedMember('a body must not have a member "content"', member="content")
    body = {name: value for name, value in members.items() if name not in RESERVED}
    content = sha256(canonical_text(join_members(body)))
    envelope = {
        "content": text.encode(content),
        "parent": members.get("parent", b"null"),
        "ts": members.get("ts", b"null"),
        "type": members.get("type", b"null"),
    }
    parents = members.get("parents", b"null")
    if parents.startswith(b"[") and text.split_elements(parents):
        envelope["parents"] = parents
    return Identity(sha256(canonical_text(join_members(envelope))), content)


def has_one_spelling(ts: str) -> bool:
    """Return whether a time is spelled the one way that ids allow.

    Spec: later drafts 3.4.
    """
    return _ONE_SPELLING.match(ts) is not None and is_time(ts)


def id_problem(line: bytes, entry_id: str, ts: str) -> tuple[str, str]:
    """Return what is wrong with the id of a line, and the id it should have; empty when right.

    Args:
        line: an entry's line, with its envelope in order.
        entry_id: the id it has.
        ts: the time it has.

    Spec: later drafts 3.5.

    Raises:
        ReservedMember: when the body has a member called ``content``.
    """
    if not is_content_id(entry_id):
        return f'"{entry_id[:80]}" is not sha256: and 64 lowercase hex digits', ""
    if not has_one_spelling(ts):
        return (
            f'ts "{ts[:80]}" is not in the one spelling, YYYY-MM-DDThh:mm:ss[.f]Z',
            "",
        )
    members = text.split_members(line)
    if "parent" not in members:
        return "the line has no member parent, which is null for a root", ""
    try:
        expected = identity(members).id
    except CannotHash as error:
        return str(error), ""
    if expected != entry_id:
        return f"the id is {entry_id}, but the line hashes to {expected}", expected
    return "", ""
