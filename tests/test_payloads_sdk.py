"""Items, requests and responses as the models of the SDKs people hold them in."""

from __future__ import annotations

import json
from typing import Any

import pytest

import agentsession as ags
from agentsession import payload
from agentsession.errors import InvalidEntry

# A response as an endpoint sends it: all item types, and members the SDKs may not know.
WIRE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1764967971,
    "completed_at": 1764967972,
    "status": "completed",
    "incomplete_details": None,
    "model": "m-1",
    "previous_response_id": None,
    "instructions": None,
    "error": None,
    "output": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "thinking"}],
            "encrypted_content": "enc",
        },
        {
            "id": "msg_1",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "Let me ", "annotations": [], "logprobs": []},
                {"type": "output_text", "text": "see.", "annotations": [], "logprobs": []},
            ],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_1",
            "name": "read_file",
            "arguments": '{"path": "a\\u00e9.txt"}',
        },
    ],
    "tools": [],
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text"}},
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "temperature": 1.0,
    "reasoning": None,
    "usage": {
        "input_tokens": 11,
        "output_tokens": 7,
        "total_tokens": 18,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 2},
    },
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": False,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}


def openai_response() -> Any:
    responses = pytest.importorskip("openai.types.responses")
    # As the client builds one: from the wire, without validation.
    models = pytest.importorskip("openai._models")
    return models.construct_type(type_=responses.Response, value=json.loads(json.dumps(WIRE)))


def openresponses_response() -> Any:
    types = pytest.importorskip("openresponses_types")
    return types.ResponseResource.model_validate(WIRE)


MAKERS = pytest.mark.parametrize("make", [openai_response, openresponses_response])


@MAKERS
def test_output_items_are_taken_as_the_wire_carried_them(make: Any) -> None:
    entries = [ags.ItemEntry(item, response="resp_1") for item in make().output]
    assert [entry.item.to_dict() for entry in entries] == WIRE["output"]


@MAKERS
def test_the_typed_view_of_items_made_from_models(make: Any) -> None:
    reasoning, message, call = (ags.Item(item) for item in make().output)
    assert (reasoning.type, reasoning.text) == ("reasoning", "thinking")
    assert (message.type, message.role, message.text) == ("message", "assistant", "Let me see.")
    assert (call.type, call.call_id, call.name) == ("function_call", "call_1", "read_file")
    assert json.loads(call.arguments) == {"path": "a\u00e9.txt"}
    assert (reasoning.role, message.call_id, call.role) == ("", "", "")


@MAKERS
def test_members_that_were_never_sent_do_not_appear(make: Any) -> None:
    reasoning = ags.Item(make().output[0])
    assert set(reasoning) == set(WIRE["output"][0])


@MAKERS
def test_a_model_a_mapping_and_text_make_equal_items(make: Any) -> None:
    for model, wire in zip(make().output, WIRE["output"], strict=True):
        assert ags.Item(model) == ags.Item(wire) == ags.Item(json.dumps(wire, indent=2))


@MAKERS
def test_usage_is_taken_from_a_model(make: Any) -> None:
    entry = ags.ResponseEntry("resp_1", status="completed", usage=make().usage)
    assert entry.usage == WIRE["usage"]


@MAKERS
def test_a_session_of_models_reads_back(make: Any) -> None:
    session = ags.Session()
    for item in make().output:
        session.append(ags.ItemEntry(item))
    again = ags.read(ags.dump(session))
    assert [entry.contribution().to_dict() for entry in again] == WIRE["output"]


@MAKERS
def test_record_response_takes_the_model_of_a_response(make: Any) -> None:
    from agentsession.stores import MemoryStore

    request = {"model": "m-1", "input": [user("Read it.")], "store": False}
    store = MemoryStore()
    session = store.create(ags.Header())
    session.append(ags.config_from_request(request))
    session.append(ags.ItemEntry(request["input"][0]))
    ags.record_response(store, session.id, request, make(), latency=0.84)
    assert [item.to_dict() for item in session.context().items[1:]] == WIRE["output"]
    response = session.entries[-1]
    assert isinstance(response, ags.ResponseEntry)
    assert (response.response_id, response.model, response.status) == ("resp_1", "m-1", "completed")
    assert (response.usage, response.latency_ms) == (WIRE["usage"], 840)
    assert response.error is None
    assert response.incomplete is None
    assert session.verify_all().ok


def test_inputs_of_openresponses_types() -> None:
    types = pytest.importorskip("openresponses_types")
    output = types.FunctionCallOutputItemParam.model_validate(
        {"type": "function_call_output", "call_id": "call_1", "output": "three lines"}
    )
    assert ags.Item(output).to_dict() == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": "three lines",
    }
    message = types.UserMessageItemParam.model_validate(user("Hi"))
    assert ags.Item(message).to_dict() == user("Hi")
    assert (ags.Item(output).call_id, ags.Item(output).text) == ("call_1", "three lines")


def test_parameter_types_of_openai_are_mappings() -> None:
    params = pytest.importorskip("openai.types.responses.response_input_param")
    message = params.Message(type="message", role="user", content=[input_text("Hi")])
    assert ags.Item(message).to_dict() == user("Hi")


def test_models_inside_mappings_and_lists() -> None:
    call = openai_response().output[2]
    request = {"model": "m-1", "input": [user("Hi"), call]}
    assert payload.plain(request) == {"model": "m-1", "input": [user("Hi"), WIRE["output"][2]]}


def test_what_is_no_payload_is_refused_by_name() -> None:
    with pytest.raises(InvalidEntry, match="object is not a JSON value"):
        ags.ItemEntry(object())
    with pytest.raises(InvalidEntry, match="an item must be a JSON object"):
        ags.ItemEntry("[1]")
    with pytest.raises(InvalidEntry, match="not JSON"):
        ags.ItemEntry("{")


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [input_text(text)]}


def input_text(text: str) -> dict[str, str]:
    return {"type": "input_text", "text": text}
