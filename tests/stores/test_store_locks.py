"""Who may write: locks between stores, processes, threads and forks. Spec: stores 4.6."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from store_process import StoreProcess, processes

from agentsession.errors import ConcurrentWriter, NoSession, SessionLocked
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, LockHolder, locks
from agentsession.stores.layout import lock_path

HOST = os.uname().nodename
SINCE = "2026-03-01T08:15:30.25Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def dead_pid() -> int:
    """The id of a process that was there and is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def stored(root: Path, session_id: str = "s") -> Path:
    """The file of a session that nobody holds."""
    with JSONLStore(root) as store:
        store.create(Header(id=session_id))
        return store.path(session_id)


def locked_by(path: Path, content: object) -> Path:
    """Write a lock file for a session file."""
    lock = lock_path(path)
    text = content if isinstance(content, str) else json.dumps(content)
    lock.write_text(f"{text}\n" if text else "")
    return lock


def test_content_and_mode(root: Path) -> None:
    with JSONLStore(root) as store:
        store.create(Header(id="s"))
        lock = lock_path(store.path("s"))
        assert lock.name == f"{store.path('s').name}.lock"
        assert re.fullmatch(
            rb'\{"pid":%d,"host":"%s","since":"[0-9-]{10}T[0-9:]{8}(\.[0-9]{1,9})?Z"\}\n'
            % (os.getpid(), re.escape(HOST.encode())),
            lock.read_bytes(),
        )
        assert lock.stat().st_mode & 0o777 == 0o600
        holder = store.lock_holder("s")
        assert holder is not None
        assert (holder.pid, holder.host, holder.path) == (os.getpid(), HOST, lock)
        assert [path.name for path in lock.parent.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.parametrize("end", ["release", "close", "delete"])
def test_the_lock_goes(root: Path, end: str) -> None:
    store = JSONLStore(root)
    store.create(Header(id="s"))
    lock = lock_path(store.path("s"))
    assert lock.exists()
    if end == "close":
        store.close()
    else:
        getattr(store, end)("s")
    assert not lock.exists()
    store.close()


@pytest.mark.parametrize("act", ["open", "append", "delete"])
def test_two_stores_in_one_process(root: Path, act: str) -> None:
    def do(store: JSONLStore) -> None:
        if act == "append":
            store.append("s", InfoEntry("x"))
        else:
            getattr(store, act)("s")

    with JSONLStore(root) as first, JSONLStore(root) as second:
        first.create(Header(id="s"))
        path = first.path("s")
        with pytest.raises(SessionLocked) as caught:
            do(second)
        error = caught.value
        assert (error.session_id, error.pid, error.host) == ("s", os.getpid(), HOST)
        assert error.path == lock_path(path)
        assert str(lock_path(path)) in str(error)
        assert error.since in str(error)
        assert path.exists()
        first.release("s")
        do(second)


def test_two_processes(root: Path) -> None:
    with StoreProcess(root) as other, JSONLStore(root) as store:
        other("create", "s")
        for call in (
            lambda: store.open("s"),
            lambda: store.append("s", InfoEntry("x")),
            lambda: store.delete("s"),
        ):
            with pytest.raises(SessionLocked) as caught:
                call()
            error = caught.value
            assert (error.pid, error.host) == (other.pid, HOST)
            for fact in (str(other.pid), HOST, error.since, ".lock"):
                assert fact in str(error)
        holder = store.lock_holder("s")
        assert holder == LockHolder("s", other.pid, HOST, error.since, error.path)
        other("release", "s")
        assert store.lock_holder("s") is None
        session = store.open("s")
        refused = other("append", "s", "x")
        assert (refused["error"], refused["pid"]) == ("SessionLocked", str(os.getpid()))
        assert len(session) == 0


@pytest.mark.parametrize("act", ["open", "append", "delete", "create"])
def test_a_killed_holder_is_taken_over_and_reported(root: Path, act: str) -> None:
    stale: list[LockHolder] = []
    header = Header(id="s", created_at=SINCE)
    with StoreProcess(root) as other, JSONLStore(root, on_stale_lock=stale.append) as store:
        if act == "create":
            # Killed between taking the lock and writing the header.
            path = root / "default" / f"{'2026-03-01T08-15-30.250Z'}_s.jsonl"
            path.parent.mkdir()
            locked_by(path, {"pid": other.pid, "host": HOST, "since": SINCE})
        else:
            other("create", "s")
            other("append", "s", "before")
            path = store.path("s")
        old = locks.holder_of(lock_path(path), "s")
        other.kill()
        if act == "create":
            store.create(header)
        elif act == "append":
            assert store.append("s", InfoEntry("after"))
            assert [entry.to_dict()["name"] for entry in store.open("s")] == ["before", "after"]
        else:
            getattr(store, act)("s")
        assert stale == [old]
        assert old is not None
        assert old.pid == other.pid
        if act != "delete":
            holder = store.lock_holder("s")
            assert holder is not None
            assert holder.pid == os.getpid()
            line = lock_path(path).read_bytes()
            assert line.endswith(b"}\n")
            assert line.count(b"\n") == 1
    assert not lock_path(path).exists()


def test_takeover_covers_a_longer_line(root: Path) -> None:
    path = stored(root)
    since = "2026-03-01T08:15:30.123456789Z"
    content = json.dumps({"pid": dead_pid(), "host": HOST, "since": since, "more": "x" * 200})
    lock = locked_by(path, content)
    with JSONLStore(root) as store:
        store.open("s")
        assert json.loads(lock.read_bytes())["pid"] == os.getpid()
        assert lock.read_bytes().endswith(b'Z"}\n')


@pytest.mark.parametrize(
    "content",
    [
        {"pid": 1, "host": HOST, "since": SINCE},
        {"pid": 1, "host": HOST},
        {"pid": 999_999_999, "host": "another-host", "since": SINCE},
        {"pid": 999_999_999, "since": SINCE},
        {"pid": 0, "host": HOST, "since": SINCE},
        {"pid": -5, "host": HOST},
        {"pid": True, "host": HOST},
        {"pid": "4242", "host": HOST},
        {},
        "",
        "not json",
        "[]",
        "\x00" * 40,
        '{"pid":1',
    ],
)
def test_locks_that_are_not_stale(root: Path, content: object) -> None:
    path = stored(root)
    lock = locked_by(path, content)
    before = lock.read_bytes()
    with JSONLStore(root) as store:
        for call in (store.open, store.delete):
            with pytest.raises(SessionLocked) as caught:
                call("s")
            assert str(lock) in str(caught.value)
            assert caught.value.path == lock
        assert lock.read_bytes() == before
        holder = store.lock_holder("s")
        assert holder is not None
        named = content.get("pid") if isinstance(content, dict) else 0
        assert holder.is_known is (type(named) is int and named > 0)
        store.break_lock("s")
        assert store.lock_holder("s") is None
        assert store.open("s").id == "s"


@pytest.mark.parametrize("pid", [999_999_999, 10**30])
def test_a_dead_holder_without_since(root: Path, pid: int) -> None:
    path = stored(root)
    locked_by(path, {"pid": pid, "host": HOST})
    stale: list[LockHolder] = []
    with JSONLStore(root, on_stale_lock=stale.append) as store:
        store.open("s")
    assert stale == [LockHolder("s", pid, HOST, "", lock_path(path))]


def test_our_own_id_from_an_earlier_life_is_stale(root: Path) -> None:
    path = stored(root)
    locked_by(path, {"pid": os.getpid(), "host": HOST, "since": SINCE})
    stale: list[LockHolder] = []
    with JSONLStore(root, on_stale_lock=stale.append) as store:
        store.open("s")
    assert [holder.since for holder in stale] == [SINCE]


def test_a_lock_that_is_a_link_or_directory(root: Path, tmp_path: Path) -> None:
    path = stored(root)
    victim = tmp_path / "victim"
    victim.write_text(json.dumps({"pid": 999_999_999, "host": HOST}))
    lock_path(path).symlink_to(victim)
    with JSONLStore(root) as store:
        with pytest.raises(SessionLocked):
            store.open("s")
        lock_path(path).unlink()
        lock_path(path).mkdir()
        with pytest.raises(SessionLocked):
            store.open("s")
        lock_path(path).rmdir()
    assert json.loads(victim.read_text())["pid"] == 999_999_999


def test_a_report_that_raises_leaves_no_lock(root: Path) -> None:
    path = stored(root)
    locked_by(path, {"pid": dead_pid(), "host": HOST, "since": SINCE})

    def report(holder: LockHolder) -> None:
        raise RuntimeError(holder.session_id)

    with JSONLStore(root, on_stale_lock=report) as store:
        with pytest.raises(RuntimeError, match="s"):
            store.open("s")
        assert not lock_path(path).exists()
        store.open("s")


def test_lock_questions_about_unknown_sessions(root: Path) -> None:
    with JSONLStore(root) as store:
        for call in (store.lock_holder, store.break_lock, store.path):
            for unknown in ("nothing", "../etc"):
                with pytest.raises(NoSession):
                    call(unknown)


def test_a_broken_lock_is_noticed(root: Path) -> None:
    with JSONLStore(root) as first, JSONLStore(root) as second:
        session = first.create(Header(id="s"))
        first.append("s", InfoEntry("first"))
        second.break_lock("s")
        second.append("s", InfoEntry("second"))
        for _ in range(2):
            with pytest.raises(ConcurrentWriter, match="another writer"):
                first.append("s", InfoEntry("lost"))
        with pytest.raises(ConcurrentWriter):
            session.append(InfoEntry("lost"))
        with pytest.raises(ConcurrentWriter):
            first.open("s")
        assert [entry.to_dict()["name"] for entry in session] == ["first"]
        # The lock is the second store's by now, and stays.
        first.release("s")
        assert second.lock_holder("s") is not None
        with pytest.raises(SessionLocked):
            first.open("s")
        second.release("s")
        assert [entry.to_dict()["name"] for entry in first.open("s")] == ["first", "second"]


def test_a_removed_file_swallows_nothing(root: Path) -> None:
    with JSONLStore(root) as store:
        store.create(Header(id="s"))
        store.path("s").unlink()
        with pytest.raises(ConcurrentWriter, match="was removed"):
            store.append("s", InfoEntry("x"))
        store.release("s")
        with pytest.raises(NoSession):
            store.append("s", InfoEntry("x"))


def test_eight_processes_one_winner(root: Path) -> None:
    path = stored(root)
    locked_by(path, {"pid": dead_pid(), "host": HOST, "since": SINCE})
    with processes(root, 4) as others:
        # Warm: all have imported before the race.
        assert all(other("list") == {"ok": ["s"]} for other in others)
        for other in others:
            other.send("open", "s")
        opened = [other.answer() for other in others]
        assert sum("ok" in answer for answer in opened) == 1
        assert [a["error"] for a in opened if "ok" not in a] == ["SessionLocked"] * 3
        for other in others:
            other.send("create", "new")
        created = [other.answer() for other in others]
        assert sum("ok" in answer for answer in created) == 1
        assert {a["error"] for a in created if "ok" not in a} <= {"SessionExists", "SessionLocked"}
        assert len(list(root.glob("*/*_new.jsonl"))) == 1
        # Different sessions go on side by side.
        for n, other in enumerate(others):
            assert other("create", f"own{n}") == {"ok": f"own{n}"}
            other.send("many", f"own{n}", "x", "25")
        assert all(len(other.answer()["ok"]) == 25 for other in others)
        for other in others:
            other.finish()
    # They ended without closing their stores, and left no lock.
    assert list(root.glob("*/*.lock")) == []
    with JSONLStore(root) as store:
        assert [len(store.open(f"own{n}")) for n in range(4)] == [25] * 4


def test_threads_racing_to_create_and_open(root: Path) -> None:
    path = stored(root)
    locked_by(path, {"pid": dead_pid(), "host": HOST, "since": SINCE})
    outcomes: list[str] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        with JSONLStore(root) as store:
            for call in (lambda: store.open("s"), lambda: store.create(Header(id="new"))):
                barrier.wait()
                try:
                    call()
                    outcomes.append("won")
                except (SessionLocked, FileExistsError) as error:
                    outcomes.append(type(error).__name__)
            barrier.wait()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("won") == 2
    assert len(list(root.glob("*/*_new.jsonl"))) == 1
    assert list(root.glob("*/*.lock")) == []


FORKED = """
import os, sys, warnings
from agentsession.errors import ReadOnly, SessionLocked
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore
store = JSONLStore(sys.argv[1])
session = store.create(Header(id="s"))
session.append(InfoEntry("parent"))
pid = os.fork()
if not pid:
    found = []
    for call in (lambda: store.append("s", InfoEntry("x")), lambda: session.append(InfoEntry("x"))):
        try:
            call()
        except (SessionLocked, ReadOnly) as error:
            found.append(type(error).__name__)
    store.create(Header(id="own")).append(InfoEntry("child"))
    store.close()
    print(*found, flush=True)
    sys.exit(0)
os.waitpid(pid, 0)
session.append(InfoEntry("parent again"))
print(store.lock_holder("s").pid == os.getpid())
"""


def test_a_forked_child_holds_nothing(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(root)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["SessionLocked", "ReadOnly", "True"]
    assert list(root.glob("*/*.lock")) == []
    with JSONLStore(root, read_only=True) as store:
        assert len(store.open("s")) == 2
        assert len(store.open("own")) == 1


def test_old_temporary_files_are_swept_on_a_takeover(root: Path) -> None:
    path = stored(root)
    old, new = path.parent / ".0123.tmp", path.parent / ".4567.tmp"
    for left in (old, new):
        left.write_bytes(b"")
    os.utime(old, (0, 0))
    locked_by(path, {"pid": dead_pid(), "host": HOST, "since": SINCE})
    with JSONLStore(root) as store:
        store.open("s")
    assert not old.exists()
    assert new.exists()


def test_without_hard_links(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with JSONLStore(root) as first, JSONLStore(root) as second:
        first.create(Header(id="s")).append(InfoEntry("x"))
        with pytest.raises(SessionLocked):
            second.open("s")
        with pytest.raises(FileExistsError):
            second.create(Header(id="s"))
        first.release("s")
        assert len(second.open("s")) == 1
    assert [path.name for path in root.glob("*/*") if path.suffix != ".jsonl"] == []
