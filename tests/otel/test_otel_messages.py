"""What was said, in the form of the conventions; only when it is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from otel_sessions import called
from otel_spans import Recorder

from agentsession import otel
from agentsession.entries import CompactionEntry, ResponseEntry
from agentsession.export import secrets
from agentsession.items import Item
from agentsession.otel import messages, names
from agentsession.settings import Settings
from agentsession.testing import SessionBuilder


def same(text: str) -> str:
    return text


def inputs(*items: dict[str, Any]) -> Any:
    return json.loads(messages.input_messages([Item(item) for item in items], same))


def test_items() -> None:
    parts = [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "refusal", "refusal": "no"},
        {"type": 7},
        "odd",
    ]
    assert inputs(
        {"type": "message", "role": "user", "content": parts},
        {"type": "message", "content": 5},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        called("c1", "ls", "not json"),
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_file"}]},
        {"type": "acme:thing"},
    ) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Look:"},
                {"type": "input_image"},
                {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
                {"type": "text", "content": "no"},
                {"type": "unknown"},
            ],
        },
        {"role": "user", "parts": []},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "ls", "arguments": "not json"}],
        },
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": "c1", "response": [{"type": "input_file"}]}
            ],
        },
        {"role": "assistant", "parts": [{"type": "acme:thing"}]},
    ]


def test_finish_reasons() -> None:
    def reason(item: dict[str, Any], **members: Any) -> str:
        response = ResponseEntry("r", **members)
        (message,) = json.loads(messages.output_messages([Item(item)], response, same))
        found = message["finish_reason"]
        assert isinstance(found, str)
        return found

    said = {"type": "message", "role": "assistant", "content": "x"}
    assert reason(said) == "stop"
    assert reason(called("c1")) == "tool_call"
    assert reason(said, incomplete={"reason": "content_filter"}) == "content_filter"
    assert reason(said, incomplete={}) == "length"
    assert reason(said, error={}) == "error"


def test_deep_arguments_are_no_problem() -> None:
    deep = '{"a":' + "[" * 9000 + '"secret"' + "]" * 9000 + "}"
    found = messages.arguments(deep, lambda text: text.replace("secret", "[x]"))
    assert "secret" not in found
    assert "[x]" in found
    assert messages.arguments("[1]", same) == "[1]"


def in_messages(arguments: str, redact: Any = same) -> Any:
    text = messages.input_messages([Item(called("c1", "ls", arguments))], redact)
    return json.loads(text)[0]["parts"][0]["arguments"]


def test_arguments_keep_their_spelling() -> None:
    text = '{"a" : 1.0, "a": 1e-400, "b":"\\u002d", "big":123456789012345678901234567890}'
    assert messages.arguments(text, same) == text
    assert messages.arguments('{"a": 1.0, "s":"x"}', lambda t: t.replace("x", "y")) == (
        '{"a": 1.0, "s":"y"}'
    )


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" * 5000])
def test_numbers_no_double_can_hold(number: str) -> None:
    text = f'{{"a":{number}}}'
    assert messages.arguments(text, same) == text
    assert in_messages(text) == text  # as a text, for readers refuse such a number
    build = SessionBuilder()
    build.response([called("c", "n", text)], hashed=False)
    build.output("c")
    recorder = Recorder()
    otel.export(recorder.tracer, build.session, content=True)
    assert number in str((recorder.one("chat").attributes or {})[names.OUTPUT_MESSAGES])
    assert (recorder.one("execute_tool").attributes or {})[names.TOOL_ARGUMENTS] == text


def test_secrets_in_numbers() -> None:
    redact = secrets("4111111111111111")
    text = '{"pin":4111111111111111,"n":[-4111111111111111,1]}'
    told = '{"pin":"[REDACTED]","n":["-[REDACTED]",1]}'
    assert messages.arguments(text, redact) == told
    assert in_messages(text, redact) == json.loads(told)
    assert messages.arguments("4111111111111111", redact) == '"[REDACTED]"'


def test_names_that_become_the_same() -> None:
    redact = secrets("hunter2hunter2", "sesame-sesame")
    text = '{"hunter2hunter2":1,"sesame-sesame":2,"[REDACTED]":{"sesame-sesame":3}}'
    told = '{"[REDACTED] 2":1,"[REDACTED] 3":2,"[REDACTED]":{"[REDACTED]":3}}'
    assert messages.arguments(text, redact) == told
    assert in_messages(text, redact) == json.loads(told)


def test_what_only_the_whole_text_shows() -> None:
    def redact(text: str) -> str:
        return text.replace('"a":1', "gone")

    assert messages.arguments('{"a":1}', redact) == "{gone}"
    assert in_messages('{"a":1}', redact) == "{gone}"
    assert messages.arguments('[{"p":"\\u0061bc"}]', lambda t: t.replace("abc", "x")) == (
        '[{"p":"x"}]'
    )
    assert messages.arguments('{"p":"abc', lambda t: t.replace("abc", "x")) == '{"p":"x'


def test_each_message_is_told_once() -> None:
    build = SessionBuilder()
    build.config(model="m", instructions="Be brief.")
    first = build.user("one")
    build.call("c1")
    build.output("c1", "result")
    build.answer("two")
    summary = {"type": "message", "role": "developer", "content": "sum"}
    config = Settings(model="m", instructions="Be long.")
    build.append(CompactionEntry(first, summary, config=config))
    build.answer("three")
    recorder = Recorder()
    otel.export(recorder.tracer, build.session, content=True)
    a, b, c = (dict(span.attributes or {}) for span in recorder.named("chat"))

    def texts(found: Any) -> list[str]:
        told = [part for message in json.loads(found) for part in message["parts"]]
        return [part.get("content", part.get("response", part.get("name"))) for part in told]

    assert texts(a[names.INPUT_MESSAGES]) == ["one"]
    assert texts(a[names.OUTPUT_MESSAGES]) == ["ls"]
    assert json.loads(a[names.SYSTEM_INSTRUCTIONS])[0]["content"] == "Be brief."
    assert texts(b[names.INPUT_MESSAGES]) == ["result"]
    assert names.SYSTEM_INSTRUCTIONS not in b
    assert texts(c[names.INPUT_MESSAGES]) == ["sum"]
    assert json.loads(c[names.SYSTEM_INSTRUCTIONS])[0]["content"] == "Be long."
    tool = dict(recorder.one("execute_tool").attributes or {})
    assert (tool[names.TOOL_ARGUMENTS], tool[names.TOOL_RESULT]) == ("{}", "result")
