"""The normal forms of format 5."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import normalise

MESSAGE = {"type": "message", "role": "user"}


def part(text: str, kind: str = "input_text", **more: object) -> dict[str, object]:
    return {"type": kind, "text": text, **more}


@pytest.mark.parametrize(
    ("given_item", "normal"),
    [
        ({**MESSAGE, "content": "Hi"}, {**MESSAGE, "content": [part("Hi")]}),
        ({**MESSAGE, "content": None}, {**MESSAGE, "content": []}),
        (MESSAGE, {**MESSAGE, "content": []}),
        ({"type": "message"}, {"type": "message", "role": "", "content": []}),
        (
            {"type": "message", "role": "assistant", "content": "Yo", "id": "", "status": None},
            {
                "type": "message",
                "role": "assistant",
                "content": [part("Yo", "output_text", annotations=[])],
            },
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "ls", "arguments": '{ "a": 1}'},
            {"type": "function_call", "call_id": "c", "name": "ls", "arguments": '{ "a": 1}'},
        ),
        (
            {"type": "function_call_output", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": ""},
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": None},
            {"type": "function_call_output", "call_id": "c", "output": []},
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_image", "image_url": "u"}],
            },
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_image", "image_url": "u", "detail": "auto"}],
            },
        ),
        (
            {"type": "reasoning", "content": [], "encrypted_content": ""},
            {"type": "reasoning", "summary": []},
        ),
        ({"type": "compaction"}, {"type": "compaction", "encrypted_content": ""}),
        ({"type": "item_reference", "id": "m"}, {"type": "item_reference", "id": "m"}),
        ({"type": "acme:note", "content": "x"}, {"type": "acme:note", "content": "x"}),
        ({"role": "user", "content": "x"}, {"role": "user", "content": "x"}),
    ],
)
def test_item(given_item: object, normal: object) -> None:
    assert normalise.item(given_item) == normal
    assert normalise.item(given_item, keep=False) == normal


@pytest.mark.parametrize(
    ("content", "normal"),
    [
        ({"type": "input_image", "image_url": "u", "detail": ""}, {"detail": "auto"}),
        ({"type": "input_file", "filename": "", "file_id": "f"}, {"file_id": "f"}),
        ({"type": "output_text", "text": "a", "logprobs": []}, {"text": "a", "annotations": []}),
        (
            {"type": "output_text", "annotations": [{"type": "url_citation", "url": "u"}]},
            {
                "text": "",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url": "u",
                        "title": "",
                        "start_index": 0,
                        "end_index": 0,
                    }
                ],
            },
        ),
        (
            {"type": "output_text", "text": "a", "logprobs": [{"token": "t", "logprob": -1.5}]},
            {
                "text": "a",
                "annotations": [],
                "logprobs": [{"token": "t", "logprob": -1.5, "bytes": [], "top_logprobs": []}],
            },
        ),
        ({"type": "refusal"}, {"refusal": ""}),
        ({"type": "acme:part", "x": None}, {"x": None}),
    ],
)
def test_part(content: dict[str, object], normal: dict[str, object]) -> None:
    found = normalise.item({**MESSAGE, "content": [content]}, keep=False)["content"][0]
    for name, value in normal.items():
        assert found[name] == value
    assert found.keys() - normal.keys() <= {"type", "image_url"}


def test_unlisted_members_are_kept_or_dropped_at_every_depth() -> None:
    item = {**MESSAGE, "x": None, "content": [part("Hi", y=[1])]}
    assert normalise.item(item) == item
    assert normalise.item(item, keep=False) == {**MESSAGE, "content": [part("Hi")]}


@pytest.mark.parametrize(
    "odd",
    [
        {**MESSAGE, "content": 5},
        {**MESSAGE, "content": [5]},
        {**MESSAGE, "content": [{"type": "input_text", "text": 5}]},
        {**MESSAGE, "id": 7, "content": "Hi"},
        {"type": "function_call", "call_id": 1},
        {"type": "function_call_output", "call_id": "c", "output": 1},
        {"type": "message", "content": [part("", "output_text", annotations=[1])]},
        {"type": 5, "content": "Hi"},
        "no object",
        None,
    ],
)
def test_what_has_not_the_form_of_its_type_stays_and_does_not_decode(odd: object) -> None:
    assert normalise.item(odd) is odd
    assert normalise.item(odd, keep=False) is odd
    assert not normalise.decodes(odd)


def test_decodes_only_known_types() -> None:
    assert normalise.decodes({**MESSAGE, "content": "Hi"})
    assert not normalise.decodes({"type": "acme:note"})


def test_tool() -> None:
    function = {"type": "function", "name": "ls"}
    whole = {**function, "description": "", "parameters": None}
    assert normalise.tool(function) == whole
    assert normalise.tool({**function, "strict": None}) == whole
    assert normalise.tool({**function, "strict": False, "x": 1}) == {
        **whole,
        "strict": False,
        "x": 1,
    }
    assert normalise.tool({**function, "x": 1}, keep=False) == whole
    hosted = {"type": "openai:web_search", "x": 1}
    assert normalise.tool(hosted, keep=False) is hosted


def test_reasoning_and_text() -> None:
    assert normalise.reasoning({"effort": "low"}) == {"effort": "low", "summary": None}
    assert normalise.reasoning({"effort": "", "x": 1}, keep=False) == {
        "effort": None,
        "summary": None,
    }
    assert normalise.text({"verbosity": "low"}) == {
        "format": {"type": "text"},
        "verbosity": "low",
    }
    schema = {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": True}
    assert normalise.text({"format": schema}) == {"format": schema}


@pytest.mark.parametrize("empty", [None, {}, {"effort": None}, {"effort": "", "summary": None}])
def test_reasoning_that_says_nothing(empty: object) -> None:
    assert normalise.reasoning_is_empty(empty)


def test_unlisted_members_say_something_where_they_are_kept() -> None:
    assert not normalise.text_is_empty({"x": 1})
    assert normalise.text_is_empty({"x": 1}, keep=False)
    assert normalise.text_is_empty({"format": None})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "role", "output", "summary", "x"]),
            inner | st.sampled_from(["message", "reasoning", "output_text", "assistant"]),
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=200)
@given(_json, st.booleans())
def test_a_normal_form_is_its_own_normal_form(value: object, keep: bool) -> None:
    once = normalise.item(value, keep=keep)
    assert normalise.item(once, keep=keep) == once
    tool = normalise.tool(value, keep=keep)
    assert normalise.tool(tool, keep=keep) == tool
    text = normalise.text(value, keep=keep)
    assert normalise.text(text, keep=keep) == text
