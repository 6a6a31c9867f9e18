"""Later drafts in the stores beyond the public suite. Spec: later drafts 5 and 13."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsession import reading, writing
from agentsession.errors import AgentSessionError, UnsupportedFormat
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.recording import continue_session
from agentsession.session import Session
from agentsession.stores import JSONLStore, MemoryStore, SQLiteStore, Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def relabel(database: Path, version: str) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(
            "UPDATE sessions SET header = replace(header, 'agentsession/0.11', ?)",
            (f"agentsession/{version}",),
        )
    connection.close()


@pytest.mark.parametrize("version", ["0.5", "0.10"])
def test_the_first_append_raises_a_row(database: Path, version: str) -> None:
    with SQLiteStore(database) as store:
        session = store.create(Header(id="s", format="agentsession/0.11"))
        session.append(InfoEntry("one"))
    relabel(database, version)
    with SQLiteStore(database) as store:
        session = store.open("s")
        assert session.header.format == f"agentsession/{version}"
        with pytest.raises(AgentSessionError):
            session.append(InfoEntry("x", parent="nothing"))
        assert session.header.format == f"agentsession/{version}"
        session.append(InfoEntry("two"))
        assert session.header.format == "agentsession/0.11"
    with SQLiteStore(database) as store:
        again = store.open("s")
        assert (again.header.format, len(again)) == ("agentsession/0.11", 2)
        assert writing.dump(again) == writing.dump(session)


def test_a_row_of_04_is_read_only(database: Path) -> None:
    with SQLiteStore(database) as store:
        store.create(Header(id="s", format="agentsession/0.11"))
    relabel(database, "0.4")
    with SQLiteStore(database) as store, pytest.raises(UnsupportedFormat):
        store.append("s", InfoEntry("x"))


@pytest.fixture(params=["memory", "files", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = {
        "memory": MemoryStore,
        "files": lambda: JSONLStore(tmp_path / "root"),
        "sqlite": lambda: SQLiteStore(tmp_path / "s.db"),
    }[request.param]()
    with made:
        yield made


def test_a_successor_keeps_the_format(store: Store) -> None:
    old = store.create(Header(format="agentsession/0.11"))
    old.append(InfoEntry("a name"))
    new = continue_session(store, old.id)
    assert new.header.format == "agentsession/0.11"
    assert (new.name, old.superseded_by) == ("a name", new.id)
    for session in (old, new):
        assert [e.id for e in reading.load(writing.dump(session))] == [e.id for e in session]


def test_a_fork_of_a_fork(store: Store) -> None:
    origin = store.create(Header(format="agentsession/0.11"))
    first = origin.append(InfoEntry("one"))
    fork = store.create(Header(format="agentsession/0.11", base=first, parent_session=origin.id))
    second = fork.append(InfoEntry("two"))
    again = store.create(Header(format="agentsession/0.11", base=second, parent_session=fork.id))
    assert [entry.id for entry in again] == [first, second]
    above = store.create(Header(format="agentsession/0.11", base=first, parent_session=again.id))
    assert [entry.id for entry in above] == [first]
    assert isinstance(above, Session)
