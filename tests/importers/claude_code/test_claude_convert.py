"""What each record of Claude Code becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from claude_files import SESSION, Log, RequestLog

from agentsession.entries import CompactionEntry, ConfigEntry, ItemEntry, ResponseEntry
from agentsession.importers.base import Converted, Outcome
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.verify import verify
from agentsession.record_entries import DecisionEntry, DispatchEntry, LinkEntry, QueuedEntry
from agentsession.session import Session

DATA = Path(__file__).parents[2] / "data" / "claude-code"


def converted(place: Path) -> dict[str, Converted]:
    importer = ClaudeCode()
    return {
        native.id: importer.convert(source, native.id)
        for source in importer.find([place])
        for native in importer.sessions(source)
    }


def one(place: Path) -> Converted:
    (found,) = converted(place).values()
    return found


def requests(session: Session) -> list[list[str]]:
    """The texts, calls and outputs that each response's request held."""
    return [
        [_short(item) for item in session.request_context(entry.id).items]
        for entry in session.entries
        if isinstance(entry, ResponseEntry)
    ]


def _short(item: Any) -> str:
    if item.type == "function_call":
        return f"call {item.call_id}"
    if item.type == "function_call_output":
        return f"{item.call_id}: {item.output}"
    return item.text or item.type


def codes(found: Converted) -> set[str]:
    return {finding.code for finding in found.findings}


def test_an_answer_of_several_records_is_one_response(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.block("a1", "m1", {"type": "thinking", "thinking": "hm", "signature": "s"})
    log.say("a2", "m1", "Looking.")
    log.call("a3", "m1", "c1")
    log.result("r1", "c1", "a.txt", toolUseResult={"stdout": "a.txt", "durationMs": 3})
    log.say("a4", "m2", "Done.")
    log.write(tmp_path)
    session = one(tmp_path).session
    assert session.id == SESSION
    assert requests(session) == [
        ["Go"],
        ["Go", "hm", "Looking.", "call c1", "c1: a.txt", "Done."][:5],
    ]
    responses = [entry for entry in session.entries if isinstance(entry, ResponseEntry)]
    assert [entry.response_id for entry in responses] == ["m1", "m2"]
    assert responses[0].usage is not None
    assert responses[0].usage["input_tokens"] == 15
    assert any(isinstance(entry, DispatchEntry) for entry in session.entries)
    (output,) = [
        entry
        for entry in session.entries
        if isinstance(entry, ItemEntry) and entry.item.type == "function_call_output"
    ]
    kept = output.unknown["claude_code"]
    assert isinstance(kept, dict)
    assert kept["toolUseResult"]["durationMs"] == 3


def test_parallel_results_come_in_the_order_they_arrived(tmp_path: Path) -> None:
    log = Log(version="2.1.120")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    log.call("a2", "m1", "c2")
    log.result("r2", "c2", "two", parent="a2")
    log.result("r1", "c1", "one", parent="a1")
    log.say("a3", "m2", "Both.")
    log.write(tmp_path)
    assert requests(one(tmp_path).session)[1][-2:] == ["c2: two", "c1: one"]


def test_results_between_the_blocks_of_an_answer(tmp_path: Path) -> None:
    log = Log(version="2.1.300")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    log.result("r1", "c1", "one")
    log.call("a2", "m1", "c2")
    log.result("r2", "c2", "two")
    log.say("a3", "m2", "Both.")
    log.write(tmp_path)
    found = one(tmp_path).session
    assert requests(found)[1] == ["Go", "call c1", "call c2", "c1: one", "c2: two"]


def test_a_killed_call_is_left_out_of_later_requests(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    log.call("a2", "m1", "c2")
    log.result("r1", "c1", "one")
    log.user("u2", "Again")
    log.say("a3", "m2", "Yes.")
    log.write(tmp_path)
    found = one(tmp_path)
    assert requests(found.session)[1] == ["Go", "call c1", "c1: one", "Again"]
    assert "interrupted-call-unsent" in codes(found)
    assert sum(isinstance(entry, ResponseEntry) for entry in found.session.entries) == 2


def test_a_rewind_is_a_branch(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.user("u2", "Left")
    log.say("a2", "m2", "Two.")
    log.user("u3", "Right", parent="a1")
    log.say("a3", "m3", "Three.")
    log.write(tmp_path)
    session = one(tmp_path).session
    assert requests(session)[1:] == [["Go", "One.", "Left"], ["Go", "One.", "Right"]]
    assert [item.text for item in session.context().items][-1] == "Three."


def test_a_compaction_keeps_preserved_messages(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.user("u2", "More")
    log.say("a2", "m2", "Two.")
    told = {"trigger": "manual", "preTokens": 99, "preservedMessages": {"uuids": ["a2"]}}
    log.add(
        "system",
        "b",
        None,
        subtype="compact_boundary",
        logicalParentUuid="a2",
        compactMetadata=told,
    )
    log.user("s", "Summary", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("u3", "On")
    log.say("a3", "m3", "Three.")
    log.write(tmp_path)
    session = one(tmp_path).session
    assert requests(session)[2] == ["Summary", "Two.", "On"]
    (compaction,) = [e for e in session.entries if isinstance(e, CompactionEntry)]
    assert compaction.tokens_before == 99
    assert compaction.summary.text == "Summary"
    assert session[compaction.first_kept].contribution().text == "Two."


def test_attachments_stand_before_the_prompt_and_system_turns_behind_it(tmp_path: Path) -> None:
    log = Log(version="2.1.290")
    log.user("u1", "Go")
    rendered = [{"content": "<system-reminder>\nRules\n</system-reminder>"}]
    told = {"type": "instructions"}
    log.add("attachment", "x1", attachment=told, rendered=rendered, renderedRole="user")
    for name, words in (("x2", "Date"), ("x3", "Model")):
        text = [{"content": f"<system-reminder>\n{words}\n</system-reminder>"}]
        log.add("attachment", name, attachment={"type": "d"}, rendered=text, renderedRole="system")
    log.say("a1", "m1", "One.")
    log.write(tmp_path)
    session = one(tmp_path).session
    assert requests(session) == [
        ["<system-reminder>\nRules\n</system-reminder>", "Go", "Date\n\nModel"]
    ]
    items = [entry for entry in session.entries if isinstance(entry, ItemEntry)]
    assert [entry.is_visible for entry in items] == [False, True, False, True]


def test_a_prompt_taken_in_while_busy_is_the_users(tmp_path: Path) -> None:
    log = Log(version="2.1.120")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    log.result("r1", "c1", "one")
    log.add("attachment", "x1", attachment={"type": "queued_command", "prompt": "Also this"})
    log.say("a2", "m2", "Both.")
    log.write(tmp_path)
    assert requests(one(tmp_path).session)[1][-2:] == ["c1: one", "Also this"]


def test_an_answer_of_thinking_alone_is_not_sent_on(tmp_path: Path) -> None:
    for version, sent in (("2.0.30", True), ("2.1.60", False)):
        log = Log(version=version)
        log.user("u1", "Go")
        log.block("a1", "m1", {"type": "thinking", "thinking": "hm", "signature": "s"})
        log.user("u2", "Again")
        log.say("a2", "m2", "Yes.")
        place = tmp_path / version
        log.write(place)
        assert ("hm" in requests(one(place).session)[1]) is sent


def test_notices_of_errors_are_kept_beside(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("e1", "x", "API Error: 400", model="<synthetic>", isApiErrorMessage=True)
    log.user("u2", "Again")
    log.say("a1", "m1", "Yes.")
    log.write(tmp_path)
    found = one(tmp_path)
    assert requests(found.session) == [["Go", "Again"]]
    (record,) = [record for record in found.records if record.code == "synthetic-reply"]
    assert record.disposition is Outcome.FOLDED


def test_what_nobody_answered_yet_waits(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.user("u2", "And now?")
    log.write(tmp_path)
    session = one(tmp_path).session
    (queued,) = [entry for entry in session.entries if isinstance(entry, QueuedEntry)]
    assert queued.item.text == "And now?"
    assert [item.text for item in session.context().items] == ["Go", "One."]


def test_a_denied_call_has_a_decision(tmp_path: Path) -> None:
    log = Log(version="2.1.300")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    log.result("r1", "c1", "no", block={"is_error": True}, toolDenialKind="user-rejected")
    log.write(tmp_path)
    session = one(tmp_path).session
    (decision,) = [entry for entry in session.entries if isinstance(entry, DecisionEntry)]
    assert (decision.verdict, decision.by, decision.call_id) == ("reject", "human", "c1")
    assert not any(isinstance(entry, DispatchEntry) for entry in session.entries)


def test_agents_are_sessions_of_their_own(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1", "Agent", input={"prompt": "look"})
    log.result("r1", "c1", "found", toolUseResult={"agentId": "ab12"})
    log.write(tmp_path)
    agent = Log(version="2.1.200")
    agent.user("w1", "look", isSidechain=True, agentId="ab12")
    agent.say("w2", "m9", "found", isSidechain=True, agentId="ab12")
    agent.write(tmp_path, f"{SESSION}/subagents/agent-ab12")
    found = converted(tmp_path)
    child = found[f"{SESSION}-agent-ab12"].session
    assert (child.header.parent_session, child.header.spawned_by) == (SESSION, "c1")
    (link,) = [e for e in found[SESSION].session.entries if isinstance(e, LinkEntry)]
    assert (link.session, link.call_id) == (child.id, "c1")


def test_early_agents_stand_in_their_parents_file(tmp_path: Path) -> None:
    log = Log(version="1.0.110")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1", "Task", input={"prompt": "look"})
    log.user("w1", "look", parent=None, isSidechain=True)
    log.say("w2", "m9", "found", isSidechain=True)
    log.result("r1", "c1", "found", parent="a1")
    log.say("a2", "m2", "Done.")
    log.write(tmp_path)
    found = converted(tmp_path)
    assert len(found) == 2
    (child,) = [one for name, one in found.items() if name != SESSION]
    assert child.session.header.spawned_by == "c1"
    assert requests(child.session) == [["look"]]
    assert requests(found[SESSION].session)[1] == ["Go", "call c1", "c1: found"]


def test_copies_of_early_resumes_are_one_session(tmp_path: Path) -> None:
    log = Log(version="1.0.110")
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.write(tmp_path)
    again = Log("22222222-2222-4333-8444-555555555555", "1.0.110")
    again.user("u1", [{"type": "text", "text": "Go"}])
    del again.say("a1", "m1", "One.")["requestId"]
    again.user("u2", "More")
    again.say("a2", "m2", "Two.")
    again.write(tmp_path)
    found = one(tmp_path)
    assert found.session.id == SESSION
    assert requests(found.session) == [["Go"], ["Go", "One.", "More"]]
    copies = [record for record in found.records if record.code == "copied-record"]
    assert len(copies) == 2


def test_a_fork_counts_what_it_copied_only_once(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.other("queue-operation", operation="enqueue", timestamp="2026-03-01T09:00:00.000Z")
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.write(tmp_path)
    fork = Log("22222222-2222-4333-8444-555555555555", "2.1.200")
    fork.other("queue-operation", operation="enqueue", timestamp="2026-03-02T09:00:00.000Z")
    fork.user("u1", "Go")
    fork.say("a1", "m1", "One.")
    fork.user("u2", "More")
    fork.say("a2", "m2", "Two.")
    fork.write(tmp_path)
    found = converted(tmp_path)
    session = found[fork.session].session
    assert session.header.parent_session == SESSION
    assert requests(session) == [["Go", "One.", "More"]]
    links = [entry for entry in session.entries if isinstance(entry, LinkEntry)]
    assert [(link.rel, link.session) for link in links] == [("fork_of", SESSION)]


def test_a_logged_request_is_the_context(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    asked = RequestLog(log)
    reminder = {"type": "text", "text": "<system-reminder>\nRules\n</system-reminder>\n"}
    first = {"role": "user", "content": [reminder, {"type": "text", "text": "Go"}]}
    asked.blob(first)
    asked.ask("q0", [first])
    log.add("system", "e1", "u1", subtype="api_error", error={"status": 500, "message": "no"})
    asked.ask("q1", [first], base="q0", keep=1)
    log.say("a1", "m1", "One.", requestRef="q1", parent="e1")
    log.user("u2", "More")
    said = {"role": "assistant", "content": [{"type": "text", "text": "One."}]}
    asked.ask("q2", [first, said, {"role": "user", "content": "More"}], base="q1", keep=1)
    log.say("a2", "m2", "Two.", requestRef="q2")
    log.write(tmp_path)
    found = one(tmp_path)
    rules = reminder["text"]
    assert requests(found.session) == [[rules, "Go"], [rules, "Go"], [rules, "Go", "One.", "More"]]
    responses = [entry for entry in found.session.entries if isinstance(entry, ResponseEntry)]
    assert [entry.status for entry in responses] == ["failed", "completed", "completed"]
    config = next(entry for entry in found.session.entries if isinstance(entry, ConfigEntry))
    assert config.model == "claude-opus-5-5"
    assert config.instructions_parts[0].text == "You are a test."
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    assert [result.outcome for result in verify(importer, source, SESSION)] == ["ok"] * 3


def test_a_changed_record_does_not_match_its_digest(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    RequestLog(log).ask("q1", [{"role": "user", "content": "Go"}])
    log.say("a1", "m1", "One.", requestRef="q1")
    log.lines[-2]["params"] = {"model": "another"}
    log.write(tmp_path)
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    assert [result.outcome for result in verify(importer, source, SESSION)] == ["mismatch"]


def test_a_log_without_its_messages_falls_back_to_the_tree(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    RequestLog(log).ask("q1", [{"role": "user", "content": "Lost"}])
    log.say("a1", "m1", "One.", requestRef="q1")
    log.write(tmp_path)
    found = one(tmp_path)
    assert requests(found.session) == [["Go"]]
    assert "request-not-rebuilt" in codes(found)


def test_hostile_inputs_end_as_their_page_says(tmp_path: Path) -> None:
    def output(name: str) -> int:
        importer = ClaudeCode()
        (source,) = importer.find([DATA / name])
        return sum(u.usage["output_tokens"] for u in importer.usage_records(source))

    assert output("claude-usage-split-blocks.jsonl") == 40
    assert output("claude-usage-spaced-json.jsonl") == 40
    assert output("claude-resume-same-file-new-uuids.jsonl") == 9
    for name in ("claude-usage-split-blocks.jsonl", "claude-usage-spaced-json.jsonl"):
        assert one(DATA / name).totals["converted"]["output_tokens"] == 40
    resumed = one(DATA / "claude-resume-same-file-new-uuids.jsonl")
    assert resumed.totals["converted"]["output_tokens"] == 9
    tree = one(DATA / "claude-parallel-tools-tree.jsonl").session
    assert requests(tree)[1][-2:] == ["t1: one", "t2: two"]
    forks = one(DATA / "claude-progress-forks.jsonl")
    assert requests(forks.session)[1] == ["do it", "call t1", "t1: ok"]
    assert "progress-in-chain" in codes(forks)
    unknown = one(DATA / "claude-unknown-records.jsonl")
    assert {"unknown-record", "unknown-block"} <= codes(unknown)
    assert any(record.code == "synthetic-reply" for record in unknown.records)
    assert all(record.disposition is not Outcome.LEFT_OUT for record in unknown.records)
    response = next(
        entry
        for entry in one(DATA / "claude-cache-ttl-usage.jsonl").session.entries
        if isinstance(entry, ResponseEntry)
    )
    assert response.usage is not None
    details = response.usage["input_tokens_details"]
    assert (details["cache_creation_tokens"], details["cache_creation_1h_tokens"]) == (1000, 900)
    family = converted(DATA / "claude-subagents")
    assert len(family) == 2
    (child,) = [one.session for name, one in family.items() if "-agent-" in name]
    assert child.header.spawned_by == "t1"


def test_much_unknown_content_is_loud(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    for number in range(20):
        log.other("brand-new", words="x" * 100, number=number)
    log.write(tmp_path)
    found = one(tmp_path)
    assert "unknown-content" in codes(found)
    kept = [record for record in found.records if record.code == "unknown-record"]
    assert len(kept) == 20
    assert all(record.disposition is Outcome.ENTRY for record in kept)


def test_paths_of_other_systems_are_kept(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go", cwd="C:\\Users\\dev\\project")
    log.say("a1", "m1", "One.", cwd="\\\\server\\share\\project")
    path = log.write(tmp_path)
    assert one(path).session.header.cwd == "C:\\Users\\dev\\project"
    assert json.loads(path.read_bytes().splitlines()[0])["cwd"].startswith("C:")
