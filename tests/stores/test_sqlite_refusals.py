"""Sessions that a store refused are not deleted before they are released. Spec: stores 1."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentsession.errors import ConcurrentWriter, SessionLocked
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, SQLiteStore


def assert_refused_until_released(
    store: JSONLStore | SQLiteStore, session: Session, error: type[Exception]
) -> None:
    with pytest.raises(error):
        session.append(InfoEntry("two"))
    with pytest.raises(error):
        store.delete(session.id)
    store.release(session.id)
    store.delete(session.id)


def test_another_writer_of_rows(tmp_path: Path) -> None:
    place = tmp_path / "sessions.db"
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute(
                "INSERT INTO entries (session_id, seq, id, type, line) "
                "VALUES ('s', 2, 'x', 'info', '{}')"
            )
        assert_refused_until_released(store, session, ConcurrentWriter)


def test_a_hold_that_was_taken(tmp_path: Path) -> None:
    place = tmp_path / "sessions.db"
    with SQLiteStore(place) as store, SQLiteStore(place) as other:
        session = store.create(Header(id="s"))
        other.break_lock("s")
        other.append("s", InfoEntry("one"))
        other.release("s")
        assert_refused_until_released(store, session, SessionLocked)


def test_another_writer_of_a_file(tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        (path,) = tmp_path.rglob("*.jsonl")
        with path.open("ab") as file:
            file.write(b'{"type":"info","id":"x","parent":null}\n')
        assert_refused_until_released(store, session, ConcurrentWriter)
        assert not path.exists()
