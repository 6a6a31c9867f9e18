"""A log whose counters were damaged is imported, and later the whole one: each call once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from codex_files import (
    RECORDINGS,
    THREAD,
    called,
    context,
    convert,
    event,
    line,
    meta,
    returned,
    said,
    texts,
    write,
)

from agentsession.beside import value_of
from agentsession.entries import ResponseEntry
from agentsession.importers.codex import Codex
from agentsession.importers.counted import Count
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import UsageRecord, of_session
from agentsession.record_entries import CustomEntry
from agentsession.stores import MemoryStore, Summary

_COUNTERS = (b'"token_count"', b'"token_usage_record"')


def totals(records: Iterable[UsageRecord]) -> dict[str, Any]:
    count = Count()
    for record in records:
        count.add(record)
    return dict(count.report().totals)


def in_files(home: Path) -> dict[str, Any]:
    importer = Codex()
    (source,) = importer.find([home])
    return totals(importer.usage_records(source))


def imported(home: Path, store: MemoryStore) -> dict[str, Any]:
    importer = Codex()
    import_sessions([Work(importer, importer.find([home]))], store)
    ids = [found.id for found in store.list() if isinstance(found, Summary)]
    return totals(record for name in ids for record in of_session(store.open(name)))


def used(sent: int) -> dict[str, int]:
    return {"input_tokens": sent, "output_tokens": sent // 10, "total_tokens": sent + sent // 10}


def counters(total: int, last: int) -> dict[str, Any]:
    info = {"total_token_usage": used(total), "last_token_usage": used(last)}
    return event("token_count", info=info)


def torn(line: bytes) -> bytes:
    return line[: len(line) // 2] + b"\n"


def retyped(line: bytes) -> bytes:
    return re.sub(rb'(tokens":) ?\d+', rb'\g<1>"x"', line)


@pytest.mark.parametrize("first", ["damaged", "whole"])
@pytest.mark.parametrize("damage", [torn, retyped])
@pytest.mark.parametrize(
    "name",
    [
        "0.34.0-proto",
        "0.45.0-tui",
        "0.58.0-errors",
        "0.101.0-compact",
        "0.125.0-errors",
        "0.145.0-branch",
        "0.145.0-rbctx",
        "0.171.0-mixedver",
    ],
)
def test_a_damaged_counter_leaves_no_call_behind(
    name: str, damage: Any, first: str, tmp_path: Path
) -> None:
    """Whether the damaged log or the whole one is imported first: the store has each call once."""
    home = tmp_path / "home"
    shutil.copytree(RECORDINGS / name / "codex", home)
    right = in_files(home)
    tried = 0
    for path in sorted(home.rglob("rollout-*.jsonl")):
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        places = [at for at, line in enumerate(lines) if any(kind in line for kind in _COUNTERS)]
        for at in places if first == "whole" else places[tried % 2 :: 2]:
            store = MemoryStore()
            states = [b"".join([*lines[:at], damage(lines[at]), *lines[at + 1 :]]), whole]
            for state in states if first == "damaged" else reversed(states):
                path.write_bytes(state)
                found = imported(home, store)
            path.write_bytes(whole)
            assert found == right, (path.name, at)
            tried += 1
    assert tried > 3


def test_a_counter_that_is_unreadable_moves_nothing(tmp_path: Path) -> None:
    """The next one says what both calls used, and not all that the thread ever did."""
    odd = event("token_count", info={"total_token_usage": {"input_tokens": "x"}})
    calls = [said("user", "a"), said("assistant", "b"), counters(100, 100)]
    calls += [said("user", "c"), said("assistant", "d"), odd]
    calls += [said("user", "e"), said("assistant", "f"), counters(250, 50)]
    write(tmp_path, [meta(), *calls])
    assert in_files(tmp_path)["input_tokens"] == 250
    assert in_files(tmp_path)["calls"] == 3


def test_an_estimate_is_no_call(tmp_path: Path) -> None:
    """Compactions leave one; the line before it, with what the call used, is lost."""
    estimate = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 6000}
    told = event("token_count", info={"total_token_usage": used(150), "last_token_usage": estimate})
    lines = [meta(), said("user", "a"), said("assistant", "b"), counters(100, 100)]
    write(tmp_path, [*lines, line("compacted", {"message": "m"}), told])
    assert in_files(tmp_path)["input_tokens"] == 150
    assert imported(tmp_path, MemoryStore()) == in_files(tmp_path)


def test_where_a_counter_stood_is_kept(tmp_path: Path) -> None:
    lines = [meta(), context(), said("user", "a"), called("c"), returned("c"), counters(10, 10)]
    lines += [said("assistant", "b"), counters(30, 10)]
    write(tmp_path, lines)
    session = convert(tmp_path, THREAD).session
    kept = [value_of(e, "codex") for e in session.entries if isinstance(e, ResponseEntry)]
    assert [native["counter"]["total"] for native in kept] == [11, 33]
    (hidden,) = [
        e.data["hidden_call"]
        for e in session.entries
        if isinstance(e, CustomEntry) and isinstance(e.data, dict) and "hidden_call" in e.data
    ]
    assert hidden["total"] == 22


def _twice(whole: list[bytes]) -> list[bytes]:
    return [*whole, *whole]


def _older_first(whole: list[bytes]) -> list[bytes]:
    return [*whole[: len(whole) * 2 // 3], *whole]


def _older_last(whole: list[bytes]) -> list[bytes]:
    return [*whole, *whole[: len(whole) // 2]]


@pytest.mark.parametrize("made", [_twice, _older_first, _older_last])
@pytest.mark.parametrize("name", sorted(path.name for path in RECORDINGS.iterdir()))
def test_a_log_that_stands_twice_in_its_file_is_one(name: str, made: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(RECORDINGS / name / "codex", home)
    before, store = in_files(home), MemoryStore()
    assert imported(home, store) == before
    said = {one.id: [e.id for e in store.open(one.id).entries] for one in store.list()}
    lines = 0
    for log in home.rglob("rollout-*.jsonl"):
        whole = log.read_bytes().splitlines(keepends=True)
        again = made(whole)
        lines += len(again) - len(whole)
        log.write_bytes(b"".join(again))
    assert in_files(home) == before
    assert imported(home, store) == before
    assert {one.id: [e.id for e in store.open(one.id).entries] for one in store.list()} == said
    importer = Codex()
    report = import_sessions([Work(importer, importer.find([home]))], MemoryStore())
    assert report.ok
    codes = {one["code"]: one["count"] for one in report.more["codes"]}
    assert codes["repeated-record"] == lines


def test_what_a_thread_says_twice_it_says_twice(tmp_path: Path) -> None:
    again = [said("user", "on"), said("user", "on"), said("assistant", "a"), counters(11, 11)]
    write(tmp_path, [meta(), *again, *again])
    assert texts(convert(tmp_path)) == ["on", "on", "a"] * 2


def recorded(response: str, sent: int) -> dict[str, Any]:
    return line("token_usage_record", {"response_id": response, "usage": used(sent)})


def numbered(one: dict[str, Any], number: int, sampled: int | None = None) -> dict[str, Any]:
    told = {"history_sequence": number, "sampled_through_sequence": sampled}
    return {**one, "metadata": {name: n for name, n in told.items() if n is not None}}


def compacted_thread() -> list[dict[str, Any]]:
    """A question and its answer, a summary of both, and one more of each."""
    begun = event("task_started", turn_id="t1")
    ended = event("task_complete", turn_id="t1", last_agent_message="x")
    kept = [said("user", "SUMMARY")["payload"]]
    return [
        meta(version="0.171.0"),
        *(begun, context(turn_id="t1"), numbered(said("user", "a"), 1)),
        *(numbered(said("assistant", "b"), 2, 1), recorded("resp_1", 100), counters(100, 100)),
        # What asked for the summary held no later item than the question before.
        *(ended, begun, numbered(said("assistant", "SUMMARY"), 3, 1)),
        *(recorded("resp_2", 200), counters(300, 200)),
        line("compacted", {"message": "SUMMARY", "replacement_history": kept}),
        *(context(turn_id="t1"), numbered(said("user", "c"), 5)),
        *(numbered(said("assistant", "d"), 6, 5), recorded("resp_3", 300), counters(600, 300)),
        ended,
    ]


@pytest.mark.parametrize("name", ["", "0.101.0-compact", "0.145.0-remote"])
def test_a_summary_counts_once_with_and_without_its_compaction(name: str, tmp_path: Path) -> None:
    """The store has both, in whatever order they came, and comes to rest."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    if name:
        shutil.copytree(RECORDINGS / name / "codex", whole)
        shutil.copytree(whole, cut)
    else:
        write(whole, compacted_thread())
        write(cut, compacted_thread())
    lost = 0
    for log in cut.rglob("rollout-*.jsonl"):
        lines = log.read_bytes().splitlines(keepends=True)
        kept = [one for one in lines if b'"type":"compacted"' not in one.replace(b": ", b":")]
        lost += len(lines) - len(kept)
        log.write_bytes(b"".join(kept))
    assert lost
    wanted = in_files(whole)
    assert in_files(cut) == wanted
    for order in ((cut, whole), (whole, cut)):
        store = MemoryStore()
        for place in order:
            known = imported(place, store)
        assert known == wanted
        before = [len(store.open(found.id).entries) for found in store.list()]
        for place in order * 2:
            assert imported(place, store) == wanted
        assert [len(store.open(found.id).entries) for found in store.list()] == before


def test_a_counter_that_is_lost_later_adds_no_call(tmp_path: Path) -> None:
    """The whole log first: a counter that is written again then stands for a lost one."""
    home = tmp_path / "home"
    shutil.copytree(RECORDINGS / "0.101.0-compact" / "codex", home)
    right = in_files(home)
    tried = 0
    for path in sorted(home.rglob("rollout-*.jsonl")):
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        places = [at for at, one in enumerate(lines) if any(kind in one for kind in _COUNTERS)]
        for at in places:
            store = MemoryStore()
            path.write_bytes(whole)
            assert imported(home, store) == right
            path.write_bytes(b"".join([*lines[:at], *lines[at + 1 :]]))
            assert imported(home, store) == right, lines[at]
            tried += 1
        path.write_bytes(whole)
    assert tried
