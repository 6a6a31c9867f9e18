"""Conversion, case by case: on recordings, and on small stores built here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from recordings import verify_paths

import agentsession as ags
from agentsession import wire
from agentsession.importers.base import Converted, Outcome
from agentsession.importers.opencode import (
    G1,
    G2,
    Generation,
    Memory,
    MessageRecord,
    convert,
    decode_message,
    decode_part,
)
from agentsession.importers.opencode import Session as Native
from agentsession.importers.usage import of_session
from agentsession.wire import media, turns

RECORDINGS = Path(__file__).parents[2] / "data" / "opencode-recordings"
START = 1_796_070_000_000


def converted(recording: str) -> dict[str, Converted]:
    """Return the sessions of a recording by title."""
    with convert.Source(RECORDINGS / recording) as source:
        return {s.title: convert.convert(source, s.id) for s in convert.sessions(source)}


def of_type(session: ags.Session, kind: str) -> list[Any]:
    return [entry for entry in session.entries if entry.type == kind]


def texts(context: ags.Context) -> list[str]:
    return [item.text for item in context.items]


def codes(result: Converted) -> dict[str, int]:
    return {finding.code: finding.count for finding in result.findings}


# A small V1 store.


class Build:
    """Messages of one V1 session, a second apart."""

    def __init__(self, start: int = START) -> None:
        self.records: list[MessageRecord] = []
        self.at = start
        self._user = ""

    def message(self, role: str, parts: Sequence[dict[str, Any]], **info: Any) -> str:
        self.at += 1000
        number = len(self.records)
        name = info.pop("id", f"msg_{self.at % (1 << 36) << 12:012x}{number:014d}")
        made = {"role": role, "time": {"created": self.at, "completed": self.at + 500}, **info}
        record = decode_message("u", name, "ses_a", self.at, json.dumps(made).encode())
        built = [
            decode_part("p", f"prt_{name[4:]}{at}", name, "ses_a", json.dumps(part).encode())
            for at, part in enumerate(parts)
        ]
        self.records.append(replace(record, parts=tuple(built)))
        return name

    def user(self, words: str = "Hi", *more: dict[str, Any], **info: Any) -> str:
        model = {"providerID": "p", "modelID": "m"}
        parts = [{"type": "text", "text": words}] if words else []
        self._user = self.message("user", [*parts, *more], agent="build", model=model, **info)
        return self._user

    def answer(self, *parts: dict[str, Any], **info: Any) -> str:
        told = {"parentID": self._user, "providerID": "p", "modelID": "m", "finish": "stop"}
        return self.message("assistant", [{"type": "step-start"}, *parts], **{**told, **info})


def said(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def called(status: str, **state: Any) -> dict[str, Any]:
    told = {"status": status, "input": {"a": 1}, "time": {"start": START}, **state}
    return {"type": "tool", "tool": "bash", "callID": "call_1", "state": told}


def native(version: str = "1.18.33", generation: Generation = G2, **more: Any) -> Native:
    told = {"created": START, "updated": START, "source": b'{"title":"T"}', "title": "T", **more}
    return Native(generation, "u", "ses_a", version=version, **told)


def from_store(built: Build, **more: Any) -> Converted:
    session = native(**more)
    store = Memory(session_list=[session], messages_of={"ses_a": built.records})
    with convert.Source(stores=[store]) as source:
        return convert.convert(source, "ses_a")


def sent(result: Converted, response: str) -> list[dict[str, Any]]:
    """Return the chat messages of a response's request."""
    session = result.session
    for entry in session.entries:
        if isinstance(entry, ags.ResponseEntry) and entry.response_id == response:
            pieces = wire.request_pieces(session.path(entry.id))
            profile = convert.profile_of_response(entry)
            return wire.chat_messages(pieces, wire.target_of(entry), profile)
    raise AssertionError(response)


# The picture, on recordings.


def test_a_kept_tail_is_one_compaction_that_keeps_it() -> None:
    session = converted("1.14.41-tail")["Tail"].session
    compaction = of_type(session, "compaction")[0]
    assert compaction.summary.text == "What did we do so far?"
    assert [item.role for item in compaction.pinned] == ["assistant"]
    assert session[compaction.first_kept].type == "item"
    assert compaction.usage["input_tokens"] > 0
    native_ids = compaction.unknown["opencode"]
    assert native_ids["question"]["message"] == compaction.summary.id
    assert native_ids["summary"]["info"]["finish"] == "stop"


def test_pruned_outputs_are_pinned_by_one_compaction() -> None:
    result = converted("1.2.27-prune")["Big files"]
    session = result.session
    (compaction,) = of_type(session, "compaction")
    cleared = [i for i in compaction.pinned if i.output == "[Old tool result content cleared]"]
    assert len(cleared) == 2
    whole = [e.item for e in of_type(session, "item") if e.item.id == cleared[0].id]
    assert [len(item.output) > 1000 for item in whole] == [True]
    assert codes(result)["output-pruned"] == 2
    # A branch with copies would repeat the files.
    assert len(compaction.line) < 20_000


def test_a_call_that_was_never_sent_again_is_a_branch() -> None:
    session = converted("1.0.98-killed")["Killed"].session
    (killed,) = [c for c in _every_call(session) if c.output is None]
    assert killed.entry.id not in {entry.id for entry in session.path()}
    assert "Go." in texts(session.context())
    assert all(item.type != "function_call" for item in session.context().items)


def test_a_call_that_was_sent_with_a_notice_has_it_hidden() -> None:
    session = converted("1.2.27-killed")["Killed"].session
    (call,) = session.calls()
    assert call.output is not None
    assert call.output.item.output == "[Tool execution was interrupted]"
    assert not call.output.is_visible
    assert call.dispatch is not None


def _every_call(session: ags.Session) -> list[ags.Call]:
    return [call for leaf in session.leaves for call in session.calls(leaf.id)]


def test_sub_agents_are_linked_both_ways() -> None:
    sessions = converted("1.1.65-subagent")
    parent = sessions["Two helpers"].session
    links = {link.session: link.call_id for link in of_type(parent, "link")}
    children = [r.session for title, r in sessions.items() if title != "Two helpers"]
    assert len(children) == len(links) == 3
    for child in children:
        assert child.header.parent_session == parent.id
        assert child.header.spawned_by == links[child.id]
    for link in of_type(parent, "link"):
        (following,) = parent.children(link.id)
        assert following.type in {"dispatch", "link"}


def test_a_staged_revert_is_a_branch_and_a_durable_leaf() -> None:
    result = converted("1.18.33-revert")["Revert"]
    again = ags.read(ags.dump(result.session))
    assert again.leaf is not None
    shown = texts(again.context())
    hidden = {text for leaf in again.leaves for text in texts(again.context_at(leaf.id))}
    assert hidden - set(shown)
    assert codes(result)["staged-revert"] > 0
    label = of_type(again, "label")[0]
    assert label.label == "leaf"
    assert label.target in {entry.id for entry in again.path()}
    assert again.name == "Revert"


def test_a_fork_is_linked_and_its_copies_are_no_calls() -> None:
    sessions = converted("1.18.33-revert")
    origin, result = sessions["Revert"].session, sessions["Revert (fork #1)"]
    fork = result.session
    assert fork.header.parent_session == origin.id
    (link,) = of_type(fork, "link")
    assert (link.rel, link.session) == ("fork_of", origin.id)
    assert len(of_type(fork, "response")) == 1
    assert codes(result)["fork-copy"] == result.totals["copied"]["steps"] == 4


def test_input_that_waited_is_queued_first() -> None:
    session = converted("1.1.65-queued")["Queued"].session
    (queued,) = of_type(session, "queued")
    (item,) = [e for e in of_type(session, "item") if e.queued_from]
    assert item.queued_from == queued.id
    assert item.item == queued.item


def test_turns_are_runs() -> None:
    session = converted("1.18.33-extras")["Extras"].session
    runs = [run for leaf in session.leaves for run in session.runs(leaf.id)]
    reasons = {run.end.reason for run in runs if run.end is not None}
    assert reasons in ({"done", "error"}, {"done", "error", "aborted"})


def test_the_longer_copy_is_taken_and_the_other_left_out() -> None:
    result = converted("1.2.1-migrated")["Old session"]
    assert result.totals["taken"] == "opencode.db (G2)"
    assert set(result.totals["copies"]) == {"storage (G1)", "opencode.db (G2)"}
    left = [r for r in result.records if r.disposition is Outcome.LEFT_OUT]
    assert {record.code for record in left} == {"other-copy"}
    assert codes(result)["release-inferred"] == 1


def test_tree_and_database_give_the_same_entries() -> None:
    place = RECORDINGS / "1.2.1-migrated"
    with convert.Source(place) as both:
        tree, database = (convert.Source(stores=[store]) for store in both.stores)
        name = "ses_dd1e0fee"
        (session_id,) = [s.id for s in both.summaries() if s.id.startswith(name)]
        one = convert.convert(tree, session_id).session
        other = convert.convert(database, session_id).session
    spoken = [[e.id for e in s.entries if e.type not in {"info", "custom"}] for s in (one, other)]
    assert spoken[0] == spoken[1]


def test_a_session_that_went_on_in_opencode_2() -> None:
    result = converted("2.0-constructed-migrated")["Tail"]
    responses = of_type(result.session, "response")
    assert len(responses) == 11
    last = responses[-1]
    context = result.session.request_context(last.id)
    assert "<conversation-checkpoint>" in context.items[0].text
    assert codes(result)["continued-in-rows"] == 1
    extras = converted("2.0-constructed-migrated")["Extras"]
    assert "continued-in-rows" not in codes(extras)
    assert not [r for r in extras.records if r.kind == "row" and r.disposition == "entry"]


def test_native_totals_are_the_converted_ones() -> None:
    for place in sorted(RECORDINGS.iterdir()):
        with convert.Source(place) as source:
            for summary in source.summaries():
                totals = convert.convert(source, summary.id).totals
                for name, count in totals["native"].items():
                    made = totals["converted"].get(name, 0) + totals["copied"].get(name, 0)
                    assert made == pytest.approx(count), (place.name, name)


def test_two_imports_give_the_same_bytes_and_every_record_is_told() -> None:
    for place in sorted(RECORDINGS.iterdir()):
        with convert.Source(place) as source:
            for summary in source.summaries():
                first = convert.convert(source, summary.id)
                again = convert.convert(source, summary.id)
                assert ags.dump(first.session) == ags.dump(again.session)
                assert first.records == again.records
                verify_paths(first.session)
                for record in first.records:
                    told = record.entry_ids or record.code
                    assert told, (place.name, record)


# The V2 rows against the expected histories.


@pytest.mark.parametrize("name", ["2.0-constructed-rows", "2.0-constructed-compaction"])
def test_rows_give_the_expected_histories(name: str) -> None:
    place = RECORDINGS / name
    lines = (place / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line) for line in lines]
    checked = 0
    with convert.Source(place) as source:
        for summary in source.summaries():
            session = convert.convert(source, summary.id).session
            wanted = {e["assistant"]: e["messages"] for e in expected if e["session"] == session.id}
            for entry in of_type(session, "response"):
                pieces = wire.request_pieces(session.path(entry.id))
                found = neutral(pieces, wire.target_of(entry), convert.profile_of_response(entry))
                assert found == unnamed(wanted.pop(entry.response_id)), entry.response_id
                checked += 1
            for row, messages in wanted.items():
                # A fork's copies caused no request; what stood before them is the history.
                assert neutral_before(session, row) == unnamed(messages), row
                checked += 1
    assert checked == len(expected)


def neutral_before(session: ags.Session, row: str) -> list[dict[str, Any]]:
    (note,) = [e for e in of_type(session, "custom") if _data(e).get("row") == row]
    own = {e.id for e in of_type(session, "item") if e.item.id.startswith(row + ".")}
    path = session.path(note.id)[:-1]
    while path and path[-1].id in own:
        path.pop()
    profile = convert.rows_profile(preview=False)
    return neutral(wire.pieces(path), wire.Target("mock", "mock-2"), profile)


def _data(entry: ags.CustomEntry) -> dict[str, Any]:
    return entry.data if isinstance(entry.data, dict) else {}


def neutral(
    pieces: Sequence[wire.Piece], target: wire.Target, profile: wire.Profile
) -> list[dict[str, Any]]:
    found = []
    for turn in turns.turns(pieces, target, profile, media_fits=True):
        if turn.role == "tool":
            found += [{"role": "tool", "content": [_result(r)]} for r in turn.content]
            continue
        parts = [_part(p) if isinstance(p, dict) else _spoken(p) for p in turn.content]
        if parts:
            found.append({"role": turn.role, "content": parts})
    return found


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    held = media.media_of(part)
    return {"type": "media", "mime": held.mime, "data": held.data}


def _spoken(part: Any) -> dict[str, Any]:
    if isinstance(part, turns.Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, turns.Reasoning):
        return {"type": "reasoning", "text": part.text}
    item = part.piece.item
    if isinstance(part, turns.Call):
        return {
            "type": "tool-call",
            "id": item.call_id,
            "name": item.name,
            "input": json.loads(item.arguments),
        }
    return {"type": "compaction", "encrypted": item["encrypted_content"]}


def _result(result: turns.Result) -> dict[str, Any]:
    output: Any = result.piece.item.output
    value: dict[str, Any] = {"type": "text", "value": output}
    if result.piece.origin.error:
        value = {"type": "error", "value": json.loads(output)}
    elif not isinstance(output, str):
        held = [_part(part) for part in output]
        uris = [
            {"type": "file", "uri": f"data:{p['mime']};base64,{p['data']}", "mime": p["mime"]}
            if p["type"] == "media"
            else p
            for p in held
        ]
        value = {"type": "content", "value": uris}
    return {"type": "tool-result", "id": result.piece.item.call_id, "result": value}


def unnamed(value: Any) -> Any:
    """Return expected messages without the names that no wire form here carries."""
    if isinstance(value, list):
        return [unnamed(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = value.get("type") in {"file", "media", "tool-result"}
    return {k: unnamed(v) for k, v in value.items() if not (named and k == "name")}


# Rules, on stores built here.


def test_a_failed_message_is_a_branch_its_question_stays() -> None:
    built = Build()
    built.user("First")
    error = {"name": "APIError", "data": {"message": "no", "statusCode": 500}}
    failed = built.answer(said("Half"), error=error, finish="")
    built.user("Second")
    answer = built.answer(said("Whole"))
    result = from_store(built)
    assert [m["content"] for m in sent(result, answer)] == ["First", "Second"]
    assert [m["content"] for m in sent(result, failed)] == ["First"]
    (response,) = [e for e in of_type(result.session, "response") if e.response_id == failed]
    assert response.status == "failed"
    assert response.error == {"code": "500", "message": "no"}
    assert codes(result)["failed-message-branched"] == 1


def test_an_abort_with_a_text_stays_and_one_with_reasoning_alone_goes() -> None:
    aborted = {"error": {"name": "MessageAbortedError", "data": {}}, "finish": ""}
    built = Build()
    built.user("A")
    built.answer(said("Half"), **aborted)
    built.user("B")
    built.answer({"type": "reasoning", "text": "Hm"}, **aborted)
    built.user("C")
    last = built.answer(said("End"))
    result = from_store(built)
    assert [m["content"] for m in sent(result, last)] == ["A", "Half", "B", "C"]
    first = of_type(result.session, "response")[0]
    assert (first.status, first.incomplete) == ("incomplete", {"reason": "aborted"})


@pytest.mark.parametrize(
    ("version", "contents"),
    [("1.1.10", ["A", "Go", "B"]), ("1.3.0", ["A", "Go", "[Tool execution was interrupted]", "B"])],
)
def test_a_killed_call_by_release(version: str, contents: list[str]) -> None:
    built = Build()
    built.user("A")
    built.answer(said("Go"), called("running"), finish="", time={"created": START + 2000})
    built.user("B")
    last = built.answer(said("Back"))
    result = from_store(built, version=version, generation=G1)
    assert [m["content"] for m in sent(result, last)] == contents


def test_a_killed_call_that_nothing_followed_is_in_flight() -> None:
    built = Build()
    built.user("A")
    built.answer(said("Go"), called("running"), finish="", time={"created": START + 2000})
    result = from_store(built)
    (call,) = result.session.calls()
    assert str(call.state(result.session.header)) == "in_flight"
    trailing = of_type(result.session, "custom")[-1]
    assert trailing.data["unsettled"][0]["state"]["status"] == "running"


def test_a_release_that_came_during_a_session_changes_the_rules() -> None:
    built = Build()
    built.user("A")
    built.answer(said("Go"), called("running"), finish="", time={"created": START + 2000})
    built.user("B")
    older = built.answer(said("One"))
    built.user("C")
    model = {"providerID": "p", "modelID": "m", "variant": "high"}
    built.message("user", [said("D")], agent="build", model=model)
    newer = built.answer(said("Two"), agent="build")
    result = from_store(built, version="1.1.10", generation=G1)
    notice = "[Tool execution was interrupted]"
    assert notice not in [m["content"] for m in sent(result, older)]
    assert notice in [m["content"] for m in sent(result, newer)]
    assert codes(result)["release-inferred"] == 1


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_attachments_stand_beside_results(place: int) -> None:
    version, lead, at = [
        ("1.0.61", "Tool bash returned an attachment:", 1),
        ("1.0.185", "Tool bash returned an attachment:", -1),
        ("1.1.16", "Tool bash returned an attachment:", 1),
        ("1.14.41", "Attached image(s) from tool result:", -1),
    ][place]
    url = "data:image/png;base64,AAAA"
    shot = {"type": "file", "mime": "image/png", "url": url}
    built = Build()
    built.user("Shoot")
    built.answer(called("completed", output="ok", attachments=[shot]), finish="tool-calls")
    last = built.answer(said("Seen"))
    result = from_store(built, version=version)
    beside = sent(result, last)[at]
    assert beside["role"] == "user"
    assert beside["content"][0] == {"type": "text", "text": lead}
    assert beside["content"][1]["image_url"]["url"] == url


def test_the_agent_of_an_answer_tells_no_later_release_than_wrote_it() -> None:
    shot = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    built = Build()
    built.user("Shoot")
    done = called("completed", output="ok", attachments=[shot])
    built.answer(done, finish="tool-calls", agent="build")
    last = built.answer(said("Seen"), agent="build")
    for version in ("1.0.162", "1.0.185"):
        result = from_store(built, version=version, generation=G1)
        assert [m["role"] for m in sent(result, last)] == ["user", "assistant", "tool", "user"]
        assert "release-inferred" not in codes(result)


def test_turns_deleted_by_a_revert_are_a_branch_when_the_tree_has_them() -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    kept = len(built.records)
    built.user("Gone")
    gone = built.answer(said("Two"))
    whole = list(built.records)
    built.user("B")
    last = built.answer(said("Three"))
    tree = Memory(
        store_name="storage",
        session_list=[native("1.1.65", G1)],
        messages_of={"ses_a": whole},
    )
    database = Memory(
        store_name="opencode.db",
        session_list=[native("1.1.65", G2, updated=START + 60_000)],
        messages_of={"ses_a": built.records[:kept] + built.records[len(whole) :]},
    )
    with convert.Source(stores=[tree, database]) as source:
        result = convert.convert(source, "ses_a")
    assert [m["content"] for m in sent(result, last)] == ["A", "One", "B"]
    assert [m["content"] for m in sent(result, gone)] == ["A", "One", "Gone"]
    assert codes(result)["turns-only-in-other-copy"] == 2
    assert "Gone" not in texts(result.session.context())
    held = sum(1 + len(record.parts) for record in [*whole, *built.records[:kept]])
    held += sum(1 + len(record.parts) for record in built.records[len(whole) :])
    assert len(result.records) == held + 2


def test_synthetic_texts_are_hidden_and_ignored_ones_are_kept_beside() -> None:
    built = Build()
    built.user("", said("Continue", synthetic=True))
    built.answer(said("One"))
    built.user("Seen", said("not sent", ignored=True))
    last = built.answer(said("Two"))
    result = from_store(built)
    assert [m["content"] for m in sent(result, last)] == ["Continue", "One", "Seen"]
    users = [e for e in of_type(result.session, "item") if e.item.role == "user"]
    assert [entry.is_visible for entry in users] == [False, True]
    assert users[1].unknown["opencode"]["parts"][1]["text"] == "not sent"


def test_usage_counts_the_cache_as_input() -> None:
    tokens = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 100, "write": 20}}
    built = Build()
    built.user()
    built.answer(said("A"), tokens=tokens, cost=0.5)
    result = from_store(built)
    (response,) = of_type(result.session, "response")
    assert response.usage == {
        "input_tokens": 130,
        "output_tokens": 5,
        "total_tokens": 135,
        "input_tokens_details": {"cached_tokens": 100, "cache_creation_tokens": 20},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    assert response.unknown["opencode"]["tokens"] == tokens
    assert result.totals["converted"]["cost"] == 0.5


def test_an_output_without_the_reasoning_gets_it_added() -> None:
    tokens = {"total": 17, "input": 10, "output": 5, "reasoning": 2, "cache": {}}
    built = Build()
    built.user()
    built.answer(said("A"), tokens=tokens)
    (response,) = of_type(from_store(built).session, "response")
    assert (response.usage["output_tokens"], response.usage["total_tokens"]) == (7, 17)


@pytest.mark.parametrize(("version", "output"), [("1.3.2", "aborted"), ("1.18.33", "begin")])
def test_an_interrupted_call_with_an_output_by_release(version: str, output: str) -> None:
    told = {"interrupted": True, "output": "begin"}
    built = Build()
    built.user("A")
    built.answer(called("error", error="aborted", metadata=told), finish="tool-calls")
    last = built.answer(said("End"))
    result = from_store(built, version=version)
    assert sent(result, last)[-1]["content"] == output


def test_much_that_nobody_knows_is_loud() -> None:
    built = Build()
    built.user("A")
    built.answer(said("B"), {"type": "hologram", "data": "x" * 500})
    result = from_store(built)
    assert codes(result)["unknown-content"] == codes(result)["unknown-part"] == 1
    (part,) = [r for r in result.records if r.code == "unknown-part"]
    assert part.disposition is Outcome.FOLDED
    (response,) = of_type(result.session, "response")
    assert response.unknown["opencode"]["parts"][1]["data"] == "x" * 500


def test_nothing_kept_is_said_with_a_response() -> None:
    session = converted("1.1.65-compaction")["Counting"].session
    kept = [session[entry.first_kept].type for entry in of_type(session, "compaction")]
    assert kept[0] == "response"


REFUSED = "'file part media type application/pdf' functionality not supported."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ProviderAuthError", "no key"),
        ("UnknownError", REFUSED),
        ("UnknownError", f"AI_UnsupportedFunctionalityError: {REFUSED}"),
    ],
)
def test_what_was_refused_before_it_was_sent_is_no_request(name: str, message: str) -> None:
    built = Build()
    built.user("A")
    error = {"name": name, "data": {"message": message}}
    told = {"parentID": "x", "providerID": "p", "modelID": "m", "error": error}
    built.message("assistant", [], **told)
    built.user("B")
    last = built.answer(said("One"))
    result = from_store(built)
    assert len(of_type(result.session, "response")) == 1
    assert [m["content"] for m in sent(result, last)] == ["A", "B"]


@pytest.mark.parametrize(("late", "content"), [(False, "A."), (True, "Hm.A.")])
def test_the_order_of_members_tells_the_family_of_the_release(late: bool, content: str) -> None:
    told = {"providerID": "q", "modelID": "n", "finish": "stop"}
    built = Build()
    built.user()
    built.answer({"type": "reasoning", "text": "Hm."}, said("A."), **told)
    built.user("Other model")
    last = built.answer(said("B."))
    record = built.records[-1]
    if late:
        info = json.loads(record.raw)
        raw = json.dumps({"parentID": info.pop("parentID"), **info}).encode()
        made = decode_message("u", record.id, "ses_a", record.created, raw)
        built.records[-1] = replace(made, parts=record.parts)
    result = from_store(built, version="dev")
    assert sent(result, last)[1]["content"] == content
    assert codes(result)["release-unknown"] == 1


@pytest.mark.parametrize(
    ("finish", "status", "incomplete"),
    [
        ("stop", "completed", None),
        ("tool-calls", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content-filter", "incomplete", {"reason": "content_filter"}),
        ("unknown", "completed", None),
    ],
)
def test_how_a_step_ended(finish: str, status: str, incomplete: dict[str, str] | None) -> None:
    built = Build()
    built.user()
    built.answer(said("A"), finish=finish)
    (response,) = of_type(from_store(built).session, "response")
    assert (response.status, response.incomplete) == (status, incomplete)


def test_arguments_are_spelled_as_javascript_spells_them() -> None:
    built = Build()
    built.user()
    odd = {"b": 1.0, "a": "\u2028é\n\x7f", "n": 1e21}
    built.answer(called("completed", input=odd, output="ok"), finish="tool-calls")
    last = built.answer(said("End"))
    call = sent(from_store(built), last)[1]["tool_calls"][0]["function"]
    assert call["arguments"] == '{"b":1,"a":"\u2028é\\n\x7f","n":1e+21}'


def test_a_compaction_question_that_nothing_followed_is_kept_behind() -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    built.user("", {"type": "compaction", "auto": False})
    result = from_store(built)
    assert texts(result.session.context()) == ["A", "One"]
    assert "waiting" in of_type(result.session, "custom")[-1].data
    built.user("B")
    last = built.answer(said("Two"))
    contents = [m["content"] for m in sent(from_store(built), last)]
    assert contents == ["A", "One", "What did we do so far?", "B"]


def test_a_failed_summary_is_a_branch_and_has_no_effect() -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    built.user("", {"type": "compaction", "auto": False})
    error = {"name": "APIError", "data": {"message": "no"}}
    built.answer(said("Su"), summary=True, mode="compaction", error=error, finish="")
    built.user("B")
    last = built.answer(said("Two"))
    result = from_store(built)
    contents = [m["content"] for m in sent(result, last)]
    assert contents == ["A", "One", "What did we do so far?", "B"]
    assert of_type(result.session, "compaction") == []


def _kept() -> tuple[Build, str]:
    """Return two turns, and a compaction that kept the second."""
    built = Build()
    built.user("One")
    built.answer(said("A"))
    kept = built.user("Two")
    built.answer(said("B"))
    _ask(built, kept)
    built.answer(said("So far"), summary=True, mode="compaction")
    return built, kept


def _ask(built: Build, kept: str) -> None:
    part = {"type": "compaction", "auto": False, "tail_start_id": kept}
    built._user = built.message("user", [part], agent="build")


def _said_to(built: Build, version: str) -> list[str]:
    built.user("Next")
    last = built.answer(said("C"))
    return [m["content"] for m in sent(from_store(built, version=version), last)]


QUESTION = "What did we do so far?"


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("1.14.34", ["Two", "B", QUESTION, "So far", "Next"]),
        ("1.14.41", [QUESTION, "So far", "Two", "B", "Next"]),
        ("1.18.33", [QUESTION, "So far", "Two", "B", "Next"]),
    ],
)
def test_where_a_kept_tail_stands_by_release(version: str, order: list[str]) -> None:
    assert _said_to(_kept()[0], version) == order


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("1.14.34", ["Two", "B", QUESTION, "So far", "Three", "D", QUESTION, "Next"]),
        ("1.18.33", [QUESTION, "Three", "D", "Next"]),
    ],
)
def test_a_failed_compaction_that_kept_a_tail_still_moves_it(
    version: str, order: list[str]
) -> None:
    built, _ = _kept()
    kept = built.user("Three")
    built.answer(said("D"))
    _ask(built, kept)
    failed = {"name": "UnknownError", "data": {"message": "No."}}
    built.answer(summary=True, mode="compaction", error=failed, finish=None)
    assert _said_to(built, version) == order


def test_what_a_summary_cost_is_counted_once() -> None:
    built = Build()
    used = {"input": 5, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    built.user("One")
    built.answer(said("A"), tokens=used, cost=0.5)
    built._user = built.message("user", [{"type": "compaction", "auto": False}], agent="build")
    built.answer(said("So far"), summary=True, mode="compaction", tokens=used, cost=0.25)
    built.user("Two")
    built.answer(said("B"), tokens=used, cost=0.125)
    costs = [record.cost for record in of_session(from_store(built).session)]
    assert sorted(cost for cost in costs if cost is not None) == [0.125, 0.25, 0.5]
    made = built.at + 1
    fork = from_store(built, created=made)
    assert [record for record in of_session(fork.session) if record.cost] == []


def test_a_tail_that_begins_nowhere_keeps_everything() -> None:
    built = Build()
    built.user("One")
    built.answer(said("A"))
    _ask(built, "msg_gone")
    built.answer(said("So far"), summary=True, mode="compaction")
    assert _said_to(built, "1.18.33") == ["One", "A", QUESTION, "So far", "Next"]


def sent_on(result: Converted, response: str, wire_name: str) -> list[dict[str, Any]]:
    """Return what a response's request held on a wire."""
    lowering = getattr(wire, wire_name)
    (entry,) = [
        entry
        for entry in result.session.entries
        if isinstance(entry, ags.ResponseEntry) and entry.response_id == response
    ]
    pieces = wire.request_pieces(result.session.path(entry.id))
    found: list[dict[str, Any]] = lowering(
        pieces, wire.target_of(entry), convert.profile_of_response(entry)
    )
    return found


EMPTY: dict[str, Any] = {"role": "user", "content": []}


@pytest.mark.parametrize(
    ("version", "said_part", "chat", "anthropic"),
    [
        ("1.0.61", {"text": ""}, True, True),
        ("1.0.185", {"text": ""}, True, True),
        ("1.1.16", {"text": ""}, True, False),
        ("1.14.34", {"text": ""}, True, False),
        ("1.15.13", {"text": ""}, False, False),
        ("1.0.98", {"text": "x", "ignored": True}, True, True),
        ("1.0.142", {"text": "x", "ignored": True}, False, False),
    ],
)
def test_a_users_message_of_which_nothing_is_left_by_release(
    version: str, said_part: dict[str, Any], chat: bool, anthropic: bool
) -> None:
    built = Build()
    built.user("One")
    built.answer(said("A"))
    built.user("", {"type": "text", **said_part})
    last = built.answer(said("B"))
    result = from_store(built, version=version)
    assert (EMPTY in sent_on(result, last, "chat_messages")) is chat
    assert (EMPTY in sent_on(result, last, "responses_input")) is chat
    assert (EMPTY in sent_on(result, last, "anthropic_messages")) is anthropic


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0.61", []),
        ("1.0.98", [{"type": "text", "text": ""}]),
        ("1.1.16", None),
    ],
)
def test_an_answer_of_an_empty_text_on_anthropic_by_release(
    version: str, expected: list[dict[str, Any]] | None
) -> None:
    built = Build()
    built.user("One")
    built.answer(said("", metadata={"openai": {"itemId": "msg_1"}}))
    built.user("Two")
    built.answer(said("Three"))
    built.user("Four")
    last = built.answer(said("B"))
    found = sent_on(from_store(built, version=version), last, "anthropic_messages")
    contents = [message["content"] for message in found if message["role"] == "assistant"]
    assert contents[:-1] == ([] if expected is None else [expected])


@pytest.mark.parametrize(("version", "sends"), [("1.0.61", False), ("1.1.16", True)])
def test_an_empty_text_named_in_another_name_space_by_release(version: str, sends: bool) -> None:
    built = Build()
    built.user("One")
    built.answer(said("", metadata={"mine": {"itemId": "msg_1"}}), called("completed", output="ok"))
    built.user("Two")
    last = built.answer(said("B"))
    found = sent_on(from_store(built, version=version, generation=G1), last, "responses_input")
    empty = {"role": "assistant", "content": [{"type": "output_text", "text": ""}]}
    assert (empty in found) is sends


@pytest.mark.parametrize(("version", "sends"), [("1.0.61", False), ("1.0.98", True)])
def test_an_empty_text_that_the_provider_named_by_release(version: str, sends: bool) -> None:
    built = Build()
    built.user("One")
    named = {"openai": {"itemId": "msg_1"}}
    built.answer(said("", metadata=named), called("completed", output="ok"), finish="tool-calls")
    last = built.answer(said("B"))
    result = from_store(built, version=version, generation=G1)
    sent_to = sent_on(result, last, "responses_input")
    assert ({"type": "item_reference", "id": "msg_1"} in sent_to) is sends


@pytest.mark.parametrize(
    ("version", "error", "expected"),
    [
        ("1.0.61", {"name": "APIError", "data": {"message": "No."}}, ["Next"]),
        ("1.0.61", {"name": "MessageAbortedError", "data": {"message": "x"}}, ["So f", "Next"]),
        ("1.0.98", {"name": "APIError", "data": {"message": "No."}}, ["One", "A", "Next"]),
    ],
)
def test_a_summary_that_failed_begins_the_history_of_the_oldest_releases(
    version: str, error: dict[str, Any], expected: list[str]
) -> None:
    built = Build()
    built.user("One")
    built.answer(said("A"))
    built.answer(said("So f"), summary=True, error=error, finish=None, parentID=None)
    built.user("Next")
    last = built.answer(said("B"))
    result = from_store(built, version=version, generation=G1)
    assert [m["content"] for m in sent(result, last)] == expected


@pytest.mark.parametrize(("version", "sends"), [("1.1.16", False), ("1.1.65", True)])
def test_reasoning_of_a_chat_by_release(version: str, sends: bool) -> None:
    built = Build()
    built.user("One")
    built.answer({"type": "reasoning", "text": "Hm", "time": {"start": START}}, said("A"))
    built.user("Two")
    last = built.answer(said("B"))
    answer = sent(from_store(built, version=version), last)[1]
    assert ("reasoning_content" in answer) is sends


def test_the_system_prompt_of_the_oldest_release_is_kept() -> None:
    built = Build()
    built.message("user", [said("A")])
    built.answer(said("One"), system=["Be kind.", "It is Monday."])
    built.message("user", [said("B")])
    last = built.answer(said("Two"), system=["Be kind.", "It is Tuesday."])
    result = from_store(built, version="1.0.0", generation=G1)
    first, second = of_type(result.session, "response")
    told = [result.session.request_context(e.id).settings.instructions for e in (first, second)]
    assert told == ["Be kind.\n\nIt is Monday.", "Be kind.\n\nIt is Tuesday."]
    assert second.response_id == last
    assert "system-prompt-not-stored" not in codes(result)


def test_a_staged_revert_at_a_part_keeps_what_came_before_it() -> None:
    built = Build()
    built.user("A")
    name = built.answer(said("Kept"), said("Hidden"))
    part = built.records[-1].parts[2].id
    result = from_store(built, revert={"messageID": name, "partID": part})
    again = ags.read(ags.dump(result.session))
    assert texts(again.context()) == ["A", "Kept"]


@pytest.mark.parametrize("created", [None, 0, -1, 10**14])
def test_an_absurd_time_gives_way_to_the_ids(created: int | None) -> None:
    built = Build()
    built.user("A")
    record = built.records[0]
    built.records[0] = replace(record, created=created)
    result = from_store(built)
    (item,) = of_type(result.session, "item")
    assert item.ts.text == "2026-11-30T20:20:01Z"
    assert codes(result)["time-missing"] == 1


def test_sessions_and_places() -> None:
    place = RECORDINGS / "1.1.65-subagent"
    found = list(convert.sessions(place))
    assert [bool(summary.parent_id) for summary in found] == [False, True, True, True]
    assert found[0].copies == ("storage (G1)",)
    assert convert.convert([place], found[0].id).session.id == found[0].id
    with pytest.raises(ags.NoSession, match="no OpenCode session"):
        convert.convert(place, "ses_nobody")
