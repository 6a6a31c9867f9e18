"""Canonical requests and their hashes: context 4 and 5."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession.canonical import canonical_json
from agentsession.errors import CannotHash, InvalidEntry, NotJSON
from agentsession.normalise import Form
from agentsession.request import build_request, hash_of, hash_request_json, request_hash
from agentsession.settings import Settings

HI = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "Hi"}],
}
LOOSE = {"type": "message", "role": "user", "content": "Hi", "x": 1}
TOOL = {"type": "function", "name": "ls", "x": 1}


def test_the_examples() -> None:
    assert request_hash({"store": False}) == (
        "sha256:e00e01440b0492a539c594977d6358dc1c92c3fc725d276c012f5cc5bac91247"
    )
    assert request_hash({"model": "m-1", "store": False}) == (
        "sha256:c3d19ffd1c7c7b222602ed1562fc532338967f645bb9228edc429340dcbbcb7b"
    )
    request = build_request(Settings(model="m-1", instructions="Be kind."), [HI])
    assert canonical_json(request) == (
        b'{"input":[{"content":[{"text":"Hi","type":"input_text"}],"role":"user",'
        b'"type":"message"}],"instructions":"Be kind.","model":"m-1","store":false}'
    )
    assert (
        request_hash(request)
        == hash_request_json(json.dumps(request, indent=2))
        == "sha256:a7a7926d7d4e2cabdd8c32a4935154069a21f5a0b3a7bde849ab2d66be28830a"
    )


def test_settings_that_say_nothing_are_left_out() -> None:
    empty = Settings(reasoning={"effort": None}, text={}, extra={})
    assert build_request(empty, []) == {"store": False}


def test_all_members() -> None:
    whole = Settings(
        model="m",
        instructions="i",
        reasoning={"effort": "low"},
        text={"verbosity": "low"},
        tools=[{"type": "function", "name": "ls"}],
        extra={"temperature": 0.5, "stream": True},
    )
    assert build_request(whole, [HI]) == {
        "model": "m",
        "input": [HI],
        "tools": [{"type": "function", "name": "ls", "description": "", "parameters": None}],
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": None},
        "instructions": "i",
        "store": False,
        "temperature": 0.5,
        "stream": True,
    }


def test_extra_gives_way_to_what_is_there() -> None:
    extra = {"model": "x", "store": True, "input": "y", "tools": [TOOL], "text": {}}
    assert build_request(Settings(model="m", extra=extra), [HI]) == {
        "model": "m",
        "input": [HI],
        "store": False,
        "tools": [TOOL],
        "text": {},
    }
    assert build_request(Settings(extra=extra), []) == {**extra, "store": False}


@pytest.mark.parametrize(
    ("form", "item", "tool"),
    [
        (Form.AS_WRITTEN, LOOSE, TOOL),
        (Form.NORMALISED, {**HI, "x": 1}, {**TOOL, "description": "", "parameters": None}),
        (
            Form.NORMALISED_DROPPED,
            HI,
            {"type": "function", "name": "ls", "description": "", "parameters": None},
        ),
    ],
)
def test_forms(form: Form, item: object, tool: object) -> None:
    request = build_request(Settings(tools=[TOOL], reasoning={"x": 1}), [LOOSE], form)
    assert request["input"] == [item]
    assert request["tools"] == [tool]
    assert (
        request.get("reasoning")
        == {
            Form.AS_WRITTEN: {"x": 1},
            Form.NORMALISED: {"x": 1, "effort": None, "summary": None},
            Form.NORMALISED_DROPPED: None,
        }[form]
    )


def test_request_hash_takes_equal_spellings_for_equal() -> None:
    written = {"model": "m", "input": "Hi", "tools": [], "metadata": {}, "temperature": None}
    spelled = {"input": [{"type": "message", "role": "user", "content": "Hi"}], "model": "m"}
    assert request_hash(written) == request_hash(spelled) == request_hash(json.dumps(written))
    assert request_hash({"model": "m", "input": [HI]}) == request_hash(spelled)
    assert hash_request_json(json.dumps(spelled)) != request_hash(spelled)


def test_request_hash_counts_what_was_sent() -> None:
    base = {"model": "m", "store": False}
    others = [
        {"model": "m"},
        {**base, "store": True},
        {**base, "stream": True},
        {**base, "acme:x": None},
        {**base, "input": [LOOSE]},
    ]
    assert len({request_hash(request) for request in [base, *others]}) == 6


@pytest.mark.parametrize("bad", [[], 5, "x", b"", {"input": 5}, {"input": ["Hi"]}])
def test_no_request(bad: object) -> None:
    with pytest.raises(InvalidEntry):
        request_hash(bad)


@pytest.mark.parametrize("bad", [b"", b"{", b'{"a":1} x', b'{"a":1}]', b"NaN"])
def test_hash_of_no_json(bad: bytes) -> None:
    with pytest.raises(NotJSON):
        hash_request_json(bad)


def test_numbers_beyond_any_double() -> None:
    for hashed in (request_hash, hash_request_json):
        with pytest.raises(CannotHash):
            hashed('{"store":false,"x":1e400}')
    assert hash_request_json("[12345678901234567890]") == hash_request_json(
        "[12345678901234567000]"
    )


def test_deep_requests_are_hashed() -> None:
    deep = b'{"x":' + b"[" * 9000 + b"]" * 9000 + b"}"
    assert request_hash(deep) == hash_request_json(deep)


_members = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=3),
        "instructions": st.text(max_size=3),
        "tools": st.lists(st.sampled_from([TOOL, {"type": "x"}]), max_size=2),
        "reasoning": st.sampled_from([{}, {"effort": "low"}, {"effort": None, "x": 1}]),
        "text": st.sampled_from([{}, {"verbosity": "low"}, {"format": None}]),
    },
)


@settings(max_examples=100)
@given(_members, st.lists(st.sampled_from([HI, LOOSE, {"type": "acme:x"}]), max_size=3))
def test_a_built_request_has_its_own_hash(members: dict[str, object], items: list[object]) -> None:
    found = Settings(**members)  # type: ignore[arg-type]
    for form in (Form.NORMALISED, Form.AS_WRITTEN):
        request = build_request(found, items, form)
        assert request_hash(request) == request_hash(build_request(found, items))
    assert hash_of(found, [], Form.NORMALISED) == request_hash(build_request(found, []))
