"""What tells pi's calls apart: the same in its files and in a store of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pi_files import assistant, counted, entry, header, in_files, user, written

from agentsession.importers.pi import Pi
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import UsageRecord, of_session
from agentsession.stores import JSONLStore, Summary

AT = "2026-05-01T10:00:05.000Z"
Line = dict[str, Any]


def at_once(*lines: Line) -> list[Line]:
    """Some lines, all written in one moment."""
    return [{**line, "timestamp": AT} for line in lines]


def without(*names: str, lines: list[Line]) -> list[Line]:
    """Some lines without members, of their own or of their messages."""
    found = []
    for line in lines:
        kept = {n: v for n, v in line.items() if n not in names or line["type"] == "session"}
        if "message" in kept:
            kept["message"] = {n: v for n, v in kept["message"].items() if n not in names}
        found.append(kept)
    return found


def in_store(place: Path, store: Path, form: str = "0.3") -> list[UsageRecord]:
    importer = Pi()
    work = [Work(importer, importer.find([place]))]
    assert import_sessions(work, store, format=form).ok
    with JSONLStore(store, read_only=True) as opened:
        found = [summary for summary in opened.list() if isinstance(summary, Summary)]
        return [record for one in found for record in of_session(opened.open(one.id))]


def calls(place: Path, tmp_path: Path) -> int:
    """How many calls there are, in files, a store of each format, and all of them together."""
    files = in_files(place)
    stored = [in_store(place, tmp_path / form, form) for form in ("0.3", "0.11")]
    wanted = counted(files)
    assert counted(stored[0]) == wanted
    assert counted(stored[1]) == wanted
    assert counted(files, *stored) == wanted
    return int(wanted["calls"])


ANSWERS = at_once(
    user("u1", None), assistant("a1", "u1", "one"), user("u2", "a1"), assistant("a2", "u2", "two")
)


@pytest.mark.parametrize(
    "missing",
    [
        (),
        ("responseId",),
        ("timestamp",),
        ("timestamp", "responseId"),
        ("responseId", "id", "parentId"),
        ("timestamp", "responseId", "id", "parentId"),
    ],
    ids=lambda names: "-".join(names) or "none",
)
def test_calls_that_say_the_same_of_their_tokens_are_several(
    missing: tuple[str, ...], tmp_path: Path
) -> None:
    written(tmp_path / "in" / "a.jsonl", [header(), *without(*missing, lines=ANSWERS)])
    assert calls(tmp_path / "in", tmp_path) == 2


@pytest.mark.parametrize("missing", [(), ("responseId",), ("responseId", "id", "parentId")])
def test_copies_in_forks_are_those_calls(missing: tuple[str, ...], tmp_path: Path) -> None:
    lines = without(*missing, lines=ANSWERS)
    later = without(*missing, lines=[user("w1", "a2", "more"), assistant("c1", "w1", "three")])
    origin = tmp_path / "home" / "2026-05-01T10-00-00-000Z_s1.jsonl"
    written(origin, [header(), *lines])
    forked = header("s2", timestamp="2026-05-01T10:00:30.000Z", parentSession=str(origin))
    later = [{**line, "timestamp": "2026-05-01T10:00:40.000Z"} for line in later]
    fork = written(tmp_path / "home" / "fork.jsonl", [forked, *lines, *later])
    assert calls(tmp_path / "home", tmp_path / "x") == 3
    # Of a fork alone the copies are still the origin's calls.
    alone = in_store(fork, tmp_path / "alone")
    assert counted(alone)["calls"] == 3
    assert counted(alone, in_files(origin))["calls"] == 3
    assert counted(in_files(fork), in_store(origin, tmp_path / "other"))["calls"] == 3


@pytest.mark.parametrize("reason", ["stop", "error", "aborted"])
@pytest.mark.parametrize("words", [(), ("said",)], ids=["empty", "said"])
def test_copies_of_what_failed_or_said_nothing_are_known(
    reason: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    one = assistant("a1", "u1", *words, stopReason=reason)
    lines = without("responseId", lines=at_once(user("u1", None), one))
    origin = tmp_path / "home" / "2026-05-01T10-00-00-000Z_s1.jsonl"
    written(origin, [header(), *lines])
    forked = header("s2", timestamp="2026-05-01T10:00:30.000Z", parentSession=str(origin))
    written(tmp_path / "home" / "fork.jsonl", [forked, *lines])
    assert calls(tmp_path / "home", tmp_path / "x") == 1


def test_a_record_that_stands_twice_is_one_call(tmp_path: Path) -> None:
    lines = without("responseId", lines=[*ANSWERS, ANSWERS[-1]])
    written(tmp_path / "in" / "a.jsonl", [header(), *lines])
    assert calls(tmp_path / "in", tmp_path) == 2


def test_other_answers_under_one_id_are_several_calls(tmp_path: Path) -> None:
    other = assistant("a2", "u2", "another")
    lines = without("responseId", lines=[*ANSWERS, *at_once(other)])
    written(tmp_path / "in" / "a.jsonl", [header(), *lines])
    assert calls(tmp_path / "in", tmp_path) == 3


def test_an_upgrade_in_place_makes_no_new_calls(tmp_path: Path) -> None:
    """The ids that it gives stand behind the times."""
    old = without("responseId", "id", "parentId", lines=ANSWERS)
    new = [{**line, "id": f"x{n}", "parentId": f"x{n - 1}"} for n, line in enumerate(old)]
    assert json.dumps(new[0]).index("timestamp") < json.dumps(new[0]).index('"x0"')
    del new[0]["parentId"]
    written(tmp_path / "in" / "old" / "a.jsonl", [header(), *old])
    written(tmp_path / "in" / "new" / "a.jsonl", [header(), *new])
    assert calls(tmp_path / "in", tmp_path) == 2


def test_a_summary_without_a_time_is_one_call_in_files_and_store(tmp_path: Path) -> None:
    used = assistant("a", None)["message"]["usage"]
    summary = entry("compaction", "k1", "a2", summary="s", firstKeptEntryId="u2", usage=used)
    del summary["timestamp"]
    written(tmp_path / "in" / "a.jsonl", [header(), *ANSWERS, summary])
    assert calls(tmp_path / "in", tmp_path) == 3
