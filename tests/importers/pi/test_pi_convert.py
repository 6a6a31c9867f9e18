"""What each record of pi becomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pi_files import assistant, call, entry, header, result, user, written

from agentsession import wire
from agentsession.entries import BranchSummaryEntry, CompactionEntry, ResponseEntry
from agentsession.importers.base import Converted
from agentsession.importers.pi import CODES, Sessions, profile_of_response
from agentsession.record_entries import DispatchEntry, LabelEntry, LinkEntry
from agentsession.session import Session

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a session's file."""

    def _write(*lines: dict[str, Any] | bytes, name: str = "one.jsonl") -> Path:
        return written(tmp_path / "sessions" / "--home-dev-project--" / name, lines)

    return _write


def converted(path: Path, session_id: str = "s1") -> Converted:
    return Sessions(str(path)).convert(session_id)


def codes(found: Converted) -> set[str]:
    return {finding.code for finding in found.findings}


def sent(session: Session, response: str) -> list[Any]:
    """The chat messages of the request that a response answered."""
    (asked,) = [
        e for e in session.entries if isinstance(e, ResponseEntry) and e.response_id == response
    ]
    pieces = wire.request_pieces(session.path(asked.id))
    return wire.chat_messages(pieces, wire.target_of(asked), profile_of_response(asked))


def test_the_system_prompt_and_tools_are_settings(write: Write) -> None:
    tool = {"name": "bash", "description": "runs", "parameters": {"type": "object"}}
    first = {"role": "system", "content": "Be.", "sections": {"a": "A", "b": "B"}}
    patch = {"role": "system", "content": "", "sections": {"a": None, "c": "C", "b": "B2"}}
    path = write(
        header(),
        entry("message", "x1", None, message={**first, "toolsAdded": [tool]}),
        user("x2", "x1"),
        assistant("x3", "x2", "hi"),
        entry("message", "x4", "x3", message={**patch, "toolsRemoved": [{"name": "bash"}]}),
        user("x5", "x4"),
        assistant("x6", "x5", "ho"),
    )
    session = converted(path).session
    responses = [e.id for e in session.entries if isinstance(e, ResponseEntry)]
    before, after = (session.context_at(found).settings for found in responses)
    assert before.instructions == "Be.\n\nA\n\nB"
    assert [t["name"] for t in before.tools] == ["bash"]
    assert after.instructions == "Be.\n\nB2\n\nC"
    assert after.tools == ()
    assert (after.model, before.reasoning) == ("m", None)


def test_levels_and_models(write: Write) -> None:
    path = write(
        header(),
        entry("model_change", "a", None, provider="p", modelId="m0"),
        entry("thinking_level_change", "b", "a", thinkingLevel="high"),
        user("c", "b"),
        assistant("d", "c", "hi", model="m", thinkingLevel="off"),
    )
    session = converted(path).session
    assert session.context().settings.model == "m"
    assert session.context().settings.reasoning is None
    assert [e.reasoning for e in session.entries if e.type == "config"] == [
        None,
        {"effort": "high"},
        {},
    ]


def test_a_failed_message_is_a_branch_and_the_retry_goes_on(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", "half", stopReason="error", errorMessage="529: busy", usage={}),
        entry("context_edit", "c", "b", targetId="b", replacement=None),
        assistant("d", "c", "whole"),
    )
    found = converted(path)
    session = found.session
    assert "failed-message-branched" in codes(found)
    assert sent(session, "resp-d") == [{"role": "user", "content": "hello"}]
    failed = next(e for e in session.entries if getattr(e, "response_id", "") == "resp-b")
    assert isinstance(failed, ResponseEntry)
    assert (failed.status, failed.usage) == ("failed", None)
    assert failed.error == {"code": "529", "message": "529: busy"}
    assert failed.id not in {e.id for e in session.path()}


def test_an_answer_cut_by_length_and_taken_out_is_left_behind(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", "cut", stopReason="length"),
        entry("context_edit", "c", "b", targetId="b", replacement=None),
        user("d", "c", "again"),
        assistant("e", "d", "whole"),
    )
    found = converted(path)
    assert "context-rewound" in codes(found)
    assert not [e for e in found.session.entries if isinstance(e, CompactionEntry)]
    said = sent(found.session, "resp-e")
    assert [message["content"] for message in said] == ["hello", "again"]


def test_a_context_edit_is_the_general_fold(write: Write) -> None:
    path = write(
        header(),
        user("a", None, "secret"),
        assistant("b", "a", "hi"),
        entry("context_edit", "c", "b", targetId="a", replacement={"content": "-"}),
        entry("context_edit", "d", "c", targetId="b", replacement=None),
        user("e", "d", "go on"),
        assistant("f", "e", "done"),
    )
    found = converted(path)
    assert [m["content"] for m in sent(found.session, "resp-f")] == ["-", "go on"]
    assert len([e for e in found.session.entries if isinstance(e, CompactionEntry)]) == 1


def test_everything_taken_out_begins_a_new_root(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        entry("context_edit", "b", "a", targetId="a", replacement=None),
        user("c", "b", "anew"),
        assistant("d", "c", "hi"),
    )
    found = converted(path)
    assert "context-emptied" in codes(found)
    assert sent(found.session, "resp-d") == [{"role": "user", "content": "anew"}]


def test_a_compaction_keeps_what_it_says(write: Write) -> None:
    path = write(
        header(),
        user("a", None, "one"),
        assistant("b", "a", "two"),
        user("c", "b", "three"),
        assistant("d", "c", "four"),
        entry("compaction", "e", "d", summary="S", firstKeptEntryId="c", tokensBefore=99),
        user("f", "e", "five"),
        assistant("g", "f", "six"),
    )
    found = converted(path)
    (compaction,) = [e for e in found.session.entries if isinstance(e, CompactionEntry)]
    assert compaction.tokens_before == 99
    assert "summary-usage-not-stored" in codes(found)
    said = [message["content"] for message in sent(found.session, "resp-g")]
    assert said[0][0]["text"].endswith("<summary>\nS\n</summary>")
    assert said[1:] == ["three", "four", "five"]


def test_a_call_without_a_result_is_noticed_where_it_was_sent(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", call("k", command="ls"), stopReason="toolUse"),
        user("c", "b", "well?"),
        assistant("d", "c", "sorry"),
    )
    found = converted(path)
    assert "call-noticed" in codes(found)
    said = sent(found.session, "resp-d")
    assert said[2] == {"role": "tool", "content": "No result provided", "tool_call_id": "k"}
    # Nothing followed: the call is in flight.
    found = converted(write(header(), user("a", None), assistant("b", "a", call("k"))))
    assert "call-noticed" not in codes(found)
    assert found.session.pending_calls()


def test_a_recorded_duration_is_a_dispatch(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", call("k"), stopReason="toolUse"),
        result("c", "b", "k", "out", durationMs=250),
    )
    session = converted(path).session
    (dispatch,) = [e for e in session.entries if isinstance(e, DispatchEntry)]
    assert dispatch.call_id == "k"
    assert session[dispatch.target].type == "item"
    assert dispatch.ts_text == "2026-05-01T09:59:59.75Z"


def test_the_mark_of_an_abort_answers_no_request(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", call("k"), stopReason="toolUse"),
        result("c", "b", "k", "Command aborted"),
        assistant("d", "c", stopReason="aborted", usage={}, responseId=None),
    )
    found = converted(path)
    assert "no-request" in codes(found)
    assert len([e for e in found.session.entries if isinstance(e, ResponseEntry)]) == 1


@pytest.mark.parametrize(
    ("aborted", "mark", "calls"),
    [
        (True, {"stopReason": "aborted"}, 1),
        (False, {"stopReason": "aborted"}, 2),
        (True, {"stopReason": "error", "errorMessage": "This operation was aborted"}, 1),
        (True, {"stopReason": "error", "errorMessage": "500 no"}, 2),
    ],
)
def test_the_mark_of_an_abort_behind_what_was_said_meanwhile(
    write: Write, aborted: bool, mark: dict[str, Any], calls: int
) -> None:
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", call("k"), stopReason="toolUse"),
        result("c", "b", "k", "Command aborted" if aborted else "out", isError=aborted),
        user("d", "c", "and this"),
        assistant("e", "d", usage={}, responseId=None, **mark),
    )
    session = converted(path).session
    assert len([e for e in session.entries if isinstance(e, ResponseEntry)]) == calls


def test_a_model_is_told_not_to_think(write: Write) -> None:
    told = {"api": "openai-responses", "model": "gpt-5"}
    lines = [header("0a1b2c3d-0000-4000-8000-000000000000"), user("a", None)]
    for answer in (assistant("b", "a", "Yes.", **told), assistant("c", "l", "No.", **told)):
        del answer["message"]["rawStopReason"]
        lines.append(answer)
    lines.insert(3, entry("thinking_level_change", "l", "b", thinkingLevel="low"))
    session = converted(write(*lines), "0a1b2c3d-0000-4000-8000-000000000000").session
    ends = []
    for response in (e for e in session.entries if isinstance(e, ResponseEntry)):
        pieces = wire.request_pieces(session.path(response.id))
        target, profile = wire.target_of(response), profile_of_response(response)
        ends.append(wire.responses_input(pieces, target, profile)[-1]["role"])
    assert ends == ["developer", "assistant"]


def test_labels_names_and_what_has_no_place(write: Write) -> None:
    path = write(
        header(),
        user("a", None),
        entry("label", "b", "a", targetId="a", label="start"),
        entry("label", "c", "b", targetId="a", label="leaf"),
        entry("label", "d", "c", targetId="nowhere", label="x"),
        entry("session_info", "e", "d", name="Mine"),
        entry("custom", "f", "e", customType="t", data={"n": 1}),
        entry("usage", "g", "f", kind="cache_warm", usage={"input": 5, "output": 1}),
        entry("novelty", "h", "g", more=True),
    )
    found = converted(path)
    session = found.session
    assert session.name == "Mine"
    (label,) = [e for e in session.entries if isinstance(e, LabelEntry)]
    assert (session[label.target].type, label.label) == ("item", "start")
    assert {"unknown-record", "unknown-content"} <= codes(found)
    told = {record.native_id: record.code for record in found.records}
    assert (told["c"], told["d"]) == ("reserved-label", "label-target-unknown")
    assert told["h"] == "unknown-record"
    assert session.leaf == session.entries[-1].id


def test_what_a_user_ran_and_what_was_kept_from_the_model(write: Write) -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 2}
    path = write(
        header(),
        entry("message", "a", None, message=ran),
        entry("message", "b", "a", message={**ran, "excludeFromContext": True}),
        user("c", "b"),
        assistant("d", "c", "hi"),
    )
    found = converted(path)
    said = sent(found.session, "resp-d")
    words = "Ran `ls`\n(no output)\n\nCommand exited with code 2"
    assert said[0]["content"] == [{"type": "text", "text": words}]
    assert len(said) == 2


def test_a_branch_summary_enters_the_context(write: Write) -> None:
    used = {"input": 7, "output": 3}
    path = write(
        header(),
        user("a", None),
        assistant("b", "a", "left"),
        entry("branch_summary", "c", "a", fromId="b", summary="S", usage=used),
        user("d", "c", "on"),
        assistant("e", "d", "hi"),
    )
    session = converted(path).session
    (summary,) = [e for e in session.entries if isinstance(e, BranchSummaryEntry)]
    left = session[summary.from_]
    assert left.type == "run"
    assert session[left.parent or ""].type == "response"
    assert (summary.usage or {})["input_tokens"] == 7
    assert len(sent(session, "resp-e")) == 3


def test_a_fork_is_linked_and_its_copies_cause_no_request(write: Write) -> None:
    parent = [header("p"), user("a", None), assistant("b", "a", "hi")]
    write(*parent, name="2026-05-01T10-00-00-000Z_p.jsonl")
    origin = r"C:\Users\d\.pi\agent\sessions\--x--\2026-05-01T10-00-00-000Z_p.jsonl"
    path = write(
        header("f", parentSession=origin), *parent[1:], user("c", "b", "other"), name="f.jsonl"
    )
    found = Sessions(str(path.parent)).convert("f")
    session = found.session
    assert session.header.parent_session == "p"
    assert "fork-copy" in codes(found)
    assert "fork-origin-unknown" not in codes(found)
    assert not [e for e in session.entries if isinstance(e, ResponseEntry)]
    (link,) = [e for e in session.entries if isinstance(e, LinkEntry)]
    assert (link.rel, link.session) == ("fork_of", "p")
    assert [e.type for e in session.path()][-3:] == ["link", "run", "item"]


def test_a_parent_that_is_gone_ends_the_path(write: Write) -> None:
    path = write(header(), user("a", None), user("b", "gone", "alone"), assistant("c", "b", "hi"))
    found = converted(path)
    assert "parent-missing" in codes(found)
    assert sent(found.session, "resp-c") == [{"role": "user", "content": "alone"}]


def test_damage_is_told(write: Write) -> None:
    first = user("a", None)
    path = write(
        header(),
        first,
        b'{"type": "message", "id": "cut',
        first,
        b"",
        header(),
        {**user("b", "c"), "timestamp": "never"},
        user("c", "b", "a circle"),
    )
    found = converted(path)
    told = [record.code for record in found.records if record.code]
    assert sorted(told) == ["repeated-header", "repeated-record", "unreadable-record"]
    assert {"time-missing", "parent-missing"} <= codes(found)
    assert len(found.records) == 7


def test_a_file_without_a_header_is_known_by_its_place(write: Write) -> None:
    name = "2026-05-01T10-00-00-000Z_s9.jsonl"
    found = converted(write(user("a", None), name=name), "s9")
    assert "unreadable-header" in codes(found)
    assert found.session.id == "s9"


@pytest.mark.parametrize("nested", [100, 5000])
def test_deep_values_do_no_harm(write: Write, nested: int) -> None:
    deep = b"[" * nested + b"]" * nested
    line = b'{"type":"custom","id":"a","parentId":null,"data":%s}' % deep
    call_line = (
        b'{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":'
        b'[{"type":"toolCall","id":"k","name":"n","arguments":{"x":%s}}]}}' % deep
    )
    found = converted(write(header(), line, call_line))
    assert len(found.records) == 3


def test_numbers_that_no_entry_can_hold(write: Write) -> None:
    odd = {"type": "odd", "name": "t", "x": 1e400}
    lines = [
        user("a", None, [{"type": "text", "text": 1e400}, odd]),
        assistant("b", "a", {**odd, "type": "text"}, {**odd, "type": "toolCall", "arguments": odd}),
        entry(
            "message", "c", "b", message={"role": "system", "toolsAdded": [{"name": "t", **odd}]}
        ),
        entry("custom", "d", "c", data=10**400),
    ]
    text = [json.dumps(line).replace("Infinity", "1e400").encode() for line in lines]
    found = converted(write(header(), *text))
    assert "value-not-kept" in codes(found)
    assert len(found.records) == 5


def test_each_code_said_is_known(write: Write) -> None:
    assert all(code in CODES for code in codes(converted(write(header(), user("a", None)))))
