"""``agentsession copy``, and databases wherever a store is named."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from cli_runner import Caller
from test_cli_docs import documented, settled

from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.stores import SQLiteStore, open_store

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
IDS = ["aaaa-one", "aaaa-two", "b-three"]


def filled(place: Path) -> Path:
    with open_store(place) as made:
        for hour, name in enumerate(IDS):
            made.create(
                Header(id=name, created_at=f"2026-03-01T0{hour}:00:00.5Z", cwd=f"/{hour % 2}")
            )
            made.append(name, InfoEntry(f"name {hour}"))
        made.append(IDS[0], LinkEntry("continued_in", IDS[2]))
    return place


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return filled(tmp_path / "files")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return filled(tmp_path / "rows.db")


def test_there_and_back(call: Caller, files: Path, tmp_path: Path) -> None:
    rows, again = tmp_path / "new.db", tmp_path / "again"
    told = call("copy", files, rows)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "copied    aaaa-one  2 entries",
        "copied    aaaa-two  1 entries",
        "copied    b-three  1 entries",
        "3 copied, 0 extended, 0 already there, 0 failed",
    ]
    assert call("copy", files, rows).out == "0 copied, 0 extended, 3 already there, 0 failed\n"
    assert call("copy", rows, again).code == 0
    both = [
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (files, again)
    ]
    assert both[0] == both[1]


def test_the_time_of_a_file_is_kept(call: Caller, files: Path, tmp_path: Path) -> None:
    path = next(files.glob("*/*one.jsonl"))
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))
    for source, target in [
        (path, tmp_path / "one.db"),
        (files, tmp_path / "all.db"),
        (tmp_path / "all.db", tmp_path / "again"),
    ]:
        assert call("copy", source, target).code == 0
        (kept,) = [
            session["modified"]
            for session in call("list", "--json", target).json["sessions"]
            if session["id"] == "aaaa-one"
        ]
        assert kept == "2023-11-14T22:13:20.123456789Z"


def test_some_sessions(call: Caller, files: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.sqlite"
    told = call("copy", files, target, "b", "aaaa-t", "b-three")
    assert told.code == 0
    assert told.out.splitlines()[-1].startswith("2 copied")
    ambiguous = call("copy", files, target, "aaaa")
    assert (ambiguous.code, ambiguous.out) == (1, "")
    assert "begins the ids of aaaa-two, aaaa-one" in ambiguous.err
    assert "whose id begins with" in call("copy", files, target, "zz").err


def test_one_file(call: Caller, files: Path, tmp_path: Path) -> None:
    path = next(files.glob("*/*one.jsonl"))
    target = tmp_path / "new.db"
    assert call("copy", path, target).out.splitlines()[0] == "copied    aaaa-one  2 entries"
    with_id = call("copy", path, target, "aaaa")
    assert with_id.code == 2
    assert "takes no id" in with_id.err
    with path.open("ab") as file:
        file.write(b'{"type":"in')
    cut = call("copy", path, target)
    assert cut.code == 1
    assert "was cut short, is left out" in cut.err
    assert call("copy", "--salvage", path, target).code == 1
    assert call("copy", path, tmp_path / "other").code == 0


def test_what_differs_is_left_alone(call: Caller, files: Path, rows: Path) -> None:
    told = call("copy", files, rows)
    assert told.code == 1
    assert told.out.splitlines()[-1] == "0 copied, 0 extended, 0 already there, 3 failed"
    assert told.err.count("is not the beginning of this one") == 3


@pytest.mark.parametrize("name", ["files", "rows.db"])
def test_a_store_cannot_be_copied_to_itself(
    call: Caller, files: Path, rows: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / name)
    for target in (name, "link"):
        told = call("copy", tmp_path / name, tmp_path / target)
        assert (told.code, told.out) == (2, "")
        assert "cannot be copied to itself" in told.err


def test_targets_that_are_no_store(call: Caller, files: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG")
    for target, sentence in [
        (picture, "is a file, not a store"),
        (tmp_path / "new.jsonl", "would be a file, not a store"),
        (tmp_path / "no" / "such.db", "there is no directory"),
    ]:
        told = call("copy", files, target)
        assert (told.code, told.out) == (1, "")
        assert sentence in told.err
    missing = call("copy", tmp_path / "none", tmp_path / "new.db")
    assert (missing.code, missing.out) == (1, "")
    assert not (tmp_path / "new.db").exists()


def test_fields_of_copy(call: Caller, files: Path, tmp_path: Path) -> None:
    path = next(files.glob("*/*one.jsonl"))
    with path.open("ab") as file:
        file.write(b"\n")
    report = call("copy", "--json", files, tmp_path / "new.db")
    assert report.code == 1
    assert report.json["totals"] == {"copied": 3, "extended": 0, "present": 0, "failed": 0}
    assert [finding["code"] for finding in report.json["findings"]] == ["blank-lines"]
    assert settled([report.json], "copy") == documented("copy")


# Databases as a SOURCE.


def test_a_database_is_listed(call: Caller, rows: Path) -> None:
    listed = call("list", rows)
    assert (listed.code, listed.err) == (0, "")
    lines = [re.split(" {2,}", line) for line in listed.out.splitlines()]
    assert lines[1:] == [
        ["2026-03-01T02:00:00Z", "b-three", "name 2", "-", "/0", "-", "-"],
        ["2026-03-01T01:00:00Z", "aaaa-two", "name 1", "-", "/1", "-", "-"],
        ["2026-03-01T00:00:00Z", "aaaa-one", "name 0", "-", "/0", "b-three", "-"],
    ]
    with SQLiteStore(rows, read_only=True) as store:
        sizes = [len(store.content(session_id)) for session_id in reversed(IDS)]
    report = call("list", "--sizes", "--json", rows).json
    assert [session["size"] for session in report["sessions"]] == sizes
    for options, expected in [
        (["-current"], ["b-three", "aaaa-two"]),
        (["-cwd", "/0", "-limit", "1"], ["b-three"]),
    ]:
        out = call("list", rows, *options).out
        assert [line.split()[1] for line in out.splitlines()[1:]] == expected


@pytest.mark.parametrize("command", ["show", "verify"])
def test_sessions_of_a_database(call: Caller, rows: Path, command: str) -> None:
    before = {path.name: path.read_bytes() for path in rows.parent.iterdir()}
    for name in ("b", "b-three"):
        assert call(command, "--json", rows, name).json["session"]["id"] == "b-three"
    for name, sentence in [
        ("aaaa", 'holds 3 sessions; "aaaa" begins the ids of aaaa-two, aaaa-one'),
        ("", "holds 3 sessions; name one of b-three, aaaa-two, aaaa-one"),
        ("zz", 'has no session whose id begins with "zz"'),
    ]:
        told = call(command, rows, *filter(None, [name]))
        assert (told.code, told.out) == (1, "")
        assert told.err == f"agentsession: {rows} {sentence}\n"
    assert {path.name: path.read_bytes() for path in rows.parent.iterdir()} == before


def test_a_database_beside_its_writer(call: Caller, rows: Path) -> None:
    with SQLiteStore(rows) as store:
        store.append("b-three", InfoEntry("just now"))
        assert "just now" in call("show", rows, "b-three").out
        assert "just now" in call("list", rows).out


def test_databases_of_something_else(call: Caller, tmp_path: Path) -> None:
    import sqlite3

    place = tmp_path / "other.db"
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE things (a)")
    connection.close()
    before = place.read_bytes()
    for arguments in (["list", place], ["show", place], ["copy", place, tmp_path / "x"]):
        told = call(*arguments)
        assert (told.code, told.out) == (1, "")
        assert "not one of sessions: it has the tables things" in told.err
    assert place.read_bytes() == before
    assert not (tmp_path / "x").exists()


def test_a_database_as_the_default_place(
    call: Caller, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSESSION_HOME", os.fspath(rows))
    assert len(call("list").out.splitlines()) == 4
    assert f"{rows}  3 session(s)" in call().out


def test_the_page_names_every_finding() -> None:
    assert "stores.md#copying" in PAGE.read_text("utf-8")
