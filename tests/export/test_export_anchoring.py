"""The detector's two ways, with google-re2 and without it, find the same."""

from __future__ import annotations

import base64
import importlib
import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import export
from agentsession.export import anchoring, detection
from agentsession.export.patterns import ANCHORS

CORPUS = Path(__file__).parents[1] / "data" / "secrets" / "corpus.jsonl"
RECORDS = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
SECRETS = sorted({secret["value"] for record in RECORDS for secret in record["secrets"]})

FAST = export.Detector()
PLAIN = export.Detector(fast=False)

# What stands around and inside of credentials, letters whose relatives beyond ASCII are equal
# to them when case does not count, and blanks only Python calls so.
SURROUNDINGS = [
    *("sk-", "k-k-", "k-", "api_key", "Key", "kEy", "\u212aey", "to\u212aen", "tOken", "KEN"),
    *("\u017fecret", "Secret", "ECRET", "passWord", "pa\u017f\u017fword", "Pwd", "PWD", "WD"),
    *("PASSWORD", "PASSPHRASE", "assphrase", "pa\u017fsphrase", "AKIA_", "whsec_", "GOCSPX-"),
    *("=", ":", " = ", "=>", ":=", "==", '\\\\"', '"', "'", "`", "\\", ",", ";", "[", "&", "|"),
    *("\u00a0", "\u2003", "\x1c", "\x85", "\v", "\n", " ", "\t", "?", "_", "-", ".", "/", "7"),
    *("Bearer ", "bearer ", "BEARER ", "Basic ", "ba\u017fic ", "bas\u0131c ", "Authorization: "),
    *("-----BEGIN ", "BEGIN ", "RSA ", "PRIVATE KEY-----", "-----END PRIVATE KEY-----", 'auth": "'),
    *("//", "//user:", "@", "@host", "hooks.slack.com/services/", "--token ", "--api-key "),
    *("--password ", "xoxb-", "x-", "eyJ", ".eyJ", "npm_", "ghp_", "glpat-", "hf_", "pplx-"),
    *("data:text/plain;base64,", "data:;BASE64,", ";base64,", "64,", "data:image/png;base64,"),
    *("\ud800", "\U0001f600", "é", "x" * 39, "x" * 41, "9a", "aB3dE5gH", "A1b2C3d4E5f6G7h8"),
]
PIECES = st.one_of(
    st.sampled_from(SURROUNDINGS),
    st.sampled_from(SURROUNDINGS),
    st.sampled_from(SECRETS),
    st.sampled_from(SECRETS).map(lambda value: base64.b64encode(value.encode()).decode()),
    st.sampled_from([record["text"] for record in RECORDS]),
    st.tuples(st.sampled_from(SECRETS), st.integers(0, 60), st.sampled_from(SURROUNDINGS)).map(
        lambda cut: cut[0][: cut[1]] + cut[2] + cut[0][cut[1] :]
    ),
    st.text(max_size=30),
)


def test_both_ways_find_the_same_in_the_corpus() -> None:
    found = [FAST.detect(record["text"]) for record in RECORDS]
    assert found == [PLAIN.detect(record["text"]) for record in RECORDS]
    assert sum(map(len, found)) > 300
    whole = "\u2028".join(record["text"] for record in RECORDS)
    assert FAST.detect(whole) == PLAIN.detect(whole)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_both_ways_find_the_same_in_odd_surroundings(text: str) -> None:
    found = PLAIN.detect(text)
    assert FAST.detect(text) == found
    assert FAST(text) == PLAIN(text)
    assert bool(found) <= FAST.may_hold(f"a\n{text}\nb")
    assert FAST.may_hold(text) <= PLAIN.may_hold(text)


def nears() -> dict[int, Any]:
    """The loose expressions of the patterns, by what they are for."""
    engine = pytest.importorskip("re2")
    options = engine.Options()
    options.encoding = options.Encoding.LATIN1
    patterns = {id(p): p for anchor in ANCHORS for p in anchor.patterns}
    return {at: engine.compile(p.near.encode("ascii"), options) for at, p in patterns.items()}


def out_of_reach(text: str, near: dict[int, Any]) -> list[str]:
    """The kinds found in a text without their loose expression in reach of the hit."""
    seen = text.encode("ascii", "replace")
    return [
        pattern.kind
        for anchor in ANCHORS
        for hit in anchor.hits(text)
        for pattern in anchor.patterns
        if pattern.at(text, hit) is not None
        and not any(
            near[id(pattern)].match(seen, start)
            for start in range(max(0, hit - anchoring.AFTER), hit + anchoring.BEFORE + 1)
        )
    ]


def test_the_loose_form_is_in_reach_of_each_hit_that_counts() -> None:
    near = nears()
    assert not [kind for record in RECORDS for kind in out_of_reach(record["text"], near)]

    @settings(max_examples=100, deadline=None)
    @given(st.lists(PIECES, max_size=8).map("".join))
    def check(text: str) -> None:
        assert out_of_reach(text, near) == []

    check()


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_the_whole_text_is_a_place_like_any_other(text: str) -> None:
    for anchor in ANCHORS:
        assert [*anchor.hits(text)] == [*anchor.hits(text, [(0, len(text))])]


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_places_are_in_order_and_apart(text: str) -> None:
    pytest.importorskip("re2")
    finder = detection.finder()
    assert finder is not None
    places = finder(text)
    ends = [-1, *(end for _, end in places)]
    assert all(end < start for end, (start, _) in zip(ends, places, strict=False))


@pytest.mark.parametrize(
    "text",
    [
        "é" * 500 + " ghp_" + "a1B2" * 9 + " \ud800" * 90,
        "\U0001f600" * 333 + "password = 'päss-wörd-1'",
        "x" * 33 + "_webhook-key = a1b2c3d4e5f6g7h8",
        "BEGIN BEARER A1B2C3D4E5F6G7H8 PRIVATE KEY",
        "token: '" + "a" * 5_000 + "1 sk-" + "aB1" * 10,
        "//" + "a" * 64 + ":" + "b1" * 50 + "@host",
        "//" + "a" * 64 + ":" + "b1" * 51 + "@host",
        "n" * 40 + "token=abcd1234efgh5678",
    ],
)
def test_places_are_places_of_the_text(text: str) -> None:
    assert FAST.detect(text) == PLAIN.detect(text)


def test_a_hit_does_not_hide_another() -> None:
    for detector in (FAST, PLAIN):
        assert detector.detect("x" * 33 + "_webhook-key = a1b2c3d4e5f6g7h8")
        assert detector.detect("BEGIN BEARER A1B2C3D4E5F6G7H8 PRIVATE KEY")


@pytest.mark.parametrize(
    "text",
    [
        "AKIA_pa\u017f\u017fword: 'hunter22-x1'",
        "whsec_passWorD = hunter22-x1",
        "k-api_\u212aey = a1b2c3d4e5f6g7h8",
        "sk-x_access_to\u212aen = a1b2c3d4e5f6g7h8",
        "password\x1c:\u2003hunter22x1",
        "api_key\u00a0=\v'a1b2c3d4e5f6g7h8'",
        "--token\x85a1b2c3d4e5f6g7h8",
        "Authorization: ba\u017f\u0131c dXNlcjpwYXNzd29yZA==",
        "password=abcdefg1",
        "password=abcdef1g",
        "password=1abcdefg",
    ],
)
def test_what_python_alone_takes_for_equal_is_found(text: str) -> None:
    assert PLAIN.detect(text)
    assert FAST.detect(text) == PLAIN.detect(text)


def test_a_text_too_long_for_the_engine_is_looked_at_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(anchoring, "_LONGEST", 10)
    for record in RECORDS[::7]:
        assert FAST.detect(record["text"]) == PLAIN.detect(record["text"])


@pytest.mark.parametrize("there", [False, True])
def test_without_the_engine_there_is_no_finder(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    def load(name: str) -> Any:
        if there:  # another package of the same name
            return SimpleNamespace(compile=None, __name__=name)
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", load)
    assert anchoring.finder_of(["a"]) is None


def test_copies_go_the_same_way() -> None:
    pytest.importorskip("re2")
    for detector in (FAST, PLAIN):
        assert pickle.loads(pickle.dumps(detector)).fast is detector.fast


def test_own_patterns_are_looked_for_where_nothing_else_is() -> None:
    for fast in (True, False):
        own = export.Detector({"acme": "acme-[0-9]{4}"}, fast=fast)
        assert own("só acme-1234") == "só [REDACTED]"
        assert own.may_hold("")
