"""Threads as sessions: calls, branches, copies, children, and what is said beside them."""

from __future__ import annotations

import json
import pickle
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from codex_files import (
    HOSTILE,
    OTHER,
    RECORDINGS,
    THREAD,
    called,
    codes,
    context,
    convert,
    counters,
    event,
    line,
    meta,
    returned,
    said,
    texts,
    write,
)

from agentsession import wire
from agentsession.entries import CompactionEntry, ItemEntry, ResponseEntry
from agentsession.errors import NoSession
from agentsession.importers.base import Converted, is_alarm
from agentsession.importers.codex import Codex, profile_of_response
from agentsession.importers.merge import merge
from agentsession.importers.plans import Action
from agentsession.reading import load
from agentsession.record_entries import (
    CustomEntry,
    DecisionEntry,
    DispatchEntry,
    InfoEntry,
    LinkEntry,
    QueuedEntry,
    RunEntry,
)
from agentsession.stores import MemoryStore
from agentsession.writing import dump

T = TypeVar("T")


def entries(converted: Converted, kind: type[T]) -> list[T]:
    return [entry for entry in converted.session.entries if isinstance(entry, kind)]


def hostile(name: str) -> Converted:
    importer = Codex()
    (source,) = importer.find([HOSTILE / f"{name}.jsonl"])
    (native,) = importer.sessions(source)
    return importer.convert(source, native.id)


# Awkward inputs.


def test_counters_that_are_written_again_count_once() -> None:
    converted = hostile("codex-token-count-reemitted")
    assert converted.totals["native"]["input_tokens"] == 250
    assert sum(r.usage["input_tokens"] for r in entries(converted, ResponseEntry) if r.usage) == 250
    importer = Codex()
    (source,) = importer.find([HOSTILE / "codex-token-count-reemitted.jsonl"])
    assert sum(r.usage["input_tokens"] for r in importer.usage_records(source)) == 250


def test_a_talk_on_two_tracks_is_one_talk() -> None:
    converted = hostile("codex-both-tracks")
    said_by = [(entry.item.role, entry.item.text) for entry in entries(converted, ItemEntry)]
    assert said_by == [("user", "hi"), ("assistant", "hello")]


def test_display_items_stand_in_where_there_are_no_others() -> None:
    converted = hostile("codex-item-completed-only")
    assert texts(converted) == ["hi", "hello"]
    kept = [record for record in converted.records if record.code == "unknown-item"]
    assert len(kept) == 1
    assert kept[0].entry_ids
    assert "unknown-content" in codes(converted)


def test_a_torn_record_is_one_damage() -> None:
    converted = hostile("codex-torn-then-rewritten")
    assert [e.item.type for e in entries(converted, ItemEntry)] == ["reasoning", "message"]
    assert [r.code for r in converted.records if is_alarm(r.code)] == ["unreadable-record"]


def test_a_whole_record_behind_a_cut_one_is_kept(tmp_path: Path) -> None:
    whole = json.dumps(said("user", "here")).encode().replace(b'{"timestamp": ', b'{"timestamp":')
    write(tmp_path, [meta(), b'{"timestamp":"2026-11-30T20:51:44Z","type":"resp' + whole])
    converted = convert(tmp_path)
    assert texts(converted) == ["here"]
    assert Counter(r.code for r in converted.records)["unreadable-record"] == 1


def test_unknown_records_are_kept_counted_and_loud(tmp_path: Path) -> None:
    odd = line("holograms", {"value": "x" * 900})
    write(tmp_path, [meta(), said("user", "hi"), odd, event("holo_event", a=1)])
    converted = convert(tmp_path)
    kept = {r.code: r for r in converted.records if r.code.startswith("unknown")}
    assert set(kept) == {"unknown-record", "unknown-event"}
    assert all(record.entry_ids for record in kept.values())
    assert "unknown-content" in codes(converted)


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize(
    ("odd", "code", "name"),
    [
        ({"timestamp": "2026-11-30T20:51:44Z", "zz": "planted"}, "unknown-record", "of no type"),
        ({"payload": {"zz": "planted"}}, "unknown-record", "of no type"),
        ({"payload": "planted", "type": None}, "unknown-record", "of no type"),
        (event("", zz="planted"), "unknown-event", "event_msg of no type"),
        (line("response_item", {"zz": "planted"}), "unknown-item", "response_item of no type"),
    ],
)
def test_a_line_without_a_type_is_named_and_kept(
    odd: dict[str, Any], code: str, name: str, copied: bool, tmp_path: Path
) -> None:
    more = [meta(OTHER), said("user", "before")] if copied else []
    lines = [meta(), *more, said("user", "hi"), odd, said("assistant", "ho")]
    write(tmp_path, lines)
    if copied:
        write(tmp_path, [meta(OTHER), *lines[2:5]], OTHER)
    converted = convert(tmp_path)
    (record,) = [r for r in converted.records if r.native_id.endswith(f":{lines.index(odd) + 1}")]
    assert record.entry_ids
    assert any("planted" in e.line.decode() for e in converted.session.entries)
    assert any(f.code == code and f.sentence.endswith(f": {name}") for f in converted.findings)


def unknown_notes(converted: Converted) -> dict[str, Any]:
    """What trailing entries hold of each record that no other entry does."""
    return {
        one["record"].rpartition(":")[2]: one["members"]
        for entry in entries(converted, CustomEntry)
        for one in cast("dict[str, Any]", entry.data).get("unknown", ())
    }


def test_what_stands_for_a_tool_of_a_world_and_is_no_digest_is_kept(tmp_path: Path) -> None:
    tools = {"shell": "0a" * 20, "mine.look": "1b" * 20, "odd": {"x": 1}, "worse": "no digest"}
    world = line("world_state", {"full": True, "state": {"top_level_tools": tools}})
    write(tmp_path, [meta(), world, said("user", "hi")])
    converted = convert(tmp_path)
    (kept,) = unknown_notes(converted).values()
    under = "payload.state.top_level_tools"
    assert kept == {f"{under}.odd.x": 1, f"{under}.worse": "no digest"}
    named = [f.sentence for f in converted.findings if f.code == "unknown-member"]
    assert [one.rpartition(": ")[2] for one in named] == [f"{under}.*.x", f"{under}.worse"]


def test_what_newer_releases_keep_of_a_world_and_beside_a_compaction_is_known(
    tmp_path: Path,
) -> None:
    state = {
        "orchestrator_skills": {"includeInstructions": True, "enabled": False},
        "personality": {"model": "m", "personality": "pragmatic"},
        "tools": {"helpers": "Tools that start helpers."},
    }
    source = {"server_name": "s", "tool_name": "t", "first_turn_id": "u"}
    metadata = {
        "history_sequence": 1,
        "compaction_without_file_error_sources": True,
        "mcp_attribution": {"status": "known", "sources": [source]},
    }
    before = {**said("user", "hi")["payload"], "guardian_metadata": metadata}
    kept = {"message": "", "replacement_history": [said("user", "hi")["payload"]]}
    write(
        tmp_path,
        [
            meta(),
            line("world_state", {"full": True, "state": state}),
            said("user", "hi"),
            event("user_message", message="hi", image_order=["inline"]),
            line("compacted", {**kept, "guardian_history": [before]}),
        ],
    )
    converted = convert(tmp_path)
    assert not codes(converted) & {"unknown-member", "unknown-kind", "unknown-content"}
    (fold,) = entries(converted, CompactionEntry)
    assert cast("dict[str, Any]", fold.unknown["codex"])["guardian_history"] == [before]
    # It is looked into as the history is.
    odd = {**before, "new": 1, "guardian_metadata": {**metadata, "newer": 2}}
    write(tmp_path, [meta(), line("compacted", {**kept, "guardian_history": [odd]})])
    named = [f.sentence for f in convert(tmp_path).findings if f.code == "unknown-member"]
    under = "payload.guardian_history[]"
    assert [one.rpartition(": ")[2] for one in named] == [
        f"{under}.new",
        f"{under}.guardian_metadata.newer",
    ]


def test_new_members_of_what_is_only_shown_are_kept_and_told(tmp_path: Path) -> None:
    used = {"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}
    count = {"response_id": "r", "usage": used, "thread_token_usage": {**used, "new": 6}}
    shown = {"type": "AgentMessage", "id": "i", "content": [], "new": 8}
    held = [
        (event("user_message", message="hi", new=1), {"payload.new": 1}),
        (event("agent_message", message="yes", new=2), {"payload.new": 2}),
        (event("agent_reasoning", text="so", new=3), {"payload.new": 3}),
        (event("context_compacted", new=4), {"payload.new": 4}),
        (line("world_state", {"full": True, "state": {}, "new": 5}), {"payload.new": 5}),
        (line("token_usage_record", count), {"payload.thread_token_usage.new": 6}),
        (event("item_completed", item=shown), {"payload.item.new": 8}),
    ]
    write(tmp_path, [meta(), said("user", "hi " * 900), *(one for one, _ in held)])
    converted = convert(tmp_path)
    kept = unknown_notes(converted)
    assert kept == {str(at): members for at, (_, members) in enumerate(held, 3)}
    told = [f for f in converted.findings if f.code == "unknown-member"]
    assert sum(f.count for f in told) == len(held)
    assert "unknown-content" not in codes(converted)
    for record in converted.records[2:]:
        assert record.entry_ids
    # What is much of a file is loud, wherever it stands.
    write(tmp_path, [meta(), event("user_message", message="hi", new="x" * 900)])
    assert "unknown-content" in codes(convert(tmp_path))


def test_new_members_of_copied_lines_are_kept_and_told(tmp_path: Path) -> None:
    odd = {**said("user", "hi"), "new": 1}
    copied = [
        {**meta(OTHER), "new": 2},
        odd,
        event("user_message", message="hi", new=3),
        line("holograms", {"value": 4}),
    ]
    write(tmp_path, copied, OTHER)
    write(tmp_path, [meta(forked_from_id=OTHER), *copied, said("user", "mine")])
    kept = unknown_notes(convert(tmp_path))
    expected = [{"new": 2}, {"new": 1}, {"payload.new": 3}]
    assert [kept[str(at)] for at in (2, 3, 4)] == expected
    assert kept["5"]["payload"]["payload"] == {"value": 4}


def test_new_members_of_shown_items_that_are_kept_whole_are_kept_once(tmp_path: Path) -> None:
    item = {"type": "ImageView", "id": "i", "path": "/p", "new": 1}
    write(tmp_path, [meta(), event("item_completed", item=item)])
    converted = convert(tmp_path)
    assert unknown_notes(converted) == {}
    assert "unknown-member" in codes(converted)


def test_an_unknown_member_of_a_repeated_turn_context_is_said_once(tmp_path: Path) -> None:
    told = {"later": {"x": 1}}
    lines = [meta(), context(**told), said("user", "one"), said("assistant", "first")]
    lines += [context(**told), said("user", "two"), said("assistant", "second")]
    lines += [context(later={"x": 2}), said("user", "three"), said("assistant", "third")]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    (found,) = [f for f in converted.findings if f.code == "unknown-member"]
    assert (found.sentence.rpartition(": ")[2], found.count) == ("payload.later", 2)
    kept = [e.line for e in converted.session.entries if b'"later"' in e.line]
    assert [b'"later":{"x":1}' in one for one in kept] == [True, False]


def test_what_is_unknown_is_measured_file_by_file(tmp_path: Path) -> None:
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 2}
    odd = {**line("holograms", {"value": "x" * 900}), "ordinal": 3}
    first = [{**meta(), "ordinal": 0}, {**said("user", "long " * 9000), "ordinal": 1}]
    write(tmp_path, first)
    later = {**meta(history_base=base), "ordinal": 2}
    write(tmp_path, [later, odd], segment=OTHER)
    (found,) = [f for f in convert(tmp_path).findings if f.code == "unknown-content"]
    assert OTHER in found.where
    # What a file goes on from is no part of it.
    write(tmp_path, [*first[:1], {**odd, "ordinal": 1}])
    write(tmp_path, [later, {**said("user", "on"), "ordinal": 3}], segment=OTHER)
    (found,) = [f for f in convert(tmp_path).findings if f.code == "unknown-content"]
    assert found.count == 1
    assert OTHER not in found.where


# Calls.


def test_a_broken_answer_that_was_kept_is_one_response_with_its_retry(tmp_path: Path) -> None:
    """0.77 and 0.101: the retry's body is the first one's, later requests hold both answers."""
    lines = [
        meta(version="0.101.0"),
        said("user", "one"),
        context(),
        said("assistant", "One."),
        counters(10, 10),
        said("user", "two"),
        context(),
        counters(10, 10),
        said("assistant", "broken"),
        context(),
        counters(10, 10),
        said("assistant", "whole"),
        counters(20, 10),
    ]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    first, second = entries(converted, ResponseEntry)
    sent = converted.session.request_context(second.id)
    assert [item.text for item in sent.items] == ["one", "One.", "two"]
    assert texts(converted)[3:] == ["broken", "whole"]
    assert second.unknown["codex"]["attempts"] == 2
    assert first.status == second.status == "completed"


def test_counters_between_two_answers_part_them(tmp_path: Path) -> None:
    """0.125: the retry holds what the broken answer left."""
    turn = context(turn_id="t", permission_profile={})
    lines = [
        meta(version="0.125.0"),
        event("task_started", turn_id="t"),
        turn,
        said("user", "one"),
        said("assistant", "broken"),
        counters(10, 10),
    ]
    again = [*lines, counters(10, 10), event("task_complete", turn_id="t")]
    more = [
        event("task_started", turn_id="u"),
        said("user", "two"),
        said("assistant", "half"),
        counters(10, 10),
        said("assistant", "whole"),
        counters(20, 10),
        event("task_complete", turn_id="u"),
    ]
    write(tmp_path, [*again, *more])
    converted = convert(tmp_path)
    responses = entries(converted, ResponseEntry)
    assert [r.status for r in responses] == ["completed", "incomplete", "completed"]
    sent = converted.session.request_context(responses[2].id)
    assert [item.text for item in sent.items] == ["one", "broken", "two", "half"]


def test_a_failed_turn_is_a_failed_response(tmp_path: Path) -> None:
    error = {"message": "no quota", "codex_error_info": "usage_limit_exceeded"}
    lines = [
        meta(),
        event("task_started", turn_id="t"),
        context(turn_id="t", permission_profile={}),
        said("user", "hi"),
        event("task_complete", turn_id="t", error=error),
    ]
    write(tmp_path, lines)
    (response,) = entries(convert(tmp_path), ResponseEntry)
    assert response.status == "failed"
    assert response.error == {"code": "usage_limit_exceeded", "message": "no quota"}
    assert [run.reason for run in entries(convert(tmp_path), RunEntry)] == ["", "error"]


def test_items_of_a_response_among_its_outputs_stay_where_they_were_sent(tmp_path: Path) -> None:
    lines = [
        meta(version="0.45.0"),
        said("user", "go"),
        context(),
        counters(10, 10),
        called("a"),
        returned("a", "A"),
        called("b"),
        returned("b", "B"),
        context(),
        counters(20, 10),
        said("assistant", "done"),
    ]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    _, second = entries(converted, ResponseEntry)
    sent = converted.session.request_context(second.id)
    assert [item.call_id for item in sent.items] == ["", "a", "a", "b", "b"]
    assert "interleaved-response" in codes(converted)


def test_shell_outputs_are_text_for_models_that_patch_freely(tmp_path: Path) -> None:
    stored = {"output": "two\n", "metadata": {"exit_code": 0, "duration_seconds": 4.0}}
    lines = [
        meta(version="0.45.0"),
        said("user", "go"),
        context(),
        counters(10, 10),
        called("a", "shell"),
        returned("a", json.dumps(stored)),
        context(),
        counters(20, 10),
        said("assistant", "done"),
    ]
    write(tmp_path, lines)
    session = convert(tmp_path).session
    response = [e for e in session.entries if isinstance(e, ResponseEntry)][-1]
    pieces = wire.request_pieces(session.path(response.id))
    sent = wire.responses_input(pieces, wire.target_of(response), profile_of_response(response))
    assert sent[-1]["output"] == "Exit code: 0\nWall time: 4 seconds\nOutput:\ntwo\n"
    assert json.loads(session.path(response.id)[-3].contribution().output) == stored


def test_a_kill_is_answered_only_when_the_thread_goes_on(tmp_path: Path) -> None:
    killed = [
        meta(),
        event("task_started", turn_id="t"),
        said("user", "go"),
        called("a"),
        counters(10, 10),
    ]
    write(tmp_path, killed)
    assert [call.id for call in convert(tmp_path).session.pending_calls()] == ["a"]
    more = [
        event("task_started", turn_id="u"),
        said("user", "again"),
        said("assistant", "back"),
        counters(20, 10),
    ]
    write(tmp_path, [*killed, *more])
    converted = convert(tmp_path)
    sent = converted.session.request_context(entries(converted, ResponseEntry)[-1].id)
    assert [item.output for item in sent.items][-2] == "aborted"
    (made,) = [e for e in entries(converted, ItemEntry) if e.item.output == "aborted"]
    assert made.visible is False
    assert "aborted-output" in codes(converted)


def test_an_output_that_was_too_late_takes_the_place_of_the_made_one(tmp_path: Path) -> None:
    lines = [
        meta(),
        event("task_started", turn_id="t"),
        said("user", "go"),
        called("a"),
        counters(10, 10),
        event("task_started", turn_id="u"),
        said("user", "again"),
        returned("a", "late"),
        said("assistant", "back"),
        counters(20, 10),
    ]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    last = entries(converted, ResponseEntry)[-1]
    sent = converted.session.request_context(last.id)
    assert [item.output for item in sent.items if item.output] == ["late"]


def test_an_output_without_its_call_is_kept_beside_the_items(tmp_path: Path) -> None:
    write(tmp_path, [meta(), said("user", "go"), returned("nobody")])
    converted = convert(tmp_path)
    assert texts(converted) == ["go"]
    assert "orphan-output" in codes(converted)


# Branches.


def rollback(tmp_path: Path, version: str) -> list[str]:
    lines = [
        meta(version=version),
        said("user", "<environment_context>x"),
        said("user", "one"),
        said("assistant", "One."),
        counters(10, 10),
        said("developer", "<model_switch>"),
        said("user", "two"),
        said("assistant", "Two."),
        counters(20, 10),
        event("thread_rolled_back", num_turns=1),
        said("user", "again"),
        said("assistant", "Again."),
        counters(30, 10),
    ]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    assert "rolled-back" in codes(converted)
    assert not entries(converted, CompactionEntry)
    assert len(converted.session.leaves) > 1
    return texts(converted)


def test_a_rollback_is_a_branch(tmp_path: Path) -> None:
    begun = ["<environment_context>x", "one", "One."]
    ended = ["again", "Again."]
    assert rollback(tmp_path, "0.115.0") == [*begun, "<model_switch>", *ended]
    assert rollback(tmp_path, "0.125.0") == [*begun, *ended]


def test_segments_of_a_thread_are_one_tree(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(RECORDINGS / "0.171.0-branch" / "codex", home)
    converted = convert(home)
    found = texts(converted)
    assert found[2:] == [
        "First question",
        "Answer 1.",
        "After a double rollback",
        "Answer 10.",
        "After resume of the reverted",
        "Answer 11.",
    ]
    everything = " ".join(e.item.text for e in entries(converted, ItemEntry))
    assert "Third question, again" in everything
    assert everything.count("First question") == 1
    assert "older-segment" in codes(converted)
    fork = convert(home, OTHER)
    assert fork.session.header.parent_session == THREAD
    assert [(e.rel, e.session) for e in entries(fork, LinkEntry)] == [("fork_of", THREAD)]


@pytest.mark.parametrize("place", ["C:\\Users\\dev\\.codex\\sessions\\", "/home/dev/.codex/"])
@pytest.mark.parametrize("last", ["4", "8", "11"])
def test_the_database_says_which_segment_is_current(tmp_path: Path, place: str, last: str) -> None:
    """Also one that others go on from, and so is not read last."""
    import sqlite3

    home = tmp_path / "home"
    shutil.copytree(RECORDINGS / "0.171.0-branch" / "codex", home)
    files = sorted(path.name for path in home.rglob(f"rollout-*{THREAD}*.jsonl"))
    name = dict(zip(("4", "8", "11"), files, strict=True))[last]
    database = sqlite3.connect(home / "state_5.sqlite")
    database.execute("CREATE TABLE threads (id TEXT, name TEXT, rollout_path TEXT)")
    database.execute("INSERT INTO threads VALUES (?, '', ?)", (THREAD, place + name))
    database.commit()
    database.close()
    assert texts(convert(home))[-1] == f"Answer {last}."


def test_a_fork_without_its_origin_is_told_by_its_turns(tmp_path: Path) -> None:
    whole, alone = tmp_path / "whole", tmp_path / "alone"
    shutil.copytree(RECORDINGS / "0.145.0-branch" / "codex", whole)
    importer = Codex()
    (source,) = importer.find([whole])
    (fork,) = [n for n in importer.sessions(source) if "archived" in n.copies[0]]
    alone.mkdir()
    shutil.copy(fork.copies[0], alone)
    lonely, beside = convert(alone, fork.id), convert(whole, fork.id)
    assert "fork-origin-unknown" in codes(lonely)
    responses = [e.response_id for e in entries(lonely, ResponseEntry)]
    assert responses == [e.response_id for e in entries(beside, ResponseEntry)]
    assert lonely.totals == beside.totals


def test_a_base_that_is_gone_is_told(tmp_path: Path) -> None:
    base = {"thread_id": OTHER, "end_ordinal_exclusive": 9}
    lines = [meta(history_base=base, forked_from_id=OTHER), said("user", "hi")]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    assert {"base-missing", "fork-origin-unknown"} <= codes(converted)
    assert texts(converted) == ["hi"]


def test_bases_that_name_each_other_end(tmp_path: Path) -> None:
    for thread, other in ((THREAD, OTHER), (OTHER, THREAD)):
        base = {"thread_id": other, "end_ordinal_exclusive": 9}
        write(tmp_path, [meta(thread, history_base=base), said("user", thread)], thread)
    assert set(texts(convert(tmp_path))) == {THREAD, OTHER}


# Children, tools, and what stands beside the files.


def test_children_are_linked_to_the_calls_that_made_them() -> None:
    importer = Codex()
    (source,) = importer.find([RECORDINGS / "0.171.0-subagent"])
    parent, *children = importer.sessions(source)
    links = entries(importer.convert(source, parent.id), LinkEntry)
    assert [(e.rel, e.call_id) for e in links] == [
        ("subsession", "call_1_0"),
        ("subsession", "call_1_1"),
    ]
    for child in children:
        header = importer.convert(source, child.id).session.header
        assert header.parent_session == parent.id
        assert header.spawned_by in {"call_1_0", "call_1_1"}


def test_a_declined_command_is_a_decision(tmp_path: Path) -> None:
    words = 'exec_command failed for `rm`: CreateProcess { message: "Rejected(\\"no\\")" }'
    write(tmp_path, [meta(), said("user", "go"), called("a"), returned("a", words)])
    with_end = [meta(), said("user", "go"), called("a"), returned("a", words), counters(10, 10)]
    write(tmp_path, with_end)
    (decision,) = entries(convert(tmp_path), DecisionEntry)
    assert (decision.call_id, decision.verdict, decision.by) == ("a", "reject", "human")


def test_durations_stand_beside_the_outputs() -> None:
    importer = Codex()
    (source,) = importer.find([RECORDINGS / "0.171.0-busy"])
    (native,) = importer.sessions(source)
    converted = importer.convert(source, native.id)
    beside = [e.unknown["codex"] for e in entries(converted, ItemEntry) if e.item.output]
    shown = [told["shown"] for told in beside if "shown" in told]
    assert shown
    assert all(told["duration_ms"] >= 0 for told in shown)
    assert len(entries(converted, DispatchEntry)) == len(shown)


def test_queued_input_waits_below_the_last_entry() -> None:
    importer = Codex()
    (source,) = importer.find([RECORDINGS / "0.171.0-extras"])
    (native,) = importer.sessions(source)
    converted = importer.convert(source, native.id)
    (queued,) = entries(converted, QueuedEntry)
    assert queued.item.text == "A queued message for later"
    assert "queued-input" in codes(converted)


def test_a_database_that_names_the_current_file_is_believed(tmp_path: Path) -> None:
    import sqlite3

    later = "01a22e3a-52c6-7e13-82a9-f149f4a8fd38"
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 2}
    write(tmp_path, [{**meta(), "ordinal": 0}, {**said("user", "one"), "ordinal": 1}])
    newer = {**meta(history_base=base), "timestamp": "2026-11-30T21:00:00Z", "ordinal": 2}
    write(tmp_path, [newer, {**said("user", "two"), "ordinal": 3}], segment=later)
    assert texts(convert(tmp_path)) == ["one", "two"]
    database = sqlite3.connect(tmp_path / "state_5.sqlite")
    database.execute("CREATE TABLE threads (id TEXT, name TEXT, rollout_path TEXT)")
    current = f"C:\\Users\\dev\\rollout-2026-11-30T20-51-43-{THREAD}_{later}.jsonl"
    database.execute("INSERT INTO threads VALUES (?, 'A name', ?)", (THREAD, current))
    database.commit()
    database.close()
    converted = convert(tmp_path)
    assert texts(converted) == ["one", "two"]
    assert [entry.name for entry in entries(converted, InfoEntry)] == ["A name"]


# Sources.


def test_a_file_a_folder_and_a_copied_home_are_found(tmp_path: Path) -> None:
    home = tmp_path / "copied" / ".codex"
    cwd = "\\\\server\\share\\proj"
    path = write(home, [meta(cwd=cwd), said("user", "hi")])
    importer = Codex()
    for place in (path, path.parent, home / "sessions", home, tmp_path / "copied", tmp_path):
        (source,) = importer.find([place])
        (native,) = importer.sessions(source)
        assert (native.id, native.directory) == (THREAD, cwd)
        assert importer.convert(source, native.id).session.header.cwd == cwd
    assert importer.find([tmp_path / "nowhere"]) == ()
    (tmp_path / "notes.jsonl").write_text('{"hello": 1}\n')
    assert importer.find([tmp_path / "notes.jsonl"]) == ()


def test_the_users_own_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert Codex().find() == ()
    write(tmp_path, [meta()])
    assert [source.paths for source in Codex().find()] == [(str(tmp_path),)]


def test_copies_of_a_file_are_counted_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, [meta(), said("user", "hi"), said("user", "more")])
    older = tmp_path / "archived_sessions" / path.name
    older.parent.mkdir()
    older.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    converted = convert(tmp_path)
    assert Counter(r.code for r in converted.records)["other-copy"] == 2
    importer = Codex()
    (source,) = importer.find([tmp_path])
    assert importer.report(source).read == len(converted.records)


def every_text(converted: Converted) -> set[str]:
    return {e.item.text for e in converted.session.entries if isinstance(e, ItemEntry)}


def test_copies_that_went_on_differently_are_branches(tmp_path: Path) -> None:
    began = [meta(), said("user", "q"), said("assistant", "a"), counters(100, 100)]
    one = [*began, said("user", "q2"), said("assistant", "b"), counters(200, 100)]
    one += [said("user", "q3"), said("assistant", "c"), counters(300, 100)]
    two = [*began, said("user", "OTHER"), said("assistant", "d"), counters(300, 200)]
    write(tmp_path / "x", one)
    other = write(tmp_path / "y", two)
    older = write(tmp_path / "z", two[:-1])
    importer = Codex()
    (source,) = importer.find([tmp_path])
    (native,) = importer.sessions(source)
    converted = importer.convert(source, native.id)
    assert every_text(converted) == {"q", "a", "q2", "b", "q3", "c", "OTHER", "d"}
    # The session stands where the copy that was joined last ended.
    assert texts(converted) == ["q", "a", "OTHER", "d"]
    assert Counter(r.code for r in converted.records)["other-copy"] == len(two) - 1
    known = {entry.id for entry in converted.session.entries}
    assert all(set(record.entry_ids) <= known for record in converted.records)
    rest = importer.report(source)
    assert rest.read == len(converted.records) == len(one) + 2 * len(two) - 1
    (told,) = rest.findings
    assert (told.code, told.where) == ("diverged-copy", str(other))
    assert str(older) not in told.where
    used = [record.usage["input_tokens"] for record in importer.usage_records(source)]
    assert used == [100, 100, 100, 200]
    # As two imports leave it; another import of all finds nothing new.
    both, apart = MemoryStore(), MemoryStore()
    assert merge(both, converted.session).action == Action.CREATED
    assert merge(both, converted.session).action == Action.UNCHANGED
    merge(apart, convert(tmp_path / "x").session)
    merge(apart, convert(tmp_path / "y").session)
    assert dump(both.open(native.id)) == dump(apart.open(native.id))


def test_a_diverged_fork_knows_where_it_comes_from(tmp_path: Path) -> None:
    parent = [meta(OTHER), said("user", "q"), said("assistant", "a"), counters(100, 100)]
    began = [meta(forked_from_id=OTHER), *parent]
    write(tmp_path / "x", parent, OTHER)
    write(tmp_path / "x", [*began, said("user", "one"), said("user", "longer")])
    write(tmp_path / "y", [*began, said("user", "two")])
    converted = convert(tmp_path)
    assert "fork-origin-unknown" not in codes(converted)
    assert {"one", "longer", "two"} <= every_text(converted)
    importer = Codex()
    (source,) = importer.find([tmp_path])
    assert [native.id for native in importer.sessions(source)] == [OTHER, THREAD]
    assert len(list(importer.usage_records(source))) == 1


def test_an_unknown_thread_is_refused(tmp_path: Path) -> None:
    write(tmp_path, [meta()])
    with pytest.raises(NoSession):
        convert(tmp_path, OTHER)


def test_two_conversions_give_the_same_bytes() -> None:
    for recording in sorted(RECORDINGS.iterdir()):
        first, second = Codex(), pickle.loads(pickle.dumps(Codex()))
        (source,) = first.find([recording])
        for native in first.sessions(source):
            done = dump(first.convert(source, native.id).session)
            assert done == dump(second.convert(source, native.id).session)
            assert dump(load(done)) == done


@pytest.mark.parametrize("name", ["0.171.0-busy", "0.171.0-killed", "0.145.0-remote"])
def test_a_grown_thread_appends_only_what_is_new(name: str, tmp_path: Path) -> None:
    home = tmp_path / name
    shutil.copytree(RECORDINGS / name, home)
    (path,) = (home / "codex").rglob("rollout-*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    store = MemoryStore()
    for count in [*range(1, len(lines), 3), len(lines)]:
        path.write_bytes(b"".join(lines[:count]))
        importer = Codex()
        (source,) = importer.find([home])
        (native,) = importer.sessions(source)
        converted = importer.convert(source, native.id).session
        assert merge(store, converted).action is not Action.BRANCHED
        stored = store.open(native.id)
        assert {entry.id for entry in converted.entries} <= {e.id for e in stored.entries}
        assert stored.context().items == converted.context().items


def test_usage_of_forks_and_segments_is_counted_once() -> None:
    for name in ("0.171.0-branch", "0.145.0-branch", "0.171.0-mixedver"):
        importer = Codex()
        (source,) = importer.find([RECORDINGS / name])
        records = list(importer.usage_records(source))
        native = sum(
            importer.convert(source, n.id).totals["native"]["input_tokens"]
            for n in importer.sessions(source)
        )
        assert sum(r.usage["input_tokens"] for r in records) == native
        assert {r.model for r in records} == {"gpt-5-codex"}
