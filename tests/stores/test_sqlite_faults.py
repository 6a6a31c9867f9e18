"""Full disks, busy databases and processes that die, with SQLite. Spec: stores 5.4."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from store_faults import INTERRUPTS, THREADS, kill_at_random_moments, names, output, work_in_threads
from store_process import StoreProcess, processes

from agentsession.errors import (
    AgentSessionError,
    DamagedFile,
    NoSession,
    SessionExists,
    SessionLocked,
    StoreFailed,
)
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import LockHolder, SQLiteStore, Summary


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def holders(place: Path) -> int:
    with closing(sqlite3.connect(place)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM holders").fetchone()
    return int(count)


def test_a_busy_database(place: Path) -> None:
    with (
        SQLiteStore(place, busy_seconds=0.05) as store,
        closing(sqlite3.connect(place, isolation_level=None)) as other,
    ):
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed, match="another process is writing to it") as caught:
            session.append(InfoEntry("two"))
        assert (caught.value.session_id, caught.value.path) == ("s", place)
        assert caught.value.errno == errno.EBUSY
        for call in (
            lambda: session.append(InfoEntry("x")),
            lambda: store.create(Header(id="t")),
            lambda: store.open("s"),
            lambda: store.delete("s"),
            lambda: store.release("s"),
        ):
            with pytest.raises(StoreFailed):
                call()
        assert len(session) == 1
        # Reading goes on.
        assert [item.id for item in store.list() if isinstance(item, Summary)] == ["s"]
        other.execute("ROLLBACK")
        again = store.open("s")
        assert again is not session
        store.append("s", InfoEntry("three"))
        assert names(store) == ["one", "three"]
    assert holders(place) == 0


def test_an_interrupt_between_disk_and_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        with monkeypatch.context() as patch:
            patch.setattr(Session, "commit", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.append("s", InfoEntry("one"))
        with pytest.raises(StoreFailed, match="open it again"):
            session.append(InfoEntry("x"))
        assert names(store) == ["one"]
        store.append("s", InfoEntry("two"))
        assert names(store) == ["one", "two"]


def test_interrupts_at_any_moment(place: Path) -> None:
    """Signals that raise, wherever they come: nothing acknowledged is lost, nothing hangs."""
    told = output(INTERRUPTS + INTERRUPTED, place)[-1].split()
    with closing(sqlite3.connect(place)) as connection:
        there = {row[0] for row in connection.execute("SELECT id FROM entries")}
    assert len(told) > 100
    assert set(told) <= there


INTERRUPTED = """
from agentsession.stores import ListFilter, SQLiteStore
place = sys.argv[1]
store = SQLiteStore(place)
other = SQLiteStore(place, busy_seconds=0.5)
store.create(Header(id="s"))
for turn in range(150):
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + chance.random() * 0.002)
        while True:
            told.append(store.append("s", InfoEntry("one")))
            list(store.list(ListFilter(limit=1)))
            if turn % 3 == 0:
                store.release("s")
    except KeyboardInterrupt:
        armed = False
    told.append(store.append("s", InfoEntry("two")))
    other.create()
    assert sum(1 for _ in store.list()) == turn + 2
finds_no_lock(store.create)
store.close()
other.close()
print(*told)
"""


def test_an_interrupt_that_is_not_noted(place: Path) -> None:
    """As when it comes before the block that drops the session is left."""
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        held = store._slots._slots["s"].file
        assert held is not None
        # Committed, and not taken into the session.
        store._sessions.append(held, session.prepare(InfoEntry("two")))
        held.is_unsure = True
        with pytest.raises(StoreFailed, match="interrupted"):
            session.append(InfoEntry("x"))
        store.append("s", InfoEntry("three"))
        assert names(store) == ["one", "two", "three"]


def test_a_transaction_left_open(place: Path) -> None:
    with SQLiteStore(place) as store, SQLiteStore(place, busy_seconds=0.1) as other:
        store.create(Header(id="s"))
        database = store._sessions._writer
        assert database is not None
        assert database._writer is not None
        database._writer.execute("BEGIN IMMEDIATE")
        store.append("s", InfoEntry("one"))
        reader = database._borrowed()
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
        database._give_back(reader)
        other.create(Header(id="t"))
        assert len(list(store.list())) == 2


FULL = """
import resource, sys
from agentsession.errors import StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import SQLiteStore
place = sys.argv[1]
store = SQLiteStore(place)
session = store.create(Header(id="s"))
session.append(InfoEntry("one"))
import os
size = os.stat(place + "-wal").st_size
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for room in (0, 10, 5000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
    try:
        store.append("s", InfoEntry("x" * 100_000))
    except StoreFailed as error:
        print("failed", error.errno)
    assert len(session) == 1
    try:
        store.create(Header(id="big", unknown={"x": "y" * 100_000}))
    except StoreFailed as error:
        print("failed", error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
session = store.open("s")
session.append(InfoEntry("two"))
print(*[entry.name for entry in session])
store.create(Header(id="big"))
"""


def test_a_full_disk(place: Path) -> None:
    lines = output(FULL, place)
    assert [line.split()[0] for line in lines] == ["failed"] * 6 + ["one"]
    assert lines[-1] == "one two"
    assert holders(place) == 0
    with SQLiteStore(place) as store:
        assert names(store) == ["one", "two"]
        assert len(store.open("big")) == 0
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_damaged_database(place: Path) -> None:
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        for n in range(50):
            session.append(InfoEntry(f"{n}" * 200))
    data = bytearray(place.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    place.write_bytes(data)
    for read_only in (True, False):
        failures = []
        try:
            with SQLiteStore(place, read_only=read_only) as store:
                failures = [item for item in store.list() if not isinstance(item, Summary)]
                with pytest.raises(AgentSessionError):
                    store.open("s")
        except DamagedFile as error:
            failures = [error]
        assert failures
        assert all("cannot be read" in str(failure) for failure in failures)


def test_two_processes(place: Path) -> None:
    with StoreProcess(place) as other, SQLiteStore(place) as store:
        assert other("create", "s") == {"ok": "s"}
        assert "ok" in other("append", "s", "one")
        with pytest.raises(SessionLocked) as caught:
            store.append("s", InfoEntry("x"))
        assert caught.value.pid == other.pid
        assert [item.id for item in store.list() if isinstance(item, Summary)] == ["s"]
        other("release", "s")
        assert names(store) == ["one"]
        told = other("delete", "s")
        assert (told["error"], told["pid"]) == ("SessionLocked", str(os.getpid()))


@pytest.mark.parametrize("act", ["open", "append", "delete"])
def test_a_killed_holder(place: Path, act: str) -> None:
    stale: list[LockHolder] = []
    with StoreProcess(place) as other, SQLiteStore(place, on_stale_lock=stale.append) as store:
        other("create", "s")
        acknowledged = other("many", "s", "a", "5")["ok"]
        other.kill()
        if act == "delete":
            store.delete("s")
        else:
            if act == "append":
                store.append("s", InfoEntry("more"))
            assert [entry.id for entry in store.open("s")][:5] == acknowledged
        assert [holder.pid for holder in stale] == [other.pid]


def test_eight_processes(place: Path) -> None:
    with SQLiteStore(place) as store:
        store.create(Header(id="s"))
    with processes(place, 8) as others:
        # Warm: all have imported before the race.
        assert all(other("list") == {"ok": ["s"]} for other in others)
        for name, losers in (("open", {"SessionLocked"}), ("create", {"SessionExists"})):
            for other in others:
                other.send(name, "s" if name == "open" else "new")
            answers = [other.answer() for other in others]
            assert sum("ok" in answer for answer in answers) == 1
            assert {a["error"] for a in answers if "ok" not in a} == losers
        for n, other in enumerate(others):
            other.send("create", f"own{n}")
        assert all("ok" in other.answer() for other in others)
        for n, other in enumerate(others):
            other.send("many", f"own{n}", "x", "25")
        assert all(len(other.answer()["ok"]) == 25 for other in others)
        for other in others:
            other.finish()
    # They ended without closing their stores, and hold nothing.
    assert holders(place) == 0
    with SQLiteStore(place) as store:
        assert [len(store.open(f"own{n}")) for n in range(8)] == [25] * 8


def test_threads_at_one_store(place: Path) -> None:
    """Creates, appends, lists, releases and deletes at once: no deadlock, nothing lost."""
    with SQLiteStore(place) as store:
        work_in_threads(store, 6, 4)
    assert holders(place) == 0
    with SQLiteStore(place) as store:
        assert len(list(store.list())) == 1 + THREADS * 3
        assert {len(store.open(f"t{n}-0")) for n in range(THREADS)} == {4}


def test_threads_with_stores_of_their_own(place: Path) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        with SQLiteStore(place) as store:
            for call in (
                lambda: store.create(Header(id="new")),
                lambda: store.append("new", InfoEntry("x")),
                lambda: store.delete("new"),
            ):
                barrier.wait()
                try:
                    call()
                    outcomes.append("won")
                except (SessionExists, SessionLocked, NoSession) as error:
                    outcomes.append(type(error).__name__)
            barrier.wait()

    SQLiteStore(place).close()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("won") == 3
    with SQLiteStore(place) as store:
        assert list(store.list()) == []


def test_closing_while_others_append(place: Path) -> None:
    store = SQLiteStore(place)
    store.create(Header(id="s"))
    acknowledged: list[str] = []
    started = threading.Event()

    def work() -> None:
        try:
            while True:
                acknowledged.append(store.append("s", InfoEntry("x")))
                started.set()
        except AgentSessionError:
            started.set()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait(10)
    store.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    with SQLiteStore(place) as again:
        assert {entry.id for entry in again.open("s")} == set(acknowledged)


@pytest.mark.parametrize("kind", ["sqlite", "copy", "migration"])
def test_kill_9_at_random_moments(kind: str) -> None:
    kill_at_random_moments(kind, 8)
