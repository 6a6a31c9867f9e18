"""Recorded hashes against rebuilt requests: context 6, decisions A8 and A9."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession.context import request_context
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.errors import (
    AgentSessionError,
    CannotHash,
    HashMismatch,
    InvalidEntry,
    NoContext,
    NoEntry,
    NoHash,
)
from agentsession.reading import load
from agentsession.record_entries import InfoEntry
from agentsession.request import hash_of, hash_request_json
from agentsession.session import Session
from agentsession.settings import Settings
from agentsession.testing import SessionBuilder
from agentsession.verification import Form, Outcome, Result

Message = dict[str, Any]


def message(text: str, role: str = "user", **more: object) -> Message:
    return {"type": "message", "role": role, "content": text, **more}


NORMAL = message("", content=[{"type": "input_text", "text": "S"}])


def hash_at(session: Session, form: Form = Form.AS_WRITTEN, response_id: str = "") -> str:
    """The hash of the request whose response comes next."""
    found = request_context([*session.path(), ResponseEntry(response_id)])
    return hash_of(found.settings, found.items, form)


def respond(
    build: SessionBuilder, form: Form = Form.AS_WRITTEN, response_id: str = "", **members: Any
) -> str:
    digest = hash_at(build.session, form, response_id)
    return build.append(ResponseEntry(response_id, request_hash=digest, **members))


# The three forms, one vector each.

VECTORS = {
    Form.AS_WRITTEN: """{"input":[{"content":"Hi","lang":"en","role":"user","type":"message"}],
        "model":"m-1","reasoning":{"effort":"low"},"store":false,
        "tools":[{"name":"ls","namespace":"fs","type":"function"}]}""",
    Form.NORMALISED: """{"input":[{"content":[{"text":"Hi","type":"input_text"}],"lang":"en",
        "role":"user","type":"message"}],
        "model":"m-1","reasoning":{"effort":"low","summary":null},"store":false,
        "tools":[{"description":"","name":"ls","namespace":"fs","parameters":null,
        "type":"function"}]}""",
    Form.NORMALISED_DROPPED: """{"input":[{"content":[{"text":"Hi","type":"input_text"}],
        "role":"user","type":"message"}],
        "model":"m-1","reasoning":{"effort":"low","summary":null},"store":false,
        "tools":[{"description":"","name":"ls","parameters":null,"type":"function"}]}""",
}


@pytest.fixture
def loose() -> SessionBuilder:
    """A session whose request has another text in each form."""
    build = SessionBuilder()
    tool = {"type": "function", "name": "ls", "namespace": "fs"}
    build.config(model="m-1", reasoning={"effort": "low"}, tools_added=[tool])
    build.item(message("Hi", lang="en"))
    return build


@pytest.mark.parametrize("form", list(Form))
def test_the_form_is_named(loose: SessionBuilder, form: Form) -> None:
    digest = hash_request_json(VECTORS[form])
    response = loose.append(ResponseEntry("r", request_hash=digest))
    assert loose.session.verify(response) is form
    (result,) = loose.session.verify_all()
    assert (result.form, result.outcome, result.message) == (form, Outcome.OK, "")
    assert result.recorded == result.rebuilt == digest


def test_a_request_in_normal_form_is_as_written() -> None:
    build = SessionBuilder()
    build.user("Hi")
    response = respond(build, Form.NORMALISED_DROPPED)
    assert build.session.verify(response) is Form.AS_WRITTEN


# One response.


def test_no_hash() -> None:
    build = SessionBuilder()
    build.user("Hi")
    response = build.answer("Hello", hashed=False)
    with pytest.raises(NoHash, match=response) as caught:
        build.session.verify(response)
    assert caught.value.entry_id == response
    (result,) = build.session.verify_all()
    assert (result.outcome, result.form) == (Outcome.NO_HASH, None)
    assert build.session.verify_all().ok


@pytest.mark.parametrize("change", [str.upper, lambda text: text[7:], lambda text: text + " "])
def test_a_hash_that_differs(change: Callable[[str], str]) -> None:
    build = SessionBuilder()
    build.user("Hi")
    rebuilt = hash_at(build.session)
    response = build.append(ResponseEntry("r", request_hash=change(rebuilt)))
    with pytest.raises(HashMismatch) as caught:
        build.session.verify(response)
    found = caught.value
    assert (found.entry_id, found.recorded, found.rebuilt) == (response, change(rebuilt), rebuilt)
    found_all = build.session.verify_all()
    assert not found_all.ok
    assert found_all.results[0].message == str(found)


def test_what_cannot_be_verified() -> None:
    build = SessionBuilder()
    item = build.user("Hi")
    with pytest.raises(InvalidEntry, match=item):
        build.session.verify(item)
    with pytest.raises(NoEntry):
        build.session.verify("nope")
    build.append(CompactionEntry("nope", message("S")))
    lost = build.append(ResponseEntry("r"))
    with pytest.raises(NoContext):
        build.session.verify(lost)


def test_a_number_beyond_any_double() -> None:
    build = SessionBuilder()
    build.item(b'{"type":"acme:x","n":1e400}')
    response = build.append(ResponseEntry("r", request_hash="sha256:00"))
    with pytest.raises(CannotHash):
        build.session.verify(response)
    (result,) = build.session.verify_all()
    assert result.outcome is Outcome.ERROR
    assert "e0000001" in result.message


def test_a_form_that_can_be_hashed_still_matches() -> None:
    build = SessionBuilder()
    build.item(b'{"type":"message","role":"user","content":"Hi","n":1e400}')
    response = respond(build, Form.NORMALISED_DROPPED)
    assert build.session.verify(response) is Form.NORMALISED_DROPPED
    assert build.session.verify_all().results[0].form is Form.NORMALISED_DROPPED


# All of them.


def test_results_stand_in_file_order_and_are_counted() -> None:
    build = SessionBuilder()
    build.user("Hi")
    first = build.answer("one")
    second = build.answer("two", hashed=False)
    third = build.append(ResponseEntry("r9", request_hash="sha256:00"))
    found = build.session.verify_all()
    assert [result.entry_id for result in found] == [first, second, third]
    assert len(found) == 3
    assert [result.ok for result in found] == [True, False, False]
    assert dict(found.counts) == {"ok": 1, "no_hash": 1, "mismatch": 1, "error": 0}
    assert Session().verify_all().ok


def naive(session: Session, response: ResponseEntry) -> Result:
    """What verify() says, as a result."""
    recorded = response.request_hash
    try:
        form = session.verify(response.id)
    except NoHash as error:
        return Result(response.id, Outcome.NO_HASH, message=str(error))
    except HashMismatch as error:
        return Result(
            response.id, Outcome.MISMATCH, None, recorded, error.rebuilt, message=str(error)
        )
    except AgentSessionError:
        return Result(response.id, Outcome.ERROR, recorded=recorded)
    return Result(response.id, Outcome.OK, form, recorded, recorded)


def assert_as_one_by_one(session: Session) -> None:
    found = [
        dataclasses.replace(result, message="") if result.outcome is Outcome.ERROR else result
        for result in session.verify_all()
    ]
    responses = [entry for entry in session.entries if isinstance(entry, ResponseEntry)]
    assert found == [naive(session, response) for response in responses]


_summaries = st.sampled_from([message("S"), message("S", x=1), b'{"type":"x","n":1e400}'])
_items = st.sampled_from(
    [
        message("a"),
        message("b", "assistant", x={"y": 1.50}),
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "c"}]},
        {"type": "acme:note", "é": "\ufeff\U0001f600"},
        {"type": "message", "content": 5},
        b'{"type":"message","role":"user","content":"d","n":1e400}',
    ]
)
_settings = {
    "model": st.sampled_from(["", "m-1", "m-2"]),
    "instructions": st.sampled_from([None, "", "x"]),
    "reasoning": st.sampled_from([None, {}, {"effort": "low"}, {"z": 1}]),
    "tools": st.lists(st.sampled_from([{"type": "function", "name": "t"}, {"type": "w"}])),
    "extra": st.dictionaries(
        st.sampled_from(["background", "include", "input", "inputs", "zone", "\U0001f600", "é"]),
        st.sampled_from([None, 1, [b"1.0"], {"a": 2}, b"1e400"]),
        max_size=2,
    ),
}
_steps = st.one_of(
    st.tuples(st.just("item"), _items),
    st.tuples(st.just("output"), _items),
    st.tuples(st.just("respond"), st.sampled_from([*Form, None, "tampered"])),
    st.tuples(st.just("respond"), st.sampled_from([*Form])),
    st.tuples(st.just("config"), st.fixed_dictionaries(_settings), st.booleans()),
    st.tuples(st.just("compact"), _summaries, st.integers(0, 12), st.fixed_dictionaries(_settings)),
    st.tuples(st.just("branch_summary"), _summaries),
    st.tuples(st.just("branch"), st.integers(0, 40)),
    st.tuples(st.just("reset")),
    st.tuples(st.just("info")),
)


class Grower:
    """Grows a session from steps; an output step belongs to the response that comes next."""

    def __init__(self) -> None:
        self.build = SessionBuilder()
        self.responses = 1

    @property
    def session(self) -> Session:
        return self.build.session

    def take(self, kind: str, *given: Any) -> None:
        getattr(self, f"_{kind}")(*given)

    def _item(self, item: object) -> None:
        self.build.item(item)

    def _output(self, item: object) -> None:
        self.build.item(item, response=f"r{self.responses}")

    def _respond(self, form: Form | str | None) -> None:
        response_id = f"r{self.responses}"
        digest = ""
        if isinstance(form, Form):
            try:
                digest = hash_at(self.session, form, response_id)
            except AgentSessionError:
                digest = "sha256:lost"
        elif form:
            digest = "sha256:00"
        self.build.append(ResponseEntry(response_id, request_hash=digest))
        self.responses += 1

    def _config(self, found: dict[str, Any], replace: bool) -> None:
        tools = found.pop("tools")
        extra = _raw(found.pop("extra"))
        self.build.config(**found, tools_added=tools, extra=extra, replace=replace)

    def _compact(self, summary: object, back: int, found: dict[str, Any]) -> None:
        path = self.session.path()
        first_kept = path[max(0, len(path) - 1 - back)].id if path and back < 12 else "nope"
        found["instructions"] = found["instructions"] or ""
        checkpoint = Settings(**{**found, "extra": _raw(found["extra"])})
        pinned = [message("pinned")] if back % 2 else []
        entry = CompactionEntry(first_kept, summary, config=checkpoint, pinned=pinned)
        self.build.append(entry)

    def _branch_summary(self, summary: object) -> None:
        self.build.append(BranchSummaryEntry("x", summary))

    def _branch(self, position: int) -> None:
        entries = self.session.entries
        if entries:
            self.session.branch(entries[position % len(entries)].id)

    def _reset(self) -> None:
        self.session.reset_leaf()

    def _info(self) -> None:
        self.build.append(InfoEntry("x"))


def _raw(extra: dict[str, Any]) -> dict[str, Any]:
    return {name: [1.0] if value == [b"1.0"] else value for name, value in extra.items()}


@settings(max_examples=200)
@given(st.lists(_steps, max_size=30))
def test_all_at_once_is_one_by_one(steps: list[tuple[Any, ...]]) -> None:
    grower = Grower()
    for step in steps:
        grower.take(*step)
    assert_as_one_by_one(grower.session)


# What it costs, counted.


def conversation(build: SessionBuilder, calls: int) -> None:
    for number in range(calls):
        build.user(f"question {number}")
        build.answer(f"answer {number}")


@pytest.mark.parametrize("calls", [10, 40])
def test_a_path_is_hashed_once(calls: int) -> None:
    build = SessionBuilder()
    build.config(model="m-1", extra={"background": False, "temperature": 1})
    conversation(build, calls)
    found = build.session.verify_all()
    assert found.ok
    # The last answer is no part of any request.
    assert found.cost.items_encoded == found.cost.items_hashed == 2 * calls - 1
    assert (found.cost.restarts, found.cost.rebuilds) == (0, 0)


def test_a_compaction_costs_its_window() -> None:
    build = SessionBuilder()
    for _ in range(5):
        conversation(build, 20)
        build.append(build.session.compact_keeping(4, NORMAL))
    conversation(build, 1)
    found = build.session.verify_all()
    assert found.ok
    assert found.cost.items_encoded == 201 + 5
    assert found.cost.items_hashed <= 206 + 5 * 4
    assert (found.cost.restarts, found.cost.rebuilds) == (5, 0)


def test_branches_share_what_they_have_in_common() -> None:
    build = SessionBuilder()
    for number in range(50):
        fork = build.user(f"step {number}")
    for _ in range(20):
        build.session.branch(fork)
        conversation(build, 2)
    found = build.session.verify_all()
    assert found.ok
    assert len(found) == 40
    assert found.cost.items_hashed == 50 + 20 * 3
    assert found.cost.rebuilds == 0


def test_settings_after_the_input_change_nothing_before_it() -> None:
    build = SessionBuilder()
    for number in range(10):
        build.config(model=f"m-{number}", extra={"temperature": number})
        conversation(build, 1)
    found = build.session.verify_all()
    assert found.ok
    assert (found.cost.items_hashed, found.cost.restarts, found.cost.rebuilds) == (19, 0, 0)


def test_settings_before_the_input_start_the_items_anew() -> None:
    build = SessionBuilder()
    conversation(build, 3)
    build.config(extra={"background": True})
    conversation(build, 3)
    build.config(extra={"background": True, "zone": 1})
    conversation(build, 3)
    found = build.session.verify_all()
    assert found.ok
    assert (found.cost.restarts, found.cost.rebuilds) == (1, 0)
    assert found.cost.items_encoded == 17
    assert found.cost.items_hashed == 17 + 6


@pytest.mark.parametrize(
    ("between", "rebuilds"),
    [
        (InfoEntry("x"), 0),
        (ConfigEntry(model="m-2"), 0),
        (BranchSummaryEntry("x", message("left")), 0),
        (ConfigEntry(extra={"background": True}), 1),
        (CompactionEntry("e0000001", message("S")), 1),
    ],
)
def test_entries_among_the_output_items(between: Entry, rebuilds: int) -> None:
    build = SessionBuilder()
    conversation(build, 3)
    build.item(message("out", "assistant"), response="r")
    build.append(between)
    build.item(message("put", "assistant"), response="r")
    respond(build, response_id="r")
    conversation(build, 3)
    found = build.session.verify_all()
    assert found.ok
    assert found.cost.rebuilds == rebuilds
    assert_as_one_by_one(build.session)


def test_a_form_change_encodes_once_more() -> None:
    build = SessionBuilder()
    for number in range(10):
        build.item(message(f"question {number}"))
        respond(build, Form.NORMALISED)
    found = build.session.verify_all()
    assert found.ok
    assert (found.cost.items_encoded, found.cost.items_hashed) == (20, 20)
    assert found.cost.rebuilds == 0


def test_many_responses_without_items_between_them() -> None:
    build = SessionBuilder()
    build.user("Hi")
    build.item(message("out"), response="r")
    for _ in range(50):
        respond(build, response_id="r")
    found = build.session.verify_all()
    assert found.ok
    assert (found.cost.items_hashed, found.cost.rebuilds) == (1, 0)


def test_what_was_sent_and_read_back_verifies() -> None:
    build = SessionBuilder()
    build.config(model="m-1")
    conversation(build, 2)
    loaded = load(b"".join(build.session.lines()))
    assert loaded.verify_all() == build.session.verify_all()
    assert isinstance(loaded.entries[1], ItemEntry)
