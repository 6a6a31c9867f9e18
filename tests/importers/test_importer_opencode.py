"""OpenCode through the importer interface: found, accounted for, grown, merged."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers.opencode.importer import OpenCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.session import Session
from agentsession.stores import JSONLStore, Summary

DATA = Path(__file__).parents[1] / "data" / "opencode"
RECORDINGS = sorted(path.name for path in DATA.iterdir() if path.is_dir())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def run(store: Path, *paths: Path) -> ImportReport:
    importer = OpenCode()
    return import_sessions([Work(importer, importer.find(paths))], store)


def sessions(store: Path) -> dict[str, Session]:
    with JSONLStore(store, read_only=True) as opened:
        found = [summary.id for summary in opened.list() if isinstance(summary, Summary)]
        return {session_id: opened.open(session_id) for session_id in found}


def files(store: Path) -> dict[str, bytes]:
    return {str(p.relative_to(store)): p.read_bytes() for p in sorted(store.rglob("*.jsonl"))}


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_record_is_accounted_for(name: str, place: Path) -> None:
    report = run(place, DATA / name)
    assert report.ok, report.more["alarms"]
    assert report.totals["records"]["read"] == report.more["sources"][0]["records"] > 0
    assert report.totals["sessions"]["created"] == report.totals["sessions"]["found"] > 0
    before = files(place)
    again = run(place, DATA / name)
    assert again.totals["entries"]["appended"] == 0
    assert files(place) == before


@pytest.mark.parametrize("name", ["1.15.13-inputs", "1.18.33-extras", "1.2.1-migrated"])
def test_a_database_that_grew(name: str, place: Path, tmp_path: Path) -> None:
    """Imported after each message, a session ends as if it had been imported once."""
    source = tmp_path / "opencode"
    source.mkdir()
    database = source / "opencode.db"
    with sqlite3.connect(DATA / name / "opencode.db") as whole:
        found = whole.execute("SELECT id FROM message ORDER BY time_created, id").fetchall()
    whole.close()
    ids = [row[0] for row in found]
    for kept in (*range(1, len(ids), 3), len(ids)):
        _cut(DATA / name / "opencode.db", database, ids[kept:])
        report = run(place, source)
        assert report.totals["sessions"]["failed"] == 0
        assert report.totals["sessions"]["branched"] == 0
    run(tmp_path / "fresh", source)
    fresh, grown = sessions(tmp_path / "fresh"), sessions(place)
    for session_id, session in fresh.items():
        other = grown[session_id]
        assert [entry.id for entry in other.path()] == [entry.id for entry in session.path()]
        assert other.context().to_dict() == session.context().to_dict()
        assert all(entry.id in other for entry in session)


def _cut(whole: Path, database: Path, dropped: list[str]) -> None:
    shutil.copy(whole, database)
    connection = sqlite3.connect(database)
    with connection:
        rows = [(message,) for message in dropped]
        connection.executemany("DELETE FROM message WHERE id = ?", rows)
        connection.executemany("DELETE FROM part WHERE message_id = ?", rows)
        # A session that has no message yet was not there yet.
        connection.execute("DELETE FROM session WHERE id NOT IN (SELECT session_id FROM message)")
        if dropped:
            last = "(SELECT max(time_created) FROM message WHERE session_id = session.id)"
            connection.execute(f"UPDATE session SET revert = NULL, time_updated = {last}")
    connection.close()


def test_a_backup_changes_nothing(place: Path, tmp_path: Path) -> None:
    """The tree a release left behind knows less than the database that went on."""
    source = DATA / "1.2.1-migrated"
    run(place, source)
    before = files(place)
    backup = tmp_path / "backup"
    shutil.copytree(source / "storage", backup / "storage")
    report = run(place, backup)
    assert report.totals["sessions"]["failed"] == report.totals["sessions"]["branched"] == 0
    assert report.totals["sessions"]["older"] >= 1
    run(tmp_path / "fresh", source)
    fresh = sessions(tmp_path / "fresh")
    for session_id, session in sessions(place).items():
        assert (
            session.context().to_dict()["items"] == fresh[session_id].context().to_dict()["items"]
        )
    assert all(files(place)[name].startswith(data) for name, data in before.items())


def test_what_a_path_may_be(tmp_path: Path) -> None:
    home = tmp_path / "data" / "opencode"
    shutil.copytree(DATA / "1.2.1-migrated", home)
    shutil.copy(DATA / "1.18.33-extras" / "opencode.db", home / "opencode-dev.db")
    tree = next((home / "storage" / "session").rglob("*.json"))
    importer = OpenCode()
    for path in (home, tmp_path, home / "opencode.db", home / "storage", tree):
        (source,) = importer.find([path])
        assert source.paths == (str(home),)
    (alone,) = importer.find([home / "opencode-dev.db"])
    assert alone.paths == (str(home / "opencode-dev.db"),)
    (both,) = importer.find([home / "opencode-dev.db", home])
    assert both.paths == (str(home),)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert importer.find([empty]) == ()
    found = {session.id for session in importer.sessions(source)}
    others = {session.id for session in importer.sessions(alone)}
    assert others < found
    importer.close()


def test_two_homes_are_one_source(place: Path, tmp_path: Path) -> None:
    """A session that stands in both is there once, from the copy that holds more."""
    older = tmp_path / "older"
    shutil.copytree(DATA / "1.2.1-migrated" / "storage", older / "storage")
    report = run(place, older, DATA / "1.2.1-migrated")
    assert report.ok, report.more["alarms"]
    run(tmp_path / "one", DATA / "1.2.1-migrated")
    with_less = {n: s.path()[:3] for n, s in sessions(tmp_path / "one").items()}
    assert {n: s.path()[:3] for n, s in sessions(place).items()}.keys() == with_less.keys()


def test_the_usual_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("OPENCODE_DB", raising=False)
    assert OpenCode().find() == ()
    home = tmp_path / ".local" / "share" / "opencode"
    shutil.copytree(DATA / "1.18.33-extras", home)
    assert [source.paths for source in OpenCode().find()] == [(str(home),)]
    elsewhere = tmp_path / "mine.db"
    shutil.copy(DATA / "1.15.13-inputs" / "opencode.db", elsewhere)
    monkeypatch.setenv("OPENCODE_DB", str(elsewhere))
    assert [source.paths for source in OpenCode().find()] == [(str(home), str(elsewhere))]


@pytest.mark.parametrize("inside", [True, False])
def test_the_database_that_the_environment_names(
    inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    home = tmp_path / "opencode"
    home.mkdir()
    named = home / "mine.db" if inside else tmp_path / "mine"
    monkeypatch.setenv("OPENCODE_DB", named.name if inside else str(named))
    assert OpenCode().find() == ()
    named.mkdir()
    (source,) = OpenCode().find()
    assert source.paths == (str(named),)
    with closing(OpenCode()) as importer:
        assert list(importer.sessions(source)) == []
        assert [one.code for one in importer.report(source).findings] == ["unreadable-place"]
    named.rmdir()
    shutil.copy(DATA / "1.15.13-inputs" / "opencode.db", named)
    (alone,) = OpenCode().find()
    shutil.copy(DATA / "1.18.33-extras" / "opencode.db", home)
    (both,) = OpenCode().find()
    assert (alone.paths, both.paths) == ((str(named),), (str(home), str(named)))
    with closing(OpenCode()) as importer:
        assert len(list(importer.sessions(both))) > len(list(importer.sessions(alone))) > 0


def test_a_file_that_is_no_database(place: Path, tmp_path: Path) -> None:
    shutil.copytree(DATA / "1.2.1-migrated" / "storage", tmp_path / "opencode" / "storage")
    (tmp_path / "opencode" / "opencode.db").write_bytes(os.urandom(4096))
    report = run(place, tmp_path / "opencode")
    assert report.totals["sessions"]["created"] == report.totals["sessions"]["found"] > 0
    assert not report.ok
    assert {alarm["code"] for alarm in report.more["alarms"]} == {"unreadable-place"}


def test_the_snippet_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "importing.md").read_text("utf-8")
    snippet = page.partition("## From Python\n\n```python\n")[2].partition("```")[0]
    assert "/mnt/old-laptop/home" in snippet
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    code = snippet.replace("/mnt/old-laptop/home", str(DATA / "1.1.65-subagent"))
    exec(compile(code, "docs/importing.md", "exec"), names)
    assert names["report"].ok
    assert sessions(tmp_path / "sessions").keys() == {
        session["id"] for session in names["report"].more["sessions"]
    }
