"""Sessions are found without going through all names each time. Spec: stores 4.2."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsession import reading
from agentsession.errors import NoSession, SessionExists
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, Put, SQLiteStore, finding
from agentsession.stores.copying import copy_sessions

EARLIER = "2025-01-01T00:00:00Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def directories_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many directories were read since the last call."""
    read = [0]

    def counted(name: str) -> None:
        really = getattr(os, name)

        def call(*args: Any) -> Any:
            read[0] += 1
            return really(*args)

        monkeypatch.setattr(os, name, call)

    counted("listdir")
    counted("scandir")
    monkeypatch.setattr(finding, "FRESH_SECONDS", 3600.0)

    def since() -> int:
        done, read[0] = read[0], 0
        return done

    return since


def filled(root: Path, count: int) -> list[str]:
    ids = [f"s{number}" for number in range(count)]
    with JSONLStore(root) as store:
        for session_id in ids:
            store.create(Header(id=session_id, cwd=f"/{int(session_id[1:]) % 3}"))
            store.append(session_id, InfoEntry("one"))
            store.release(session_id)
    return ids


def session(session_id: str, created_at: str = "2026-03-01T08:15:30Z", cwd: str = "") -> Session:
    made = Session(Header(id=session_id, created_at=created_at, cwd=cwd))
    return reading.load(made.header.line + b"\n")


def assert_knows_d(store: JSONLStore) -> None:
    """A store does not make a second file of the session that another one made."""
    with pytest.raises(SessionExists):
        store.put(session("d", cwd="/x"))


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a store remembers of the names counts for as long as a test runs."""
    monkeypatch.setattr(finding, "FRESH_SECONDS", 3600.0)


def test_opening_many_reads_the_names_a_few_times(
    root: Path, directories_read: Callable[[], int]
) -> None:
    ids = filled(root, 60)
    directories_read()
    with JSONLStore(root, read_only=True) as store:
        for session_id in ids:
            assert len(store.open(session_id)) == 1
    # One look for the first, and one through all of the root and its three projects.
    assert directories_read() <= 8


@pytest.mark.parametrize("kind", ["files", "rows"])
@pytest.mark.parametrize("choose", [True, False])
def test_copying_many_reads_the_names_a_few_times(
    root: Path, tmp_path: Path, kind: str, choose: bool, directories_read: Callable[[], int]
) -> None:
    ids = filled(root, 60)
    if kind == "rows":
        with JSONLStore(root, read_only=True) as files, SQLiteStore(tmp_path / "s.db") as rows:
            assert all(copied.ok for copied in copy_sessions(files, rows))
    directories_read()
    with (
        SQLiteStore(tmp_path / "s.db", read_only=True)
        if kind == "rows"
        else JSONLStore(root, read_only=True) as source,
        JSONLStore(tmp_path / "target") as target,
    ):
        assert all(copied.ok for copied in copy_sessions(source, target, ids if choose else None))
    assert directories_read() <= 16
    directories_read()
    with (
        JSONLStore(root, read_only=True) as source,
        JSONLStore(tmp_path / "target") as target,
    ):
        assert {copied.outcome.value for copied in copy_sessions(source, target)} == {"present"}
    assert directories_read() <= 16


def test_creating_many_of_ones_own_choice(root: Path, directories_read: Callable[[], int]) -> None:
    filled(root, 60)
    assert directories_read() <= 4


@pytest.mark.usefixtures("believed")
@pytest.mark.parametrize("act", ["put", "create"])
def test_an_id_another_store_took_meanwhile_is_seen(root: Path, act: str) -> None:
    with JSONLStore(root) as one, JSONLStore(root) as other:
        assert one.put(session("a", cwd="/x")) is Put.CREATED
        assert other.put(session("b", cwd="/x")) is Put.CREATED
        assert one.put(session("c", cwd="/x")) is Put.CREATED
        if act == "put":
            assert other.put(session("d", EARLIER, "/x")) is Put.CREATED
        else:
            other.create(Header(id="d", created_at=EARLIER, cwd="/x"))
            other.release("d")
        assert_knows_d(one)
        with pytest.raises(SessionExists):
            one.create(Header(id="d"))
        assert len(list(root.glob("*/*_d.jsonl"))) == 1


@pytest.mark.parametrize("allowed", ["now", "nothing"])
def test_who_does_not_own_the_root_is_noticed_too(
    root: Path, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "FRESH_SECONDS", 3600.0 if allowed == "now" else 0.0)
    monkeypatch.setattr(finding, "_FRESH_WALKS", 0)
    really = os.utime

    def utime(path: Any, times: Any = None, *, ns: Any = None) -> None:
        if ns is not None or allowed == "nothing":
            raise PermissionError(1, "not the owner")
        really(path)

    with JSONLStore(root) as one, JSONLStore(root) as other:
        one.put(session("a", cwd="/x"))
        one.put(session("b", cwd="/x"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "utime", utime)
            other.put(session("d", EARLIER, "/x"))
        assert_knows_d(one)


@pytest.mark.usefixtures("believed")
def test_times_that_are_rounded_are_not_believed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.utime

    def utime(path: Any, times: Any = None, *, ns: Any = None) -> None:
        really(path, ns=tuple(time // 10**12 * 10**12 for time in ns))

    monkeypatch.setattr(os, "utime", utime)
    with JSONLStore(root) as one, JSONLStore(root) as other:
        one.put(session("a", cwd="/x"))
        other.put(session("d", EARLIER, "/x"))
        assert_knows_d(one)


@pytest.mark.usefixtures("believed")
def test_who_is_killed_before_the_end_is_noticed_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with JSONLStore(root) as one, JSONLStore(root) as other:
        one.put(session("a", cwd="/x"))
        with monkeypatch.context() as patch:
            # The last thing that happens is that the file is there.
            patch.setattr(JSONLStore, "_created", killed_after(JSONLStore._created))
            with pytest.raises(KeyboardInterrupt):
                other.put(session("d", EARLIER, "/x"))
        assert_knows_d(one)


def killed_after(create: Callable[..., Any]) -> Callable[..., None]:
    def work(*args: Any, **options: Any) -> None:
        create(*args, **options).drop()
        raise KeyboardInterrupt

    return work


def test_a_file_that_came_without_notice_is_seen_a_moment_later(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(finding, "_FRESH_WALKS", 0)
    with JSONLStore(root) as store:
        store.put(session("a", cwd="/x"))
        lines = session("d").header.line + b"\n"
        (root / "x" / "2025-01-01T00-00-00.000Z_d.jsonl").write_bytes(lines)
        with pytest.raises(SessionExists):
            store.create(Header(id="d", cwd="/y"))


def test_what_is_remembered_is_looked_at(root: Path) -> None:
    first, second = "2025-01-01T00-00-00.000Z_s.jsonl", "2026-01-01T00-00-00.000Z_s.jsonl"
    lines = session("s").header.line + b"\n"
    with JSONLStore(root) as store:
        for name in (second, first):
            (root / "p").mkdir(exist_ok=True)
            (root / "p" / name).write_bytes(lines)
        # Of two files of one id it is the first by name, however they became known.
        assert len(list(store.list())) == 2
        assert store.path("s").name == first
        (root / "p" / first).unlink()
        assert store.path("s").name == second
        (root / "p" / second).unlink()
        (root / "p" / second).symlink_to(root / "p" / "elsewhere")
        with pytest.raises(NoSession):
            store.path("s")
        (root / "p" / second).unlink()
        (root / "p" / "2026-01-01T00-00-00.000Z_s.jsonl.lock").write_bytes(b"")
        for _ in range(5):
            with pytest.raises(NoSession):
                store.path("s")
        (root / "p" / first).write_bytes(lines)
        assert store.path("s").name == first
