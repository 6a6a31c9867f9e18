from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentsession.importers import opencode as oc

if TYPE_CHECKING:
    from collections.abc import Callable


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session (id TEXT PRIMARY KEY)")
        connection.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
        connection.execute("CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)")
    connection.close()
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("opencode.db", True),
        ("opencode-dev.db", True),
        ("opencode-my-branch_1.2.db", True),
        ("opencode-next.db", False),
        ("opencode-.db", False),
        ("opencode.db-wal", False),
        ("opencode-a b.db", False),
        ("xopencode.db", False),
        ("opencode.db\n", False),
    ],
)
def test_database_names(name: str, expected: bool) -> None:
    assert oc.is_database_name(name) is expected


def test_where_a_release_keeps_its_data() -> None:
    home = {"HOME": "/home/dev"}
    directory = Path("/home/dev/.local/share/opencode")
    assert oc.data_directory(home) == directory
    assert oc.data_directory({"XDG_DATA_HOME": "/data", **home}) == Path("/data/opencode")
    assert oc.data_directory().name == "opencode"
    assert oc.database_path(home) == directory / "opencode.db"
    assert oc.database_path(home, "my/branch") == directory / "opencode-my-branch.db"
    shared = {"OPENCODE_DISABLE_CHANNEL_DB": "true", **home}
    assert oc.database_path(shared, "local") == directory / "opencode.db"
    assert oc.database_path({"OPENCODE_DB": "mine.db", **home}) == directory / "mine.db"
    assert oc.database_path({"OPENCODE_DB": "/x/y.db", **home}) == Path("/x/y.db")
    assert oc.database_path({"OPENCODE_DB": ":memory:", **home}) is None


def test_finding_stores(tmp_path: Path) -> None:
    data = database(tmp_path / "one" / "opencode.db").parent
    other = database(data / "opencode-dev.db")
    database(data / "opencode-next.db")
    database(data / "storage" / "opencode-inner.db")
    loose = database(tmp_path / "two" / "opencode-dev.db")
    tree = tmp_path / "three" / "storage" / "session" / "global" / "ses_a.json"
    tree.parent.mkdir(parents=True)
    tree.write_text("{}")
    (tmp_path / "four" / "storage" / "session_diff").mkdir(parents=True)
    assert set(oc.find_sessions(tmp_path)) == {data, other, loose, tmp_path / "three"}
    assert oc.find_sessions(loose) == (loose,)
    assert oc.find_sessions(tmp_path / "nowhere") == ()
    assert oc.databases(data) == (other,)
    assert oc.preview_database(data) == data / "opencode-next.db"
    assert oc.preview_database(tmp_path) is None
    assert oc.is_data_dir(data)
    assert oc.is_data_dir(tmp_path / "three")
    assert not oc.is_data_dir(tmp_path / "four")
    assert not oc.is_data_dir(tmp_path)


def test_the_store_a_path_names(tmp_path: Path) -> None:
    data = database(tmp_path / "one" / "opencode.db").parent
    other = database(data / "opencode-dev.db")
    copied = database(tmp_path / "copied.sqlite")
    file = data / "storage" / "message" / "ses_a" / "msg_1.json"
    for path in (data, data / "opencode.db", data / "opencode.db-wal", file, file.parent):
        assert oc.store_of(path) == data
    assert oc.store_of(other) == other
    assert oc.store_of(data / "opencode-dev.db-shm") == other
    assert oc.store_of(copied) == copied
    assert oc.store_of(tmp_path / "nothing") is None


def test_opening_the_stores_of_a_place(recorded: Callable[[str], Path]) -> None:
    root = recorded("1.2.1-migrated")
    assert [s.name for s in oc.open_stores(root)] == ["storage", "opencode.db"]
    assert [s.name for s in oc.open_stores(root / "opencode.db")] == ["opencode.db"]
    assert oc.open_stores(root / "storage") == ()
    tree, database = oc.open_stores(root)
    assert isinstance(database, oc.Database)
    with database:
        assert [s.id for s in tree.sessions().sessions] == [
            s.id for s in database.sessions().sessions
        ]
