"""Read-only: nothing made, nothing changed, nothing missed. Spec: stores 5.4, decision B3."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from store_process import StoreProcess

from agentsession.errors import NoSession, ReadOnly, StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import SQLiteStore, Summary, sqlite_reading


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "sessions.db"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private copies are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def stored(place: Path, count: int = 2) -> None:
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        for n in range(count):
            session.append(InfoEntry(f"n{n}"))


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def count(store: SQLiteStore) -> int:
    return len(store.open("s"))


def listed(store: SQLiteStore) -> list[str]:
    return [item.id if isinstance(item, Summary) else str(item) for item in store.list()]


def test_a_database_nobody_has_open(place: Path, scratch: Path) -> None:
    stored(place)
    before = state(place.parent)
    with SQLiteStore(place, read_only=True) as store:
        session = store.open("s")
        assert store.open("s") is session
        assert len(session) == 2
        assert listed(store) == ["s"]
        with pytest.raises(NoSession):
            store.open("t")
    assert state(place.parent) == before
    assert list(scratch.iterdir()) == []


def test_every_write_is_refused(place: Path) -> None:
    stored(place)
    before = state(place.parent)
    with SQLiteStore(place, read_only=True) as store:
        assert store.read_only
        session = store.open("s")
        for call in (
            store.create,
            lambda: store.append("s", InfoEntry("x")),
            lambda: store.delete("s"),
            lambda: store.put(session),
            lambda: store.break_lock("s"),
            lambda: session.append(InfoEntry("x")),
        ):
            with pytest.raises(ReadOnly):
                call()
        store.release("s")
    assert state(place.parent) == before


def test_a_missing_database_is_not_made(place: Path) -> None:
    with pytest.raises(StoreFailed, match="no such file"):
        SQLiteStore(place, read_only=True)
    assert list(place.parent.iterdir()) == []


def test_beside_a_writer(place: Path, scratch: Path) -> None:
    with StoreProcess(place) as writer:
        writer("create", "s")
        writer("many", "s", "a", "3")
        names = {path.name for path in place.parent.iterdir()}
        with SQLiteStore(place, read_only=True) as store:
            session = store.open("s")
            assert len(session) == 3
            writer("many", "s", "b", "2")
            assert store.open("s") is session
            store.release("s")
            assert count(store) == 5
            holder = store.lock_holder("s")
            assert holder is not None
            assert holder.pid == writer.pid
            assert {path.name for path in place.parent.iterdir()} == names
            # The writer is not held up.
            writer("release", "s")
            writer("delete", "s")
            store.release("s")
            with pytest.raises(NoSession):
                store.open("s")
    assert list(scratch.iterdir()) == []


def test_after_a_writer_was_killed(place: Path) -> None:
    with StoreProcess(place) as writer:
        writer("create", "s")
        writer("many", "s", "a", "3")
        writer.kill()
    assert place.with_name("sessions.db-wal").stat().st_size
    with SQLiteStore(place, read_only=True) as store:
        assert count(store) == 3
    with SQLiteStore(place) as store:
        assert count(store) == 3


@pytest.mark.parametrize("with_log", [True, False])
def test_a_log_without_its_index_is_read_in_a_private_copy(
    place: Path, tmp_path: Path, scratch: Path, with_log: bool
) -> None:
    stored(place, 1)
    with SQLiteStore(place) as store:
        store.append("s", InfoEntry("in the log"))
        copied = tmp_path / "backup"
        copied.mkdir()
        shutil.copyfile(place, copied / place.name)
        if with_log:
            shutil.copyfile(f"{place}-wal", copied / f"{place.name}-wal")
    before = state(copied)
    with SQLiteStore(copied / place.name, read_only=True) as store:
        assert count(store) == 1 + with_log
        assert listed(store) == ["s"]
        assert len(list(scratch.iterdir())) == with_log
    assert state(copied) == before
    assert list(scratch.iterdir()) == []


def test_side_files_that_cannot_be_used(
    place: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = sqlite_reading.connect

    def refusing(path: Path, options: str, seconds: float) -> sqlite3.Connection:
        if options == "mode=ro":
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return really(path, options, seconds)

    with SQLiteStore(place) as writer:
        writer.create(Header(id="s")).append(InfoEntry("one"))
        monkeypatch.setattr(sqlite_reading, "connect", refusing)
        before = state(place.parent)
        with SQLiteStore(place, read_only=True) as store:
            assert count(store) == 1
            assert state(place.parent) == before
            monkeypatch.undo()
            writer.append("s", InfoEntry("two"))
            monkeypatch.setattr(sqlite_reading, "connect", refusing)
            store.release("s")
            assert count(store) == 2


def test_a_link_to_a_database(place: Path, tmp_path: Path) -> None:
    with SQLiteStore(place) as writer:
        writer.create(Header(id="s")).append(InfoEntry("one"))
        link = tmp_path / "link.db"
        link.symlink_to(place)
        with SQLiteStore(link, read_only=True) as store:
            assert count(store) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link.db"]


def test_a_change_while_reading_in_place_is_noticed(place: Path) -> None:
    stored(place)
    calls = []
    with SQLiteStore(place, read_only=True) as store:

        def work(connection: sqlite3.Connection) -> int:
            (found,) = connection.execute("SELECT count(*) FROM entries").fetchone()
            calls.append(found)
            if len(calls) == 1:
                with SQLiteStore(place) as writer:
                    writer.append("s", InfoEntry("meanwhile"))
            return int(found)

        assert store._sessions.read(work) == 3
    assert calls == [2, 3]


def test_reading_while_writers_come_and_go(place: Path) -> None:
    stored(place)
    failures: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for n in range(12):
                with SQLiteStore(place) as store:
                    store.append("s", InfoEntry(f"{n}"))
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    last = 0
    while not done.is_set():
        with SQLiteStore(place, read_only=True) as store:
            found = count(store)
            assert found >= last
            last = found
            assert listed(store) == ["s"]
    writer.join()
    assert failures == []
    with SQLiteStore(place, read_only=True) as store:
        assert count(store) == 14


READ = """
import sys
from agentsession.errors import StoreFailed
from agentsession.stores import SQLiteStore
try:
    SQLiteStore(sys.argv[1])
except StoreFailed as error:
    assert "open it read-only" in str(error)
else:
    raise AssertionError
with SQLiteStore(sys.argv[1], read_only=True) as store:
    print(len(store.open("s")), len(list(store.list())))
"""


@pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root writes anywhere"
)
@pytest.mark.parametrize("log", [True, False])
def test_a_directory_that_cannot_be_written(place: Path, log: bool) -> None:
    """What a read-only file system looks like to another user."""
    stored(place)
    folder = place.parent
    if log:
        with StoreProcess(place) as writer:
            writer("append", "s", "in the log")
            writer.kill()
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    temporary = Path(tempfile.gettempdir())
    for parent in folder.parents:
        if temporary in parent.parents:  # the directories of this run of the suite alone
            parent.chmod(parent.stat().st_mode | 0o055)
    before = state(folder)
    command = [sys.executable, "-c", READ, str(place)]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        barred = "No module named" in done.stderr or (
            "Permission denied" in done.stderr and "site-packages" in done.stderr
        )
        if barred:
            pytest.skip("another user cannot run this Python, or not read this package")
        assert (done.stdout, done.stderr) == (f"{2 + log} 1\n", "")
        assert state(folder) == before
    finally:
        folder.chmod(0o755)
