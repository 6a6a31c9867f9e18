"""``agentsession export``: documents, tables, redaction, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from cli_runner import HOSTILE, Caller, run

from agentsession import atif, damage, stores
from agentsession.cli.export_progress import Steps
from agentsession.entries import ItemEntry
from agentsession.export import Progress
from agentsession.header import Header
from agentsession.record_entries import LinkEntry
from agentsession.stores import JSONLStore
from agentsession.testing import SessionBuilder
from agentsession.writing import write

EXAMPLES = Path(__file__).parents[2] / "examples" / "sessions"
PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def test_every_session_of_a_store_becomes_valid_documents(call: Caller, tmp_path: Path) -> None:
    ran = call("export", EXAMPLES, "--out", tmp_path)
    assert ran.code == 0
    paths = ran.out.splitlines()
    assert sorted(paths) == sorted(map(str, tmp_path.glob("*.json")))
    for path in paths:
        assert atif.validate_text(Path(path).read_bytes(), strict=True).valid
    assert ran.err.startswith("exported: 6 sessions, ")


def test_two_processes_write_the_same(call: Caller, tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        place = tmp_path / jobs
        ran = run(
            "export", EXAMPLES, "--out", place, "--jsonl", place / "all.jsonl", "--jobs", jobs
        )
        assert ran.code == 0
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / jobs).iterdir()} for jobs in "12"
    )
    assert one == two
    assert len(one["all.jsonl"].splitlines()) == len(one) - 1


def test_one_session_by_file_or_by_the_beginning_of_its_id(call: Caller, tmp_path: Path) -> None:
    path = next(EXAMPLES.glob("*/*.jsonl"))
    session_id = path.stem.partition("_")[2]
    by_file = call("export", path, "--out", tmp_path / "a", "--leaves", "all")
    by_id = call("export", EXAMPLES, session_id[:13], "--out", tmp_path / "b", "-leaves", "all")
    assert by_file.code == by_id.code == 0
    assert [Path(line).name for line in by_file.out.splitlines()] == [
        Path(line).name for line in by_id.out.splitlines()
    ]


def test_tables_have_a_row_a_step(call: Caller, tmp_path: Path) -> None:
    ran = call("export", EXAMPLES, "--flat", tmp_path / "steps.jsonl", "--json")
    rows = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_bytes().splitlines()]
    assert len(rows) == ran.json["totals"]["steps"]
    assert len({tuple(row) for row in rows}) == 1


def secretive(tmp_path: Path) -> Path:
    build = SessionBuilder()
    build.config(model="m-1")
    build.user(f"the token is {TOKEN} and the word is open-sesame-now")
    build.answer("noted")
    path = tmp_path / "s.jsonl"
    write(path, build.session)
    return path


def test_secrets_are_taken_out_and_looked_for(call: Caller, tmp_path: Path) -> None:
    path = secretive(tmp_path)
    out = tmp_path / "out"
    checked = call("export", path, "--out", out, "--check")
    assert checked.code == 1
    assert "secret-remains" in checked.err
    assert TOKEN not in checked.err + checked.out
    clean = call(
        "export", path, "--out", out, "--redact", "auto", "--check", "--secret", "open-sesame-now"
    )
    assert clean.code == 0
    written = b"".join(file.read_bytes() for file in out.iterdir())
    assert TOKEN.encode() not in written
    assert b"open-sesame" not in written


def test_patterns_of_ones_own(call: Caller, tmp_path: Path) -> None:
    path = secretive(tmp_path)
    out = tmp_path / "out"
    ran = call("export", path, "--out", out, "--pattern", "word=open-sesame-[a-z]+")
    assert ran.code == 0
    assert b"open-sesame" not in next(out.iterdir()).read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--out"],
        ["--prefer", "best", "--out", "x"],
        ["--pattern", "x", "--out", "x"],
        ["--jobs", "0", "--out", "x"],
        ["--leaves", "none", "--out", "x"],
        ["--schema-version", "ATIF-v1.6", "--out", "x"],
    ],
)
def test_wrong_usage(call: Caller, options: list[str]) -> None:
    ran = call("export", EXAMPLES, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("agentsession: ")


@pytest.mark.parametrize(
    "options",
    [
        ["--secret", "short"],
        ["--secret", "assistant"],
        ["--pattern", "x=("],
        ["--pattern", "x=.*"],
    ],
)
def test_what_cannot_be_looked_for_is_said_once(
    call: Caller, tmp_path: Path, options: list[str]
) -> None:
    ran = call("export", EXAMPLES, "--out", tmp_path / "x", *options)
    assert ran.code == 2
    assert ran.err.count("agentsession: ") == 1
    assert not (tmp_path / "x").exists()


def test_a_damaged_file_is_refused_or_salvaged(call: Caller, tmp_path: Path) -> None:
    path = HOSTILE / "asf-bad-line-in-middle.jsonl"
    refused = call("export", path, "--out", tmp_path / "a")
    assert (refused.code, refused.out) == (1, "")
    assert "line 4" in refused.err
    salvaged = call("export", path, "--out", tmp_path / "b", "--salvage")
    assert salvaged.code == 1
    assert len(salvaged.out.splitlines()) >= 1


@pytest.fixture(scope="module")
def damaged_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sessions, two of them damaged, and one of those linked to by the others."""
    place = tmp_path_factory.mktemp("damaged")
    with JSONLStore(place) as store:
        for number in range(4):
            build = SessionBuilder(id=f"s{number}")
            build.user("Look into it.")
            build.append(LinkEntry("spawned", "s1", call_id="call_1"))
            build.answer("Done.", hashed=False)
            store.put(build.session)
    for path in place.glob("*/*s[13].jsonl"):
        path.write_bytes(path.read_bytes() + b"not json\n" + b'{"type":"in')
    return place


@pytest.mark.parametrize("options", [[], ["--embed"]])
def test_the_damage_is_in_the_report_however_many_processes(
    call: Caller, damaged_store: Path, tmp_path: Path, options: list[str]
) -> None:
    reports = []
    for jobs in ("1", "2"):
        place = tmp_path / jobs
        arguments = ["export", damaged_store, "--salvage", *options, "--out", place]
        ran = run(*arguments, "--jobs", jobs, "--json")
        assert ran.code == 1
        reports.append({**ran.json, "files": [Path(path).name for path in ran.json["files"]]})
    assert reports[0] == reports[1]
    assert [
        (found["code"], found["where"].split()[0])
        for found in reports[0]["findings"]
        if found["code"] in damage.CODES
    ] == [("not-json", "s3"), ("cut-line", "s3"), ("not-json", "s1"), ("cut-line", "s1")]
    told = call("export", damaged_store, "--salvage", *options, "--out", tmp_path / "x")
    assert told.code == 1
    assert told.err.count("  cut-line: s") == 2
    without = call("export", damaged_store, "--out", tmp_path / "y", "--json").json
    assert {found["code"] for found in without["findings"]} >= {"unreadable-session"}


def test_a_store_is_opened_and_its_names_are_read_once(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with JSONLStore(tmp_path / "store") as store:
        for number in range(30):
            build = SessionBuilder(id=f"s{number}")
            build.user("Look into it.")
            build.append(LinkEntry("spawned", f"s{number // 2}", call_id="call_1"))
            store.put(build.session)
    counted = {"opened": 0, "read": 0}
    really_opened, really_read = stores.open_store, os.listdir

    def opened(*args: Any, **options: Any) -> Any:
        counted["opened"] += 1
        return really_opened(*args, **options)

    def listdir(*args: Any) -> Any:
        counted["read"] += 1
        return really_read(*args)

    monkeypatch.setattr(stores, "open_store", opened)
    monkeypatch.setattr(os, "listdir", listdir)
    for options in ([], ["--embed"], ["--salvage"]):
        counted.update(opened=0, read=0)
        ran = call("export", tmp_path / "store", "--jsonl", tmp_path / "x.jsonl", *options)
        assert "exported: 30 sessions" in ran.err
        assert counted == {"opened": 1, "read": 1}


@pytest.mark.parametrize("path", sorted(HOSTILE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_hostile_files_never_end_in_a_traceback(call: Caller, tmp_path: Path, path: Path) -> None:
    for options in ([], ["--salvage"], ["--history", "path", "--text-only", "--json"]):
        ran = call("export", path, "--out", tmp_path / "out", "--redact", "auto", *options)
        assert ran.code in (0, 1)
        assert "internal error" not in ran.err
        assert "Traceback" not in ran.err


def test_the_linked_file_beside_is_embedded(call: Caller, tmp_path: Path) -> None:
    with JSONLStore(tmp_path / "store") as store:
        child = store.create(Header(id="child"))
        child.append(ItemEntry({"type": "message", "role": "user", "content": "do it"}))
        parent = store.create(Header(id="parent"))
        call_item = {"type": "function_call", "call_id": "c1", "name": "task", "arguments": "{}"}
        parent.append(ItemEntry(call_item))
        parent.append(LinkEntry.subsession("child", "c1"))
        parent.append(ItemEntry({"type": "function_call_output", "call_id": "c1", "output": "ok"}))
        path = store.path("parent")

    def embedded(*arguments: str | Path) -> int:
        ran = call("export", *arguments, "--out", tmp_path / "out")
        document = json.loads(Path(ran.out.splitlines()[0]).read_bytes())
        return len(document.get("subagent_trajectories", ()))

    assert embedded(path) == 1
    assert embedded(tmp_path / "store", "parent") == 0
    assert embedded(tmp_path / "store", "parent", "--embed") == 1


def test_fields_of_the_report_are_documented(call: Caller, tmp_path: Path) -> None:
    report = call("export", EXAMPLES, "--out", tmp_path, "--json").json
    section = PAGE.partition("field of `export --json`")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`([a-z_.\[\]*]+)`", section))
    assert set(report) - {"schema", "command"} == {
        field.partition(".")[0].partition("[")[0] for field in documented
    }
    assert {f"findings[].{name}" for name in report["findings"][0]} <= documented


@pytest.mark.parametrize(
    "options",
    [
        ["--jsonl", "a", "--flat", "a"],
        ["--jsonl", "a", "--flat", "b/../a"],
        ["--flat", "a", "--parquet", "a"],
        ["--jsonl", "a", "--parquet", "a"],
        ["--out", "a", "--jsonl", "a"],
        ["--out", "a/b", "--flat", "a"],
        ["--out", "a", "--jsonl", "a/session-1.json"],
    ],
)
def test_targets_that_would_replace_one_another(
    call: Caller, tmp_path: Path, options: list[str]
) -> None:
    placed = [name if name.startswith("--") else str(tmp_path / name) for name in options]
    ran = call("export", EXAMPLES, *placed)
    assert (ran.code, ran.out) == (2, "")
    assert re.search("jsonl|flat|parquet", ran.err)
    assert list(tmp_path.iterdir()) == []


def test_one_of_a_kind_is_told_as_one(call: Caller, tmp_path: Path) -> None:
    ran = call("export", secretive(tmp_path), "--out", tmp_path / "out")
    assert ran.err.startswith("exported: 1 session, 1 document, ")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_goes_on_within_a_session() -> None:
    stream = Terminal()
    with Steps(stream) as progress:
        progress.at(Progress("s", 0, 1, 64))
        progress.at(Progress("s", 0, 1, 128))
        progress.at(Progress("s", 1, 1))
    written = stream.getvalue()
    assert "0 of 1 sessions, 64 steps of the next" in written
    assert "128" not in written
    assert "1 of 1 sessions" in written


def test_a_line_that_was_cut_short_is_told(call: Caller, tmp_path: Path) -> None:
    (example, *_) = sorted(EXAMPLES.rglob("*.jsonl"))
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(example.read_bytes()[:-20])
    ran = call("export", cut, "--out", tmp_path / "out", "--json")
    assert ran.code == 1
    assert ran.json["totals"]["documents"] == 1
    (found,) = (one for one in ran.json["findings"] if one["code"] == "cut-tail")
    lines = cut.read_bytes().count(b"\n") + 1
    assert found["where"].endswith(f" line {lines}")
    assert "cut-tail" in call("export", cut, "--out", tmp_path / "out").err
