"""What a run ends with is what its entries bear out, in every recording and both formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from codex_files import (
    RECORDINGS,
    called,
    context,
    convert,
    counters,
    event,
    line,
    meta,
    returned,
    said,
    write,
)
from recordings import recordings, verify_paths

from agentsession.importers.codex import Codex, turns
from agentsession.importers.plans import in_format
from agentsession.importers.replayed import converted_sessions
from agentsession.record_entries import RunEntry
from agentsession.session import Session


def ends(session: Session) -> list[tuple[str, str, tuple[str, ...]]]:
    found = [e for e in session.entries if isinstance(e, RunEntry) and e.is_end]
    return [(e.run_id, e.reason, tuple(e.pending)) for e in found]


@pytest.mark.parametrize("recording", recordings("codex", RECORDINGS))
def test_every_run_of_a_recording_ends_as_its_entries_say(recording: Path) -> None:
    for session in converted_sessions(Codex(), recording):
        verify_paths(session)
        verify_paths(session.migrated())


def turn(*between: dict[str, Any] | bytes, end: dict[str, Any]) -> list[dict[str, Any] | bytes]:
    return [meta(), event("task_started", turn_id="t"), context(), *between, end]


COMPLETE = event("task_complete", turn_id="t")


def test_a_turn_that_was_answered_is_done(tmp_path: Path) -> None:
    write(tmp_path, turn(said("user", "Hi"), said("assistant", "Ho"), counters(9, 9), end=COMPLETE))
    session = convert(tmp_path).session
    assert ends(session) == [("t", "done", ())]
    verify_paths(session)


def test_a_turn_of_a_command_alone_has_no_answer(tmp_path: Path) -> None:
    typed = said("user", "<user_shell_command>\nls\n</user_shell_command>")
    write(tmp_path, turn(typed, end=COMPLETE))
    session = convert(tmp_path).session
    assert ends(session) == [("t", "aborted", ())]
    (end,) = [e for e in session.entries if isinstance(e, RunEntry) and e.is_end]
    assert end.unknown["codex"] == {"reason": "complete"}
    verify_paths(session)


def test_a_turn_that_compacts_and_no_more_has_no_answer(tmp_path: Path) -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "All"}]}
    compacted = line("compacted", {"message": "All", "replacement_history": [item]})
    write(tmp_path, turn(compacted, end=COMPLETE))
    session = convert(tmp_path).session
    assert ends(session) == [("t", "aborted", ())]
    verify_paths(session)


def test_a_turn_cut_in_its_tools_names_the_calls(tmp_path: Path) -> None:
    custom = line(
        "response_item",
        {"type": "custom_tool_call", "name": "apply_patch", "input": "", "call_id": "c2"},
    )
    end = event("turn_aborted", turn_id="t", reason="interrupted")
    write(tmp_path, turn(said("user", "Hi"), called("c1"), custom, end=end))
    session = convert(tmp_path).session
    assert ends(session) == [("t", "interrupted", ("c1",))]
    verify_paths(session)


@pytest.mark.parametrize(
    ("word", "reason"),
    [("replaced", "interrupted"), ("review_ended", "stopped"), ("budget_limited", "stopped")],
)
def test_other_words_for_a_cut_turn(tmp_path: Path, word: str, reason: str) -> None:
    between = [said("user", "Hi"), called("c1"), counters(9, 9), returned("c1")]
    write(tmp_path, turn(*between, end=event("turn_aborted", turn_id="t", reason=word)))
    session = convert(tmp_path).session
    assert ends(session) == [("t", reason, ())]
    (end,) = [e for e in session.entries if isinstance(e, RunEntry) and e.is_end]
    assert end.unknown["codex"] == {"reason": word}
    verify_paths(session)


def test_an_end_under_another_id_ends_the_turn_that_runs(tmp_path: Path) -> None:
    end = event("task_complete", turn_id="review")
    write(tmp_path, turn(said("user", "Hi"), said("assistant", "Ho"), counters(9, 9), end=end))
    session = convert(tmp_path).session
    assert ends(session) == [("t", "done", ())]
    (found,) = [e for e in session.entries if isinstance(e, RunEntry) and e.is_end]
    assert found.unknown["codex"] == {"turn_id": "review"}


def test_one_response_id_twice_is_looked_at_on_the_whole_path(tmp_path: Path) -> None:
    """A repeated turn id gives its responses one name, which a call of the first one bears."""
    first = [said("user", "Hi"), called("c1"), counters(9, 9), returned("c1")]
    again = [event("task_started", turn_id="t"), said("user", "On"), said("assistant", "Ho")]
    cut = event("turn_aborted", turn_id="t", reason="interrupted")
    write(tmp_path, turn(*first, cut, *again, counters(18, 9), end=COMPLETE))
    verify_paths(convert(tmp_path).session)


def test_an_end_without_a_start_ends_nothing(tmp_path: Path) -> None:
    write(tmp_path, [meta(), said("user", "Hi"), said("assistant", "Ho"), COMPLETE, COMPLETE])
    session = convert(tmp_path).session
    assert session.runs() == []
    verify_paths(session)


def test_a_tool_began_when_its_display_item_says(tmp_path: Path) -> None:
    item = {"type": "CommandExecution", "id": "c1", "exit_code": 0, "duration": {"secs": 2}}
    done = event("item_completed", item=item, started_at_ms=1796071901733)
    write(tmp_path, turn(said("user", "Hi"), called("c1"), done, returned("c1"), end=COMPLETE))
    session = convert(tmp_path).session
    (dispatch,) = [e for e in session.entries if e.type == "dispatch"]
    assert dispatch.ts_text == "2026-11-30T20:51:41.733Z"
    # What comes after it has the times of its own records.
    assert session.entries[-1].ts_text == "2026-11-30T20:51:44.000Z"


@pytest.mark.parametrize(
    ("seconds", "began"),
    [
        ("3.5", "2026-11-30T20:51:40.5Z"),
        ("0.0", "2026-11-30T20:51:44Z"),
        ("0", "2026-11-30T20:51:44Z"),
        ("-1", ""),
        ("1e99", ""),
        ("true", ""),
        ('"3"', ""),
        ("3.5}} and more", ""),
    ],
)
def test_an_output_tells_when_its_tool_began(tmp_path: Path, seconds: str, began: str) -> None:
    output = '{"output":"done\\n","metadata":{"exit_code":0,"duration_seconds":' + seconds + "}}"
    lines = (said("user", "Hi"), called("c1"), returned("c1", output))
    write(tmp_path, turn(*lines, end=COMPLETE))
    session = convert(tmp_path).session
    found = [(e.ts_text, e.call_id) for e in session.entries if e.type == "dispatch"]
    assert found == ([(began, "c1")] if began else [])
    verify_paths(session)


def test_only_function_calls_are_dispatched(tmp_path: Path) -> None:
    call = {"type": "custom_tool_call", "name": "apply_patch", "input": "", "call_id": "c1"}
    output = '{"output":"done","metadata":{"duration_seconds":1.0}}'
    back = {"type": "custom_tool_call_output", "call_id": "c1", "output": output}
    lines = (said("user", "Hi"), line("response_item", call), line("response_item", back))
    write(tmp_path, turn(*lines, end=COMPLETE))
    session = convert(tmp_path).session
    assert [e for e in session.entries if e.type == "dispatch"] == []
    verify_paths(session)


def test_plain_turns_cost_no_look_at_their_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked(*_given: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(turns, "run_at", looked)
    said_and_done: list[dict[str, Any] | bytes] = [meta()]
    for at in range(5):
        said_and_done += [
            event("task_started", turn_id=f"t{at}"),
            said("user", "Hi"),
            called(f"c{at}"),
            counters(18 * at + 9, 9),
            returned(f"c{at}"),
            said("assistant", "Ho"),
            counters(18 * at + 18, 9),
            event("task_complete", turn_id=f"t{at}"),
        ]
    write(tmp_path, said_and_done)
    assert ends(convert(tmp_path).session) == [(f"t{at}", "done", ()) for at in range(5)]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("status", 7),
        ("id", {}),
        ("name", []),
        ("name", {}),
        ("arguments", 7),
        ("arguments", [None]),
    ],
)
def test_what_has_not_the_form_of_a_call_is_not_dispatched(
    tmp_path: Path, member: str, value: Any
) -> None:
    call = called("c1")
    call["payload"][member] = value
    output = '{"output":"done","metadata":{"duration_seconds":1.0}}'
    write(tmp_path, turn(said("user", "Hi"), call, returned("c1", output), end=COMPLETE))
    session = convert(tmp_path).session
    assert [e for e in session.entries if e.type == "dispatch"] == []
    later = in_format(None, session, "agentsession/0.11")
    for one in (session, later):
        verify_paths(one)
