"""The fast spelling of what is imported: the exact one, or none at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import text
from agentsession.canonical import canonical_json
from agentsession.importers import spelling
from agentsession.importers.opencode.convert.clock import iso
from agentsession.importers.opencode.convert.units import (
    assistant_item,
    call_item,
    output_item,
    text_part,
)
from agentsession.importers.opencode.objects import plain_object
from agentsession.importers.script import stringify
from agentsession.timestamp import Timestamp

NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 10**16, 10**15, 0, -1]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, -0.0, 1e-7, 0.00001, 1e16, 1e21, 0.1, 123.25]),
)
WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["\u2028", "\u2029x", "\U0001f642", "\uff5e", "\U0001f642\ufe0f", ",1234567890123456"]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=5)


@given(OBJECTS)
@settings(max_examples=200)
def test_a_spelling_is_the_exact_one_or_none(value: dict[str, Any]) -> None:
    found = spelling.spelled(value, plain=False)
    if found is not None:
        assert found == (text.encode(value), canonical_json(value))


@given(OBJECTS)
@settings(max_examples=200)
def test_what_was_read_the_plain_way_is_too(
    value: dict[str, Any],
) -> None:
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    read = plain_object(data)
    if read is None:
        return
    assert text.equal(text.encode(read), data)
    found = spelling.spelled(read, plain=True)
    if found is not None:
        assert found == (text.encode(read), canonical_json(read))
    assert stringify(read, plain=True) == stringify(read)


@pytest.mark.parametrize(
    "data",
    [
        b'{"cost":1.0}',
        b'{"cost":1e400}',
        b'{"cost":0.000001}',
        b'{"a":"\\ud800"}',
        b'{"a":"\xff"}',
        b"[1]",
        b"",
        b"{",
        b"[" * 12_000,
    ],
)
def test_what_is_not_certain_is_left_to_the_exact_way(data: bytes) -> None:
    assert plain_object(data) is None


def test_a_number_beyond_a_double_is_left_to_the_exact_way() -> None:
    read = plain_object(b'{"a":9007199254740993}')
    assert read == {"a": 9007199254740993}
    assert spelling.spelled(read, plain=True) is None
    assert stringify(read, plain=True) == '{"a":9007199254740992}'


@given(
    st.builds(output_item, WORDS, WORDS, st.one_of(WORDS, st.lists(st.builds(text_part, WORDS))))
    | st.builds(call_item, WORDS, WORDS, WORDS, WORDS)
    | st.builds(assistant_item, WORDS, WORDS),
    st.sampled_from(["", "msg_1", "m\u2028"]),
    st.booleans(),
    st.dictionaries(st.sampled_from(["a", "b"]), WORDS),
)
@settings(max_examples=200)
def test_an_items_entry_is_spelled_as_its_members_are(
    item: dict[str, Any], response: str, hidden: bool, native: dict[str, Any]
) -> None:
    found = spelling.item_spelling(
        item,
        spelling.given_beside(response, hidden, ""),
        spelling.beside("opencode", native, plain=True),
        spelling.beside("origin", {"message": "m"}, plain=True),
    )
    members: dict[str, Any] = {"item": item}
    members |= {"response": response} if response else {}
    members |= {"visible": False} if hidden else {}
    if native:
        members["opencode"] = native
    members["origin"] = {"message": "m"}
    assert found is None or found == (text.encode(members), canonical_json(members))


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_times_are_written_as_the_format_writes_them(millis: int) -> None:
    assert Timestamp.parse(iso(millis)).nanoseconds == millis * 1_000_000
    assert iso(millis).endswith("Z")
    assert ".000" not in iso(millis)
