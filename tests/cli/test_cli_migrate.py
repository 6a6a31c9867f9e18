"""``agentsession migrate``. Spec: later drafts 12."""

from __future__ import annotations

from pathlib import Path

from cli_runner import Caller
from test_cli_docs import documented, settled

from agentsession.reading import read
from agentsession.record_entries import UnknownEntry
from agentsession.testing import SessionBuilder
from agentsession.writing import write


def plain_file(tmp_path: Path) -> Path:
    build = SessionBuilder()
    build.config(model="m")
    build.user("Hi")
    build.answer("Hello")
    path = tmp_path / "old.jsonl"
    write(path, build.session)
    return path


def test_a_file_that_migrates_whole(call: Caller, tmp_path: Path) -> None:
    path, out = plain_file(tmp_path), tmp_path / "new.jsonl"
    before = path.read_bytes()
    made = call("migrate", path, "--to", "0.11", "-o", out)
    assert (made.code, made.err) == (0, "")
    assert made.out == (
        f"4 entries are in {out} as agentsession/0.11; their ids and 1 request hashes verify\n"
    )
    assert path.read_bytes() == before
    assert call("verify", out).code == 0
    assert call("show", out).code == 0
    assert read(out).resolve("e0000001") == read(out).entries[0].id
    again = call("migrate", path, "-o", out)
    assert again.code == 1
    assert "exists already" in again.err
    assert call("migrate", path, "-o", out, "--force").code == 0


def test_what_cannot_be_rewritten_is_named(
    call: Caller, session_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new.jsonl"
    made = call("migrate", session_file, "-o", out)
    assert made.code == 1
    assert made.out.startswith("not rewritten  acme:note entry e0000016: ")
    assert call("verify", out).code == 0


def test_fields(call: Caller, session_file: Path, tmp_path: Path) -> None:
    reports = [
        call("migrate", "--json", path, "-o", tmp_path / f"{path.name}.new").json
        for path in (session_file, plain_file(tmp_path))
    ]
    assert settled(reports, "migrate") == documented("migrate")


def test_versions_that_are_not_written(call: Caller, tmp_path: Path) -> None:
    path, out = plain_file(tmp_path), tmp_path / "new.jsonl"
    for version in ("0.5", "0.12", "x"):
        refused = call("migrate", path, "--to", version, "-o", out)
        assert (refused.code, refused.out) == (2, "")
    assert call("migrate", path).code == 2
    assert not out.exists()


def test_nothing_is_written_where_it_could_not_be_read(call: Caller, tmp_path: Path) -> None:
    build = SessionBuilder()
    build.append(UnknownEntry({"type": "acme:note", "content": 1}))
    path, out = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    write(path, build.session)
    assert call("migrate", path, "-o", out).code == 1
    assert not out.exists()


def test_a_version_that_is_not_written_is_wrong_usage(call: Caller, session_file: Path) -> None:
    assert call("migrate", session_file, "--to", "0.9", "-o", "out.jsonl").code == 2
    assert not Path("out.jsonl").exists()


def test_hashes_of_a_file_with_content_ids_are_not_called_lost(
    call: Caller, tmp_path: Path
) -> None:
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    assert call("migrate", plain_file(tmp_path), "-o", once).code == 0
    ran = call("migrate", once, "-o", twice)
    assert ran.code == 0
    assert "hash lost" not in ran.out


def test_a_session_of_a_store(call: Caller, tmp_path: Path) -> None:
    store, out = tmp_path / "s.db", tmp_path / "new.jsonl"
    assert call("copy", plain_file(tmp_path), store).code == 0
    assert call("migrate", store, "session", "-o", out).code == 0
    assert read(out).header.format == "agentsession/0.11"
    assert call("migrate", store, "nothing", "-o", tmp_path / "x").code == 1
