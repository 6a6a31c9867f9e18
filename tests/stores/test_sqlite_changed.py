"""A database that others change, or take away, under a store that has it open.

Spec: stores 5.3 and 5.4.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agentsession.errors import ConcurrentWriter, DamagedFile, NoSession, StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import SQLiteStore, sqlite_database


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no append be too soon after another for a look at the file."""
    monkeypatch.setattr(sqlite_database, "LOOK_SECONDS", 0.0)


def change(place: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place)) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


def filled(store: SQLiteStore, *names: str) -> list[str]:
    session = store.create(Header(id="s"))
    return [session.append(InfoEntry(name)) for name in names]


# Rows.


def test_a_last_entry_that_is_gone(place: Path) -> None:
    with SQLiteStore(place) as store:
        ids = filled(store, "one", "two")
        session = store.open("s")
        change(place, "DELETE FROM entries WHERE id = ?", ids[-1])
        for _ in range(2):
            with pytest.raises(ConcurrentWriter, match=r"no longer has its entry .*; release"):
                session.append(InfoEntry("three"))
        with pytest.raises(ConcurrentWriter):
            store.append("s", InfoEntry("three"))
        assert len(session) == 2
        store.release("s")
        again = store.open("s")
        assert [entry.id for entry in again] == ids[:1]
        store.append("s", InfoEntry("three"))
    with SQLiteStore(place) as store:
        assert [entry.name for entry in store.open("s") if isinstance(entry, InfoEntry)] == [
            "one",
            "three",
        ]


@pytest.mark.parametrize("at", ["create", "open"])
def test_it_is_noticed_at_the_first_append_too(place: Path, at: str) -> None:
    with SQLiteStore(place) as store:
        ids = filled(store, "one")
        if at == "open":
            store.release("s")
            store.open("s")
        change(place, "DELETE FROM entries WHERE id = ?", ids[0])
        with pytest.raises(ConcurrentWriter):
            store.append("s", InfoEntry("two"))
        store.release("s")
        assert len(store.open("s")) == 0


def test_a_parent_elsewhere_that_is_gone(place: Path) -> None:
    """A branch grows from an entry that is not the last one."""
    with SQLiteStore(place) as store:
        ids = filled(store, "one", "two", "three")
        session = store.open("s")
        session.branch(ids[1])
        change(place, "DELETE FROM entries WHERE id = ?", ids[1])
        with pytest.raises(ConcurrentWriter, match=ids[1]):
            session.append(InfoEntry("four"))
        assert len(session) == 3


def test_a_branch_and_a_new_root_are_appended(place: Path) -> None:
    with SQLiteStore(place) as store:
        ids = filled(store, "one", "two")
        session = store.open("s")
        session.branch(ids[0])
        session.append(InfoEntry("three"))
        session.reset_leaf()
        session.append(InfoEntry("four"))
        assert [entry.parent for entry in session] == [None, ids[0], ids[0], None]
    with SQLiteStore(place) as store:
        assert len(store.open("s")) == 4


def test_a_session_that_is_gone(place: Path) -> None:
    with SQLiteStore(place) as store:
        filled(store, "one")
        change(place, "DELETE FROM holders")
        change(place, "DELETE FROM entries")
        change(place, "DELETE FROM sessions")
        with pytest.raises(NoSession, match="deleted by another store"):
            store.append("s", InfoEntry("two"))


def test_a_commit_that_fails_is_taken_back(place: Path) -> None:
    """Foreign keys are checked at the end when a program asks for that."""
    with SQLiteStore(place) as store:
        filled(store, "one")
        database = store._sessions._writer
        assert database is not None

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            connection.execute("INSERT INTO entries VALUES ('none', 1, 'e', NULL, 'info', '')")

        with pytest.raises(sqlite3.IntegrityError):
            database.write(work)
        store.append("s", InfoEntry("two"))
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (2,)


# The file.


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no file that is open")
@pytest.mark.usefixtures("looks_always")
class TestTheFile:
    @pytest.mark.parametrize("how", ["removed", "renamed", "its directory"])
    def test_a_removed_database_takes_nothing(self, tmp_path: Path, how: str) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        place = folder / "sessions.db"
        store = SQLiteStore(place)
        filled(store, "one")
        session = store.open("s")
        if how == "its directory":
            folder.rename(tmp_path / "other")
        elif how == "renamed":
            place.rename(folder / "other.db")
        else:
            place.unlink()
        calls = (
            lambda: session.append(InfoEntry("two")),
            lambda: session.append(InfoEntry("two")),
            lambda: store.append("s", InfoEntry("two")),
            lambda: store.open("s"),
            store.create,
            lambda: store.delete("s"),
            lambda: store.release("s"),
            store.close,
        )
        for call in calls:
            with pytest.raises(StoreFailed, match="was removed while it was open") as caught:
                call()
        assert (caught.value.path, caught.value.errno) == (place, errno.ENOENT)
        assert len(session) == 1
        store.close()
        assert not place.exists()

    def test_a_replaced_database(self, place: Path, tmp_path: Path) -> None:
        with SQLiteStore(tmp_path / "new.db") as other:
            filled(other, "other")
        store = SQLiteStore(place)
        filled(store, "one")
        (tmp_path / "new.db").replace(place)
        with pytest.raises(StoreFailed, match="was replaced by another file"):
            store.append("s", InfoEntry("two"))
        with pytest.raises(StoreFailed, match="was replaced by another file"):
            store.close()

    def test_a_store_that_comes_back_goes_on(self, place: Path, tmp_path: Path) -> None:
        with SQLiteStore(place) as store:
            filled(store, "one")
            place.rename(tmp_path / "away")
            with pytest.raises(StoreFailed):
                store.append("s", InfoEntry("two"))
            (tmp_path / "away").rename(place)
            store.append("s", InfoEntry("three"))
        with SQLiteStore(place) as store:
            assert len(store.open("s")) == 2

    def test_a_relative_path_and_another_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with SQLiteStore("sessions.db") as store:
            filled(store, "one")
            (tmp_path / "elsewhere").mkdir()
            monkeypatch.chdir(tmp_path / "elsewhere")
            store.append("s", InfoEntry("two"))
            assert len(list(store.list())) == 1
        with SQLiteStore(tmp_path / "sessions.db") as store:
            assert len(store.open("s")) == 2

    def test_a_link_to_a_database(self, place: Path, tmp_path: Path) -> None:
        link = tmp_path / "link.db"
        SQLiteStore(place).close()
        link.symlink_to(place)
        with SQLiteStore(link) as store:
            filled(store, "one", "two")
        with SQLiteStore(place) as store:
            assert len(store.open("s")) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no file that is open")
def test_closing_always_looks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "LOOK_SECONDS", 3600.0)
    store = SQLiteStore(place)
    filled(store, "one")
    place.unlink()
    store.append("s", InfoEntry("too soon for a look"))
    with pytest.raises(StoreFailed, match="was removed"):
        store.close()


def test_appends_in_a_row_share_a_look(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "LOOK_SECONDS", 3600.0)
    looks: list[object] = []
    with SQLiteStore(place) as store:
        filled(store, "one")
        ask = os.stat

        def noted(path: object, **options: object) -> os.stat_result:
            looks.append(path)
            return ask(path, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "stat", noted)
        for _ in range(50):
            store.append("s", InfoEntry("two"))
        monkeypatch.undo()
    assert len(looks) <= 1


def test_a_database_emptied_in_place_is_not_written_to(place: Path) -> None:
    """The same file, and no tables: SQLite or the hold refuses, and nothing is acknowledged."""
    with SQLiteStore(place) as store:
        filled(store, "one")
        with closing(sqlite3.connect(place)) as connection, connection:
            for table in ("holders", "entries", "sessions"):
                connection.execute(f"DROP TABLE {table}")
        with pytest.raises((StoreFailed, DamagedFile)):
            store.append("s", InfoEntry("two"))
        with pytest.raises((StoreFailed, DamagedFile)):
            store.close()
