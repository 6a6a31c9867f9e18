from __future__ import annotations

import datetime as dt
import json
import math
import sys
from collections import UserDict
from enum import IntEnum, StrEnum
from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import _emit, _scan, text
from agentsession.errors import AgentSessionError, InvalidEntry, NotJSON

DEEP = 10_000

# Everything the format allows, each with what it means.
ACCEPTED = [
    (b"0", 0),
    (b"-0", 0),
    (b"-0.0", -0.0),
    (b" \t\r\n1 \n", 1),
    (b"1E5", 1e5),
    (b"1e+2", 100.0),
    (b"0.1e-2", 0.001),
    (b"4.35", 4.35),
    (b"1e-400", 0.0),
    (b"-1e400", -math.inf),
    (b"1e400", math.inf),
    (b"12345678901234567890", 12345678901234567890),
    (b"-9223372036854775809", -9223372036854775809),
    (b"18446744073709551616", 2**64),
    (b"2.2250738585072011e-308", 2.2250738585072011e-308),
    (b"9007199254740993.0", 9007199254740992.0),
    (b"true", True),
    (b"null", None),
    (b"[]", []),
    (b"{}", {}),
    (b'{"":[{"":false}]}', {"": [{"": False}]}),
    (b'{"a":1,"b":0,"a":2}', {"a": 2, "b": 0}),
    (b'{"a":{"x":1,"x":2},"\\u0061":{"x":3,"x":4}}', {"a": {"x": 4}}),
    (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
    (b'"\\u0000\\u001F\\u00e9"', "\x00\x1fé"),
    (b'"\x7f"', "\x7f"),
    ('"\u2028\x85\ufeff\uffff"'.encode(), "\u2028\x85\ufeff\uffff"),
    (b'"\\uD83D\\uDE00\xf0\x9f\x98\x80"', "😀😀"),
    (b'"\\ud83c"', "\ufffd"),
    (b'"\\ude00\\ud83d"', "\ufffd\ufffd"),
    (b'"\\ud83d\\u0041"', "\ufffdA"),
    (b'"\\ud83d\\ud83d\\ude00"', "\ufffd😀"),
    (b'"\\ud83d\\\\ude00"', "\ufffd\\ude00"),
    (b'"\\\\ud83d"', "\\ud83d"),
    (b'{"\\ud83c":1,"\\udead":2}', {"\ufffd": 2}),
    (b'"a\xffb"', "a\ufffdb"),
    (b'"\xe2\x82"', "\ufffd\ufffd"),
    (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
    (b'"\xf4\x90\x80\x80"', "\ufffd" * 4),
    (b'"\xc0\x80\xff\\n"', "\ufffd\ufffd\ufffd\n"),
]

# What is no JSON: the offset of the fault, and a word of the sentence.
REFUSED = [
    (b"", 0, "empty"),
    (b" \n", 2, "empty"),
    (b"\xef\xbb\xbf{}", 0, "byte order mark"),
    (b"\x00", 0, "NUL"),
    (b'{"a":1}\x00\x00', 7, "NUL"),
    (b'{"a":1}}', 7, "after the document"),
    (b"[1]]", 3, "after the document"),
    (b'{"a":1} x', 8, "after the document"),
    (b'{"a":1}{"a":2}', 7, "after the document"),
    (b"]", 0, "a value"),
    (b"[}", 1, "]"),
    (b"[1}", 2, "comma"),
    (b'{"a":1]', 6, "comma"),
    (b"[1,]", 3, "a value"),
    (b"[,1]", 1, "a value"),
    (b'{"a":1,}', 7, "member name"),
    (b'{"a" 1}', 5, "colon"),
    (b'{"a":}', 5, "a value"),
    (b"{1:2}", 1, "member name"),
    (b'["a" "b"]', 5, "a quote"),
    (b'["a":1]', 4, "comma"),
    (b"[1 2]", 3, "comma"),
    (b"[1", 2, "too early"),
    (b'{"a":', 5, "too early"),
    (b'{"a', 3, "inside a string"),
    (b'"\\', 2, "inside a string"),
    (b'"\\u12', 5, "inside a string"),
    (b'"a\x00"', 2, "NUL"),
    (b'"a\n"', 2, "0x0a"),
    (b'"\\x"', 1, "wrong escape"),
    (b'"\\u12g4"', 1, "wrong escape"),
    (b"NaN", 0, '"N"'),
    (b"[Infinity]", 1, '"I"'),
    (b"-Infinity", 0, '"-"'),
    (b"01", 0, "leading zero"),
    (b"[-012]", 2, "leading zero"),
    (b"+1", 0, '"+"'),
    (b".5", 0, '"."'),
    (b"1.", 1, '"."'),
    (b"1e", 1, '"e"'),
    (b"0x10", 1, '"x"'),
    (b"tru", 0, '"t"'),
    (b"True", 0, '"T"'),
    (b"'a'", 0, '"\'"'),
    (b"\xff", 0, "0xff"),
    (b"\xc2\xa01", 0, "0xc2"),
    (b"\x0b1", 0, "0x0b"),
    (b"[1\x0c]", 2, "0x0c"),
    (b"// x\n1", 0, '"/"'),
]


def outcome(work, *arguments):
    """Return what a call gives, comparable also where values are nan or of other types."""
    try:
        return repr(work(*arguments))
    except AgentSessionError as error:
        return type(error)


# -- parse and check ------------------------------------------------------------------------


@pytest.mark.parametrize(("document", "value"), ACCEPTED)
@pytest.mark.parametrize("parse", [text.parse, _scan.parse])
def test_parse_gives_the_value(parse, document, value):
    found = parse(document)
    assert found == value
    assert type(found) is type(value)
    text.check(document)
    _scan.check(document)


@pytest.mark.parametrize(("document", "position", "word"), REFUSED)
@pytest.mark.parametrize(
    "function",
    [text.parse, text.check, text.compact, text.split_members, text.split_elements],
)
def test_no_json_is_refused_with_its_place(function, document, position, word):
    with pytest.raises(NotJSON) as caught:
        function(document)
    assert caught.value.position == position
    assert word in caught.value.problem


def test_parse_takes_str():
    assert text.parse(' {"é": "\ud83d\\ude00"}') == {"é": "\ufffd\ufffd"}
    with pytest.raises(NotJSON) as caught:
        text.parse('["é" 1]')
    assert caught.value.position == 6
    with pytest.raises(NotJSON, match="byte order mark"):
        text.parse("\ufeff{}")


def test_integers_of_any_length():
    exact = b"7" * 4300
    assert text.parse(exact) == _scan.parse(exact) == (10**4300 - 1) // 9 * 7
    assert text.parse(b"-" + exact) == -text.parse(exact)
    assert text.parse(b"-" + exact + b"7") == -math.inf
    assert text.encode(text.parse(exact)) == exact
    assert text.encode([10**5000]) == b"[1" + b"0" * 5000 + b"]"


def test_integers_do_not_depend_on_the_interpreter_limit():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert text.parse(b"[" + b"1" * 2000 + b"]") == [(10**2000 - 1) // 9]
        assert text.encode([10**2000]) == b"[1" + b"0" * 2000 + b"]"
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("opening", [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_to_the_limit(opening):
    start, end = opening
    document = start * DEEP + b"1" + end * DEEP
    value = text.parse(document)
    assert text.encode(value) == document
    assert text.compact(b" " + document) == document
    assert text.equal(document, document)
    text.check(document)
    deeper = start + document + end
    for function in (text.parse, text.check, text.compact):
        with pytest.raises(NotJSON, match="nested deeper than 10000 levels"):
            function(deeper)
    with pytest.raises(InvalidEntry, match="deeper than 10000 levels"):
        text.encode([value])


def test_nesting_limit_holds_where_the_interpreter_goes_deeper(monkeypatch):
    monkeypatch.setattr(_scan, "_DEEP_CODER", True)
    assert not _scan.may_be_too_deep(b"[]" * 20_000)
    assert not _scan.may_be_too_deep(b'"' + b"[" * 20_000 + b'"')
    assert _scan.may_be_too_deep(b"[" * DEEP + b"{}" + b"]" * DEEP)
    assert not _scan.may_be_too_deep("[" * DEEP + "]" * DEEP)
    assert _scan.may_be_too_deep("[" * (DEEP + 1) + "]" * (DEEP + 1))


def test_check_leaves_the_encoding_to_is_utf8():
    text.check(b'["\xff"]')
    assert not text.is_utf8(b'["\xff"]')
    assert not text.is_utf8(b"\xed\xa0\x80")
    assert text.is_utf8("é😀".encode())
    assert text.is_utf8(b"")


# -- encode ---------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('"\\\n\r\t\b\f/<>&\x7f', b'"\\"\\\\\\n\\r\\t\\b\\f/<>&\x7f"'),
        ("\x00\x1f\x0b", b'"\\u0000\\u001f\\u000b"'),
        ("\u2028é\u2029", '"\\u2028é\\u2029"'.encode()),
        ({"\u2028": "😀"}, '{"\\u2028":"😀"}'.encode()),
        ("a\ud83db", '"a\ufffdb"'.encode()),
        ({"\ud83d": 1, "b": 2} | {"\udead": 3}, '{"\ufffd":3,"b":2}'.encode()),
        ({"b": 1, "a": (2, [None, True, False])}, b'{"b":1,"a":[2,[null,true,false]]}'),
        (MappingProxyType({"b": MappingProxyType({"a": 1})}), b'{"b":{"a":1}}'),
        (UserDict({"a": UserDict()}), b'{"a":{}}'),
        ([Colour.RED, Level.HIGH, {Colour.RED: 1}], b'["red",3,{"red":1}]'),
        (2**70, b"1180591620717411303424"),
        ([1.0, -1.0, 0.0, 0.5], b"[1,-1,0,0.5]"),
        (-0.0, b"-0"),
        ([1e-7, 1e-6, 1e-5, 1.5e-7], b"[1e-7,0.000001,0.00001,1.5e-7]"),
        (
            [1e21, 1e20, 1e16, 1.25e300],
            b"[1e+21,100000000000000000000,10000000000000000,1.25e+300]",
        ),
        (5e-324, b"5e-324"),
    ],
)
def test_encode_spells_as_the_format_does(value, written):
    assert text.encode(value) == written


def test_raw_text_keeps_its_spelling():
    raw = msgspec.Raw(' { "a" : [ 1.50 , "\\u00e9 \u2028" ] , "a" : "\\ud83d" } '.encode())
    written = '{"a":[1.50,"\\u00e9 \u2028"],"a":"\\ud83d"}'
    assert text.encode({"x": raw}) == f'{{"x":{written}}}'.encode()
    assert text.encode(msgspec.Raw(b"1.0")) == b"1.0"
    both = text.encode(["\u2028", msgspec.Raw('"\u2028"'.encode())])
    assert both == '["\\u2028","\u2028"]'.encode()
    with pytest.raises(InvalidEntry, match=r"not JSON .* at \$\.x\[1\]"):
        text.encode({"x": [1, msgspec.Raw(b"[1,")]})


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"a": [dt.date(2026, 1, 2)]}, r"type date at \$\.a\[0\]"),
        ([{"b": b"x"}], r"type bytes at \$\[0\]\.b"),
        ({"a": {1: 2}}, r"name of type int at \$\.a"),
        ({"a": float("nan")}, r"nan\) at \$\.a"),
        ([[-math.inf]], r"-inf\) at \$\[0\]\[0\]"),
        ({1, 2}, r"type set at \$"),
        (object(), "type object"),
        ({"a": {"n" * 200: object()}}, r"n{60};"),
    ],
)
def test_encode_names_what_it_cannot_write(value, sentence):
    with pytest.raises(InvalidEntry, match=sentence):
        text.encode(value)


def test_encode_refuses_a_cycle():
    inner: list[object] = [1]
    value = {"a": [inner, inner]}
    assert text.encode(value) == b'{"a":[[1],[1]]}'
    inner.append(value)
    with pytest.raises(InvalidEntry, match=r"contains itself at \$\.a\[0\]\[1\]"):
        text.encode(value)


def test_path_of_a_deep_value_is_cut():
    value: object = object()
    for _ in range(50):
        value = [value]
    with pytest.raises(InvalidEntry, match=r"\$…(\[0\]){20};"):
        text.encode(value)


# -- compact and split ----------------------------------------------------------------------


def test_compact_keeps_every_spelling():
    loose = b' {\t"\\u0061" : [ 1.50e+1 , -0 ,"a  \\" b" ] , "a":\r\n{ } }\n'
    tight = b'{"\\u0061":[1.50e+1,-0,"a  \\" b"],"a":{}}'
    assert text.compact(loose) == text.compact(tight) == _scan.compact(loose) == tight
    odd = b'[ "\\ud83d" , "\xff" , 1e400 ]'
    assert text.compact(odd) == b'["\\ud83d","\xff",1e400]'


def test_split_members():
    document = b' { "a" : [1, 2] ,"\\u0062": 1.0 , "c":"\xff\\n", "a" : { "x" : 1 } } '
    members = {"a": b'{ "x" : 1 }', "b": b"1.0", "c": b'"\xff\\n"'}
    assert text.split_members(document) == members
    odd = b'{"\\ud83d": [ [ ] , {} ] , "b":"\\ud83d","\xff":null}'
    assert text.split_members(odd) == {"\ufffd": b"null", "b": b'"\\ud83d"'}
    assert text.split_members(b"{}") == {}
    assert text.members_in_order(document) == [
        ("a", b"[1, 2]"),
        ("b", b"1.0"),
        ("c", b'"\xff\\n"'),
        ("a", b'{ "x" : 1 }'),
    ]


def test_split_elements():
    assert text.split_elements(b' [ 1 , "a" , [ 2, 3 ] , {"b": 4} ] ') == [
        b"1",
        b'"a"',
        b"[ 2, 3 ]",
        b'{"b": 4}',
    ]
    assert text.split_elements(b'[ "\\ud83d" , [ ] ]') == [b'"\\ud83d"', b"[ ]"]
    assert text.split_elements(b"[]") == []


@pytest.mark.parametrize("document", [b" [1]", b" 1", b' "\\ud83d"'])
def test_split_members_wants_an_object(document):
    for split in (text.split_members, text.members_in_order):
        with pytest.raises(NotJSON, match="not an object") as caught:
            split(document)
        assert caught.value.position == 1


@pytest.mark.parametrize("document", [b"{}", b"null", b'{"\\ud83d":[]}'])
def test_split_elements_wants_an_array(document):
    with pytest.raises(NotJSON, match="not an array"):
        text.split_elements(document)


# -- equal ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (b'{"a":1,"b":[2]}', b'{ "b" : [2.0], "a":1e0 }', True),
        (b'"\\u00e9"', '"é"'.encode(), True),
        (b"0", b"-0.0", True),
        (b"1", b"true", False),
        (b"1.0", b"true", False),
        (b"0", b"null", False),
        (b"0.0", b'"0"', False),
        (b"[]", b"{}", False),
        (b"[]", b"0", False),
        (b"1", b"[1]", False),
        (b"[1,2]", b"[2,1]", False),
        (b"[1]", b"[1,1]", False),
        (b'{"a":1}', b'{"a":1,"b":1}', False),
        (b'{"a":1}', b'{"b":1}', False),
        (b'{"a":1,"a":2}', b'{"a":2}', True),
        (b"9007199254740992", b"9007199254740993", False),
        (b"9007199254740993", b"9007199254740992.0", True),
        (b"1" + b"0" * 400, b"1e400", True),
        (b"-1" + b"0" * 400, b"1e400", False),
    ],
)
def test_equal(left, right, same):
    assert text.equal(left, right) is same
    assert text.equal(right, left) is same


# -- laws -----------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["\u2028", '"\\', "\x00\x1f\x7f", "😀\uff0c", "\\u2028", "\\ud83d", "[{,: "]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1.0, -0.0, 1e16, 1e20, 1e21, 1e-6, 1e-7, 2**53 + 1])
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(TEXTS, children, max_size=4),
    max_leaves=15,
)
ODD_PIECES = [rb"\ud83d", rb"\ude00", rb"\u0041", rb"\x", b"\xff", b"\xed\xa0\x80", b"\xc2\xa0"]
ODD_PIECES += rb"""[ ] { } , : " \ 1 0 . e - true nul NaN "a": "a" 1e400 1e-400""".split(b" ")
ODD_PIECES += [b" ", b"\r\n", b"\x00", b"\xef\xbb\xbf", b"9" * 400]
FRAGMENTS = st.sampled_from(ODD_PIECES)


@st.composite
def broken_documents(draw: st.DrawFn) -> bytes:
    """Documents with up to three pieces overwritten or put in, and mere heaps of pieces."""
    if draw(st.booleans()):
        return b"".join(draw(st.lists(FRAGMENTS, max_size=8)))
    indent = draw(st.sampled_from([None, 1]))
    document = json.dumps(draw(VALUES), ensure_ascii=draw(st.booleans()), indent=indent)
    data = bytearray(document.encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 1))] = draw(FRAGMENTS)
    return bytes(data)


EXACT_STYLE = _emit.Style(
    **{name: getattr(text._STYLE, name) for name in ("sort", "escape", "number", "raw", "error")},
    fast=lambda _: None,
)


@settings(max_examples=200, deadline=None)
@given(broken_documents())
def test_fast_and_exact_agree_on_any_bytes(document):
    parsed = outcome(text.parse, document)
    assert parsed == outcome(_scan.parse, document)
    assert (outcome(text.check, document) == "None") == (parsed is not NotJSON)
    assert outcome(text.compact, document) == outcome(_scan.compact, document)
    assert outcome(text.split_members, document) == outcome(
        lambda data: dict(_scan.parts(data, "{")), document
    )
    assert outcome(text.split_elements, document) == outcome(
        lambda data: [element for _, element in _scan.parts(data, "[")], document
    )


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_encode_law(value):
    written = text.encode(value)
    assert written == _emit.emit(value, EXACT_STYLE)
    assert written == text.compact(written)
    assert text.is_utf8(written)
    assert text.equal(written, json.dumps(value).encode())
    assert text.encode(msgspec.Raw(written)) == written


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_splitting_puts_together_again(value):
    written = text.encode(value)
    if isinstance(value, dict):
        members = text.split_members(written)
        assert text.encode({name: msgspec.Raw(raw) for name, raw in members.items()}) == written
        assert dict(text.members_in_order(written)) == members
    elif isinstance(value, list):
        assert b"[" + b",".join(text.split_elements(written)) + b"]" == written


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_round_trip(value):
    found = text.parse(text.encode(value))
    assert float(found) == value
