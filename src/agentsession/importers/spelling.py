"""Plain values as JSON text, in both spellings an import needs: the line's and the hash's.

An entry's id is a hash over its members in canonical JSON, and its line is JSON in the
format's own spelling. For nearly all values one encoder gives both; where it might not,
nothing is given, and the caller goes the exact way. Spec: format 6, context 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._emit import ENCODER_REFUSALS, survey
from agentsession._scan import MAX_DEPTH, may_be_too_deep, replace_surrogates

_SAFE_INTEGER: Final = 2**53
_NUMBER_STARTS: Final = b":,[-"
_CLASSES: Final = bytes(
    0x30 if 0x30 <= byte <= 0x39 else 0x70 if byte in _NUMBER_STARTS else 0x78
    for byte in range(256)
)
_LONG_NUMBER: Final = b"p" + b"0" * 16
_LONG: Final = 1500
"""From here on walking a value is quicker than looking through its text."""

_WORDS: Final = frozenset({str, bool, type(None)})
_PLAIN: Final = _WORDS | {float}
_SEPARATOR: Final = re.compile(b"\xe2\x80[\xa8\xa9]")
"""U+2028 and U+2029, which a line escapes."""
_ASTRAL: Final = re.compile(b"[\xf0-\xf4]")
"""How a character above U+FFFF begins."""

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode


Spelling = tuple[bytes, bytes]
"""One value's text in a line, and in what is hashed."""

NOTHING: Final[Spelling] = (b"", b"")
"""The spelling of no members at all."""


def spelled(value: Any, *, plain: bool) -> Spelling | None:
    """Return a value's two spellings, ``None`` when only the exact way can tell them.

    Args:
        value: a value of plain containers, as a decoder gives it.
        plain: whether every float in it is known to read the same in both, as those
            of :func:`agentsession.importers.opencode.objects.plain_object` are.
    """
    try:
        line = _encode(value)
        canonical = _encode_sorted(value)
    except ENCODER_REFUSALS:
        return None
    if plain:
        if not _integers_fit(value, line):
            return None
    else:
        found = survey(value, _SAFE_INTEGER)
        if found is None or found[0]:
            return None
    if len(line) > MAX_DEPTH and may_be_too_deep(line):
        return None
    if not line.isascii():
        if _order_may_differ(line) and _names_astral(value):
            return None
        line = escaped(line)
    return line, canonical


@lru_cache(maxsize=256)
def given_beside(response: str, hidden: bool, queued_from: str) -> Spelling | None:
    """Return what the format has beside an item, a comma before each member.

    Its canonical form is in the order of names, all of which come after ``origin``. It is
    ``None`` when only the exact way can tell.

    Args:
        response: the model call that produced the item.
        hidden: whether renderers should not show it.
        queued_from: the entry it waited as.
    """
    members: dict[str, Any] = {"response": response} if response else {}
    if hidden:
        members["visible"] = False
    if queued_from:
        members["queued_from"] = queued_from
    if not members:
        return NOTHING
    found = spelled(members, plain=True)
    return found and (b"," + found[0][1:-1], b"," + found[1][1:-1])


def beside(name: str, value: Mapping[str, Any], *, plain: bool) -> Spelling | None:
    """Return the two spellings of one member more, with its comma; nothing for an empty one."""
    if not value:
        return NOTHING
    found = spelled(value, plain=plain)
    if found is None:
        return None
    head = f',"{name}":'.encode()
    return head + found[0], head + found[1]


def item_spelling(
    item: Mapping[str, Any],
    given: Spelling | None,
    native: Spelling | None,
    origin: Spelling | None,
) -> Spelling | None:
    """Return the two spellings of an item entry's members, ``None`` for the exact way.

    Args:
        item: the item, as ``units`` builds them: it holds no numbers, and its names are ASCII.
        given: what :func:`given_beside` gives.
        native: what the agent recorded, as :func:`beside` gives it.
        origin: where the item comes from, likewise; its name is between the other two's.
    """
    if given is None or native is None or origin is None:
        return None
    try:
        if item["type"] == "function_call_output" and len(item) == _OUTPUT_MEMBERS:
            line, canonical = _output_spelling(item)
        else:
            line, canonical = _encode(item), _encode_sorted(item)
    except ENCODER_REFUSALS:
        return None
    line = b'{"item":%b%b%b%b}' % (escaped(line), given[0], native[0], origin[0])
    return line, b'{"item":%b%b%b%b}' % (canonical, native[1], origin[1], given[1])


def _output_spelling(item: Mapping[str, Any]) -> Spelling:
    """Return the two spellings of what a call returned; its text is often long."""
    output = _encode(item["output"])
    if output.startswith(b"["):
        return _encode(item), _encode_sorted(item)
    name, call = _encode(item["id"]), _encode(item["call_id"])
    return _OUTPUT % (name, call, output), _SORTED_OUTPUT % (call, name, output)


_OUTPUT_MEMBERS: Final = 4
_OUTPUT: Final = b'{"type":"function_call_output","id":%b,"call_id":%b,"output":%b}'
_SORTED_OUTPUT: Final = b'{"call_id":%b,"id":%b,"output":%b,"type":"function_call_output"}'


def dispatch_spelling(call_id: str, target: str) -> Spelling:
    """Return the two spellings of a dispatch's members; ``target`` is an entry's id."""
    try:
        said = _encode(call_id)
    except ENCODER_REFUSALS:
        said = _encode(replace_surrogates(call_id))
    more = f',"target":"{target}"}}'.encode()
    return b'{"call_id":' + escaped(said) + more, b'{"call_id":' + said + more


def is_word(name: str) -> bool:
    """Return whether a name is letters, digits and hyphens: every spelling has it as it is."""
    return f"_{name}".replace("-", "_").isidentifier()


def script_text(value: Any) -> str | None:
    """Return a value with plain floats as JavaScript spells it; ``None`` for the exact way."""
    try:
        written = _encode(value)
    except ENCODER_REFUSALS:
        return None
    if not (_holds_words(value) or _integers_fit(value, written)):
        return None
    if len(written) > MAX_DEPTH and may_be_too_deep(written):
        return None
    return written.decode()


def line_text(value: Any) -> bytes:
    """Return a value without numbers as a line has it."""
    try:
        line = _encode(value)
    except ENCODER_REFUSALS:
        return text.encode(value)
    return escaped(line)


def _holds_words(value: Any) -> bool:
    """Whether it is certain at a glance that a value holds no number: the most common one."""
    return type(value) is dict and _WORDS.issuperset(map(type, value.values()))


def _integers_fit(value: Any, line: bytes) -> bool:
    """Whether a double holds every integer of a value, by its text or by a walk: both agree."""
    if len(line) < _LONG:
        return _LONG_NUMBER not in line.translate(_CLASSES)
    pending: list[Any] = [(value,)]
    for here in pending:  # grows while it is walked
        for child in here.values() if type(here) is dict else here:
            kind = type(child)
            if kind is str:
                continue
            if kind is int:
                if not -_SAFE_INTEGER <= child <= _SAFE_INTEGER:
                    return False
            elif kind is dict or kind is list:
                pending.append(child)
            elif kind not in _PLAIN:
                return False
    return True


def _order_may_differ(line: bytes) -> bool:
    """Whether sorting what is in it by code point and by UTF-16 could give two orders."""
    return (b"\xef" in line or b"\xee" in line) and _ASTRAL.search(line) is not None


def _names_astral(value: Any) -> bool:
    """Whether a name has a character above U+FFFF, or might have one."""
    found = survey(value, _SAFE_INTEGER)
    return found is None or any(max(joined) > "\uffff" for joined in found[1])


def escaped(line: bytes) -> bytes:
    """Return a line with the two line separators of Unicode as the format has them."""
    if line.isascii() or _SEPARATOR.search(line) is None:
        return line
    return line.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
