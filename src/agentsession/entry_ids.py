"""Ids that are hashes: an entry's id names its content, its parent, its time and its type.

An id commits to the whole path above its entry. :func:`identity` computes it exactly;
:func:`block_holds` checks the ids of many lines at once where they are written plainly, and
says when it cannot.

Spec: later drafts 3.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._emit import double_text
from agentsession.canonical import canonical_json, canonical_text, sha256
from agentsession.entries import ENVELOPE
from agentsession.errors import CannotHash, ReservedMember
from agentsession.ids import is_content_id
from agentsession.members import join_members
from agentsession.timestamp import valid as is_time

RESERVED: Final = frozenset({*ENVELOPE, "content"})
"""Names that no member of a body may have at its top (later drafts 3.1)."""

_TS: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,8}[1-9])?Z"
_ONE_SPELLING: Final = re.compile(_TS + r"\Z")
_ALL_SPELLED: Final = re.compile(rf"(?:{_TS}\n)*\Z")


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


# Many lines at once.

_PLAIN_INTEGER: Final = 2**53
_DIGITS: Final = b"p" + b"0" * 16
_CLASSES: Final = bytes(
    0x30 if 0x30 <= byte <= 0x39 else 0x70 if byte in b":,[-" else 0x78 for byte in range(256)
)
_LONG_NUMBER: Final = re.compile(rb"[:,\[-]([0-9]{16,})(?=[,\]}])")
_ASTRAL_LEADS: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_HIGH_LEADS: Final = (b"\xee", b"\xef")
"""First bytes of U+E000 to U+FFFF, which UTF-16 sorts after what is above them."""


def _plain_float(token: str) -> float:
    """Return a number that every encoder spells like this; refuse any other."""
    value = float(token)
    if value.is_integer() or double_text(value) != token or _encode(value) != token.encode():
        raise ValueError(token)
    return value


_encode = msgspec.json.Encoder(order="sorted").encode
_decode_lines = msgspec.json.Decoder(float_hook=_plain_float).decode_lines


def block_holds(block: bytes, ids: list[str]) -> bool:
    """Return whether the ids of a block of lines are certainly right.

    It is certain where the lines are compact JSON in the shortest spelling, in any member
    order. Encoding a decoded line again never gives more bytes than it had, and fewer when
    a name was repeated or anything was spelled otherwise; so equal lengths over the whole
    block prove all of its lines.

    Args:
        block: whole lines, a line feed after each, found to be entries in UTF-8.
        ids: their ids.
    """
    if not _integers_are_plain(block):
        return False
    try:
        lines: list[dict[str, Any]] = _decode_lines(block)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    encode = canonical_json if _order_may_differ(block) else _encode
    return len(lines) == len(ids) and _lines_hold(block, ids, lines, encode)


def is_plain(json_text: bytes) -> bool:
    """Return whether a JSON object is certainly I-JSON.

    That is so for compact text in the shortest spelling with plain numbers.
    """
    if not _integers_are_plain(json_text):
        return False
    try:
        values = _decode_lines(json_text)
        return len(values) == 1 and len(_encode(values[0])) == len(json_text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False


def _lines_hold(block: bytes, ids: list[str], lines: list[dict[str, Any]], encode: Any) -> bool:
    sha = hashlib.sha256()
    times: list[str] = []
    types: dict[str, str] = {}
    size = len(lines)
    try:
        for entry_id, line in zip(ids, lines, strict=True):
            entry_type, parent, ts = line.pop("type"), line.pop("parent"), line.pop("ts")
            if line.pop("id") != entry_id or "content" in line or "parents" in line:
                return False
            type_text = types.get(entry_type)
            if type_text is None:
                type_text = types[entry_type] = _encode(entry_type).decode()
            parent_text = "null" if parent is None else f'"{parent}"'
            times.append(ts)
            body = encode(line)
            of_body = sha.copy()
            of_body.update(body)
            envelope = (
                f'{{"content":"sha256:{of_body.hexdigest()}","parent":{parent_text},'
                f'"ts":"{ts}","type":{type_text}}}'
            ).encode()
            of_envelope = sha.copy()
            of_envelope.update(envelope)
            if entry_id != "sha256:" + of_envelope.hexdigest():
                return False
            # Body and envelope together are six bytes longer than the line: the content has a
            # longer name than the id, and there are two objects for one.
            size += len(body) + len(envelope) - (6 if line else 7)
    except (KeyError, RecursionError, ValueError, TypeError):
        return False
    times.append("")
    return size == len(block) and _ALL_SPELLED.match("\n".join(times)) is not None


def _integers_are_plain(block: bytes) -> bool:
    """Whether no whole number of the block is beyond 2^53."""
    classes = block.translate(_CLASSES)
    at = classes.find(_DIGITS)
    while at >= 0:
        found = _LONG_NUMBER.match(block, at)
        if found is not None and int(found[1][:20]) > _PLAIN_INTEGER:
            return False
        at = classes.find(_DIGITS, at + 1)
    return True


def _order_may_differ(block: bytes) -> bool:
    """Whether sorting names by code point and by UTF-16 could give two orders."""
    if block.isascii():
        return False
    return any(lead in block for lead in _ASTRAL_LEADS) and any(
        lead in block for lead in _HIGH_LEADS
    )
