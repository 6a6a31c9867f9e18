"""One session that several releases went on with: each request by the rules of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_files import Line, Log, RequestLog
from test_claude_releases import (
    LOADED,
    all_rebuilt,
    call,
    parallel,
    result,
    said,
    snapshot,
    told,
    user,
)

from agentsession.entries import ResponseEntry
from agentsession.importers.claude_code.fidelity import sessions
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.verify import verify
from agentsession.wire import request_pieces


def go_on(log: Log, version: str) -> None:
    """A prompt of another release, right behind what there is."""
    log.version = version
    log.user("u9", "More")
    log.say("a9", "msg_0003", "Sure.")


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.45", "2.1.79"])
def test_an_older_release_reads_the_chain_alone(tmp_path: Path, version: str) -> None:
    log = Log(version="2.1.58" if version != "2.1.58" else "2.1.101")
    ran = parallel(log)
    go_on(log, version)
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran[:3], 3: [*LOADED, user("More")]})


def test_what_one_release_left_out_the_next_one_sends(tmp_path: Path) -> None:
    log = Log(version="2.1.101")
    ran = parallel(log)
    go_on(log, "2.1.76")
    log.version = "2.1.150"
    log.user("u10", "And more")
    log.say("a10", "msg_0004", "Well.")
    log.write(tmp_path)
    more = [user("More"), said("Sure."), user("And more")]
    requests = {1: ran[:1], 2: ran[:3], 3: [*LOADED, more[0]], 4: [*ran, *more]}
    requests[4][2] = user(result("t2", "two"), result("t1", "one"))
    all_rebuilt(tmp_path, requests)


def results_among_calls() -> Log:
    """A log in which a tool returned before its answer had been streamed to the end."""
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.result("r1", "t1", "one")
    log.call("a2", "msg_0001", "t2")
    log.result("r2", "t2", "two")
    log.say("a3", "msg_0002", "Done.")
    return log


def test_a_chain_runs_through_results_between_the_blocks_of_an_answer(tmp_path: Path) -> None:
    log = results_among_calls()
    go_on(log, "2.0.76")
    log.write(tmp_path)
    ran = [user("Go"), said(call("t1"), call("t2")), user(result("t1", "one"), result("t2", "two"))]
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran, 3: [*ran, said("Done."), user("More")]})


def late_progress(version: str) -> tuple[Log, list[Line]]:
    """A log whose second prompt hangs below news of a tool that came late; what was said."""
    log = Log(version=version)
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.result("r1", "t1", "one")
    log.say("a2", "msg_0002", "Done.")
    log.add("progress", "p1", "r1", data={"type": "hook_progress"})
    log.user("u2", "On")
    log.say("a3", "msg_0003", "Yes.")
    ran = [user("Go"), said(call("t1")), user(result("t1", "one")), said("Done."), user("On")]
    return log, ran


def test_a_prompt_below_late_news_goes_on_from_what_was_there(tmp_path: Path) -> None:
    log, ran = late_progress("2.1.70")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran[:3], 3: ran})


def test_a_process_that_reads_the_file_does_not(tmp_path: Path) -> None:
    log, ran = late_progress("2.1.70")
    log.version = "2.1.101"
    log.user("u3", "More")
    log.say("a4", "msg_0004", "Well.")
    log.write(tmp_path)
    after = [*ran[:2], user(result("t1", "one"), "On"), said("Yes."), user("More")]
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran[:3], 3: ran, 4: after})


@pytest.mark.parametrize(
    ("version", "old", "new"),
    [
        ("2.1.62", "Task", "Task"),
        ("2.1.63", "Task", "Agent"),
        ("2.1.50", "KillShell", "KillShell"),
        ("2.1.51", "KillShell", "TaskStop"),
        ("2.1.159", "BashOutput", "BashOutput"),
        ("2.1.160", "BashOutput", "TaskOutput"),
        ("2.1.277", "BashOutput", "BashOutput"),
        ("2.1.299", "KillBash", "TaskStop"),
    ],
)
def test_a_tool_is_sent_by_its_new_name(tmp_path: Path, version: str, old: str, new: str) -> None:
    log = Log(version="2.0.60")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1", old)
    log.result("r1", "t1", "one")
    log.say("a2", "msg_0002", "Done.")
    go_on(log, version)
    log.write(tmp_path)
    ran = [user("Go"), said(call("t1", old)), user(result("t1", "one")), said("Done.")]
    renamed = [ran[0], said(call("t1", new)), *ran[2:], user("More")]
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran[:3], 3: renamed})


@pytest.mark.parametrize("version", ["2.0.56", "2.0.57"])
def test_a_result_between_two_blocks_was_sent_there(tmp_path: Path, version: str) -> None:
    log = results_among_calls()
    go_on(log, version)
    log.write(tmp_path)
    results = result("t1", "one"), result("t2", "two")
    joined = [said(call("t1"), call("t2")), user(*results)]
    parted = [said(call("t1")), user(results[0]), said(call("t2")), user(results[1])]
    after = [*(parted if version == "2.0.56" else joined), said("Done."), user("More")]
    requests = {1: [user("Go")], 2: [user("Go"), *joined], 3: [user("Go"), *after]}
    all_rebuilt(tmp_path, requests)


@pytest.mark.parametrize("version", ["2.1.75", "2.1.76"])
def test_what_a_compaction_kept_is_not_known_to_older_releases(
    tmp_path: Path, version: str
) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    kept = {"preservedMessages": {"anchorUuid": "s1", "uuids": ["a1"]}}
    log.add("system", "b1", None, subtype="compact_boundary", compactMetadata=kept)
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    go_on(log, version)
    log.write(tmp_path)
    summary, on = user("In short"), [user("On"), said("Yes."), user("More")]
    whole = [summary, said("Long ago."), *on]
    bare = [user("In short", "On"), *on[1:]]
    all_rebuilt(
        tmp_path,
        {1: [user("Go")], 2: whole[:3], 3: bare if version == "2.1.75" else whole},
    )


def test_a_release_right_behind_a_compaction_sends_what_it_knows(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    kept = {"preservedMessages": {"anchorUuid": "s1", "uuids": ["a1"]}}
    log.add("system", "b1", None, subtype="compact_boundary", compactMetadata=kept)
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.version = "2.1.45"
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("In short", "On")]})


@pytest.mark.parametrize(
    ("version", "role"), [("2.1.200", ""), ("2.1.260", "user"), ("2.1.290", "system")]
)
def test_what_the_program_says_is_sent_by_releases_that_know_of_it(
    tmp_path: Path, version: str, role: str
) -> None:
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    told(log, "d1", "Today is Friday.", renderedRole="system")
    snapshot(log, "n1", systemTurns=True)
    log.say("a1", "msg_0001", "Done.")
    snapshot(log, "n2", systemTurns=True, cliPrefix="A test.")
    go_on(log, version)
    log.write(tmp_path)
    sessions_of = {
        entry.response_id: request_pieces(session.path(entry.id))
        for session in sessions(tmp_path)
        for entry in session.entries
        if isinstance(entry, ResponseEntry)
    }
    roles = [
        piece.item.role
        for piece in sessions_of["msg_0003"]
        if "Friday" in str(piece.item.get("content"))
    ]
    assert roles == ([role] if role else [])


@pytest.mark.parametrize("version", ["2.1.301", "2.1.302"])
def test_what_a_digest_is_of(tmp_path: Path, version: str) -> None:
    log = Log(version=version)
    requests = RequestLog(log)
    requests.PARAMS = {**requests.PARAMS, "safeguards": {"a": 1}}
    log.user("u1", "Go")
    name = requests.ask("q1", [user("Go")])
    log.say("a1", "msg_0001", "Done.", requestRef=name)
    log.write(tmp_path)
    importer = ClaudeCode()
    outcomes = [
        one.outcome
        for source in importer.find([tmp_path])
        for one in verify(importer, source, log.session)
    ]
    assert outcomes == ["ok" if version == "2.1.301" else "mismatch"]


def test_an_agent_that_was_begun_as_another_sessions(tmp_path: Path) -> None:
    """The process took another session up while its agents were on their way."""
    log = Log(version="2.1.2")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Done.")
    log.write(tmp_path)
    for session, number in (("22222222-2222-4333-8444-555555555555", 0), (log.session, 2)):
        one = Log(session, version="2.1.2")
        stamp = {"isSidechain": True, "agentId": "aa"}
        if number:
            one.say("w2", "msg_0002", "Ready.", parent="w1", **stamp)
        else:
            one.user("w1", "Warmup", **stamp)
        one.write(tmp_path, f"{session}/subagents/agent-aa")
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Warmup")]})


@pytest.mark.parametrize("version", ["2.1.200", "2.0.76"])
@pytest.mark.parametrize("between", [True, False])
def test_what_comes_with_a_result_is_sent_whatever_the_chain_runs_through(
    tmp_path: Path, version: str, between: bool
) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1", "Skill")
    if not between:
        log.call("a2", "msg_0001", "t2")
    log.result("r1", "t1", "Launching", parent="a1")
    log.user("k1", "How to do it.", isMeta=True, sourceToolUseID="t1")
    if between:
        log.call("a2", "msg_0001", "t2")
    log.result("r2", "t2", "two", parent="a2")
    log.say("a3", "msg_0002", "Done.")
    go_on(log, version)
    log.write(tmp_path)
    results = result("t1", "Launching"), result("t2", "two")
    ran = [user("Go"), said(call("t1", "Skill"), call("t2")), user(*results, "How to do it.")]
    after = [*ran, said("Done."), user("More")]
    if version == "2.0.76" and not between:
        after[1:3] = [said(call("t2")), user(results[1])]
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran, 3: after})


def test_a_prompt_below_the_late_news_of_a_failed_request(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Done.")
    log.add("system", "e1", "u1", subtype="api_error")
    log.add("system", "e2", subtype="api_error")
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.version = "2.1.210"
    log.user("u3", "More")
    log.say("a3", "msg_0003", "Well.")
    log.write(tmp_path)
    ran = [user("Go"), said("Done."), user("On")]
    read = [user("Go", "On"), said("Yes."), user("More")]
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran, 3: read})
