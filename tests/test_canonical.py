from __future__ import annotations

import hashlib
import json
import math
import random
import struct
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from types import MappingProxyType

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import _emit, canonical
from agentsession.canonical import canonical_json, canonical_number, canonical_text, sha256
from agentsession.errors import CannotHash, NotJSON

DEEP = 10_000

# -- numbers --------------------------------------------------------------------------------

APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "written"), APPENDIX_B)
def test_number_table(bits, written):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_number(value) == written
    assert canonical_json([value]) == f"[{written}]".encode()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-7, "-7"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (2**53 + 3, "9007199254740996"),
        (-(2**53) - 1, "-9007199254740992"),
        (12345678901234567890, "12345678901234567000"),
        (10**21, "1e+21"),
        (10**308, "1e+308"),
        (1.0, "1"),
        (1e16, "10000000000000000"),
        (-1e-7, "-1e-7"),
    ],
)
def test_numbers_are_doubles(value, written):
    assert canonical_number(value) == written
    assert canonical_json({"a": value}) == f'{{"a":{written}}}'.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, -(10**4000)])
def test_numbers_without_a_double(value):
    with pytest.raises(CannotHash, match="has no canonical form"):
        canonical_number(value)
    with pytest.raises(CannotHash, match=r"at \$\.a\[1\] has no canonical form"):
        canonical_json({"a": [0, value]})


def test_integers_too_long_to_print():
    with pytest.raises(CannotHash, match="an integer beyond any double"):
        canonical_number(10**5000)


def by_definition(value: float) -> str:
    """Number::toString step by step from exact decimals, nothing shared with the module."""
    if value == 0:
        return "0"
    if value < 0:
        return "-" + by_definition(-value)
    exact = Decimal(value)
    for count in range(1, 18):
        # Both neighbours of that many digits: at powers of two the nearest may read back wrong.
        near = [
            Context(prec=count, rounding=way).plus(exact) for way in (ROUND_FLOOR, ROUND_CEILING)
        ]
        good = [number for number in near if float(number) == value]
        if good:
            break
    # The closer one; of two as close, the even one.
    shortest = min(
        good,
        key=lambda number: (
            abs(Fraction(number) - Fraction(exact)),
            number.as_tuple().digits[-1] % 2,
        ),
    )
    _, digit_tuple, exponent = shortest.normalize().as_tuple()
    digits = "".join(map(str, digit_tuple))
    k = len(digits)
    n = exponent + k
    if k <= n <= 21:
        return digits + "0" * (n - k)
    if 0 < n <= 21:
        return digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return "0." + "0" * -n + digits
    sign = "+" if n > 0 else "-"
    mantissa = digits if k == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{sign}{abs(n - 1)}"


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(1e-8, 1e23))
def test_doubles_by_definition(value):
    written = by_definition(value)
    assert canonical_number(value) == written
    # In company of plain members, where the fast encoder may write it.
    assert canonical_json({"a": value}) == f'{{"a":{written}}}'.encode()
    assert canonical_json(value) == rfc8785.dumps(value)


def test_random_doubles_and_their_neighbourhoods():
    rng = random.Random(11)
    values = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(2000)]
    values += [rng.uniform(1, 10) * 10 ** rng.randint(-8, 24) for _ in range(2000)]
    edges = [float(f"1e{power}") for power in range(-8, 24)] + [2.0**53, 2.0**63, 2.0**64]
    values += [
        (rng.getrandbits(52) + 2**52) / 2**shift for shift in range(1, 6) for _ in range(300)
    ]
    values += [2.0**power for power in range(-1074, 1024, 7)]
    values += [math.nextafter(edge, way) for edge in edges for way in (0, math.inf)] + edges
    for value in values:
        if math.isfinite(value):
            assert canonical_json([value]) == f"[{by_definition(value)}]".encode()


# -- the table of awkward input -------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("12345678901234567890", "12345678901234567000"),
        ("1e-400", "0"),
        ("-0", "0"),
        ("[1.0,1e2,0.10]", "[1,100,0.1]"),
        ('{"a":1,"b":3,"a":2}', '{"a":2,"b":3}'),
        ('{"\\ud83c":1,"\\ud83d":2}', '{"\ufffd":2}'),
        ('"\\ud83c"', '"\ufffd"'),
        ('"\\uD83D\\uDE00\\u0041\\/"', '"😀A/"'),
        (' { "b" : [ ] , "a" : { } } ', '{"a":{},"b":[]}'),
        (
            '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001F\\u0022\\\\<>&\u2028\x7f"',
            '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\<>&\u2028\x7f"',
        ),
        ('{"\U00010000":1,"\uffee":2,"z":3}', '{"z":3,"\U00010000":1,"\uffee":2}'),
        (
            '{"x":"\U00010000\uffee","\u20ac":1,"\\r":2,"1":3}',
            '{"\\r":2,"1":3,"x":"\U00010000\uffee","\u20ac":1}',
        ),
    ],
)
def test_canonical_text(document, written):
    assert canonical_text(document) == written.encode()
    assert canonical_text(document.encode()) == written.encode()


def test_invalid_utf8_becomes_the_replacement_character():
    assert canonical_text(b'["\xff\xe2\x82"]') == '["\ufffd\ufffd\ufffd"]'.encode()


@pytest.mark.parametrize(
    "document", ["", '{"a":', '{"a":1} x', '{"a":1}}', "[1]]", "NaN", "[Infinity]", "[1,]"]
)
def test_canonical_text_refuses_what_is_not_json(document):
    with pytest.raises(NotJSON):
        canonical_text(document)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" * 400, "1" * 6000])
def test_canonical_text_refuses_numbers_beyond_any_double(number):
    with pytest.raises(CannotHash, match=r"beyond any double at \$\.a\[0\]"):
        canonical_text(f'{{"a":[{number}]}}')


def test_depth():
    document = b'{"a":' * DEEP + b"1.0" + b"}" * DEEP
    assert canonical_text(document) == document.replace(b"1.0", b"1")
    value: object = []
    for _ in range(DEEP):
        value = [value]
    with pytest.raises(CannotHash, match="deeper than 10000 levels"):
        canonical_json(value)


def test_what_is_no_json_value():
    loop: dict[str, object] = {}
    loop["a"] = [loop]
    for value, sentence in (
        ({"a": {3: 4}}, r"name of type int at \$\.a"),
        ([b"x"], r"type bytes at \$\[0\]"),
        ({"a": {1, 2}}, r"type set at \$\.a"),
        (loop, r"contains itself at \$\.a\[0\]"),
        ([msgspec.Raw(b"[1,")], r"not JSON .* at \$\[0\]"),
        ([msgspec.Raw(b"[1e400]")], r"beyond any double at \$\[0\]"),
    ):
        with pytest.raises(CannotHash, match=sentence):
            canonical_json(value)


def test_other_spellings_of_the_same_value():
    value = MappingProxyType({"b": (1, 2), "a": msgspec.Raw(b'{ "z" : 1.0, "y": 2 }')})
    assert canonical_json(value) == b'{"a":{"y":2,"z":1},"b":[1,2]}'


def test_sha256():
    assert sha256(b"{}") == "sha256:" + hashlib.sha256(b"{}").hexdigest()


# -- laws -----------------------------------------------------------------------------------

# Weighted to what separates encoders: astral names beside U+E000..U+FFFF, controls, quotes.
SPECIAL = st.sampled_from('\U00010000\U0010ffff\ue000\uffff\ufeff\u2028\x7f\x00\x1f"\\/<é')
NAMES = st.text(SPECIAL | st.characters(exclude_categories=["Cs"]), max_size=6)
INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [1.0, -0.0, 0.7, 1e-5, 1e-6, 1e-7, 123456.789, 1e15, 1e16, 1e20, 1e21]
)


def values(leaves: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
        max_leaves=20,
    )


COMMON = st.none() | st.booleans() | INTEGERS | NAMES
EXACT_STYLE = _emit.Style(
    **{
        name: getattr(canonical._STYLE, name)
        for name in ("sort", "escape", "number", "raw", "error")
    },
    fast=lambda _: None,
)


@settings(max_examples=200, deadline=None)
@given(values(COMMON) | values(COMMON | DOUBLES))
def test_same_bytes_as_the_rfc_package(value):
    written = canonical_json(value)
    assert written == rfc8785.dumps(value)
    assert written == _emit.emit(value, EXACT_STYLE)
    assert written == canonical_text(json.dumps(value)) == canonical_text(written)
    assert canonical_json(msgspec.Raw(written)) == written


@settings(max_examples=200, deadline=None)
@given(values(COMMON | DOUBLES | st.integers() | st.text(st.characters(exclude_categories=()))))
def test_fast_and_exact_agree_outside_its_domain(value):
    written = canonical_json(value)
    assert written == _emit.emit(value, EXACT_STYLE)
    assert canonical_text(written) == written


def test_the_fast_way_is_taken_for_plain_requests():
    request = {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": "文件\uff0c😀\n\x00"}],
        "temperature": 0.7,
        "store": False,
        "max_output_tokens": 4096,
        "tools": [],
    }
    assert canonical._canonical_fast(request) == rfc8785.dumps(request)
    assert canonical._canonical_fast({**request, "top_p": 1.0}) is None
    assert canonical._canonical_fast({**request, "\U00010000": 1}) is None
    assert canonical._canonical_fast({**request, "seed": 2**53 + 1}) is None
