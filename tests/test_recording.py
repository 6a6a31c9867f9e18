"""Recording model calls and continuing sessions: context 7 and 12, decision A10."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry, ResponseEntry
from agentsession.errors import (
    CannotHash,
    InvalidEntry,
    NoContext,
    NoSession,
    ReadOnly,
)
from agentsession.header import Header
from agentsession.parts import Harness, InstructionsPart
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.recording import (
    Recorded,
    config_from_request,
    config_from_request_parts,
    continue_session,
    record_response,
)
from agentsession.request import build_request, hash_request_json, request_hash
from agentsession.session import Session
from agentsession.settings import Settings
from agentsession.stores import MemoryStore

MISSING_ID = object()
TOOL = {"type": "function", "name": "ls", "parameters": {"type": "object"}}
HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
CALL = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "ls", "arguments": "{}"}
ANSWER = {
    "type": "message",
    "id": "msg",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "model": "m-1-long",
    "status": "completed",
    "output": [CALL, ANSWER],
    "usage": {"input_tokens": 1},
    "error": None,
    "incomplete_details": None,
}


# Config from a request.


def test_config_from_request() -> None:
    config = config_from_request(
        {
            "model": "m-1",
            "input": "Hi",
            "instructions": "Be kind.",
            "reasoning": {"effort": "low"},
            "text": {"verbosity": "low"},
            "tools": [TOOL],
            "temperature": 0.5,
            "tool_choice": "auto",
            "acme:x": {"a": 1},
            "previous_response_id": "r",
            "store": True,
            "stream": True,
            "stream_options": {},
            "background": True,
        }
    )
    assert (config.replace, config.model, config.instructions) == (True, "m-1", "Be kind.")
    assert (config.reasoning, config.text) == ({"effort": "low"}, {"verbosity": "low"})
    assert config.tools_added == (TOOL,)
    assert config.extra == {"temperature": 0.5, "tool_choice": "auto", "acme:x": {"a": 1}}


def test_what_the_profile_does_not_encode_is_left_out() -> None:
    config = config_from_request(
        {
            "model": None,
            "instructions": "",
            "reasoning": {"effort": None},
            "text": {},
            "tools": [],
            "metadata": {},
            "include": [],
            "temperature": None,
            "parallel_tool_calls": False,
            "acme:x": {},
        }
    )
    assert config == ConfigEntry(extra={"parallel_tool_calls": False, "acme:x": {}}, replace=True)


def test_spellings_stay() -> None:
    config = config_from_request('{"model":"m", "temperature": 1.0, "tools":[{"n":1e2}]}')
    assert config.text_of("extra") == b'{"temperature":1.0}'
    assert config.text_of("tools_added") == b'[{"n":1e2}]'


@pytest.mark.parametrize(
    "bad",
    [
        [],
        None,
        "{",
        {"model": 5},
        {"instructions": ["x"]},
        {"tools": {"a": 1}},
        {"tools": [5]},
        {"text": 5},
        {"reasoning": "low"},
    ],
)
def test_no_request(bad: object) -> None:
    with pytest.raises(InvalidEntry):
        config_from_request(bad)


def test_config_from_request_parts() -> None:
    request = {"model": "m", "instructions": "A\n\nB"}
    parts = (InstructionsPart("a", "A"), InstructionsPart("b", "B", "layer"))
    config = config_from_request_parts(request, *parts)
    assert (config.instructions, config.instructions_parts) == (None, parts)
    assert Settings().apply(config).instructions == "A\n\nB"
    assert config_from_request_parts(request) == config_from_request(request)
    with pytest.raises(InvalidEntry, match="differ"):
        config_from_request_parts(request, parts[0])


_values = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
_requests = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=3),
        "instructions": st.none() | st.text(max_size=3),
        "tools": st.lists(
            st.sampled_from([TOOL, {"type": "w"}, {"type": "function", "name": "x", "y": 1}]),
            unique_by=lambda tool: tool.get("name"),
        ),
        "reasoning": st.sampled_from([None, {}, {"effort": "low"}, {"z": 1.0}]),
        "text": st.sampled_from([None, {}, {"verbosity": "low"}, {"format": {"type": "text"}}]),
        "temperature": st.none() | st.floats(0, 2),
        "metadata": st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
        "include": st.lists(st.text(max_size=2), max_size=2),
        "acme:x": _values,
        "\U0001f600": _values,
        "inpuu": _values,
    },
)
_items = st.lists(
    st.sampled_from([HI, CALL, {"type": "message", "role": "user", "content": "x", "y": 1}]),
    max_size=3,
)


@settings(max_examples=200)
@given(_requests, _items)
def test_a_config_from_a_request_stands_for_it(
    members: dict[str, Any], items: list[dict[str, Any]]
) -> None:
    request = {**members, "input": items, "store": False}
    rebuilt = build_request(Settings().apply(config_from_request(request)), items)
    assert request_hash(rebuilt) == request_hash(request)
    assert hash_request_json(json.dumps(rebuilt)) == request_hash(request)


# Recording.


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def recorded(
    store: MemoryStore, request: dict[str, Any], *inputs: object, **given: Any
) -> tuple[Session, Recorded]:
    session = store.create(Header())
    store.append(session.id, config_from_request(request))
    for item in inputs:
        store.append(session.id, ItemEntry(item))
    given.setdefault("response", RESPONSE)
    return session, record_response(store, session.id, request, **given)


def test_record_response(store: MemoryStore) -> None:
    request = {"model": "m-1", "input": [HI], "tools": [TOOL]}
    session, found = recorded(store, request, HI, latency=0.8409)
    assert found.hashed
    assert found.note == ""
    first, second, response = session.entries[-3:]
    assert isinstance(first, ItemEntry)
    assert isinstance(second, ItemEntry)
    assert isinstance(response, ResponseEntry)
    assert (first.item, second.item) == (CALL, ANSWER)
    assert first.response == second.response == response.response_id == "resp_1"
    assert (response.id, response.request_hash) == (found.entry_id, found.request_hash)
    assert (response.model, response.status) == ("m-1-long", "completed")
    assert (response.usage, response.latency_ms) == ({"input_tokens": 1}, 840)
    assert (response.error, response.incomplete) == (None, None)
    assert session.verify_all().ok
    session.verify(found.entry_id)


@pytest.mark.parametrize(
    "call",
    [
        {"stream": True, "stream_options": {"include_obfuscation": False}},
        {"store": True},
        {"background": True},
        {"temperature": None, "tools": []},
        {"acme:x": None},
    ],
)
def test_what_is_about_one_call_is_not_hashed(store: MemoryStore, call: dict[str, Any]) -> None:
    request = {"model": "m-1", "input": [HI]}
    session, found = recorded(store, {**request, **call}, HI)
    assert found.request_hash == request_hash({**request, "store": False})
    session.verify(found.entry_id)


@pytest.mark.parametrize("spelled", [HI, {"type": "message", "role": "user", "content": "Hi"}])
def test_a_string_input_is_one_user_message(store: MemoryStore, spelled: object) -> None:
    session, found = recorded(store, {"model": "m-1", "input": "Hi", "tools": [TOOL]}, spelled)
    session.verify(found.entry_id)


def test_a_request_that_goes_on_from_a_response_has_no_hash(store: MemoryStore) -> None:
    request = {"model": "m-1", "input": [HI], "previous_response_id": "resp_0"}
    session, found = recorded(store, request, HI)
    assert (found.hashed, found.request_hash) == (False, "")
    assert "previous_response_id" in found.note
    (result,) = session.verify_all()
    assert result.outcome == "no_hash"
    _, told = recorded(store, {**request, "previous_response_id": None}, HI)
    assert told.hashed


def test_failures_and_cuts_are_recorded(store: MemoryStore) -> None:
    response = {
        "id": "r",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "error": {"code": "x", "message": "y"},
    }
    session, found = recorded(store, {"input": [HI]}, HI, response=response)
    entry = session[found.entry_id]
    assert isinstance(entry, ResponseEntry)
    assert entry.incomplete == {"reason": "max_output_tokens"}
    assert entry.error == {"code": "x", "message": "y"}
    assert (entry.usage, entry.latency_ms, entry.model) == (None, 0, "")


def test_json_text_keeps_its_spelling(store: MemoryStore) -> None:
    response = '{"id": "r", "output": [{"type": "acme:x", "n": 1.50}]}'
    session, _ = recorded(store, {"input": []}, response=response)
    assert session.context().items[-1].json_text == b'{"type":"acme:x","n":1.50}'


@pytest.mark.parametrize(
    ("latency", "milliseconds"),
    [
        (None, 0),
        (0, 0),
        (-1, 0),
        (2, 2000),
        (0.0009, 0),
        (timedelta(seconds=1.5), 1500),
        (timedelta(microseconds=1999), 1),
        (timedelta(seconds=-1), 0),
    ],
)
def test_latency(store: MemoryStore, latency: Any, milliseconds: int) -> None:
    session, found = recorded(store, {}, latency=latency)
    entry = session[found.entry_id]
    assert isinstance(entry, ResponseEntry)
    assert entry.latency_ms == milliseconds


@pytest.mark.parametrize(
    ("request_", "response", "problem"),
    [
        ({}, None, "no response"),
        ({}, [], "object"),
        ({"input": 5}, RESPONSE, "hashing the request"),
        ({"input": ["Hi"]}, RESPONSE, "input.0."),
        ({}, {**RESPONSE, "output": [CALL, None]}, "output item 2"),
        ({}, {**RESPONSE, "output": {}}, "list"),
        ({}, {**RESPONSE, "id": 5}, "string"),
        ({}, {**RESPONSE, "usage": 5}, "usage"),
    ],
)
def test_nothing_is_written_for_what_cannot_be_recorded(
    store: MemoryStore, request_: Any, response: Any, problem: str
) -> None:
    session = store.create(Header())
    with pytest.raises(InvalidEntry, match=problem):
        record_response(store, session.id, request_, response)
    assert len(session) == 0


@pytest.mark.parametrize("latency", [float("nan"), float("inf")])
def test_a_latency_that_is_none(store: MemoryStore, latency: float) -> None:
    with pytest.raises(InvalidEntry, match="latency"):
        recorded(store, {}, latency=latency)


def test_a_number_beyond_any_double(store: MemoryStore) -> None:
    session = store.create(Header())
    for request in ('{"input":[{"type":"acme:x","n":1e400}]}', '{"x":1e400}'):
        with pytest.raises(CannotHash, match="hashing the request"):
            record_response(store, session.id, request, RESPONSE)
    assert len(session) == 0


class Stubborn:
    """A store that stops taking entries after some."""

    def __init__(self, store: MemoryStore, takes: int) -> None:
        self.store = store
        self.takes = takes

    def append(self, session_id: str, entry: Entry) -> str:
        if not self.takes:
            raise ReadOnly("the store takes no more")
        self.takes -= 1
        return self.store.append(session_id, entry)


@pytest.mark.parametrize(
    ("takes", "step"),
    [(0, "appending output item 1 of 2: the store takes no more"), (2, "appending the response")],
)
def test_the_step_that_failed_is_named(store: MemoryStore, takes: int, step: str) -> None:
    session = store.create(Header())
    with pytest.raises(ReadOnly, match=step):
        record_response(Stubborn(store, takes), session.id, {}, RESPONSE)
    assert len(session) == takes


def test_no_such_session(store: MemoryStore) -> None:
    with pytest.raises(NoSession):
        record_response(store, "nope", {}, RESPONSE)


# Continuing.


def old_session(store: MemoryStore, **header: Any) -> Session:
    members: dict[str, Any] = {"cwd": "/srv", "records": ["run"], "media": "inline", **header}
    session = store.create(Header(harness=Harness("h", "1"), **members))
    store.append(
        session.id,
        ConfigEntry(model="m-1", tools_added=[TOOL], extra={"temperature": b"1.0", "x": 1}),
    )
    store.append(session.id, ConfigEntry(instructions="Be kind.", extra={"x": None}))
    store.append(session.id, ItemEntry(HI))
    return session


def test_continue_session(store: MemoryStore) -> None:
    old = old_session(store, spawned_by="c1", unknown={"own": 1})
    store.append(old.id, InfoEntry("the name"))
    new = continue_session(store, old.id, {"type": "message", "role": "user", "content": "S"})
    header = new.header
    assert (header.parent_session, header.cwd, header.media) == (old.id, "/srv", "inline")
    assert (header.records, header.harness) == (("run",), Harness("h", "1"))
    assert (header.spawned_by, dict(header.unknown), header.format) == ("", {}, "agentsession/0.2")
    assert [entry.type for entry in new] == ["config", "item", "info"]
    config = new.entries[0]
    assert isinstance(config, ConfigEntry)
    assert config.replace
    assert new.context().settings == old.context().settings
    assert config.text_of("extra") == b'{"temperature":1.0}'
    assert (new.name, new.context().items[0].text) == ("the name", "S")
    link = old[old.leaf or ""]
    assert isinstance(link, LinkEntry)
    assert (link.rel, link.session, old.superseded_by) == ("continued_in", new.id, new.id)


def test_an_empty_session_is_continued_too(store: MemoryStore) -> None:
    old = store.create(Header())
    new = continue_session(store, old.id)
    assert new.entries[0].line.endswith(b'"replace":true}')
    assert len(new) == len(old) == 1


def test_parts_go_over_as_instructions_and_a_newer_format_stays(store: MemoryStore) -> None:
    old = store.create(Header(format="agentsession/0.3"))
    parts = [InstructionsPart("a", "A"), InstructionsPart("b", "B")]
    store.append(old.id, ConfigEntry(instructions_parts=parts))
    new = continue_session(store, old.id)
    assert new.header.format == "agentsession/0.3"
    assert new.context().settings.to_dict() == {"instructions": "A\n\nB"}
    older = continue_session(store, store.create(Header(format="agentsession/0.1")).id)
    assert older.header.format == "agentsession/0.2"


def test_nothing_is_created_for_what_cannot_be_continued(store: MemoryStore) -> None:
    with pytest.raises(NoSession):
        continue_session(store, "nope")
    old = old_session(store)
    with pytest.raises(InvalidEntry):
        continue_session(store, old.id, "no item")
    store.append(old.id, CompactionEntry("nope", HI))
    with pytest.raises(NoContext, match="opening the old session"):
        continue_session(store, old.id)
    assert len(list(store.list())) == 1


@pytest.mark.parametrize("response_id", [None, "", MISSING_ID])
def test_the_output_of_a_response_without_an_id_leaves_no_hash(response_id: object) -> None:
    store = MemoryStore()
    session = store.create()
    response: dict[str, object] = {"output": [{"type": "message", "role": "assistant"}]}
    if response_id is not MISSING_ID:
        response["id"] = response_id
    done = record_response(store, session.id, {"model": "m-1", "input": "Hi"}, response)
    assert not done.hashed
    assert "has no id" in done.note
    assert session.verify_all().ok


def test_a_response_without_id_and_output_is_hashed() -> None:
    store = MemoryStore()
    session = store.create()
    request = {"model": "m-1", "input": "Hi"}
    store.append(session.id, config_from_request(request))
    store.append(session.id, ItemEntry({"type": "message", "role": "user", "content": "Hi"}))
    done = record_response(store, session.id, request, {"output": []})
    assert done.hashed
    assert session.verify_all().ok


@pytest.mark.parametrize("latency", ["1", True, float("nan"), 1e300, [1]])
def test_a_latency_that_is_none_is_refused_before_anything_is_written(latency: object) -> None:
    store = MemoryStore()
    session = store.create()
    with pytest.raises(InvalidEntry, match="latency"):
        record_response(store, session.id, {}, {"id": "r"}, latency)  # type: ignore[arg-type]
    assert len(session) == 0
