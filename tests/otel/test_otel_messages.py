"""What was said, in the form of the conventions; only when it is asked for."""

from __future__ import annotations

import json
from typing import Any

from otel_sessions import called
from otel_spans import Recorder

from agentsession import otel
from agentsession.entries import CompactionEntry, ResponseEntry
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
