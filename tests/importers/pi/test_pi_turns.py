"""The runs of a session: pi stores none, and they follow from who speaks and how answers stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pi_files import assistant, call, entry, header, result, user, written
from recordings import recordings, verify_paths

from agentsession.importers.pi import Pi, Sessions, turns, writing
from agentsession.importers.replayed import converted_sessions
from agentsession.record_entries import RunEntry
from agentsession.session import Session

RECORDINGS = Path(__file__).parents[2] / "data" / "pi"


def converted(tmp_path: Path, *lines: dict[str, Any]) -> Session:
    path = written(tmp_path / "--p--" / "one.jsonl", [header(), *lines])
    session = Sessions(str(path.parent)).convert("s1").session
    verify_paths(session)
    verify_paths(session.migrated())
    return session


def runs(session: Session, leaf: str | None = None) -> list[tuple[str, str, tuple[str, ...]]]:
    """Each run on a path: its id, how it ended, and what was pending; empty for an open one."""
    return [
        (run.id, run.end.reason if run.end else "", tuple(run.end.pending) if run.end else ())
        for run in session.runs(leaf)
    ]


@pytest.mark.parametrize("recording", recordings("pi", RECORDINGS))
def test_every_run_of_a_recording_ends_as_its_entries_say(recording: Path) -> None:
    for session in converted_sessions(Pi(), recording):
        assert session.runs() or not any(e.type == "response" for e in session.path())
        verify_paths(session)
        verify_paths(session.migrated())


def test_a_turn_lasts_until_an_answer_calls_no_tool(tmp_path: Path) -> None:
    session = converted(
        tmp_path,
        user("a", None),
        assistant("b", "a", call("c1"), stopReason="toolUse"),
        result("c", "b", "c1", "ok"),
        user("d", "c", "steer"),
        assistant("e", "d", "done"),
        user("f", "e"),
        assistant("g", "f", "and again"),
    )
    assert runs(session) == [("a", "done", ()), ("f", "done", ())]


def test_a_retry_goes_on_with_the_run_of_the_attempt_that_failed(tmp_path: Path) -> None:
    session = converted(
        tmp_path,
        user("a", None),
        assistant("b", "a", stopReason="error", errorMessage="500 no"),
        assistant("c", "b", "recovered"),
    )
    assert runs(session) == [("a", "done", ())]
    (failed,) = [leaf for leaf in session.leaves if leaf.id != session.leaf]
    assert runs(session, failed.id) == [("a", "error", ())]


def test_what_is_said_after_a_failure_begins_a_run(tmp_path: Path) -> None:
    session = converted(
        tmp_path,
        user("a", None),
        assistant("b", "a", "half", stopReason="aborted"),
        user("c", "b"),
        assistant("d", "c", "whole"),
    )
    assert runs(session) == [("a", "", ()), ("c", "done", ())]
    (left,) = [leaf for leaf in session.leaves if leaf.id != session.leaf]
    assert runs(session, left.id) == [("a", "interrupted", ())]


def test_an_abort_in_a_tool_ends_the_run_on_the_path(tmp_path: Path) -> None:
    session = converted(
        tmp_path,
        user("a", None),
        assistant("b", "a", call("c1"), call("c2"), stopReason="toolUse"),
        result("c", "b", "c1", "Command aborted"),
        assistant("d", "c", stopReason="aborted", usage={}, responseId=None),
        user("e", "d"),
        assistant("f", "e", "hi"),
    )
    assert runs(session)[0][:2] == ("a", "interrupted")
    assert runs(session)[1] == ("e", "done", ())


def test_a_killed_tool_leaves_the_run_open(tmp_path: Path) -> None:
    session = converted(
        tmp_path,
        user("a", None),
        assistant("b", "a", call("c1"), stopReason="toolUse"),
        user("c", "b"),
        assistant("d", "c", "hi"),
    )
    assert runs(session) == [("a", "", ()), ("c", "done", ())]


def test_an_answer_cut_by_its_length_is_no_whole_run(tmp_path: Path) -> None:
    session = converted(
        tmp_path, user("a", None), assistant("b", "a", "x", stopReason="length", durationMs=1)
    )
    assert runs(session) == [("a", "aborted", ())]


def test_a_branch_does_not_know_what_the_other_answered(tmp_path: Path) -> None:
    """The output of a call stands on one branch; on the other the call is pending."""
    session = converted(
        tmp_path,
        user("a", None),
        assistant("b", "a", call("c1"), stopReason="toolUse"),
        result("c", "b", "c1", "ok"),
        assistant("d", "c", "done"),
        assistant("e", "b", "done without"),
    )
    ends = {
        run.end.parent: run.end.reason
        for e in session.leaves
        for run in session.runs(e.id)
        if run.end
    }
    assert sorted(ends.values()) == ["done", "done"]


def test_a_forks_copies_are_no_runs_of_its_own(tmp_path: Path) -> None:
    parent = [header("p"), user("a", None), assistant("b", "a", "hi")]
    written(tmp_path / "2026-05-01T10-00-00-000Z_p.jsonl", parent)
    fork = header("f", parentSession="/x/2026-05-01T10-00-00-000Z_p.jsonl")
    path = written(tmp_path / "f.jsonl", [fork, *parent[1:], user("c", "b")])
    session = Sessions(str(path.parent)).convert("f").session
    assert [e.run_id for e in session.entries if isinstance(e, RunEntry)] == ["c"]
    verify_paths(session)


def test_failed_attempts_cost_no_look_at_all_that_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest releases write a context edit behind every attempt that failed."""
    looks: list[str] = []
    for module, name in ((writing, "build"), (turns, "run_at")):
        original = getattr(module, name)

        def counted(*given: Any, _name: str = name, _original: Any = original) -> Any:
            looks.append(_name)
            return _original(*given)

        monkeypatch.setattr(module, name, counted)
    lines: list[dict[str, Any]] = [header()]
    above = None
    for turn in range(20):
        lines += [
            user(f"u{turn}", above),
            assistant(f"f{turn}", f"u{turn}", stopReason="error", errorMessage="500", durationMs=1),
            entry("context_edit", f"e{turn}", f"f{turn}", targetId=f"f{turn}", replacement=None),
            assistant(f"a{turn}", f"e{turn}", "done", durationMs=1),
        ]
        above = f"a{turn}"
    path = written(tmp_path / "one.jsonl", lines)
    session = Sessions(str(path)).convert("s1").session
    assert runs(session) == [(f"u{turn}", "done", ()) for turn in range(20)]
    assert looks.count("run_at") == 0
    assert looks.count("build") <= 2
