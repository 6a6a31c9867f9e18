"""Databases that are older, newer, or something else. Spec: stores 5.2, decision B3."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from pathlib import Path

import pytest

from agentsession.errors import AgentSessionError, DamagedFile, NoSession
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.stores import ListFilter, SQLiteStore, Summary

OLD_TABLES = """
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  cwd TEXT NOT NULL DEFAULT '', parent_session TEXT NOT NULL DEFAULT '',
  {name} header TEXT NOT NULL) STRICT;
CREATE TABLE entries (
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL, id TEXT NOT NULL, parent TEXT, type TEXT NOT NULL, line TEXT NOT NULL,
  PRIMARY KEY (session_id, seq), UNIQUE (session_id, id)) STRICT;
CREATE INDEX sessions_by_time ON sessions(created_at);
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def older(place: Path, *, with_name: bool = False) -> None:
    """A database as earlier releases made it, with three sessions."""
    modern = place.with_name("modern.db")
    with SQLiteStore(modern) as store:
        for session_id in ("a", "b", "c"):
            session = store.create(
                Header(id=session_id, created_at=f"2026-03-0{ord(session_id) - 96}T00:00:00Z")
            )
            if session_id != "c":
                session.append(InfoEntry(f"first {session_id}"))
                session.append(InfoEntry(f"second {session_id}"))
                session.append(InfoEntry(""))
            if session_id == "a":
                session.append(LinkEntry("continued_in", "b"))
                session.append(LinkEntry("subsession", "x"))
    connection = sqlite3.connect(place)
    connection.executescript(
        OLD_TABLES.format(name="name TEXT NOT NULL DEFAULT ''," if with_name else "")
    )
    connection.execute("ATTACH ? AS modern", (str(modern),))
    kept = "id, created_at, updated_at, cwd, parent_session, header"
    kept += ", name" if with_name else ""
    connection.execute(f"INSERT INTO sessions ({kept}) SELECT {kept} FROM modern.sessions")
    connection.execute("INSERT INTO entries SELECT * FROM modern.entries")
    connection.commit()
    connection.close()
    modern.unlink()


def state(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file of a folder: its content and its time.

    Of SQLite's shared memory only that it is there: whoever reads along leaves a mark in it.
    """
    return {
        path.name: (
            "" if path.name.endswith("-shm") else hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in folder.iterdir()
    }


def listed(store: SQLiteStore, asked: ListFilter | None = None) -> list[tuple[str, str, str]]:
    return [
        (item.id, item.name, item.superseded_by)
        for item in store.list(asked)
        if isinstance(item, Summary)
    ]


EXPECTED = [("c", "", ""), ("b", "second b", ""), ("a", "second a", "b")]


@pytest.mark.parametrize("with_name", [True, False])
def test_migration(place: Path, with_name: bool) -> None:
    older(place, with_name=with_name)
    with SQLiteStore(place) as store:
        assert listed(store) == EXPECTED
        assert listed(store, ListFilter(current=True)) == EXPECTED[:2]
        store.append("c", InfoEntry("now named"))
    before = place.read_bytes()
    with SQLiteStore(place) as store:
        assert listed(store)[0] == ("c", "now named", "")
        assert len(store.open("a")) == 5
        store.release("a")
    after = place.read_bytes()
    assert len(after) == len(before)
    connection = sqlite3.connect(place)
    schema = connection.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    assert len([text for (text,) in schema if text and text.startswith("CREATE INDEX")]) == 3


def test_read_only_never_migrates(place: Path) -> None:
    older(place)
    before = state(place.parent)
    with SQLiteStore(place, read_only=True) as store:
        assert listed(store) == EXPECTED
        assert listed(store, ListFilter(current=True, limit=1)) == EXPECTED[:1]
        assert listed(store, ListFilter(current=True)) == EXPECTED[:2]
        assert len(store.open("a")) == 5
        assert store.lock_holder("a") is None
    assert state(place.parent) == before


def test_an_interrupted_migration_changes_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentsession.stores import sqlite_schema

    older(place)

    def failing(*_: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_schema, "names_in_entries", failing)
        with pytest.raises(KeyboardInterrupt):
            SQLiteStore(place)
    connection = sqlite3.connect(place)
    columns = [
        name for (name,) in connection.execute("SELECT name FROM pragma_table_info('sessions')")
    ]
    connection.close()
    assert "name" not in columns
    with SQLiteStore(place) as store:
        assert listed(store) == EXPECTED


FOREIGN = {
    "other tables": ("CREATE TABLE things (a)", "has the tables things"),
    "a view": ("CREATE VIEW seen AS SELECT 1 AS a", "has the tables seen"),
    "other columns": (
        "CREATE TABLE sessions (id TEXT, title TEXT); CREATE TABLE users (a)",
        "its table sessions has the columns id, title, where a store has id, created_at",
    ),
    "one column more": (
        OLD_TABLES.format(name="colour TEXT,"),
        "parent_session, colour, header, where",
    ),
    "holders of another kind": (
        OLD_TABLES.format(name="") + "CREATE TABLE holders (session_id, who);",
        "its table holders has the columns session_id, who, where",
    ),
    "entries alone": (
        OLD_TABLES.format(name="") + "DROP TABLE sessions",
        "entries and no sessions",
    ),
}


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("mode", ["delete", "wal", "wal in use"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_database_is_left_alone(
    place: Path, kind: str, mode: str, read_only: bool
) -> None:
    statement, sentence = FOREIGN[kind]
    connection = sqlite3.connect(place)
    connection.execute(f"PRAGMA journal_mode = {mode.split(maxsplit=1)[0]}")
    connection.executescript(statement)
    connection.commit()
    if "use" not in mode:
        connection.close()
    before = state(place.parent)
    with pytest.raises(DamagedFile, match=sentence) as caught:
        SQLiteStore(place, read_only=read_only)
    assert str(caught.value).startswith(f"{place}: is a SQLite database")
    assert state(place.parent) == before
    connection.close()


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + bytes(100)])
def test_what_is_no_database_is_left_alone(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    for read_only in (True, False):
        with pytest.raises(DamagedFile, match="is a SQLite database that cannot be read"):
            SQLiteStore(place, read_only=read_only)
    assert place.read_bytes() == content
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_an_empty_file_becomes_a_store(place: Path) -> None:
    place.touch()
    with SQLiteStore(place, read_only=True) as store:
        assert list(store.list()) == []
        assert store.lock_holder("s") is None
        with pytest.raises(NoSession):
            store.open("s")
    assert place.read_bytes() == b""
    with SQLiteStore(place) as store:
        store.create(Header(id="s"))
        assert [item[0] for item in listed(store)] == ["s"]


def test_tables_of_others_beside_ours_stay(place: Path) -> None:
    SQLiteStore(place).close()
    connection = sqlite3.connect(place)
    connection.executescript("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
    connection.close()
    with SQLiteStore(place) as store:
        store.create(Header(id="s"))
    connection = sqlite3.connect(place)
    assert connection.execute("SELECT a FROM mine").fetchall() == [(1,)]
    connection.close()


@pytest.mark.parametrize("old", [True, False])
def test_many_open_a_database_at_once(place: Path, old: bool) -> None:
    if old:
        older(place)
    failures: list[AgentSessionError] = []
    barrier = threading.Barrier(6)

    def work(n: int) -> None:
        barrier.wait()
        try:
            with SQLiteStore(place) as store:
                store.create(Header(id=f"t{n}"))
        except AgentSessionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=[n]) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with SQLiteStore(place) as store:
        assert len(listed(store)) == 6 + 3 * old
