"""What only some releases did, on small logs: each request is rebuilt as a server received it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_files import SESSION, Line, Log, RequestLog, recorded
from recordings import verify_paths

from agentsession.importers import replay
from agentsession.importers.claude_code.fidelity import sessions
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.verify import verify
from agentsession.migration import migrate

CUT_OFF = (
    "Your response was cut off because it exceeded the output token limit. "
    "Please break your work into smaller pieces. Continue from where you left off."
)
CONTINUE = (
    "Output token limit hit. Resume directly — no apology, no recap of what you were doing. "
    "Pick up mid-thought if that is where the cut happened. "
    "Break remaining work into smaller pieces."
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
PAPER = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
}


def user(*content: Any) -> Line:
    return {"role": "user", "content": [text(c) if isinstance(c, str) else c for c in content]}


def said(*content: Any) -> Line:
    return {**user(*content), "role": "assistant"}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(name: str, tool: str = "Bash", asked: Any = None) -> Line:
    asked = {"command": "ls"} if asked is None else asked
    return {"type": "tool_use", "id": name, "name": tool, "input": asked}


def result(name: str, output: Any, **more: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": name, "content": output, **more}


def verdicts(root: Path, requests: dict[int, list[Line]]) -> dict[int, str]:
    """What replay says of requests, each of which the answer of its number followed."""
    recorded(root, list(requests.items()))
    found = replay.replay(root, replay.AGENTS["claude-code"])
    for session in sessions(root):
        verify_paths(migrate(session))
    return {
        one["n"]: one.get("reason") or f"{one['verdict']} {one['set_aside']}"
        for one in found["requests"]
    }


def all_rebuilt(root: Path, requests: dict[int, list[Line]]) -> None:
    assert verdicts(root, requests) == dict.fromkeys(requests, "rebuilt 0")


# Sub-agents. Spec: claude-code 6.


def agent(version: str, name: str, number: int) -> Log:
    """An agent's log that begins with its answer."""
    log = Log(version=version)
    side = {"isSidechain": True, "agentId": name}
    log.call(f"{name}1", f"msg_{number:04d}", f"t{name}", **side)
    log.result(f"{name}2", f"t{name}", "a file", **side)
    log.say(f"{name}3", f"msg_{number + 1:04d}", "Found.", **side)
    return log


def asked_of(name: str, prompt: str, number: int) -> dict[int, list[Line]]:
    first = [user(prompt)]
    return {
        number: first,
        number + 1: [*first, said(call(f"t{name}")), user(result(f"t{name}", "a file"))],
    }


@pytest.mark.parametrize("version", ["2.0.50", "2.0.60"])
def test_agents_whose_prompt_only_the_call_has(tmp_path: Path, version: str) -> None:
    """Beside them one that the program started, and a call that no agent was found for."""
    log = Log(version=version)
    log.user("u1", "Go")
    for name in ("one", "two"):
        log.call(f"c{name}", "msg_0001", name, "Task", input={"prompt": f"Look at {name}"})
    log.call("c3", "msg_0001", "three", "Task", input={"prompt": "Nobody"})
    log.result("r3", "three", "No such agent", block={"is_error": True})
    log.result("r1", "one", "Found.", toolUseResult={"agentId": "aa"})
    log.result("r2", "two", "Found.", toolUseResult={"agentId": "bb"})
    log.write(tmp_path)
    for name, number in (("aa", 11), ("bb", 21), ("cc", 31)):
        agent(version, name, number).write(tmp_path, f"agent-{name}")
    path = Log("22222222-2222-4333-8444-555555555555", version).write(tmp_path)
    assert path.stat().st_size == 0
    child = agent(version, "dd", 41)
    for line in child.lines:
        line["sessionId"] = path.stem
    child.write(tmp_path, "agent-dd")
    all_rebuilt(
        tmp_path,
        {
            1: [user("Go")],
            **asked_of("aa", "Look at one", 11),
            **asked_of("bb", "Look at two", 21),
            **asked_of("cc", "Warmup", 31),
            **asked_of("dd", "Warmup", 41),
        },
    )
    found = {session.id: session.header for session in sessions(tmp_path)}
    assert found[f"{SESSION}-agent-bb"].spawned_by == "two"
    assert found[f"{SESSION}-agent-cc"].spawned_by == ""


@pytest.mark.parametrize("version", ["2.0.60", "2.1.10"])
def test_an_agent_whose_parent_was_killed_knows_its_call(tmp_path: Path, version: str) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    log.call("c1", "msg_0001", "one", "Task", input={"prompt": "Look"})
    log.write(tmp_path)
    child = agent(version, "aa", 11)
    if version == "2.1.10":
        child = Log(version=version)
        child.user("w1", "Look", isSidechain=True, agentId="aa")
        child.say("w2", "msg_0011", "Found.", isSidechain=True, agentId="aa")
    child.write(tmp_path, "agent-aa")
    requests = asked_of("aa", "Look", 11)
    if version == "2.1.10":
        requests.pop(12)
    all_rebuilt(tmp_path, {1: [user("Go")], **requests})
    found = {session.id: session.header for session in sessions(tmp_path)}
    assert found[f"{SESSION}-agent-aa"].spawned_by == "one"


def test_what_an_agent_was_asked_can_stand_behind_its_first_answer(tmp_path: Path) -> None:
    log = Log(version="2.1.63")
    side = {"isSidechain": True, "agentId": "aa"}
    log.call("a1", "msg_0001", "t1", parent="u1", **side)
    log.user("u1", "Find it", None, **side)
    log.result("r1", "t1", "a file", "a1", **side)
    log.say("a2", "msg_0002", "Found.", **side)
    log.write(tmp_path, f"{SESSION}/subagents/agent-aa")
    asked = user("Find it")
    all_rebuilt(tmp_path, {1: [asked], 2: [asked, said(call("t1")), user(result("t1", "a file"))]})


def test_an_agent_without_its_parent_is_of_nobody_known(tmp_path: Path) -> None:
    agent("2.0.60", "aa", 11).write(tmp_path, "agent-aa")
    found = verdicts(tmp_path, asked_of("aa", "Look", 11))
    assert found == {11: "prompt-not-stored", 12: "prompt-not-stored"}


def test_which_of_two_open_calls_an_agent_answers_is_not_guessed(tmp_path: Path) -> None:
    log = Log(version="2.0.60")
    log.user("u1", "Go")
    log.call("c1", "msg_0001", "one", "Task", input={"prompt": "Look"})
    log.call("c2", "msg_0001", "two", "Task", input={"prompt": "See"})
    log.write(tmp_path)
    agent("2.0.60", "aa", 11).write(tmp_path, "agent-aa")
    found = verdicts(tmp_path, {1: [user("Go")], **asked_of("aa", "Look", 11)})
    assert found == {1: "rebuilt 0", 11: "prompt-not-stored", 12: "prompt-not-stored"}


# Answers that were cut at the token limit. Spec: claude-code 5.3, 8.


@pytest.mark.parametrize(
    ("version", "words"),
    [("2.1.45", CUT_OFF), ("2.1.67", CUT_OFF), ("2.1.76", CONTINUE), ("2.1.299", CONTINUE)],
)
def test_a_cut_answer_goes_on_by_a_prompt_of_the_programs(
    tmp_path: Path, version: str, words: str
) -> None:
    """It stands in the requests of its turn, and in none after it."""
    log = Log(version=version)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Half of", stop="max_tokens")
    log.call("a2", "msg_0002", "t1")
    log.result("r1", "t1", "a file")
    log.say("a3", "msg_0003", "it.")
    log.user("u2", "More")
    log.say("a4", "msg_0004", "Yes.")
    log.write(tmp_path)
    cut = [user("Go"), said("Half of")]
    rest = [said(call("t1")), user(result("t1", "a file"))]
    all_rebuilt(
        tmp_path,
        {
            1: cut[:1],
            2: [*cut, user(words)],
            3: [*cut, user(words), *rest],
            4: [user("Go"), said("Half of", call("t1")), rest[1], said("it."), user("More")],
        },
    )


def test_an_answer_is_cut_more_than_once(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "One", stop="max_tokens")
    log.say("a2", "msg_0002", "two", stop="max_tokens")
    log.say("a3", "msg_0003", "three")
    log.user("u2", "More")
    log.say("a4", "msg_0004", "Yes.")
    log.write(tmp_path)
    second = [user("Go"), said("One"), user(CONTINUE)]
    all_rebuilt(
        tmp_path,
        {
            1: [user("Go")],
            2: second,
            3: [*second, said("two"), user(CONTINUE)],
            4: [user("Go"), said("One", "two", "three"), user("More")],
        },
    )


def test_a_cut_answer_whose_end_no_record_says(tmp_path: Path) -> None:
    """Early releases write a record before they know why its answer ends."""
    log = Log(version="2.1.45")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Half of", stop=None)
    log.say("a2", "msg_0002", "it.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said("Half of"), user(CUT_OFF)]})


@pytest.mark.parametrize(("version", "stop"), [("2.1.200", "end_turn"), ("2.0.76", None)])
def test_an_answer_below_one_that_was_not_cut_is_left_alone(
    tmp_path: Path, version: str, stop: str | None
) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "All.", stop=stop)
    log.say("a2", "msg_0002", "And more.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said("All.")]})


# Images and papers. Spec: claude-code 5.2.


@pytest.mark.parametrize(
    ("version", "sent"),
    [
        ("2.1.28", [IMAGE, PAPER]),
        ("2.1.45", [text("[image]"), PAPER]),
        ("2.1.67", [text("[image]"), text("[document]")]),
        ("2.1.76", [IMAGE, PAPER]),
    ],
)
def test_what_a_user_showed_is_named_once_it_was_answered(
    tmp_path: Path, version: str, sent: list[Line]
) -> None:
    log = Log(version=version)
    log.user("u1", [text("Look"), IMAGE, PAPER])
    log.call("a1", "msg_0001", "t1", "Read")
    log.result("r1", "t1", [IMAGE])
    log.say("a2", "msg_0002", "Nice.")
    log.user("u2", [text("And this"), IMAGE])
    log.say("a3", "msg_0003", "Too.")
    log.write(tmp_path)
    read = [said(call("t1", "Read")), user(result("t1", [IMAGE]))]
    all_rebuilt(
        tmp_path,
        {
            1: [user("Look", IMAGE, PAPER)],
            2: [user("Look", *sent), *read],
            3: [user("Look", *sent), *read, said("Nice."), user("And this", IMAGE)],
        },
    )


# Compactions. Spec: claude-code 3.2.


@pytest.mark.parametrize("by_name", [True, False])
def test_a_compaction_keeps_what_its_boundary_names(tmp_path: Path, by_name: bool) -> None:
    """2.1.200 names each kept record; 2.1.76 the first and the last."""
    log = Log(version="2.1.200" if by_name else "2.1.76")
    log.user("u1", "Old")
    log.say("a1", "msg_0001", "Long ago.")
    log.user("u2", "New")
    log.say("a2", "msg_0002", "Now.")
    ends = {"headUuid": "u2", "anchorUuid": "s1", "tailUuid": "a2"}
    kept = {"preservedMessages": {"anchorUuid": "s1", "uuids": ["u2", "a2"]}} if by_name else {}
    log.add(
        "system",
        "b1",
        None,
        subtype="compact_boundary",
        logicalParentUuid="a2",
        compactMetadata={"trigger": "auto", "preTokens": 9, "preservedSegment": ends, **kept},
    )
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("u3", "On")
    log.say("a3", "msg_0003", "Yes.")
    log.write(tmp_path)
    before = [user("Old"), said("Long ago."), user("New")]
    all_rebuilt(
        tmp_path,
        {
            1: before[:1],
            2: before,
            3: [user("In short", "New"), said("Now."), user("On")],
        },
    )


def test_a_notice_that_a_compaction_kept_is_not_sent(tmp_path: Path) -> None:
    log = Log(version="2.1.245")
    log.user("u1", "Old")
    log.say("a1", "msg_0001", "Long ago.")
    log.user("u2", "Huge")
    log.block("e1", "local", text("API Error: no"), model="<synthetic>", isApiErrorMessage=True)
    log.user("u3", "Smaller")
    kept = {"anchorUuid": "s1", "uuids": ["u2", "e1", "u3"]}
    log.add(
        "system",
        "b1",
        None,
        subtype="compact_boundary",
        logicalParentUuid="u3",
        compactMetadata={"trigger": "auto", "preTokens": 9, "preservedMessages": kept},
    )
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.say("a3", "msg_0002", "Yes.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Old")], 2: [user("In short", "Huge", "Smaller")]})


@pytest.mark.parametrize("ends", [{"headUuid": "u2"}, {"headUuid": "a2", "tailUuid": "u2"}, 3])
def test_ends_that_are_no_stretch_keep_nothing(tmp_path: Path, ends: Any) -> None:
    log = Log(version="2.1.76")
    log.user("u1", "Old")
    log.say("a1", "msg_0001", "Long ago.")
    log.user("u2", "New")
    log.say("a2", "msg_0002", "Now.")
    told = {"trigger": "auto", "preservedSegment": ends}
    log.add("system", "b1", None, subtype="compact_boundary", compactMetadata=told)
    log.user("s1", "In short", isCompactSummary=True)
    log.user("u3", "On")
    log.say("a3", "msg_0003", "Yes.")
    log.write(tmp_path)
    assert verdicts(tmp_path, {3: [user("In short", "On")]}) == {3: "rebuilt 0"}


def test_a_summary_that_no_file_has_is_named(tmp_path: Path) -> None:
    """1.0.35 stored neither boundary nor summary."""
    log = Log(version="1.0.35")
    log.user("u1", "Old")
    log.say("a1", "msg_0001", "Long ago.")
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    words = "This session is being continued from a previous conversation that ran out of context."
    found = verdicts(tmp_path, {1: [user("Old")], 2: [user(words, "On")]})
    assert found == {1: "rebuilt 0", 2: "summary-not-stored"}


# Results that were put aside. Spec: claude-code 2.3.


def test_a_result_that_was_put_aside_is_sent_as_what_stands_for_it(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.call("a1b", "msg_0001", "t2")
    log.result("r1", "t1", "much " * 20)
    log.result("r2", "t2", "little")
    log.other("content-replacement", replacements=[replaced("t1", "It is in a file.")])
    log.say("a2", "msg_0002", "Seen.")
    log.user("u2", "More")
    log.call("a3", "msg_0003", "t3")
    log.result("r3", "t3", "more " * 20)
    log.other("content-replacement", replacements=[replaced("t3", "Another file."), 7, {}])
    log.say("a4", "msg_0004", "Yes.")
    log.write(tmp_path)
    first = [
        user("Go"),
        said(call("t1"), call("t2")),
        user(result("t1", "It is in a file."), result("t2", "little")),
    ]
    third = [*first, said("Seen."), user("More")]
    all_rebuilt(
        tmp_path,
        {
            1: first[:1],
            2: first,
            3: third,
            4: [*third, said(call("t3")), user(result("t3", "Another file."))],
        },
    )
    (session,) = sessions(tmp_path)
    written = [bytes(entry.line) for entry in session.entries]
    assert sum(b"much much" in line for line in written) == 1
    assert sum(b"more more" in line for line in written) == 1
    assert sum(b'"content-replacement"' in line for line in written) == 1


def replaced(name: str, words: str) -> Line:
    return {"kind": "tool-result", "toolUseId": name, "replacement": words}


# Answers of thinking alone, notices. Spec: claude-code 5.1, 5.2.


@pytest.mark.parametrize(("version", "is_sent"), [("1.0.60", False), ("1.0.110", True)])
def test_the_notice_of_a_cut_answer_was_sent_for_a_while(
    tmp_path: Path, version: str, is_sent: bool
) -> None:
    notice = "API Error: the response exceeded the 32000 output token maximum."
    log = Log(version=version)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Half", stop="max_tokens")
    log.say("n1", "notice", notice, model="<synthetic>", isApiErrorMessage=True)
    log.user("u2", "More")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    answered = said("Half", notice) if is_sent else said("Half")
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), answered, user("More")]})


def test_thinking_alone_is_not_taken_along_by_a_resume(tmp_path: Path) -> None:
    """2.1.10 sends it in the process that had it, and in no other."""
    log = Log(version="2.1.10")
    log.user("u1", "Go")
    log.block("a1", "msg_0001", {"type": "thinking", "thinking": "Hm.", "signature": "S"})
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.other("queue-operation", operation="dequeue", timestamp="2026-03-01T10:05:00.000Z")
    log.user("u3", "More", timestamp="2026-03-01T10:05:00.300Z")
    log.say("a3", "msg_0003", "Sure.")
    log.write(tmp_path)
    thought = said({"type": "thinking", "thinking": "Hm.", "signature": "S"})
    all_rebuilt(
        tmp_path,
        {
            2: [user("Go"), thought, user("On")],
            3: [user("Go", "On"), said("Yes."), user("More")],
        },
    )


# The request log. Spec: claude-code 4.


def test_a_logged_message_that_is_a_run_of_answers(tmp_path: Path) -> None:
    """The program's own answer stands right behind one of the model's, and is one with it."""
    log = Log(version="2.1.332")
    requests = RequestLog(log)
    log.user("u1", "Go")
    requests.ask("q1", [user("Go")])
    log.say("a1", "msg_0001", "One.", requestRef="q1")
    log.say("n1", "none", "No response requested.", model="<synthetic>")
    log.user("u2", "More")
    second = [user("Go"), said("One.", "No response requested."), user("More")]
    requests.ask("q2", second, base="q1", keep=1)
    log.say("a2", "msg_0002", "Two.", requestRef="q2")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: second})
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    (native,) = importer.sessions(source)
    assert [one.outcome for one in verify(importer, source, native.id)] == ["ok", "ok"]


# Blank texts. Spec: claude-code 5.2.


@pytest.mark.parametrize(("version", "is_sent"), [("2.1.28", True), ("2.1.45", False)])
def test_an_answer_of_nothing_but_blanks(tmp_path: Path, version: str, is_sent: bool) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", " \n")
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    sent = [user("Go"), said(" \n"), user("On")] if is_sent else [user("Go", "On")]
    all_rebuilt(tmp_path, {1: [user("Go")], 2: sent})


@pytest.mark.parametrize("version", ["2.1.28", "2.1.45"])
def test_a_blank_text_beside_a_call_is_lost_by_a_resume(tmp_path: Path, version: str) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", " \n")
    log.call("a1b", "msg_0001", "t1")
    log.result("r1", "t1", "a file")
    log.say("a2", "msg_0002", "Yes.")
    resume(log)
    log.say("a3", "msg_0003", "Sure.")
    log.write(tmp_path)
    before = [user("Go"), said(" \n", call("t1")), user(result("t1", "a file"))]
    after = before if version == "2.1.28" else [user("Go"), said(call("t1")), before[2]]
    all_rebuilt(tmp_path, {1: before[:1], 2: before, 3: [*after, said("Yes."), user("More")]})


def resume(log: Log, second: str = "05:00") -> None:
    """A prompt by which a new process goes on."""
    log.other("queue-operation", operation="dequeue", timestamp=f"2026-03-01T10:{second}.000Z")
    log.user("u9", "More", timestamp=f"2026-03-01T10:{second}.015Z")
    log.lines[-1]["uuid"] = log.tip = f"u{len(log.lines)}"


# Where a process began. Spec: claude-code 5.2, 6.


def parallel(log: Log) -> list[Line]:
    """Two calls at once, the later of which ends first; return what the running process sent."""
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.call("a2", "msg_0001", "t2")
    log.result("r2", "t2", "two", "a2")
    log.result("r1", "t1", "one", "a1")
    log.say("a3", "msg_0002", "Done.")
    results = user(result("t2", "two"), result("t1", "one"))
    return [user("Go"), said(call("t1"), call("t2")), results, said("Done.")]


LOADED = [user("Go"), said(call("t1")), user(result("t1", "one")), said("Done.")]
"""What a process of 2.1.2 to 2.1.76 knows of :func:`parallel` that only read it."""


@pytest.mark.parametrize("is_new", [True, False])
def test_the_agents_that_a_process_warms_up_tell_when_it_began(
    tmp_path: Path, is_new: bool
) -> None:
    log = Log(version="2.1.10")
    ran = parallel(log)
    resume(log)
    log.say("a4", "msg_0003", "Sure.", timestamp="2026-03-01T10:05:01.000Z")
    log.write(tmp_path)
    for name, minute in (("aa", 0), ("bb", 5 if is_new else 0)):
        warm = Log(version="2.1.10")
        warm.say(f"{name}1", "msg_0011" if name == "aa" else "msg_0012", "Ready.")
        stamp = {"isSidechain": True, "timestamp": f"2026-03-01T10:{minute:02d}:00.100Z"}
        warm.lines[-1] |= {**stamp, "agentId": name}
        warm.write(tmp_path, f"{SESSION}/subagents/agent-{name}")
    known = LOADED if is_new else ran
    all_rebuilt(
        tmp_path,
        {
            1: ran[:1],
            2: ran[:3],
            3: [*known, user("More")],
            11: [user("Warmup")],
            12: [user("Warmup")],
        },
    )


@pytest.mark.parametrize("is_new", [True, False])
def test_a_last_prompt_tells_that_a_process_ended(tmp_path: Path, is_new: bool) -> None:
    log = Log(version="2.1.70")
    ran = parallel(log)
    if is_new:
        log.other("last-prompt", lastPrompt="Go")
    stamp = "2026-03-01T10:00:08.000Z"
    log.other("queue-operation", operation="enqueue", content="More", timestamp=stamp)
    log.other("queue-operation", operation="dequeue", timestamp=stamp)
    if not is_new:
        # A compaction that was tried says it as well, in the midst of a process.
        log.other("last-prompt", lastPrompt="More")
    log.user("u9", "More", timestamp="2026-03-01T10:00:08.003Z")
    log.say("a4", "msg_0003", "Sure.", timestamp="2026-03-01T10:00:09.000Z")
    log.write(tmp_path)
    known = LOADED if is_new else ran
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran[:3], 3: [*known, user("More")]})


def test_news_of_a_task_begin_no_process(tmp_path: Path) -> None:
    log = Log(version="2.1.58")
    ran = parallel(log)
    resume(log)
    news = "<task-notification>Done</task-notification>"
    log.lines[-1]["message"]["content"] = news
    log.say("a4", "msg_0003", "Sure.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: ran[:1], 2: ran[:3], 3: [*ran, user(news)]})


# What the program says by itself. Spec: claude-code 2.1, 5.4.


def told(log: Log, name: str, words: str, kind: str = "date", **more: Any) -> Line:
    rendered = [{"content": f"<system-reminder>\n{words}\n</system-reminder>"}]
    attachment = {"type": kind, **more}
    return log.add(
        "attachment", name, attachment=attachment, rendered=rendered, renderedRole="system"
    )


def snapshot(log: Log, name: str, **more: Any) -> None:
    shown = {"type": "prompt_snapshot", "systemPrompt": ["Be good."], **more}
    log.add("attachment", name, attachment=shown)


def tags(words: str) -> Line:
    return text(f"<system-reminder>\n{words}\n</system-reminder>")


def system(words: str) -> Line:
    return {"role": "system", "content": words}


def test_a_model_without_system_turns_is_told_in_the_users_name(tmp_path: Path) -> None:
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    told(log, "d1", "It is Monday.")
    snapshot(log, "p1")
    log.say("a1", "msg_0001", "Yes.")
    snapshot(log, "p2", cliPrefix="You are.", tools=[])
    log.user("u2", "More")
    told(log, "d2", "It is Tuesday.")
    log.say("a2", "msg_0002", "Sure.")
    log.write(tmp_path)
    first = user(tags("It is Monday."), "Go")
    all_rebuilt(
        tmp_path, {1: [first], 2: [first, said("Yes."), user(tags("It is Tuesday."), "More")]}
    )


def test_another_model_is_told_the_same_history_in_its_way(tmp_path: Path) -> None:
    """And the first one again in its own."""
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    told(log, "d1", "It is Monday.")
    told(log, "d2", "It is warm.")
    snapshot(log, "p1")
    log.say("a1", "msg_0001", "Yes.")
    snapshot(log, "p2", cliPrefix="You are.", tools=[], systemTurns=True)
    log.user("u2", "Other model")
    told(log, "d3", "You are small.")
    log.say("a2", "msg_0002", "Sure.", model="claude-haiku-4-5")
    log.user("u3", "And back")
    log.say("a3", "msg_0003", "Fine.")
    log.write(tmp_path)
    first = [user("Go"), system("It is Monday.\n\nIt is warm."), said("Yes.")]
    all_rebuilt(
        tmp_path,
        {
            1: first[:2],
            2: [
                user(tags("It is Monday."), tags("It is warm."), "Go"),
                said("Yes."),
                user(tags("You are small."), "Other model"),
            ],
            3: [
                *first,
                user("Other model"),
                system("You are small."),
                said("Sure."),
                user("And back"),
            ],
        },
    )


def test_what_the_user_said_in_mid_turn_stays_the_users(tmp_path: Path) -> None:
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.result("r1", "t1", "a file")
    told(log, "q1", "The user sent a new message:\nStop", "queued_command", prompt="Stop")
    told(log, "d1", "It is Monday.")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    words = "The user sent a new message:\nStop"
    sent = [user("Go"), said(call("t1")), user(result("t1", "a file"), words)]
    all_rebuilt(tmp_path, {1: sent[:1], 2: [*sent, system("It is Monday.")]})


def test_notes_of_the_programs_own_are_sent_in_tags(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Half of", stop="max_tokens")
    log.user("n1", CONTINUE, isMeta=True, turnCompanion=True, ownNote=True)
    log.say("a2", "msg_0002", "it.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said("Half of"), user(tags(CONTINUE))]})


def test_what_follows_a_compaction_stands_behind_what_it_kept(tmp_path: Path) -> None:
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    kept = {"preservedMessages": {"uuids": ["a1"]}}
    log.add("system", "b1", None, subtype="compact_boundary", compactMetadata=kept)
    log.user("s1", "In short", isCompactSummary=True)
    told(log, "f1", "A file.")
    log.lines[-1]["renderedRole"] = "user"
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    sent = [user("In short"), said("Long ago."), user(tags("A file."), "On")]
    all_rebuilt(tmp_path, {1: [user("Go")], 2: sent})


def test_a_snapshot_of_the_prompt_alone_takes_nothing_away(tmp_path: Path) -> None:
    """One stands before the first request after a compaction: the tools are still there."""
    tools = [{"name": "Bash", "description": "runs", "schema": {"type": "object"}}]
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    snapshot(log, "p1")
    log.say("a1", "msg_0001", "Yes.")
    snapshot(log, "p2", cliPrefix="You are.", tools=tools)
    log.user("u2", "More")
    log.say("a2", "msg_0002", "Sure.")
    told = {"logicalParentUuid": "a2", "compactMetadata": {"trigger": "auto"}}
    log.add("system", "b1", None, subtype="compact_boundary", **told)
    log.user("s1", "In short", isCompactSummary=True)
    log.user("u3", "On")
    snapshot(log, "p3")
    log.say("a3", "msg_0003", "Fine.")
    log.write(tmp_path)
    (session,) = sessions(tmp_path)
    found = [
        session.request_context(entry.id).settings
        for entry in session.entries
        if entry.type == "response"
    ]
    assert [settings.instructions for settings in found] == [
        "Be good.",
        "You are.\n\nBe good.",
        "You are.\n\nBe good.",
    ]
    assert [len(settings.tools) for settings in found] == [0, 1, 1]


def command(log: Log, name: str, parent: str) -> None:
    words = "<local-command-stdout>Set model</local-command-stdout>"
    log.add("system", name, parent, subtype="local_command", content=words)


def test_a_commands_output_beside_the_next_prompt_is_sent(tmp_path: Path) -> None:
    log = Log(version="2.1.150")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Yes.")
    command(log, "l1", "a1")
    log.user("u2", "More", "a1")
    log.say("a2", "msg_0002", "Sure.")
    log.write(tmp_path)
    output = "<local-command-stdout>Set model</local-command-stdout>"
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said("Yes."), user(output, "More")]})


def test_a_commands_output_of_another_branch_is_not(tmp_path: Path) -> None:
    log = Log(version="2.1.150")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Yes.")
    command(log, "l1", "a1")
    log.user("u2", "More")
    log.say("a2", "msg_0002", "Sure.")
    log.user("u3", "Or else", "a1")
    log.say("a3", "msg_0003", "Fine.")
    log.write(tmp_path)
    begun = [user("Go"), said("Yes.")]
    output = "<local-command-stdout>Set model</local-command-stdout>"
    all_rebuilt(
        tmp_path,
        {1: begun[:1], 2: [*begun, user(output, "More")], 3: [*begun, user("Or else")]},
    )


# Copies by which a release before 2.0 resumed. Spec: claude-code 3.1, 5.1.


def resumed(log: Log, session: str) -> Log:
    """A new file with all records of a log, as a resume copies them."""
    copy = Log(session, log.version)
    copy.tip = log.tip
    for line in log.lines:
        told = {**line, "sessionId": session}
        for member in ("requestId", "isApiErrorMessage"):
            told.pop(member, None)
        copy.lines.append(told)
    return copy


def test_a_resume_copies_an_answer_block_by_block_that_came_whole(tmp_path: Path) -> None:
    """Such an answer is one record, and each of its blocks gets an id of its own."""
    log = Log(version="1.0.88")
    log.user("u1", "Go")
    whole = log.say("w1", "msg_0001", "I look.")
    whole["message"]["content"].append(call("t1"))
    log.result("r1", "t1", "one")
    log.say("a2", "msg_0002", "Done.")
    log.write(tmp_path)
    copy = resumed(log, "22222222-2222-4333-8444-555555555555")
    parts = [
        {
            **copy.lines[1],
            "uuid": name,
            "parentUuid": parent,
            "message": {**whole["message"], "content": [block]},
        }
        for name, parent, block in zip(
            ("p1", "p2"), ("u1", "p1"), whole["message"]["content"], strict=True
        )
    ]
    copy.lines[1:2] = parts
    copy.lines[3] = {**copy.lines[3], "parentUuid": "p2"}
    copy.user("u2", "More")
    copy.say("a3", "msg_0003", "Sure.")
    copy.write(tmp_path)
    before = [user("Go"), said("I look.", call("t1")), user(result("t1", "one"))]
    all_rebuilt(tmp_path, {1: before[:1], 2: before, 3: [*before, said("Done."), user("More")]})


def test_what_a_hook_said_between_two_results_was_sent_there(tmp_path: Path) -> None:
    log = Log(version="1.0.88")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.call("a2", "msg_0001", "t2")
    log.result("r1", "t1", "one")
    log.user("h1", [text("<post-tool-use-hook>noted</post-tool-use-hook>")])
    log.result("r2", "t2", "two")
    log.say("a3", "msg_0002", "Done.")
    log.write(tmp_path)
    hook = "<post-tool-use-hook>noted</post-tool-use-hook>"
    results = user(result("t1", "one"), hook, result("t2", "two"))
    all_rebuilt(
        tmp_path,
        {1: [user("Go")], 2: [user("Go"), said(call("t1"), call("t2")), results]},
    )


def test_a_resume_takes_a_notice_in_the_midst_of_a_turn_for_an_answer(tmp_path: Path) -> None:
    log = Log(version="1.0.88")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1", stop="max_tokens")
    log.block("e1", "local", text("API Error: cut"), model="<synthetic>", isApiErrorMessage=True)
    log.result("r1", "t1", "one")
    log.say("a2", "msg_0002", "Done.")
    log.write(tmp_path)
    copy = resumed(log, "22222222-2222-4333-8444-555555555555")
    copy.user("u2", "More")
    copy.say("a3", "msg_0003", "Sure.")
    copy.write(tmp_path)
    asked, answered = [user("Go"), said(call("t1"))], user(result("t1", "one"))
    again = [user("Go"), said(call("t1"), "API Error: cut"), answered]
    all_rebuilt(
        tmp_path,
        {1: asked[:1], 2: [*asked, answered], 3: [*again, said("Done."), user("More")]},
    )


@pytest.mark.parametrize(
    ("version", "answer", "is_bare"),
    [
        ("2.0.51", "No", False),
        ("2.0.54", "No", True),
        ("2.1.186", "No", True),
        ("2.1.268", "Yes", True),
        ("2.1.191", "<tool_use_error>Error: No such tool available: ExitPlanMode", False),
    ],
)
def test_a_plan_was_not_sent_again_where_its_tool_was_on_offer(
    tmp_path: Path, version: str, answer: str, is_bare: bool
) -> None:
    log = Log(version=version)
    log.user("u1", "Plan")
    log.call("a1", "msg_0001", "t1", "ExitPlanMode", input={"plan": "Do it"})
    log.result("r1", "t1", answer)
    log.say("a2", "msg_0002", "Well.")
    log.write(tmp_path)
    planned = call("t1", "ExitPlanMode", {} if is_bare else {"plan": "Do it"})
    answered = user(result("t1", answer))
    all_rebuilt(tmp_path, {1: [user("Plan")], 2: [user("Plan"), said(planned), answered]})


@pytest.mark.parametrize(
    ("release", "loses"),
    [("2.1.1", False), ("2.1.2", True), ("2.1.79", True), ("2.1.80", False), ("2.1.85", False)],
)
def test_which_releases_lose_parallel_calls_on_a_resume(release: str, loses: bool) -> None:
    assert Rules.of(release).loader_follows_parents is loses
