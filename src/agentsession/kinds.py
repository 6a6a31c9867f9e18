"""The JSON types that members of headers and entries have.

Spec: format 4 (the tables' type columns) and 7.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from operator import methodcaller
from typing import Any, TypeVar

from agentsession import payload, text
from agentsession.errors import InvalidEntry
from agentsession.items import Item
from agentsession.members import Kind, Record, Version, join_members

R = TypeVar("R", bound=Record)

_EVER_SINCE: Version = (0, 3)
"""What a nested member of a later version holds never makes a line unreadable: before that
version the name was free, and after it a value of another form is an unknown member."""
T = TypeVar("T")

# Python prints integers of up to 4,300 digits; a longer one is no count of anything.
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]{0,4200})\Z")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


def _starts(prefix: bytes) -> Callable[[bytes], bool]:
    return methodcaller("startswith", prefix)


def _typed(kind: type | tuple[type, ...]) -> Callable[[Any], bytes]:
    def encode(value: Any) -> bytes:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError
        return text.encode(value)

    return encode


def _is_finite_number(member_text: bytes) -> bool:
    return bool(_NUMBER.match(member_text)) and abs(float(member_text)) != float("inf")


def _elements(accepts: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    # A null element reads as the empty value, as it does for a member.
    return lambda member_text: (
        member_text.startswith(b"[")
        and all(
            element == b"null" or accepts(element) for element in text.split_elements(member_text)
        )
    )


def _values(accepts: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    return lambda member_text: (
        member_text.startswith(b"{")
        and all(
            value == b"null" or accepts(value) for value in text.split_members(member_text).values()
        )
    )


def _decode_string(member_text: bytes) -> str:
    if b"\\" not in member_text and member_text.isascii():
        return member_text[1:-1].decode("ascii")
    value = text.parse(member_text)
    return value if isinstance(value, str) else ""


def _decode_strings(member_text: bytes) -> tuple[str, ...]:
    return tuple(_decode_string(element) for element in text.split_elements(member_text))


def _encode_strings(value: Any) -> bytes:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError
    strings = list(value)
    if not all(isinstance(element, str) for element in strings):
        raise TypeError
    return text.encode(strings)


def _decode_string_map(member_text: bytes) -> Mapping[str, str]:
    return {name: _decode_string(value) for name, value in text.split_members(member_text).items()}


def _sorted_object(value: Any) -> bytes:
    if not isinstance(value, Mapping):
        raise TypeError
    names = sorted(value, key=lambda name: name.encode("utf-8", "surrogatepass"))
    return join_members({name: payload.encoded_value(value[name]) for name in names})


def _encode_string_map(value: Any) -> bytes:
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
        raise TypeError
    return _sorted_object(value)


STRING: Kind[str] = Kind("a string", _starts(b'"'), _decode_string, _typed(str))
BOOLEAN: Kind[bool | None] = Kind(
    "true or false",
    lambda member_text: member_text in (b"true", b"false"),
    lambda member_text: member_text == b"true",
    _typed(bool),
)
INTEGER: Kind[int] = Kind("a whole number", lambda t: bool(_INTEGER.match(t)), int, _typed(int))
NUMBER: Kind[float | None] = Kind("a number", _is_finite_number, float, _typed((int, float)))
STRINGS: Kind[tuple[str, ...]] = Kind(
    "a list of strings", _elements(_starts(b'"')), _decode_strings, _encode_strings
)
STRING_MAP: Kind[Mapping[str, str]] = Kind(
    "an object of strings", _values(_starts(b'"')), _decode_string_map, _encode_string_map
)
OBJECT: Kind[Mapping[str, Any] | None] = Kind(
    "an object",
    _starts(b"{"),
    text.parse,
    lambda value: payload.encoded_object(value, "this member"),
)
"""A payload object: what is inside is the payload's business."""
OBJECT_MAP: Kind[Mapping[str, Any]] = Kind("an object", _starts(b"{"), text.parse, _sorted_object)
"""An object with open names, written sorted."""
ANY: Kind[Any] = Kind(
    "any JSON value",
    lambda _text: True,
    text.parse,
    payload.encoded_value,
    keeps_null=True,
)


def _encode_objects(value: Any) -> bytes:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError
    return b"[" + b",".join(payload.encoded_object(e, "each element") for e in value) + b"]"


OBJECTS: Kind[tuple[Mapping[str, Any], ...]] = Kind(
    "a list of objects",
    _elements(_starts(b"{")),
    lambda t: tuple(text.parse(t)),
    _encode_objects,
)
ITEM: Kind[Item] = Kind(
    "an object", _starts(b"{"), Item.from_text, lambda value: Item(value).json_text
)
ITEMS: Kind[tuple[Item, ...]] = Kind(
    "a list of objects",
    _elements(_starts(b"{")),
    lambda t: tuple(Item.from_text(element) for element in text.split_elements(t)),
    _encode_objects,
)


def _record_text(kind: type[R], value: Any) -> bytes:
    if isinstance(value, kind):
        return value.json_text
    if not isinstance(value, Mapping):
        raise TypeError
    json_text = text.encode(value)
    problem = kind.problem(text.split_members(json_text), (99, 0))
    if problem:
        raise InvalidEntry(f"in {kind.__name__}: {problem}")
    return json_text


def record(kind: type[R]) -> Kind[R | None]:
    """Return the kind of a member that holds one record of a class."""
    return Kind(
        f"an object ({kind.__name__})",
        lambda t: t.startswith(b"{") and not kind.problem(text.split_members(t), _EVER_SINCE),
        kind.from_json,
        lambda value: _record_text(kind, value),
        nested=True,
    )


def records(kind: type[R]) -> Kind[tuple[R, ...]]:
    """Return the kind of a member that holds a list of records of a class."""

    def accepts(member_text: bytes) -> bool:
        return member_text.startswith(b"{") and not kind.problem(
            text.split_members(member_text), _EVER_SINCE
        )

    def encode(value: Any) -> bytes:
        if isinstance(value, (str, bytes, Mapping, Record)) or not isinstance(value, Iterable):
            raise TypeError
        return b"[" + b",".join(_record_text(kind, element) for element in value) + b"]"

    return Kind(
        f"a list of objects ({kind.__name__})",
        _elements(accepts),
        lambda t: tuple(kind.from_json(e) for e in text.split_elements(t) if e != b"null"),
        encode,
        nested=True,
    )
