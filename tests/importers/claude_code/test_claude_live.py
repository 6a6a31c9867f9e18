"""Long processes, with a screen or stream input: what they forgot, and where they wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_files import SESSION, Line, Log
from test_claude_releases import all_rebuilt, call, result, said, user, verdicts

from agentsession.entries import ResponseEntry
from agentsession.importers.claude_code.fidelity import sessions
from agentsession.importers.claude_code.rules import Rules

SUGGEST = "Suggest what the user might say next."


def test_a_summary_beside_the_chain_is_not_sent(tmp_path: Path) -> None:
    """The prompt after a compaction stood right below its boundary."""
    log = Log(version="2.0.14")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    told = {"trigger": "manual", "preTokens": 100}
    log.add("system", "b1", None, subtype="compact_boundary", compactMetadata=told)
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("o1", "<local-command-stdout>Compacted </local-command-stdout>")
    log.user("u2", "On", parent="b1")
    log.say("a2", "msg_0002", "Yes.")
    log.user("u3", "And on")
    log.say("a3", "msg_0003", "Sure.")
    log.write(tmp_path)
    after = [user("On"), said("Yes."), user("And on")]
    all_rebuilt(tmp_path, {1: [user("Go")], 2: after[:1], 3: after})


def test_a_summary_on_the_chain_is_sent(tmp_path: Path) -> None:
    log = Log(version="2.0.14")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    log.add("system", "b1", None, subtype="compact_boundary")
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("In short", "On")]})


# Lines that stand in another order than they were sent. Spec: claude-code 3.


def test_an_answer_can_be_written_before_its_prompt(tmp_path: Path) -> None:
    log = Log(version="2.1.190")
    log.say("a1", "msg_0001", "I look.", parent="u1")
    log.call("a2", "msg_0001", "t1")
    log.user("u1", "Go", parent=None)
    log.result("r1", "t1", "one", parent="a2")
    log.say("a3", "msg_0002", "Done.")
    log.write(tmp_path)
    before = [user("Go"), said("I look.", call("t1")), user(result("t1", "one"))]
    all_rebuilt(tmp_path, {1: before[:1], 2: before})


def test_an_answer_can_be_written_before_its_prompt_in_mid_session(tmp_path: Path) -> None:
    log = Log(version="2.1.190")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Gone.")
    log.say("a2", "msg_0002", "On.", parent="u2")
    log.user("u2", "And on", parent="a1")
    log.user("u3", "More", parent="a2")
    log.say("a3", "msg_0003", "Sure.")
    log.write(tmp_path)
    sent = [user("Go"), said("Gone."), user("And on"), said("On."), user("More")]
    all_rebuilt(tmp_path, {1: sent[:1], 2: sent[:3], 3: sent})


def test_records_that_hang_below_each_other_are_read(tmp_path: Path) -> None:
    log = Log(version="2.1.190")
    log.user("u1", "Go", parent="a1")
    log.say("a1", "msg_0001", "Gone.", parent="u1")
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Sure.")
    log.write(tmp_path)
    (session,) = sessions(tmp_path)
    assert [e.response_id for e in session.entries if e.type == "response"] == [
        "msg_0001",
        "msg_0002",
    ]


# Where processes began. Spec: claude-code 5.2.


def parallel(version: str) -> Log:
    log = Log(version=version)
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.call("a2", "msg_0001", "t2")
    log.result("r2", "t2", "two")
    log.result("r1", "t1", "one", parent="a1")
    return log


@pytest.mark.parametrize("operation", ["remove", "enqueue"])
def test_what_a_turn_took_in_begins_no_process(tmp_path: Path, operation: str) -> None:
    log = parallel("2.1.58")
    log.other("queue-operation", operation=operation, timestamp="2026-03-01T10:00:06.000Z")
    log.user("u2", "More")
    log.say("a3", "msg_0002", "Done.")
    log.write(tmp_path)
    results = user(result("t2", "two"), result("t1", "one"), "More")
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said(call("t1"), call("t2")), results]})


LOST = [said(call("t1")), user(result("t1", "one"), "More")]
FOUND = [said(call("t1"), call("t2")), user(result("t2", "two"), result("t1", "one"), "More")]


@pytest.mark.parametrize(
    ("version", "name", "is_new"),
    [
        ("2.1.75", "last-prompt", True),
        ("2.1.75", "file-history-snapshot", False),
        ("2.1.110", "last-prompt", False),
    ],
)
def test_a_screen_writes_its_last_prompt_when_it_ends(
    tmp_path: Path, version: str, name: str, is_new: bool
) -> None:
    log = parallel(version)
    log.other(name)
    log.other("file-history-snapshot")
    log.user("u2", "More", permissionMode="default")
    log.say("a3", "msg_0002", "Done.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), *(LOST if is_new else FOUND)]})


@pytest.mark.parametrize(
    ("before", "now", "is_new"),
    [
        ({"todos": []}, {}, True),
        ({"todos": []}, {"todos": []}, False),
        ({}, {}, False),
        ({}, {"todos": []}, False),
    ],
)
def test_a_resumed_screen_does_not_know_what_there_is_to_do(
    tmp_path: Path, before: Line, now: Line, is_new: bool
) -> None:
    log = parallel("2.1.41")
    log.lines[0] |= {"permissionMode": "default", **before}
    log.user("u2", "More", permissionMode="default", **now)
    log.say("a3", "msg_0002", "Done.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), *(LOST if is_new else FOUND)]})


def test_a_prompt_that_the_loader_answered_begins_a_process(tmp_path: Path) -> None:
    log = parallel("2.1.58")
    log.say("a3", "local", "No response requested.", model="<synthetic>")
    log.user("u2", "More")
    log.say("a4", "msg_0002", "Done.")
    log.write(tmp_path)
    all_rebuilt(
        tmp_path,
        {
            1: [user("Go")],
            2: [
                user("Go"),
                said(call("t1")),
                user(result("t1", "one")),
                said("No response requested."),
                user("More"),
            ],
        },
    )


@pytest.mark.parametrize(("version", "is_sorted"), [("2.1.79", False), ("2.1.190", True)])
def test_a_resume_adds_results_beside_the_chain_by_time(
    tmp_path: Path, version: str, is_sorted: bool
) -> None:
    """A result can have been made before the one that was written before it."""
    log = Log(version=version)
    log.user("u1", "Go")
    for number in (1, 2, 3):
        log.call(f"a{number}", "msg_0001", f"t{number}")
    log.result("r1", "t1", "slow", parent="a1", timestamp="2026-03-01T10:00:07.000Z")
    log.result("r2", "t2", "quick", parent="a2", timestamp="2026-03-01T10:00:05.000Z")
    log.result("r3", "t3", "last", parent="a3", timestamp="2026-03-01T10:00:08.000Z")
    log.say("a4", "msg_0002", "Done.", timestamp="2026-03-01T10:00:09.000Z")
    log.other("last-prompt", lastPrompt="Go")
    log.other("queue-operation", operation="dequeue", timestamp="2026-03-01T10:00:10.000Z")
    log.user("u2", "More")
    log.say("a5", "msg_0003", "Sure.")
    log.write(tmp_path)
    slow, quick, last = (result(f"t{n}", w) for n, w in ((1, "slow"), (2, "quick"), (3, "last")))
    asked = said(call("t1"), call("t2"), call("t3"))
    begun = [user("Go"), asked, user(slow, quick, last)]
    again = [user("Go"), asked, user(quick, slow, last)]
    if not is_sorted:
        again = [user("Go"), said(call("t3")), user(last)]
    after = [*again, said("Done."), user("More")]
    all_rebuilt(tmp_path, {1: begun[:1], 2: begun, 3: after})


# Agents that go on from a session: they suggest what the user might say. Spec: claude-code 6.


def suggested(root: Path, name: str, above: str, answer: str, number: int, *says: str) -> None:
    """An agent's log that begins with the last answer of a turn of the session."""
    agent = Log(version="2.1.23")
    side = {"isSidechain": True, "agentId": name}
    agent.say(f"{name}0", f"msg_{number:04d}", answer, parent=above, **side)
    agent.user(f"{name}1", SUGGEST, **side)
    for words in says:
        agent.say(f"{name}2", f"msg_{number + 1:04d}", words, **side)
    agent.write(root, f"{SESSION}/subagents/agent-{name}")


def test_an_answer_that_only_a_suggestions_log_has(tmp_path: Path) -> None:
    log = Log(version="2.1.23")
    log.user("u1", "Go")
    log.user("u2", "More", parent="s10")
    log.write(tmp_path)
    suggested(tmp_path, "s1", "u1", "Done.", 1, "And now?")
    suggested(tmp_path, "s2", "u2", "Sure.", 3)
    (session,) = sessions(tmp_path)
    assert session.header.id == SESSION
    begun = [user("Go"), said("Done.")]
    all_rebuilt(tmp_path, {1: begun[:1], 2: [*begun, user(SUGGEST)], 3: [*begun, user("More")]})


def test_a_new_process_finds_nothing_above_such_an_answer(tmp_path: Path) -> None:
    log = Log(version="2.1.23")
    log.user("u1", "Go")
    log.user("u2", "More", parent="s10")
    log.say("l1", "local", "No response requested.", model="<synthetic>")
    log.user("u3", "On")
    log.say("a3", "msg_0005", "Gone.")
    log.write(tmp_path)
    suggested(tmp_path, "s1", "u1", "Done.", 1, "And now?")
    suggested(tmp_path, "s2", "u2", "Sure.", 3)
    begun = [user("Go"), said("Done.")]
    after = [user("More"), said("No response requested."), user("On")]
    all_rebuilt(tmp_path, {1: begun[:1], 3: [*begun, user("More")], 5: after})


def test_an_agent_that_a_call_names_stays_a_session(tmp_path: Path) -> None:
    log = Log(version="2.1.23")
    log.user("u1", "Go")
    log.call("a1", "msg_0009", "t1", "Task", input={"prompt": "Look"})
    log.result("r1", "t1", "seen", toolUseResult={"agentId": "s1"})
    log.write(tmp_path)
    suggested(tmp_path, "s1", "u1", "Done.", 1)
    assert len(list(sessions(tmp_path))) == 2


def test_an_agent_that_goes_on_from_nothing_known_stays_a_session(tmp_path: Path) -> None:
    log = Log(version="2.1.23")
    log.user("u1", "Go")
    log.say("a1", "msg_0009", "Gone.")
    log.write(tmp_path)
    suggested(tmp_path, "s1", "nowhere", "Done.", 1)
    assert len(list(sessions(tmp_path))) == 2


# What a server received and no file tells. Spec: claude-code 5.3.


def test_what_a_command_printed_can_have_been_sent_twice(tmp_path: Path) -> None:
    log = Log(version="1.0.119")
    log.user("u1", "<local-command-stdout>Cost: 1</local-command-stdout>")
    log.user("u2", "Go")
    log.say("a1", "msg_0001", "Gone.")
    log.write(tmp_path)
    printed = "<local-command-stdout>Cost: 1</local-command-stdout>"
    found = verdicts(tmp_path, {1: [user(printed, printed, "Go")]})
    assert found == {1: "command-output-repeated"}


def test_of_a_command_what_it_printed_can_have_been_sent_alone(tmp_path: Path) -> None:
    log = Log(version="1.0.128")
    printed = "<local-command-stdout>Cost: 1</local-command-stdout>"
    log.user("c1", "Caveat: The messages below were generated by the user.", isMeta=True)
    log.user("c2", "<command-name>/cost</command-name>")
    log.user("c3", printed)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Yes.")
    log.write(tmp_path)
    assert verdicts(tmp_path, {1: [user(printed, "Go")]}) == {1: "command-not-sent"}


def test_what_a_turn_took_in_stands_in_a_result(tmp_path: Path) -> None:
    log = Log(version="1.0.24")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "t1")
    log.result("r1", "t1", "b")
    log.say("a2", "msg_0002", "Done.")
    log.write(tmp_path)
    told = "b\n\nThe user sent the following message: And more"
    sent = [user("Go"), said(call("t1")), user(result("t1", told))]
    assert verdicts(tmp_path, {1: sent[:1], 2: sent}) == {1: "rebuilt 0", 2: "rebuilt 1"}


@pytest.mark.parametrize(("version", "is_kept"), [("2.1.23", True), ("2.1.41", False)])
def test_thinking_alone_was_sent_until(tmp_path: Path, version: str, is_kept: bool) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    thought = {"type": "thinking", "thinking": "Hm", "signature": "S"}
    log.block("a1", "msg_0001", thought)
    log.user("u2", "[Request interrupted by user]")
    log.user("u3", "On")
    log.say("a2", "msg_0002", "Done.")
    log.write(tmp_path)
    after = user("[Request interrupted by user]", "On")
    sent = [user("Go"), said(thought), after] if is_kept else [user("Go"), after]
    all_rebuilt(tmp_path, {1: [user("Go")], 2: sent})


def test_prompts_were_forgotten_once_they_were_answered(tmp_path: Path) -> None:
    """Each turn, and a resume, went on from a copy of what the process still had."""
    log = Log(version="1.0.62")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "One.")
    log.say("c1", "msg_0001", "One.", parent=None)
    log.user("u2", "More")
    log.call("a2", "msg_0002", "t1")
    log.result("r1", "t1", "b")
    log.say("a3", "msg_0003", "Two.")
    log.say("d1", "msg_0001", "One.", parent=None)
    log.call("d2", "msg_0002", "t1")
    log.result("d3", "t1", "b")
    log.say("d4", "msg_0003", "Two.")
    log.user("u3", "Last")
    log.say("a4", "msg_0004", "Three.")
    log.write(tmp_path)
    again = Log("22222222-2222-4333-8444-555555555555", version="1.0.62")
    again.say("e1", "msg_0001", "One.", parent=None)
    again.call("e2", "msg_0002", "t1")
    again.result("e3", "t1", "b")
    again.say("e4", "msg_0003", "Two.")
    again.user("e5", "Last")
    again.say("e6", "msg_0004", "Three.")
    again.user("u4", "Resumed")
    again.say("a5", "msg_0005", "Four.")
    for line in again.lines:
        line["timestamp"] = line["timestamp"].replace("T10:", "T11:")
    again.write(tmp_path)
    one, two = [said("One.")], [said(call("t1")), user(result("t1", "b")), said("Two.")]
    all_rebuilt(
        tmp_path,
        {
            1: [user("Go")],
            2: [*one, user("More")],
            3: [*one, user("More"), *two[:2]],
            4: [said("One.", call("t1")), *two[1:], user("Last")],
            5: [
                said("One.", call("t1")),
                *two[1:],
                user("Last"),
                said("Three."),
                user("Resumed"),
            ],
        },
    )


def test_copies_that_have_all_prompts_change_nothing(tmp_path: Path) -> None:
    log = Log(version="1.0.62")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "One.")
    log.user("c0", "Go", parent=None)
    log.say("c1", "msg_0001", "One.")
    log.user("u2", "More")
    log.say("a2", "msg_0002", "Two.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said("One."), user("More")]})
    (session,) = sessions(tmp_path)
    assert not [entry for entry in session.entries if entry.type == "compaction"]


@pytest.mark.parametrize(("release", "forgets"), [("1.0.62", True), ("1.0.64", False)])
def test_which_releases_forget_prompts(release: str, forgets: bool) -> None:
    assert Rules.of(release).forgets_prompts is forgets


@pytest.mark.parametrize(("version", "is_sent"), [("2.1.62", False), ("2.1.63", True)])
def test_what_the_screen_printed_of_a_command_was_sent_from(
    tmp_path: Path, version: str, is_sent: bool
) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Yes.")
    words = "<local-command-stdout>Status dialog dismissed</local-command-stdout>"
    log.add("system", "l1", subtype="local_command", content=words)
    log.user("u2", "More")
    log.say("a2", "msg_0002", "Sure.")
    log.write(tmp_path)
    after = user(words, "More") if is_sent else user("More")
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), said("Yes."), after]})


def test_the_history_of_an_agent_begins_anew_with_its_summary(tmp_path: Path) -> None:
    """An agent that goes on from a long session compacts what it was told, without a boundary."""
    log = Log(version="2.1.23")
    log.user("u1", "Go")
    log.user("u2", "More", parent="s10")
    log.say("a2", "msg_0003", "Sure.")
    log.write(tmp_path)
    agent = Log(version="2.1.23")
    side = {"isSidechain": True, "agentId": "s1"}
    agent.say("s10", "msg_0001", "Done.", parent="u1", **side)
    agent.user("s11", SUGGEST, **side)
    agent.user("s12", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True, **side)
    agent.say("s13", "msg_0002", "And now?", **side)
    agent.write(tmp_path, f"{SESSION}/subagents/agent-s1")
    begun = [user("Go"), said("Done.")]
    all_rebuilt(tmp_path, {1: begun[:1], 2: [user("In short")], 3: [*begun, user("More")]})
    (session,) = sessions(tmp_path)
    answered = next(
        entry
        for entry in session.entries
        if isinstance(entry, ResponseEntry) and entry.response_id == "msg_0002"
    )
    path = [entry.type for entry in session.path(answered.id)]
    assert "compaction" in path


@pytest.mark.parametrize(("version", "is_kept"), [("2.1.150", True), ("2.1.152", False)])
def test_another_models_thinking_was_sent_until(
    tmp_path: Path, version: str, is_kept: bool
) -> None:
    log = Log(version=version)
    log.user("u1", "Go")
    thought = {"type": "thinking", "thinking": "Hm", "signature": "S"}
    log.block("a1", "msg_0001", thought, model="claude-opus-4-5")
    log.say("a2", "msg_0001", "One.", model="claude-opus-4-5")
    log.user("u2", "On")
    log.say("a3", "msg_0002", "Two.", model="claude-sonnet-4-6")
    log.write(tmp_path)
    first = said(thought, "One.") if is_kept else said("One.")
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("Go"), first, user("On")]})
