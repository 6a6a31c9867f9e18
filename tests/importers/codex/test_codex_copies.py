"""What a file copied from another thread is known, whatever became of the other thread's log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codex_files import OTHER, RECORDINGS, THREAD, counters, event, meta, said, write

from agentsession.importers.codex import Codex
from agentsession.importers.codex.copies import copied_lines
from agentsession.importers.codex.rollouts import Index, Rollout
from agentsession.importers.counted import Count
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import of_session
from agentsession.stores import JSONLStore, Summary

FORKS = ("0.45.0-tui", "0.145.0-branch", "0.171.0-mixedver", "0.171.0-subagent")
_TURN = "01a22e3a-5000-7d41-9cfe-9d715fc2d876"
_OWN_TURN = "01a22e3a-6000-7d41-9cfe-9d715fc2d876"

Damage = Callable[[list[bytes], int], list[bytes]]


def torn(lines: list[bytes], at: int) -> list[bytes]:
    return [*lines[:at], lines[at][: len(lines[at]) // 2] + b"\n", *lines[at + 1 :]]


def gone(lines: list[bytes], at: int) -> list[bytes]:
    return lines[:at] + lines[at + 1 :]


def short(lines: list[bytes], at: int) -> list[bytes]:
    return lines[:at]


def home_of(name: str, tmp_path: Path) -> Path:
    home = tmp_path / name
    shutil.copytree(RECORDINGS / name / "codex", home)
    return home


def forks(home: Path) -> list[tuple[Rollout, int]]:
    """The files of a home that begin with copies, and how many."""
    index = Index([str(home)])
    found = [
        (file, copied_lines(index, file)) for t in index.ordered() for file in index.threads[t]
    ]
    return [(file, copied) for file, copied in found if copied]


def calls(home: Path) -> dict[str, int]:
    importer = Codex()
    counted: dict[str, int] = {}
    for source in importer.find([home]):
        for record in importer.usage_records(source):
            counted[record.session_id] = counted.get(record.session_id, 0) + 1
    return counted


@pytest.mark.parametrize("damage", [torn, gone, short])
@pytest.mark.parametrize("name", FORKS)
def test_a_damaged_parent_makes_no_copy_the_forks_own(
    name: str, damage: Damage, tmp_path: Path
) -> None:
    home = home_of(name, tmp_path)
    for fork, copied in forks(home):
        parent = Path(_file_of(home, fork.parent))
        whole = parent.read_bytes()
        lines = whole.splitlines(keepends=True)
        for at in range(1, len(lines), 3):
            parent.write_bytes(b"".join(damage(lines, at)))
            index = Index([str(parent), fork.path])
            assert copied_lines(index, fork) == copied, (fork.name, at)
        parent.write_bytes(whole)


def _file_of(home: Path, thread: str) -> str:
    file = Index([str(home)]).file(thread)
    assert file is not None
    return file.path


@pytest.mark.parametrize("name", FORKS)
def test_a_fork_alone_tells_what_it_copied(name: str, tmp_path: Path) -> None:
    for fork, copied in forks(home_of(name, tmp_path)):
        assert copied_lines(Index([fork.path]), fork) == copied


@pytest.mark.parametrize("name", ["0.145.0-branch", "0.171.0-mixedver"])
def test_a_damaged_line_of_a_fork_moves_no_border(name: str, tmp_path: Path) -> None:
    home = home_of(name, tmp_path)
    for fork, copied in forks(home):
        path = Path(fork.path)
        lines = path.read_bytes().splitlines(keepends=True)
        # Its last copied line may tell nothing when it is damaged, and counts for nobody then.
        for at in range(1, copied):
            path.write_bytes(b"".join(torn(lines, at)))
            index = Index([str(home)])
            file = index.file(fork.thread)
            assert file is not None
            assert copied_lines(index, file) in {copied, copied + 1}, at
        path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("damage", [torn, gone])
def test_calls_count_for_the_parent_also_when_its_log_is_damaged(
    damage: Damage, tmp_path: Path
) -> None:
    home = home_of("0.145.0-branch", tmp_path)
    right = calls(home)
    assert sum(right.values()) == 12
    parent = Path(_file_of(home, forks(home)[0][0].parent))
    parent.write_bytes(b"".join(damage(parent.read_bytes().splitlines(keepends=True), 1)))
    assert calls(home) == right
    os.remove(parent)
    del right[_thread_of(parent)]
    assert calls(home) == right


def _thread_of(path: Path) -> str:
    return path.stem[-36:]


@pytest.mark.parametrize("damage", [torn, gone])
@pytest.mark.parametrize(("name", "at"), [("0.145.0-branch", 1), ("0.171.0-mixedver", 1)])
def test_a_store_of_a_damaged_log_counts_once_when_the_whole_one_follows(
    name: str, at: int, damage: Damage, tmp_path: Path
) -> None:
    home = home_of(name, tmp_path)
    right = calls(home)
    parent = Path(_file_of(home, forks(home)[0][0].parent))
    whole = parent.read_bytes()
    parent.write_bytes(b"".join(damage(whole.splitlines(keepends=True), at)))
    store = tmp_path / "store"
    assert _imported(home, store) <= sum(right.values())
    parent.write_bytes(whole)
    assert _imported(home, store) == sum(right.values())


def _imported(home: Path, store: Path) -> int:
    importer = Codex()
    import_sessions([Work(importer, tuple(importer.find([home])))], store)
    count = Count()
    with JSONLStore(store, read_only=True) as opened:
        for summary in opened.list():
            assert isinstance(summary, Summary)
            for record in of_session(opened.open(summary.id)):
                count.add(record)
    calls_counted = count.report().totals["calls"]
    assert isinstance(calls_counted, int)
    return calls_counted


def test_what_a_fork_said_first_is_its_own_while_the_parent_is_whole(tmp_path: Path) -> None:
    parent = [meta(OTHER), said("user", "hi"), said("assistant", "a"), counters(10, 10)]
    write(tmp_path, [*parent, said("user", "more")], OTHER)
    own = [said("user", "mine"), said("assistant", "b"), counters(20, 10)]
    write(tmp_path, [meta(forked_from_id=OTHER), *parent, *own])
    index = Index([str(tmp_path)])
    fork = index.file(THREAD)
    assert fork is not None
    assert copied_lines(index, fork) == len(parent)


def test_a_fork_whose_second_line_is_damaged_counts_no_copies(tmp_path: Path) -> None:
    old = event("task_started", turn_id=_TURN)
    ended = event("task_complete", turn_id=_TURN)
    copied = [meta(OTHER), old, said("user", "hi"), said("assistant", "a"), counters(10, 10), ended]
    own = [event("task_started", turn_id=_OWN_TURN), said("user", "mine"), counters(20, 10)]
    path = write(tmp_path, [meta(forked_from_id=OTHER), *copied, *own])
    assert calls(tmp_path) == {THREAD: 1}
    lines = path.read_bytes().splitlines(keepends=True)
    for damage in (torn, gone):
        path.write_bytes(b"".join(damage(lines, 1)))
        assert calls(tmp_path) == {THREAD: 1}


@pytest.mark.parametrize("damage", [torn, gone])
def test_a_backtrack_whose_second_line_is_damaged_counts_no_copies(
    damage: Damage, tmp_path: Path
) -> None:
    """0.45 names the origin there and nowhere else: what the lines repeat tells it."""
    home, store = home_of("0.45.0-tui", tmp_path), tmp_path / "store"
    right, found = calls(home), forks(home)
    assert found
    for fork, _ in found:
        path = Path(fork.path)
        path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True), 1)))
    assert calls(home) == right
    less = damage is gone
    assert [(file.thread, file.parent, copied) for file, copied in forks(home)] == [
        (file.thread, file.parent, copied - less) for file, copied in found
    ]
    assert _imported(home, store) == sum(right.values())


@pytest.mark.parametrize(
    ("pause", "answer", "expected"),
    [(10, "a", {OTHER: 1}), (900, "a", {OTHER: 1, THREAD: 1}), (10, "b", {OTHER: 1, THREAD: 1})],
)
def test_a_thread_that_only_begins_alike_is_no_copy(
    pause: int, answer: str, expected: dict[str, int], tmp_path: Path
) -> None:
    """Its answers say something else, or took a model's time."""

    def told(thread: str, second: int, answer: str, pause: int) -> list[dict[str, Any]]:
        began = 3600_000 * 20 + 1000 * second
        lines = [
            meta(thread, "0.58.0", timestamp=_at(began)),
            meta("01a22e3a-0000-7d41-9cfe-9d715fc2d876"),
            said("user", "hi"),
            said("assistant", answer),
            counters(10, 10),
        ]
        return [{**one, "timestamp": _at(began + at * pause)} for at, one in enumerate(lines)]

    write(tmp_path, told(OTHER, 1, "a", 900), OTHER)
    path = write(tmp_path, told(THREAD, 60, answer, pause))
    path.write_bytes(b"".join(torn(path.read_bytes().splitlines(keepends=True), 1)))
    assert calls(tmp_path) == expected


def _at(millis: int) -> str:
    minutes, rest = divmod(millis, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"2026-11-30T{hours:02}:{minutes:02}:{rest / 1000:06.3f}Z"
