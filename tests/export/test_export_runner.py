"""Whole stores: targets, processes, tables, and what the report says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import agentsession as ags
from agentsession import atif, export
from agentsession.export import atomic, processes, sinks, write
from agentsession.export.sessions import risky_ids
from agentsession.testing import SessionBuilder


def load_from(folder: Path, session_id: str) -> ags.Session:
    """Open a session; at the top of a module, so that other processes can do it too."""
    return ags.read(folder / f"{session_id}.jsonl")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    for number in range(4):
        build = SessionBuilder(id=f"s{number}", cwd="/home/u")
        build.config(model="m-1", tools_added=[{"type": "function", "name": "ls"}])
        fork = build.user(f"Question {number}")
        usage = {"input_tokens": 10, "output_tokens": 2}
        called = build.call("call_1", "ls", '{"p": "."}', hashed=False, usage=usage)
        build.output("call_1", "a.txt")
        build.answer("Done.", hashed=False)
        build.append(ags.LabelEntry(called, "good"))
        build.append(ags.OutcomeEntry("eval", called, score=0.5))
        build.append(ags.OutcomeEntry("task", pass_=True))
        build.session.branch(fork)
        build.answer("Another way.", hashed=False)
        ags.write(folder / f"s{number}.jsonl", build.session)
    return folder


IDS = [f"s{number}" for number in range(4)]
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9Q"
    "DwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def targets(folder: Path) -> export.Targets:
    return export.Targets(
        directory=folder / "out",
        jsonl=folder / "all.jsonl",
        flat=folder / "flat.jsonl",
        parquet=None,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_several_processes_write_what_one_writes(store: Path, tmp_path: Path) -> None:
    load = partial(load_from, store)
    seen: list[export.Progress] = []
    reports = []
    for jobs in (1, 2):
        work = export.Work(
            targets=targets(tmp_path / str(jobs)),
            options=export.Options(redactors=[export.home_paths("/home/u")]),
        )
        reports.append(export.export_sessions(load, IDS, work, jobs=jobs, progress=seen.append))
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert reports[0].totals == reports[1].totals
    assert reports[0].totals["documents"] == 8
    assert reports[0].totals["sessions"] == 4
    assert seen[-1] == export.Progress("s3", 4, 4)
    assert len(contents(tmp_path / "1")) == 10
    assert b"/home/u" not in contents(tmp_path / "1")["all.jsonl"]


def test_what_a_document_points_to_does_not_depend_on_other_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    image = {"type": "input_image", "image_url": PNG}
    message = {"type": "message", "role": "user", "content": [image]}
    # ATIF has no place for an image in an item of this type: it stays where it is.
    returned = {"type": "custom_tool_call_output", "call_id": "c", "output": [image]}
    for name, item in (("s0", message), ("s1", message), ("s2", returned), ("s3", message)):
        build = SessionBuilder(id=name)
        build.user("Look.")
        build.item(item)
        ags.write(folder / f"{name}.jsonl", build.session)
    reports = []
    for jobs in (1, 2):
        work = export.Work(targets=export.Targets(directory=tmp_path / str(jobs)))
        reports.append(export.export_sessions(partial(load_from, folder), IDS, work, jobs=jobs))
    alone = export.Work(targets=export.Targets(directory=tmp_path / "alone"))
    export.export_sessions(partial(load_from, folder), ["s2"], alone)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert contents(tmp_path / "1")["s2.json"] == contents(tmp_path / "alone")["s2.json"]
    assert [report.totals["media_files"] for report in reports] == [1, 1]
    (written,) = (path for path in contents(tmp_path / "1") if path.startswith("images/"))
    assert [report.more["media"] for report in reports] == [
        [str(tmp_path / jobs / written)] for jobs in "12"
    ]


def test_a_session_of_many_costs_only_its_own_files(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = export.Work(targets=targets(tmp_path / "to"))
    room = tmp_path / "room"
    room.mkdir()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(write, "sweep", refuse)
    monkeypatch.setattr(sinks, "sweep", refuse)
    (tmp_path / "to" / "out").mkdir(parents=True)
    load = partial(load_from, store)
    report = processes._job(load, "s0", processes._part(whole, room, 0), False)
    assert report.totals["documents"] == 2
    assert len(synced) == 2  # the two documents; the parts of the single files go anyway
    assert sorted(path.name for path in room.iterdir()) == ["0.flat", "0.jsonl"]


def refuse(*_: object) -> None:
    raise AssertionError("this goes through a whole directory")


def test_a_line_of_the_jsonl_file_is_a_document(store: Path, tmp_path: Path) -> None:
    work = export.Work(targets=export.Targets(jsonl=tmp_path / "x" / "all.jsonl"))
    export.export_sessions(partial(load_from, store), IDS, work)
    lines = (tmp_path / "x" / "all.jsonl").read_bytes().splitlines()
    assert len(lines) == 8
    for line in lines:
        assert atif.validate(atif.parse(line), strict=True) == ()


def rows_of(store: Path, tmp_path: Path) -> list[dict[str, object]]:
    work = export.Work(targets=export.Targets(flat=tmp_path / "flat.jsonl"))
    export.export_sessions(partial(load_from, store), ["s0"], work)
    return [json.loads(line) for line in (tmp_path / "flat.jsonl").read_bytes().splitlines()]


def test_rows_have_every_column_of_every_step(store: Path, tmp_path: Path) -> None:
    rows = rows_of(store, tmp_path)
    assert all(list(row) == list(export.COLUMNS) for row in rows)
    call = next(row for row in rows if row["tool_name"])
    assert call["tool_name"] == "ls"
    assert call["arguments"] == '{"p":"."}'
    assert call["observation"] == "a.txt"
    assert call["prompt_tokens"] == 10
    assert call["labels"] == '["good"]'
    assert json.loads(str(call["outcome"]))[0]["score"] == 0.5
    assert [one["kind"] for one in json.loads(str(call["document_outcome"]))] == ["eval", "task"]
    assert call["model"] == "m-1"
    assert {row["source"] for row in rows} == {"user", "agent"}


def test_parquet_holds_the_same_rows(store: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    work = export.Work(targets=export.Targets(parquet=tmp_path / "steps.parquet"))
    export.export_sessions(partial(load_from, store), ["s0"], work)
    table = parquet.read_table(tmp_path / "steps.parquet")
    assert table.column_names == list(export.COLUMNS)
    assert table.to_pylist() == rows_of(store, tmp_path)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_duckdb_reads_both_tables(store: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    work = export.Work(
        targets=export.Targets(flat=tmp_path / "f.jsonl", parquet=tmp_path / "f.parquet")
    )
    export.export_sessions(partial(load_from, store), IDS, work)
    for table in (f"read_json_auto('{tmp_path}/f.jsonl')", f"'{tmp_path}/f.parquet'"):
        found = duckdb.sql(
            f"SELECT tool_name, count(*), sum(prompt_tokens) FROM {table} "
            "WHERE source = 'agent' AND main = false AND tool_name IS NOT NULL GROUP BY 1"
        ).fetchall()
        assert found == [("ls", 4, 40)]


def test_without_pyarrow_the_error_says_what_to_do(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    work = export.Work(targets=export.Targets(parquet=tmp_path / "steps.parquet"))
    with pytest.raises(export.CannotExport, match="agentsession"):
        export.export_sessions(partial(load_from, store), ["s0"], work)


def test_what_cannot_be_opened_is_a_finding_and_the_rest_goes_on(
    store: Path, tmp_path: Path
) -> None:
    (store / "s1.jsonl").write_text("not a session\n")
    work = export.Work(targets=targets(tmp_path))
    report = export.export_sessions(partial(load_from, store), [*IDS, "s9"], work)
    codes = [finding.code for finding in report.findings]
    assert codes.count("unreadable-session") == 2
    assert report.totals["left_out"] == 2
    assert report.totals["documents"] == 6
    assert not export.is_whole(report)


def test_a_path_without_a_context_and_one_without_steps_are_left_out(tmp_path: Path) -> None:
    build = SessionBuilder()
    root = build.config(model="m")
    build.append(ags.CompactionEntry("nowhere", {"type": "message", "role": "user"}))
    build.session.branch(root)
    build.append(ags.InfoEntry("nothing here"))
    build.session.branch(root)
    build.user("something")
    work = export.Work(targets=targets(tmp_path))
    report = export.export_session(build.session, work)
    assert sorted(finding.code for finding in report.findings) == ["no-context", "no-steps"]
    assert report.totals["documents"] == 1
    assert len((tmp_path / "all.jsonl").read_bytes().splitlines()) == 1
    empty = export.export_session(ags.Session(), work)
    assert [finding.code for finding in empty.findings] == ["no-steps"]


def test_imported_sessions_show_their_current_leaf_only(tmp_path: Path) -> None:
    build = SessionBuilder(harness=ags.Harness("opencode", "1"))
    fork = build.user("one")
    build.user("two")
    build.session.branch(fork)
    build.user("three")
    for leaves, count in (("auto", 1), ("current", 1), ("all", 2)):
        work = export.Work(targets=targets(tmp_path), leaves=leaves)  # type: ignore[arg-type]
        assert export.export_session(build.session, work).totals["documents"] == count


def test_a_report_counts_and_says_what_was_left_out(tmp_path: Path) -> None:
    build = SessionBuilder()
    kept = build.user("first")
    build.answer("bad", hashed=False, status="failed")
    build.item(
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_file", "filename": "a.pdf"}],
        }
    )
    key = "sk-proj-abcDEF1234567890abcDEF1234567890abcDEF12"
    build.user(f"use {key}")
    del kept
    options = export.Options(failed_calls="drop", redactors=[export.detect_secrets()])
    report = export.export_session(
        build.session, export.Work(targets=targets(tmp_path), options=options)
    )
    found = {finding.code: finding for finding in report.findings}
    assert report.totals["failed_calls_left_out"] == 1
    assert report.totals["degraded_media"] == 1
    assert report.totals["redacted"] > 0
    assert set(found) == {"failed-call-left-out", "degraded-file", "secret-redacted"}
    assert "step 3" in found["secret-redacted"].where  # type: ignore[attr-defined]
    assert key not in json.dumps(report.to_dict())
    for path, data in contents(tmp_path).items():
        assert key.encode() not in data, path


def test_what_remains_is_found_with_its_place() -> None:
    build = SessionBuilder()
    key = "ghp_" + "a1B2" * 9
    build.call("call_1", "sh", json.dumps({"token": key}), hashed=False)
    document = export.to_atif(export.at(build.session, build.session.leaf or ""))
    found = export.find_secrets(document)
    assert {finding.where for finding in found} == {
        "$.steps[0].tool_calls[0].arguments.token",
        "$.steps[0].extra.openresponses.items[0].arguments",
    }
    assert key not in str(found)
    assert export.find_secrets(export.redact(document, export.detect_secrets())) == ()


def test_a_check_finds_what_remains_in_what_was_written(tmp_path: Path) -> None:
    build = SessionBuilder()
    build.user("use ghp_" + "a1B2" * 9)
    for redactors, whole in (([], False), ([export.detect_secrets()], True)):
        work = export.Work(
            targets=targets(tmp_path),
            options=export.Options(redactors=redactors),
            check=export.detect_secrets(),
        )
        report = export.export_session(build.session, work)
        assert export.is_whole(report) == whole
    report = export.export_session(
        build.session, export.Work(targets=targets(tmp_path), check=export.detect_secrets())
    )
    assert [finding.where for finding in report.findings] == [  # type: ignore[attr-defined]
        "session-1 e0000001 $.steps[0].message",
        "session-1 e0000001 $.steps[0].extra.openresponses.item.content[0].text",
    ]


def test_ids_that_could_share_a_name_are_known_beforehand() -> None:
    assert risky_ids(["a", "b", "c-d"]) == frozenset()
    assert risky_ids(["a/b", "a-b"]) == {"a-b"}
    assert risky_ids(["a", "a_b"]) == {"a_b"}


def test_targets_that_would_replace_one_another_are_refused(store: Path, tmp_path: Path) -> None:
    one = tmp_path / "x" / "one"
    for found in (
        export.Targets(jsonl=one, flat=one),
        export.Targets(flat=one, parquet=one.parent / ".." / "x" / "one"),
        export.Targets(directory=one, jsonl=one),
        export.Targets(directory=one, jsonl=one / "s1.json"),
    ):
        with pytest.raises(export.CannotExport):
            export.export_sessions(partial(load_from, store), IDS, export.Work(targets=found))
    assert not one.parent.exists()


class Counted:
    """Opens sessions, and counts how often it is sent to another process."""

    def __init__(self, folder: Path, sent: list[int] | None = None) -> None:
        self.folder = folder
        self.sent = sent

    def __reduce__(self) -> tuple[type[Counted], tuple[Path]]:
        assert self.sent is not None
        self.sent[0] += 1
        return Counted, (self.folder,)

    def __call__(self, session_id: str) -> ags.Session:
        return load_from(self.folder, session_id)


def test_what_opens_sessions_is_sent_once_to_each_process(store: Path, tmp_path: Path) -> None:
    sent = [0]
    work = export.Work(targets=targets(tmp_path / "to"))
    export.export_sessions(Counted(store, sent), IDS, work, jobs=2)
    assert 1 <= sent[0] <= 2


KILLED = """
import os, signal, sys
from functools import partial
from pathlib import Path
import test_export_runner
from agentsession import export
if __name__ == "__main__":
    place = Path(sys.argv[2])
    targets = export.Targets(jsonl=place / "all.jsonl")
    export.export_sessions(
        partial(test_export_runner.load_from, Path(sys.argv[1])),
        test_export_runner.IDS,
        export.Work(targets=targets),
        jobs=2,
        progress=lambda at: os.kill(os.getpid(), signal.SIGKILL),
    )
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing can be killed so")
def test_what_a_killed_export_left_goes_with_the_next_one(store: Path, tmp_path: Path) -> None:
    place = tmp_path / "to"
    script = tmp_path / "killed.py"
    script.write_text(KILLED, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    # The pipe ends when the last of its processes does, which waits for nobody.
    done = subprocess.run(
        [sys.executable, script, store, place],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL
    (left,) = place.glob(".export-*")
    assert list(left.iterdir())
    others = [place / ".export-settings", place / f".export-{'0' * 15}g"]
    for other in others:
        other.mkdir()
    with atomic.room(place) as used:
        # One process after the other: this one is at work.
        one_more(store, place)
        assert used.is_dir()
        assert not left.exists()
    assert sorted(place.iterdir()) == sorted([place / "all.jsonl", *others])


def one_more(store: Path, place: Path) -> None:
    work = export.Work(targets=export.Targets(jsonl=place / "all.jsonl"))
    export.export_sessions(partial(load_from, store), IDS, work)


def test_a_room_that_another_run_takes_for_left_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Path.mkdir
    swept = []

    def mkdir(path: Path, *args: int) -> None:
        really(path, *args)
        if not swept:
            swept.append(path)
            atomic.sweep_rooms(tmp_path)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with atomic.room(tmp_path) as room:
        assert room.is_dir()
        assert room != swept[0]
        assert not swept[0].exists()
        (room / "part").write_bytes(b"x")
    assert list(tmp_path.iterdir()) == []
