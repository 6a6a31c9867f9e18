"""The ids of many lines at once: the fast way to verify, for lines as a writer writes them.

Where it cannot be certain it says so, and :mod:`agentsession.entry_ids` computes each id
exactly. So the two ways never differ in what they accept.

Certain are lines of compact JSON in the shortest spelling, in any member order. Encoding a
decoded line again never gives more bytes than it had, and fewer when a name was repeated or
anything was spelled otherwise; so equal lengths prove that nothing was.

Spec: later drafts 3.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

import msgspec

from agentsession._emit import double_text
from agentsession.canonical import canonical_json
from agentsession.entry_ids import has_one_spelling

Lines = list[dict[str, Any]]

_LINE_FEED: Final = 0x0A
_LONG_LINE: Final = 1500
"""From here on walking a value is quicker than looking through its text."""

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


def decoded(block: bytes) -> Lines | None:
    """Return the objects of a block of lines, or ``None`` where one has to be looked at exactly.

    Whether each stands on a line of its own is left to :func:`hold`.
    """
    if not block.startswith(b"{"):
        return None
    try:
        lines: Lines = _decode_lines(block)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return lines if lines and _integers_are_plain(block, lines) else None


def hold(block: bytes, ids: list[str], lines: Lines) -> bool:
    """Return whether the ids of a block of lines are certainly right.

    Args:
        block: the lines, a line feed after each.
        ids: the id of each; their times are found to be in the one spelling.
        lines: their objects as :func:`decoded` gives them; taken apart here.
    """
    encode = canonical_json if _order_may_differ(block) else _encode
    sha = hashlib.sha256()
    types: dict[str, str] = {}
    end = 0
    try:
        for entry_id, line in zip(ids, lines, strict=True):
            entry_type, parent, ts = line.pop("type"), line.pop("parent"), line.pop("ts")
            if line.pop("id") != entry_id or "content" in line or "parents" in line:
                return False
            type_text = types.get(entry_type)
            if type_text is None:
                type_text = types[entry_type] = _encode(entry_type).decode()
            parent_text = "null" if parent is None else f'"{parent}"'
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
            end += len(body) + len(envelope) - (6 if line else 7)
            if block[end] != _LINE_FEED:
                return False
            end += 1
    except (KeyError, IndexError, RecursionError, ValueError, TypeError):
        return False
    return end == len(block)


def holds(line: bytes, entry_id: str, ts: str) -> bool:
    """Return whether the id of one line, without its line feed, is certainly right."""
    if not has_one_spelling(ts):
        return False
    block = line + b"\n"
    lines = decoded(block)
    return lines is not None and hold(block, [entry_id], lines)


def is_plain(json_text: bytes) -> bool:
    """Return whether the text of one JSON object is certainly I-JSON."""
    lines = decoded(json_text)
    try:
        return lines is not None and len(lines) == 1 and len(_encode(lines[0])) == len(json_text)
    except (RecursionError, ValueError):
        return False


def _integers_are_plain(block: bytes, lines: Lines) -> bool:
    """Whether no whole number of the block is beyond 2^53."""
    if len(block) >= _LONG_LINE * len(lines):
        return all(map(_is_small, lines))
    classes = block.translate(_CLASSES)
    at = classes.find(_DIGITS)
    while at >= 0:
        found = _LONG_NUMBER.match(block, at)
        if found is not None and int(found[1][:20]) > _PLAIN_INTEGER:
            return False
        at = classes.find(_DIGITS, at + 1)
    return True


def _is_small(line: dict[str, Any]) -> bool:
    pending: list[Any] = [line]
    for here in pending:  # grows while it is walked
        for child in here.values() if type(here) is dict else here:
            kind = type(child)
            if kind is dict or kind is list:
                pending.append(child)
            elif kind is int and not -_PLAIN_INTEGER <= child <= _PLAIN_INTEGER:
                return False
    return True


def _order_may_differ(block: bytes) -> bool:
    """Whether sorting names by code point and by UTF-16 could give two orders."""
    if block.isascii():
        return False
    return any(lead in block for lead in _ASTRAL_LEADS) and any(
        lead in block for lead in _HIGH_LEADS
    )
