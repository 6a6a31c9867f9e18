"""``--allow-newer``, of a file and of a session in a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runner import Caller

from agentsession import reading
from agentsession.stores import open_store
from agentsession.stores.copying import copy_session
from agentsession.testing import SessionBuilder
from agentsession.writing import write


@pytest.fixture
def newer_file(tmp_path: Path) -> Path:
    path = tmp_path / "newer.jsonl"
    build = SessionBuilder("agentsession/0.11", id="later")
    build.user("Hi.")
    build.answer("Hello.", hashed=False)
    write(path, build.session)
    path.write_bytes(path.read_bytes().replace(b"/0.11", b"/0.12"))
    return path


@pytest.fixture(params=["file", "files", "rows.db"])
def source(request: pytest.FixtureRequest, newer_file: Path, tmp_path: Path) -> list[Path | str]:
    """What names the session on a command line."""
    if request.param == "file":
        return [newer_file]
    with open_store(tmp_path / request.param) as store:
        assert copy_session(reading.read(newer_file, allow_newer=True), store).ok
    return [tmp_path / request.param, "la"]


@pytest.mark.parametrize("command", ["show", "verify", "export", "copy"])
def test_it_reaches_every_source(
    call: Caller, source: list[Path | str], newer_file: Path, tmp_path: Path, command: str
) -> None:
    place, *ids = source
    if command == "export":
        more: list[Path | str] = ["--jsonl", tmp_path / "out.jsonl", place, *ids]
    else:
        more = [place, tmp_path / "target", *ids] if command == "copy" else [place, *ids]
    refused = call(command, *more)
    assert (refused.code, refused.out) == (1, "")
    assert "0.12 is newer than" in refused.err or "has no session" in refused.err
    assert call(command, "--allow-newer", *more).code == 0
    if command == "copy":
        with open_store(tmp_path / "target", read_only=True) as store:
            assert store.content("later") == newer_file.read_bytes()
        copied = call("copy", "--allow-newer", place, tmp_path / "target")
        assert copied.out == "0 copied, 0 extended, 1 already there, 0 failed\n"


@pytest.mark.parametrize("name", ["files", "rows.db"])
def test_a_store_is_listed_with_it(
    call: Caller, newer_file: Path, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    assert call("copy", "--allow-newer", newer_file, place).code == 0
    refused = call("list", "--json", place)
    assert (refused.code, json.loads(refused.out)["sessions"]) == (1, [])
    assert "0.12 is newer than" in refused.err
    listed = call("list", "--allow-newer", "--json", place)
    assert (listed.code, listed.err) == (0, "")
    (found,) = json.loads(listed.out)["sessions"]
    assert (found["id"], found["format"]) == ("later", "agentsession/0.12")
    table = call("list", "--allow-newer", place)
    assert table.code == 0
    assert "later" in table.out


@pytest.mark.parametrize("name", ["newer.jsonl", "files", "rows.db"])
def test_usage_is_counted_with_it(
    call: Caller, newer_file: Path, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    if place != newer_file:
        assert call("copy", "--allow-newer", newer_file, place).code == 0
    refused = call("usage", place)
    assert refused.code == 1
    assert "0.12 is newer than" in refused.err
    counted = call("usage", "--allow-newer", place)
    assert (counted.code, counted.err) == (0, "")
    assert call("usage", "-allow-newer", place).out == counted.out


def test_a_whole_store_is_copied_with_it(call: Caller, newer_file: Path, tmp_path: Path) -> None:
    place, target = tmp_path / "files", tmp_path / "target.db"
    assert call("copy", "--allow-newer", newer_file, place).code == 0
    refused = call("copy", place, target)
    assert (refused.code, refused.err.count("0.12 is newer than")) == (1, 1)
    assert call("copy", "--allow-newer", place, target).code == 0
    assert call("copy", "--allow-newer", "--salvage", place, target).code == 0


def test_repair_takes_it_as_it_is(
    call: Caller, source: list[Path | str], newer_file: Path, tmp_path: Path
) -> None:
    clean = tmp_path / "clean.jsonl"
    if len(source) > 1:
        assert call("repair", *source, "-o", clean).code == 1
    assert call("repair", "--allow-newer", *source, "-o", clean).code == 0
    assert clean.read_bytes() == newer_file.read_bytes()
    if len(source) > 1:
        assert call("show", "--salvage", *source).code == 1
    assert call("show", "--salvage", "--allow-newer", *source).code == 0


def test_there_is_nothing_to_migrate_it_to(
    call: Caller, source: list[Path | str], tmp_path: Path
) -> None:
    told = call("migrate", "--allow-newer", *source, "-o", tmp_path / "new.jsonl")
    assert (told.code, told.out) == (1, "")
    assert "0.12 can be read but not written" in told.err
    assert not (tmp_path / "new.jsonl").exists()
