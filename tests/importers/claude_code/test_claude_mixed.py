"""One session that several releases went on with: each request by the rules of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_files import Line, Log
from test_claude_releases import LOADED, all_rebuilt, call, parallel, result, said, user


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


def test_a_chain_runs_through_results_between_the_blocks_of_an_answer(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.result("r1", "t1", "one")
    log.call("a2", "msg_0001", "t2")
    log.result("r2", "t2", "two")
    log.say("a3", "msg_0002", "Done.")
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
