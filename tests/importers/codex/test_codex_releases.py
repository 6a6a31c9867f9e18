"""What differs from release to release, as releases were seen to do it against a mock server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from codex_files import (
    OTHER,
    Lines,
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
    write,
)

from agentsession import wire
from agentsession.entries import ItemEntry, ResponseEntry
from agentsession.importers.base import Converted
from agentsession.importers.codex import profile_of_response
from agentsession.importers.codex.lines import decoded
from agentsession.importers.codex.releases import at_least, version_of

TURN = {"current_date": "2026-11-30"}


def responses(converted: Converted) -> list[ResponseEntry]:
    return [e for e in converted.session.entries if isinstance(e, ResponseEntry)]


def requests(converted: Converted) -> list[list[str]]:
    """The texts of each request, oldest first."""
    session = converted.session
    return [[i.text for i in session.request_context(r.id).items] for r in responses(converted)]


def turn(name: str, words: str, *rest: dict[str, Any]) -> Lines:
    start = event("task_started", turn_id=name)
    lines = [start, context(turn_id=name, **TURN), said("user", words), *rest]
    return [*lines, event("task_complete", turn_id=name)]


def answered(words: str, total: int) -> Lines:
    return [said("assistant", words), counters(total, 10)]


# Rollbacks.


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(("turns", "left"), [(1, 4), (2, 3), (3, 2), (9, 0)])
def test_a_summary_counts_as_a_turn(tmp_path: Path, named: bool, turns: int, left: int) -> None:
    """Whether its kind is recorded or not: it is a message of the user to Codex."""
    summary = "Another language model started to solve this problem. Summary."
    kept = [said("user", words)["payload"] for words in ("one", "two", summary)]
    if named:
        for item, kind in zip(kept, ("user.text", "user.text", "compaction.summary"), strict=True):
            beside = {"content_item_kinds": [kind]}
            item["internal_chat_message_metadata_passthrough"] = beside
    compacted = line("compacted", {"message": summary, "replacement_history": kept})
    lines = [
        meta(version="0.105.0"),
        *turn("t1", "one", *answered("One.", 10)),
        *turn("t2", "two", *answered("Two.", 20)),
        compacted,
        *turn("t3", "three", *answered("Three.", 30)),
        event("thread_rolled_back", num_turns=turns - 1),
        event("thread_rolled_back", num_turns=1),
        *turn("t4", "four", *answered("Four.", 40)),
    ]
    write(tmp_path, lines)
    found = requests(convert(tmp_path))[-1]
    every = ["one", "two", summary, "three"]
    assert found == [*every[: max(left - 1, 0)], "four"]


@pytest.mark.parametrize(("version", "stays"), [("0.116.0", True), ("0.117.0", False)])
def test_context_before_a_dropped_turn_goes_from_0_117_on(
    tmp_path: Path, version: str, stays: bool
) -> None:
    lines = [
        meta(version=version),
        said("user", "one"),
        *answered("One.", 10),
        said("developer", "<model_switch>"),
        said("user", "two"),
        *answered("Two.", 20),
        event("thread_rolled_back", num_turns=1),
        said("user", "three"),
        *answered("Three.", 30),
    ]
    write(tmp_path, lines)
    switch = ["<model_switch>"] if stays else []
    assert requests(convert(tmp_path))[-1] == ["one", "One.", *switch, "three"]


# Broken answers.


def folded(*words: str) -> Lines:
    """A turn of a compaction, and the history that it says is left."""
    kept = [said("user", one)["payload"] for one in words]
    line_of = line("compacted", {"message": words[-1], "replacement_history": kept})
    return [event("task_started", turn_id="f"), line_of, event("task_complete", turn_id="f")]


SUMMARY = "Another language model started to solve this problem: so far."


def dropped(tmp_path: Path, version: str, *before: dict[str, Any]) -> Converted:
    """A rollback over a compaction, and what a newer release goes on with."""
    lines = [
        meta(version=version),
        *turn("t1", "one", *answered("One.", 10)),
        *before,
        *turn("t2", "two", *answered("Two.", 20)),
        *folded("one", "two", SUMMARY),
        *turn("t3", "three", *answered("Three.", 30)),
        event("thread_rolled_back", num_turns=2),
        *turn("t4", "four", *answered("Four.", 40)),
        event("task_started", turn_id="t5"),
        context(turn_id="t5", approvals_reviewer="user"),
        {**said("user", "five"), "metadata": {"history_sequence": 99}},
        *answered("Five.", 50),
    ]
    write(tmp_path, lines)
    return convert(tmp_path)


@pytest.mark.parametrize("version", ["0.113.0", "0.125.0", "0.150.1"])
def test_a_dropped_compaction_takes_what_was_before_it(tmp_path: Path, version: str) -> None:
    """Codex read on behind it; from 0.160 on it goes with its turn and leaves the rest."""
    *_, fourth, fifth = requests(dropped(tmp_path, version))
    assert fourth == ["four"]
    assert fifth == ["one", "One.", "four", "Four.", "five"]


def test_up_to_0_112_a_process_goes_on_from_a_dropped_compaction(tmp_path: Path) -> None:
    fourth = requests(dropped(tmp_path, "0.110.0"))[-2]
    assert fourth == ["one", "two", "four"]


def test_a_compaction_before_a_dropped_one_is_gone_on_from(tmp_path: Path) -> None:
    fourth = requests(dropped(tmp_path, "0.125.0", *folded("one", SUMMARY)))[-2]
    assert fourth == ["one", "two", "four"]


def test_a_newer_release_drops_context_of_an_older_rollback(tmp_path: Path) -> None:
    """What told of an interrupt stood before the turn that was dropped."""
    lines = [
        meta(version="0.110.0"),
        *turn("t1", "one", said("user", CUT)),
        *turn("t2", "two", *answered("Two.", 20)),
        event("thread_rolled_back", num_turns=1),
        *turn("t3", "three", *answered("Three.", 30)),
        event("task_started", turn_id="t4"),
        context(turn_id="t4", permission_profile={}),
        said("user", "four"),
        *answered("Four.", 40),
    ]
    write(tmp_path, lines)
    *_, third, fourth = requests(convert(tmp_path))
    assert third == ["one", CUT, "three"]
    assert fourth == ["one", "three", "Three.", "four"]


def broken(tmp_path: Path, version: str) -> Converted:
    rest = [
        counters(10, 10),
        said("assistant", "broken"),
        called("c1"),
        counters(10, 10),
        said("assistant", "whole"),
        counters(20, 10),
    ]
    begun = [meta(version=version), *turn("t1", "one", *answered("One.", 10))]
    write(tmp_path, [*begun, *turn("t2", "two", *rest), *turn("t3", "on", *answered("Yes.", 30))])
    return convert(tmp_path)


@pytest.mark.parametrize("version", ["0.106.0", "0.115.0", "0.120.0"])
def test_up_to_0_120_a_retry_is_the_same_request(tmp_path: Path, version: str) -> None:
    """Turn contexts mark no calls any more: counters that are written again do."""
    converted = broken(tmp_path, version)
    first, second, third = requests(converted)
    assert (first, second) == (["one"], ["one", "One.", "two"])
    said_before = ["one", "One.", "two", "broken"]
    assert [words for words in third if words] == [*said_before, "aborted", "whole", "on"]
    assert [r.unknown["codex"].get("attempts", 1) for r in responses(converted)] == [1, 2, 1]
    assert [r.status for r in responses(converted)] == ["completed"] * 3


@pytest.mark.parametrize("version", ["0.121.0", "0.145.0"])
def test_from_0_121_on_a_retry_holds_what_came(tmp_path: Path, version: str) -> None:
    found = requests(broken(tmp_path, version))
    assert [words for words in found[2] if words] == ["one", "One.", "two", "broken", "aborted"]
    assert len(found) == 4


# Messages while it works.


def steered(tmp_path: Path, second: str) -> list[list[str]]:
    late = {**said("user", "two"), "timestamp": second}
    write(tmp_path, [meta(), *turn("t1", "one", late, *answered("Both.", 10))])
    return requests(convert(tmp_path))


def test_messages_that_were_taken_up_together_are_one_request(tmp_path: Path) -> None:
    assert steered(tmp_path, "2026-11-30T20:51:44.052Z") == [["one", "two"]]


@pytest.mark.parametrize("time", ["2026-11-30T20:51:45.063Z", "2026-11-30T20:51:43.000Z", "never"])
def test_a_message_that_came_later_cut_an_answer(tmp_path: Path, time: str) -> None:
    assert steered(tmp_path, time) == [["one"], ["one", "two"]]


def test_without_turns_each_message_asked_for_itself(tmp_path: Path) -> None:
    lines = [meta(version="0.34.0"), said("user", "one"), said("user", "two")]
    write(tmp_path, [*lines, *answered("Yes.", 10)])
    assert requests(convert(tmp_path)) == [["one"], ["one", "two"]]


@pytest.mark.parametrize("role", ["user", "developer"])
@pytest.mark.parametrize("cut", [True, False])
def test_a_mark_that_an_interrupt_follows_may_be_of_no_call(
    tmp_path: Path, cut: bool, role: str
) -> None:
    """0.104 to 0.109 write it where a tool has returned, and then look for the interrupt."""
    marked = line("turn_context", {"model": "gpt-5-codex", "turn_id": "t1"})
    begun = [meta(version="0.106.0"), event("task_started", turn_id="t1"), said("user", "one")]
    called_once = [marked, called("c1"), counters(10, 10), returned("c1"), marked]
    end = [said(role, "<turn_aborted>"), event("turn_aborted", turn_id="t1")]
    write(tmp_path, [*begun, *called_once, *(end if cut else answered("Yes.", 20))])
    first, second = responses(convert(tmp_path))
    assert "uncertain" not in first.unknown["codex"]
    assert second.unknown["codex"].get("uncertain", False) is cut


# Mixed releases.


def ids(converted: Converted) -> list[list[str]]:
    """The ids that each request was sent with."""
    found = []
    for response in responses(converted):
        pieces = wire.request_pieces(converted.session.path(response.id))
        profile = profile_of_response(response)
        sent = wire.responses_input(pieces, wire.target_of(response), profile)
        found.append([item.get("id", "") for item in sent])
    return found


def test_a_newer_release_that_goes_on_spells_as_it_does(tmp_path: Path) -> None:
    """A thread names the one that made it alone; 0.145 stores ids of answers and sends none."""
    first = turn("t1", "one", said("assistant", "One.", id="msg_1"), counters(10, 10))
    again = turn("t2", "two", said("assistant", "Two.", id="msg_2"), counters(20, 10))
    newer = turn("t3", "three", said("assistant", "Three.", id="msg_3"), counters(30, 10))
    newer[2]["payload"]["id"] = "msg_u3"
    write(tmp_path, [meta(version="0.145.0"), *first, *again, *newer])
    converted = convert(tmp_path)
    assert ids(converted) == [[""], ["", "", ""], ["", "msg_1", "", "msg_2", "msg_u3"]]
    told = [r.unknown["codex"]["release"] for r in responses(converted)]
    assert told == ["0.145.0", "0.145.0", "0.146.0"]


@pytest.mark.parametrize(
    ("written", "release"),
    [
        (context(truncation_policy={}), "0.79.0"),
        (context(truncation_policy={}, collaboration_mode={}), "0.90.0"),
        (context(realtime_active=False, collaboration_mode={}), "0.110.0"),
        (context(permission_profile={}, realtime_active=False), "0.124.0"),
        (context(approvals_reviewer="user", permission_profile={}), "0.145.0"),
        (event("thread_settings_applied"), "0.145.0"),
        (said("user", "Hi", id="msg_1"), "0.146.0"),
        ({**said("user", "Hi"), "metadata": {"history_sequence": 1}}, "0.160.0"),
        (said("user", "<user_action>\n", id="msg_1"), ""),
        (said("user", "Hi"), ""),
        (said("user", "Hi", id=None), ""),
        (said("assistant", "Hi", id="msg_1"), ""),
        (returned("c1"), ""),
        (context(current_date="2026-11-30"), "0.107.0"),
        (context(), ""),
        (event("task_started"), ""),
    ],
)
def test_what_a_line_tells_of_its_release(written: dict[str, Any], release: str) -> None:
    assert at_least(decoded(json.dumps(written).encode(), "here:1")) == release


def test_versions_compare_by_their_numbers() -> None:
    assert version_of("0.146.1") > version_of("0.146.0") > version_of("0.99.0")


# How much a model takes.


def test_a_response_says_what_its_model_took_of_an_output(tmp_path: Path) -> None:
    policy = {"mode": "bytes", "limit": 10_000}
    start = [meta(version="0.123.0"), event("task_started", turn_id="t")]
    begun = [*start, context(turn_id="t", truncation_policy=policy), said("user", "Go")]
    rest = [called("c1"), counters(10, 10), returned("c1", "a" * 40_000)]
    write(tmp_path, [*begun, *rest, *answered("Yes.", 20)])
    converted = convert(tmp_path)
    second = responses(converted)[1]
    assert second.unknown["codex"]["truncation_policy"] == policy
    pieces = wire.request_pieces(converted.session.path(second.id))
    profile = profile_of_response(second)
    output = wire.responses_input(pieces, wire.target_of(second), profile)[-1]["output"]
    assert output == "a" * 6_000 + "…28000 chars truncated…" + "a" * 6_000


# Compactions.


@pytest.mark.parametrize("counted", [True, False])
def test_the_answer_before_a_compaction_is_no_summary(tmp_path: Path, counted: bool) -> None:
    """0.36 to 0.44 write a context before the compaction, and none of the summary's items."""

    def turned(words: str, answer: str, total: int) -> Lines:
        told = [counters(total, 10)] if counted else []
        return [said("user", words), context(), *told, said("assistant", answer)]

    compacted = [context(), line("compacted", {"message": "SUMMARY of it all"})]
    lines = [meta(version="0.40.0"), *turned("one", "A", 11), *compacted]
    write(tmp_path, [*lines, *turned("two", "B", 22), said("user", "three"), context()])
    converted = convert(tmp_path)
    first, second = requests(converted)[:2]
    assert first == ["one"]
    assert "SUMMARY of it all" in second[0]
    assert second[1:] == ["two"]
    said_by = [e.item.text for e in converted.session.entries if isinstance(e, ItemEntry)]
    assert said_by == ["one", "A", "two", "B", "three"]


@pytest.mark.parametrize(("version", "apart"), [("0.53.0", False), ("0.55.0", True)])
def test_a_bare_summary_and_what_the_user_said(
    tmp_path: Path, version: str, *, apart: bool
) -> None:
    """One message up to 0.53, and one each from 0.55 on; both keep the summary before."""

    def turned(words: str, total: int) -> Lines:
        return [said("user", words), context(), counters(total, 10), said("assistant", "A")]

    compacted = [line("compacted", {"message": f"SUMMARY {name}"}) for name in "ab"]
    lines = [
        *turned("one", 10),
        compacted[0],
        *turned("two", 20),
        compacted[1],
        *turned("three", 30),
    ]
    write(tmp_path, [meta(version=version), *lines])
    second, third = requests(convert(tmp_path))[1:]
    if apart:
        assert second == ["one", "SUMMARY a", "two"]
        assert third == ["one", "SUMMARY a", "two", "SUMMARY b", "three"]
    else:
        assert [len(second), len(third)] == [2, 2]
        assert second[0] + "\n\ntwo\n\n" in third[0]
        assert third[0].endswith("\n\nSUMMARY b")


def test_a_compaction_tells_the_context_anew(tmp_path: Path) -> None:
    """0.101: what a first turn told the model of its mode stands before the environment then."""
    mode = said("developer", "<collaboration_mode>Default")
    begun = [said("developer", "<permissions instructions>"), said("user", "<environment_context>")]
    told = [said("user", "one"), context(), counters(10, 10), said("assistant", "A")]
    summary = "Another language model started to solve this problem and produced a summary: a"
    lines = [meta(version="0.101.0"), *begun, mode, *told, line("compacted", {"message": summary})]
    after = [said("user", "two"), context(), counters(20, 10), said("assistant", "B")]
    write(tmp_path, [*lines, *after])
    permissions, environment = "<permissions instructions>", "<environment_context>"
    first, second = requests(convert(tmp_path))
    assert first == [permissions, environment, "<collaboration_mode>Default", "one"]
    context_now = [permissions, "<collaboration_mode>Default", environment]
    assert second == [*context_now, "one", summary, "two"]


def test_a_compaction_tells_the_context_as_it_was_told_last(tmp_path: Path) -> None:
    """What changed since takes the place of what a thread began with; own words stay."""
    place, own = "<environment_context>", said("developer", "Own words.")
    begun = [said("developer", "<permissions instructions>a"), own, said("user", f"{place}a")]
    begun += [said("developer", "<permissions instructions>b")]
    first = [said("user", "one"), context(), counters(10, 10), said("assistant", "A")]
    moved = [said("user", f"{place}b"), said("user", "two"), context(), counters(20, 10)]
    lines = [*begun, *first, *moved, said("assistant", "B"), line("compacted", {"message": LEAD})]
    last = [said("user", "three"), context(), counters(30, 10), said("assistant", "C")]
    write(tmp_path, [meta(version="0.98.0"), *lines, *last])
    anew = ["<permissions instructions>b", "Own words.", f"{place}b"]
    assert requests(convert(tmp_path))[-1] == [*anew, "one", "two", LEAD, "three"]


def told(permissions: str, rules: str, place: str) -> Lines:
    """What a process tells of its surroundings before its first turn."""
    start = [said("developer", f"<permissions instructions>{permissions}")]
    start += [said("user", f"# AGENTS.md instructions {rules}")]
    return [*start, said("user", f"<environment_context>{place}")]


def words_of(lines: Lines) -> list[str]:
    return [entry["payload"]["content"][0]["text"] for entry in lines]


def asked(words: str, total: int) -> Lines:
    return [said("user", words), context(), counters(total, 10), said("assistant", "A")]


@pytest.mark.parametrize("version", ["0.98.0", "0.101.0", "0.104.0"])
def test_a_resume_tells_the_context_of_a_rebuilt_history_by_its_own_settings(
    tmp_path: Path, version: str
) -> None:
    """It reads the file again; what it tells behind the history stands there all the same."""
    begun, now, later = told("a", "r", "a"), told("b", "s", "b"), told("c", "s", "c")
    lines = [meta(version=version), *begun, *asked("one", 10), line("compacted", {"message": LEAD})]
    lines += [*asked("two", 20), *now, *asked("three", 30), *later, *asked("four", 40)]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    second, third, fourth = requests(converted)[1:]
    answered_two = ["one", LEAD, "two", "A"]
    assert second == [*words_of(begun), "one", LEAD, "two"]
    assert third == [*words_of(now), *answered_two, *words_of(now), "three"]
    behind = [*words_of(now), "three", "A", *words_of(later), "four"]
    assert fourth == [*words_of(later), *answered_two, *behind]
    assert codes(converted) >= {"history-rebuilt", "history-folded"}


@pytest.mark.parametrize(
    ("more", "is_told"),
    [({}, True), ({"current_date": "2026-11-30"}, False), ({"approvals_reviewer": "u"}, False)],
)
def test_a_newer_release_rebuilds_a_history_without_context(
    tmp_path: Path, more: dict[str, str], *, is_told: bool
) -> None:
    """From 0.107 on it tells the context behind the history alone."""
    begun, now = told("a", "r", "a"), told("b", "s", "b")
    lines = [meta(version="0.101.0"), *begun, *asked("one", 10)]
    lines += [line("compacted", {"message": LEAD}), *asked("two", 20), *now, context(**more)]
    write(tmp_path, [*lines, *asked("three", 30)])
    second, third = requests(convert(tmp_path))[1:]
    assert second == [*words_of(begun), "one", LEAD, "two"]
    before = words_of(now) if is_told else []
    assert third == [*before, "one", LEAD, "two", "A", *words_of(now), "three"]


@pytest.mark.parametrize("is_fork", [False, True])
def test_a_thread_that_was_begun_with_whole_outputs_says_so(
    tmp_path: Path, *, is_fork: bool
) -> None:
    old = meta(version="0.115.0", **({"id": OTHER} if is_fork else {}))
    lines = [old, event("task_started", turn_id="t"), context(turn_id="t"), said("user", "Go")]
    lines += [called("c1"), counters(10, 10), returned("c1", "a" * 20_000), *answered("Yes.", 20)]
    lines += [event("task_complete", turn_id="t")]
    newer = {"approvals_reviewer": "user", "turn_id": "t2"}
    last = [event("task_started", turn_id="t2"), context(**newer), said("user", "On")]
    last += answered("Well.", 30)
    lines += [{**entry, "timestamp": "2026-11-30T20:52:44.000Z"} for entry in last]
    made = [meta(version="0.171.0", forked_from_id=OTHER)] if is_fork else []
    write(tmp_path, [*made, *lines])
    converted = convert(tmp_path)
    found = responses(converted)[-1]
    assert found.unknown["codex"]["whole_outputs"] is True
    sent = wire.responses_input(
        wire.request_pieces(converted.session.path(found.id)),
        wire.target_of(found),
        profile_of_response(found),
    )
    (output,) = [item["output"] for item in sent if "output" in item]
    assert output == "a" * 6_000 + "…8000 chars truncated…" + "a" * 6_000


def test_a_resume_by_the_same_settings_changes_no_history(tmp_path: Path) -> None:
    begun = told("a", "r", "a")
    lines = [meta(version="0.101.0"), *begun, *asked("one", 10)]
    lines += [line("compacted", {"message": LEAD}), *asked("two", 20), *begun, *asked("three", 30)]
    write(tmp_path, lines)
    converted = convert(tmp_path)
    assert requests(converted)[-1][:7] == [*words_of(begun), "one", LEAD, "two", "A"]
    assert "history-folded" not in codes(converted)


def test_a_first_turn_with_settings_of_its_own_is_no_process(tmp_path: Path) -> None:
    """Its whole says them, and they follow again: the process has what the thread began with."""
    begun, now = told("a", "r", "a"), told("b", "s", "b")
    changed = said("developer", "<permissions instructions>b")
    lines = [meta(version="0.101.0"), *begun, *asked("one", 10)]
    lines += [line("compacted", {"message": LEAD}), *asked("two", 20), *now, changed]
    write(tmp_path, [*lines, *asked("three", 30)])
    own = words_of(told("a", "s", "b"))
    behind = [*words_of(now), "<permissions instructions>b", "three"]
    assert requests(convert(tmp_path))[-1] == [*own, "one", LEAD, "two", "A", *behind]


def test_a_change_within_a_process_leaves_a_rebuilt_history(tmp_path: Path) -> None:
    """A change of both tells the environment first; lines between are not one telling."""
    begun = told("a", "r", "a")
    place, may = (
        said("user", "<environment_context>b"),
        said("developer", "<permissions instructions>b"),
    )
    lines = [meta(version="0.101.0"), *begun, *asked("one", 10)]
    lines += [line("compacted", {"message": LEAD}), place, may, *asked("two", 20)]
    lines += [may, event("thread_rolled_back", num_turns=0), place, *asked("three", 30)]
    write(tmp_path, lines)
    for request in requests(convert(tmp_path))[1:]:
        assert request[:3] == words_of(begun)


def test_a_summary_with_its_lead_in_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    """0.59 on."""
    lead = "Another language model started to solve this problem and produced a summary"

    def turned(words: str, total: int) -> Lines:
        return [said("user", words), context(), counters(total, 10), said("assistant", "A")]

    compacted = [line("compacted", {"message": f"{lead}: {name}"}) for name in "ab"]
    lines = [
        *turned("one", 10),
        compacted[0],
        *turned("two", 20),
        compacted[1],
        *turned("three", 30),
    ]
    write(tmp_path, [meta(version="0.59.0"), *lines])
    assert requests(convert(tmp_path))[-1] == ["one", "two", f"{lead}: b", "three"]


LEAD = "Another language model started to solve this problem and produced a summary"
CUT = "<turn_aborted>Cut."
REVIEW = "<user_action>A review."


@pytest.mark.parametrize(("version", "told"), [("0.98.0", True), ("0.99.0", False)])
def test_what_tells_of_an_interrupt_was_kept_by_a_compaction(
    tmp_path: Path, version: str, *, told: bool
) -> None:
    rules = "<permissions instructions>"
    begun = [
        said("developer", rules),
        said("user", "one"),
        context(),
        counters(10, 10),
        said("assistant", "A"),
    ]
    cut = [said("user", "cut"), context(), said("user", CUT), event("turn_aborted", reason="x")]
    last = [said("user", "two"), context(), counters(20, 10), said("assistant", "B")]
    lines = [*begun, *cut, line("compacted", {"message": LEAD}), *last]
    newer = [context(current_date="2026-11-30"), *asked("three", 30)]
    write(tmp_path, [meta(version=version), *lines, *newer])
    marker = [CUT] if told else []
    second, third = requests(convert(tmp_path))[-2:]
    assert second == [rules, "one", "cut", *marker, LEAD, "two"]
    assert third == ["one", "cut", LEAD, "two", "B", "three"]


def test_what_tells_of_a_review_is_the_users_own(tmp_path: Path) -> None:
    """A compaction keeps it; what it was answered with is no answer of this thread's model."""
    begun = [said("user", "one"), context(), counters(10, 10), said("assistant", "A")]
    review = [said("user", REVIEW), event("exited_review_mode"), said("assistant", "Fine")]
    compacted = [context(), counters(20, 10), line("compacted", {"message": LEAD})]
    last = [said("user", "two"), context(), counters(30, 10), said("assistant", "B")]
    write(tmp_path, [meta(version="0.98.0"), *begun, *review, *compacted, *last])
    converted = convert(tmp_path)
    assert requests(converted) == [["one"], ["one", REVIEW, LEAD, "two"]]
    items = [e.item.text for e in converted.session.entries if isinstance(e, ItemEntry)]
    assert "Fine" in items


@pytest.mark.parametrize("version", ["0.98.0", "0.145.0"])
def test_a_review_counts_as_a_turn(tmp_path: Path, version: str) -> None:
    review = [said("user", REVIEW), event("exited_review_mode"), said("assistant", "Fine")]
    lines = [*turn("t1", "one", *answered("A", 10)), *review, *turn("t2", "two")]
    rolled = event("thread_rolled_back", num_turns=2)
    last = turn("t3", "three", *answered("B", 20))
    write(tmp_path, [meta(version=version), *lines, rolled, *last])
    assert requests(convert(tmp_path))[-1] == ["one", "A", "three"]


@pytest.mark.parametrize("opening", ["<image>", "<image name=[Image #1]>", ""])
def test_a_compaction_keeps_the_text_alone(tmp_path: Path, opening: str) -> None:
    """Images go, and the tags around them; what only looks like a tag stays."""
    parts: list[dict[str, Any]] = [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]
    if opening:
        parts = [
            {"type": "input_text", "text": opening},
            *parts,
            {"type": "input_text", "text": "</image>"},
        ]
    parts += [{"type": "input_text", "text": words} for words in ("See", "<image>", "</image>")]
    see = line("response_item", {"type": "message", "role": "user", "content": parts})
    begun = [see, context(), counters(10, 10), said("assistant", "A")]
    last = [said("user", "two"), context(), counters(20, 10), said("assistant", "B")]
    write(tmp_path, [meta(version="0.98.0"), *begun, line("compacted", {"message": LEAD}), *last])
    converted = convert(tmp_path)
    assert requests(converted)[-1] == ["See<image></image>", LEAD, "two"]
    kept = converted.session.context().items[0]
    assert b"input_image" not in kept.json_text


def test_a_compaction_keeps_an_image_alone_as_no_words(tmp_path: Path) -> None:
    """What a tool showed the model is a message of the user's, and counts as one."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    see = line("response_item", {"type": "message", "role": "user", "content": [image]})
    begun = [said("user", "one"), context(), counters(10, 10), said("assistant", "A")]
    last = [said("user", "two"), context(), counters(20, 10), said("assistant", "B")]
    compacted = line("compacted", {"message": LEAD})
    write(tmp_path, [meta(version="0.98.0"), *begun, see, compacted, *last])
    converted = convert(tmp_path)
    assert requests(converted)[-1] == ["one", "", LEAD, "two"]
    assert b"input_image" not in converted.session.context().items[1].json_text


@pytest.mark.parametrize(("version", "times"), [("0.47.0", 2), ("0.49.0", 1)])
def test_what_is_put_into_a_turn_asks_for_no_call(tmp_path: Path, version: str, times: int) -> None:
    """It comes with the outputs, and no display event says that it begins a turn."""
    begun = [said("user", "one"), event("user_message", message="one"), counters(10, 10)]
    begun += [said("assistant", "A"), called("a", "shell"), returned("a")]
    put = [said("user", "also"), said("user", "and"), counters(20, 10), said("assistant", "B")]
    write(tmp_path, [meta(version=version), *begun, *put])
    converted = convert(tmp_path)
    assert [len(one) for one in requests(converted)] == [1, 6]
    last = responses(converted)[-1]
    pieces = wire.request_pieces(converted.session.path(last.id))
    items = wire.responses_input(pieces, wire.target_of(last), profile_of_response(last))
    ends = ["also", "and"] * times
    assert [one["content"][0]["text"] for one in items[5 - 1 :]] == ends


def test_a_turn_that_begins_behind_outputs_is_sent_once(tmp_path: Path) -> None:
    begun = [said("user", "one"), event("user_message", message="one"), counters(10, 10)]
    begun += [said("assistant", "A"), called("a", "shell"), returned("a")]
    other = [said("user", "two"), event("user_message", message="two"), counters(20, 10)]
    write(tmp_path, [meta(version="0.34.0"), *begun, *other, said("assistant", "B")])
    last = responses(convert(tmp_path))[-1]
    assert profile_of_response(last).steered == 0


def test_the_items_of_a_summary_are_part_of_its_compaction(tmp_path: Path) -> None:
    """0.145 on."""
    kept = [said("user", "Lead-in: SUMMARY")["payload"]]
    compacted = line("compacted", {"message": "Lead-in: SUMMARY", "replacement_history": kept})
    asked = event("task_started", turn_id="t2")
    lines = [meta(), *turn("t1", "one", *answered("A", 11)), asked, context(turn_id="t2", **TURN)]
    write(tmp_path, [*lines, said("assistant", "SUMMARY"), counters(22, 11), compacted])
    converted = convert(tmp_path)
    assert [r.response_id for r in responses(converted)] == ["t1.1"]
    said_by = [e.item.text for e in converted.session.entries if isinstance(e, ItemEntry)]
    assert said_by == ["one", "A"]


def test_instructions_of_a_turn_are_known_and_kept(tmp_path: Path) -> None:
    """Up to 0.89 the turn of a review holds its own."""
    lines = [said("user", "one"), context(base_instructions="Review."), *answered("A", 10)]
    write(tmp_path, [meta(version="0.87.0"), *lines])
    converted = convert(tmp_path)
    assert "unknown-member" not in codes(converted)
    configs = [e for e in converted.session.entries if e.type == "config"]
    assert any("Review." in str(e.unknown.get("codex")) for e in configs)
