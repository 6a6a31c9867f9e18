"""``agentsession import``."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from cli_runner import Caller, command, environment, run
from test_cli_docs import documented, settled

IMPORTERS = Path(__file__).parents[1] / "importers"
RECORDED = Path(__file__).parents[1] / "data" / "opencode"


@pytest.fixture
def chats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The importer of ``docs/importing.md``, installed."""
    monkeypatch.syspath_prepend(str(IMPORTERS))
    helpers = import_module("chatter_folder")
    helpers.install(tmp_path / "site", monkeypatch)
    return helpers


@pytest.fixture(autouse=True)
def _nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent of the machine the tests run on is looked at."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    monkeypatch.delenv("OPENCODE_DB", raising=False)


@pytest.fixture
def source(tmp_path: Path, chats: ModuleType) -> Path:
    folder = tmp_path / "chats"
    for number in range(4):
        turns = chats.said(*(f"{number}.{n}" for n in range(number + 1)))
        chats.write_chat(folder, f"c{number}", turns, f"Chat {number}")
    return folder


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A data directory that OpenCode left."""
    return Path(shutil.copytree(RECORDED / "1.1.65-subagent", tmp_path / "opencode"))


def test_nothing_found(call: Caller) -> None:
    shown = call("import")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(
        "nothing found at the usual places of claude-code, codex, opencode, pi"
    )
    assert "agentsession import PATH" in shown.out


def test_what_was_found_and_what_to_type(
    call: Caller, chats: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / ".chatter"
    chats.write_chat(home, "c1", chats.said("a", "b"))
    chats.write_chat(home, "c2", chats.said("a"))
    shown = call("import")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0].split() == ["AGENT", "SESSIONS", "NEWEST", "SIZE", "PLACE"]
    assert lines[1].split()[:3] == ["chatter", "2", "2026-03-01T08:00:01Z"]
    assert lines[1].endswith(str(home))
    assert lines[-1].startswith("Next: agentsession import chatter ")
    found = call("import", "--json").json["found"]
    assert [(f["importer"], f["sessions"], f["command"]) for f in found] == [
        ("chatter", 2, "agentsession import chatter")
    ]
    monkeypatch.setenv("AGENTSESSION_HOME", str(tmp_path / "store"))
    assert call("import", "chatter").code == 0
    assert call("import", "--from", "opencode").out.startswith("nothing found")


def nowhere(path: Path) -> None:
    """A link to nothing, as to a disk that is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.parent / "nowhere")


@pytest.mark.parametrize(
    ("agent", "usual"),
    [
        ("claude-code", ".claude/projects"),
        ("codex", ".codex/sessions"),
        ("opencode", "data/opencode"),
        ("pi", ".pi/agent/sessions"),
    ],
)
def test_what_was_found_and_cannot_be_read(
    call: Caller, agent: str, usual: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home" / usual
    nowhere(path)
    shown = call("import")
    assert shown.code == 1
    assert shown.out.splitlines()[1].split()[:3] == [agent, "-", "-"]
    assert "Next" not in shown.out
    problem = "cannot be read: no such file or directory"
    assert shown.err.startswith(f"agentsession: {path}: the ")
    assert shown.err.endswith(f" {problem}\n")
    listed = call("import", "--json")
    (found,) = listed.json["found"]
    (finding,) = found["findings"]
    assert (listed.code, found["sessions"], found["error"]) == (1, 0, None)
    assert finding["where"] == str(path)
    assert finding["sentence"].endswith(problem)
    assert finding["code"].startswith("unreadable-")
    used = call("usage", "--from", agent)
    assert used.code == 1
    assert used.err == shown.err
    done = call("import", agent, "--dry-run", "--json")
    assert done.code == 1
    assert [alarm["where"] for alarm in done.json["alarms"]] == [str(path)]


def test_some_of_what_was_found_cannot_be_read(
    call: Caller, recording: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home" / "data" / "opencode"
    shutil.copytree(recording, home)
    nowhere(home / "opencode.db")
    shown = call("import")
    assert shown.code == 1
    assert shown.out.splitlines()[1].split()[:2] == ["opencode", "4"]
    assert "Next: agentsession import opencode " in shown.out
    assert shown.err.count(str(home / "opencode.db")) == 1


def test_import_and_again(call: Caller, chats: ModuleType, source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shown = call("import", "chatter", source, "--to", store)
    assert (shown.code, shown.err) == (0, "")
    assert "sessions 4 found, 4 selected, 4 created" in shown.out
    assert "records  14 read, 14 entry" in shown.out
    before = chats.files(store)
    again = call("import", "chatter", source, "--to", store, "--jobs", "2")
    assert "4 unchanged" in again.out
    assert chats.files(store) == before
    listed = call("list", store)
    assert "Chat 3" in listed.out
    assert call("show", store, "c2").code == 0


def test_the_later_format(call: Caller, chats: ModuleType, source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    asked = ("import", "chatter", source, "--to", store, "--format")
    assert "4 created" in call(*asked, "0.11").out
    before = chats.files(store)
    assert "4 unchanged" in call(*asked, "agentsession/0.11").out
    assert chats.files(store) == before
    assert call("show", store, "c2", "--json").json["session"]["format"] == "agentsession/0.11"
    other = call(*asked, "0.3")
    assert "format-kept" in other.out
    assert (other.code, chats.files(store)) == (0, before)


def test_an_agent_is_known_by_its_data(call: Caller, source: Path, tmp_path: Path) -> None:
    assert "4 created" in call("import", source, "--to", tmp_path / "store").out
    assert call("import", source, "--from", "opencode", "--dry-run").code == 1


def test_paths_that_hold_nothing(call: Caller, source: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    shown = call("import", source, empty, "--to", tmp_path / "store")
    assert shown.code == 1
    assert "4 created" in shown.out
    assert shown.err == f"agentsession: {empty} holds nothing that an importer knows\n"
    none = call("import", empty, "--to", tmp_path / "store")
    assert (none.code, none.out) == (1, "")
    assert "holds nothing of chatter, claude-code, codex, opencode, pi" in none.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nobody"], 1, "nobody is neither an agent nor a file; the agents are "),
        (["./nobody/there"], 1, "no such file or directory"),
        (["opencode", "--dry-run"], 1, "nothing of opencode is at its usual place"),
        (["--from", "nobody"], 2, "'nobody' is no agent; there are: claude-code, codex, "),
        (["codex", "--from", "pi"], 2, "codex and --from pi are different agents"),
        (["--since", "yesterday"], 2, "is not a date such as 2026-03-01"),
        (["--format", "0.4"], 2, '"0.4" is not a format that imports write'),
        (["--jobs", "0"], 2, "invalid value for '-jobs'"),
        (["--bogus"], 2, "no such option"),
    ],
)
def test_wrong_usage(call: Caller, arguments: list[str], code: int, message: str) -> None:
    shown = call("import", *arguments)
    assert (shown.code, shown.out) == (code, "")
    assert message in shown.err


def test_a_report_has_a_place_before_the_import_begins(
    call: Caller, source: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    for place in (tmp_path / "no" / "report.json", tmp_path):
        shown = call("import", source, "--to", store, "--report", place)
        assert (shown.code, shown.out) == (1, "")
        assert "the report cannot be written" in shown.err
    assert not store.exists()


def test_report_in_a_file(call: Caller, source: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    shown = call("import", source, "--to", tmp_path / "store", "--report", report)
    assert shown.out.endswith(f"report   {report}\n")
    written = json.loads(report.read_text())
    printed = call("import", source, "--to", tmp_path / "other", "--report", "json").json
    assert written == printed
    assert len(written["records"]) == written["totals"]["records"]["read"] == 14
    assert call("import", source, "--to", tmp_path / "third", "--json").json == printed


def test_fields_of_the_report(
    call: Caller, chats: ModuleType, source: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home" / ".chatter"
    chats.write_chat(home, "c1", chats.said("a"))
    nowhere(tmp_path / "home" / "data" / "opencode")
    store = tmp_path / "store"
    chats.write_chat(source, "c1", [*chats.said("1.0"), ("narrator", "x")])
    (source / "c2.chat").write_text("{")
    call("import", source, "--to", store)
    chats.write_chat(source, "c3", chats.said("rewritten", "past", "and", "more", "of", "it"))
    reports = [call("import", "--json").json, call("import", source, "--to", store, "--json").json]
    report = reports[1]
    # What the importers counted is theirs to name.
    report["totals"]["native"] = report["sources"][0]["tables"] = None
    for session in report["sessions"]:
        session["totals"] = None
        session["copies"] = ["a"]
    report["sources"][0]["records"] = report["sources"][0].get("records")
    report["sessions"][0]["codes"] = ["a"]
    report["records"][0]["entry_ids"] = ["a"]
    assert settled(reports, "import") == documented("import")


def test_choosing_sessions(call: Caller, chats: ModuleType, source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shown = call("import", source, "--to", store, "--session", "c1", "--session", "c3")
    assert "4 found, 2 selected, 2 created" in shown.out
    assert "0 selected" in call("import", source, "--to", store, "--since", "2026-04-01").out
    assert "4 selected" in call("import", source, "--to", store, "-since", "2026-02-01").out
    missing = call("import", source, "--to", store, "--session", "zz")
    assert (missing.code, missing.out) == (1, "")
    assert 'no session in the source has the id "zz"' in missing.err


def test_dry_run(call: Caller, source: Path, tmp_path: Path) -> None:
    shown = call("import", source, "--to", tmp_path / "store", "--dry-run")
    assert shown.out.endswith("dry run: nothing was written\n")
    assert "4 created" in shown.out
    assert not (tmp_path / "store").exists()


def test_what_cannot_be_read(call: Caller, source: Path, tmp_path: Path) -> None:
    (source / "c1.chat").write_text("{")
    shown = call("import", source, "--to", tmp_path / "store")
    assert shown.code == 1
    assert "could not be read, or does not add up:\n" in shown.out
    assert "  c1: chat c1: the file is not a chat\n" in shown.out
    assert "the import is not whole: 1 problem(s)" in shown.err


def test_a_store_that_is_a_file(call: Caller, source: Path, tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("mine")
    shown = call("import", source, "--to", place)
    assert shown.code == 1
    assert "is a file, not a store" in shown.out + shown.err
    assert place.read_text() == "mine"


def test_opencode(call: Caller, recording: Path, tmp_path: Path) -> None:
    before = {p: p.read_bytes() for p in sorted(recording.rglob("*")) if p.is_file()}
    store = tmp_path / "store"
    shown = call("import", "opencode", recording, "--to", store, "--json")
    report = shown.json
    assert report["totals"]["sessions"]["created"] == len(report["sessions"]) > 0
    assert shown.code == 0
    assert not report["alarms"]
    again = call("import", recording, "--to", store, "--jobs", "2", "--json").json
    assert again["totals"]["entries"]["appended"] == 0
    assert {p: p.read_bytes() for p in sorted(recording.rglob("*")) if p.is_file()} == before
    for session in report["sessions"]:
        assert call("verify", store, session["id"]).code == 0


def test_opencode_at_its_usual_place(call: Caller, recording: Path, tmp_path: Path) -> None:
    home = tmp_path / "home" / "data" / "opencode"
    shutil.copytree(recording, home)
    found = call("import", "--json").json["found"]
    assert [(f["importer"], f["paths"]) for f in found] == [("opencode", [str(home)])]
    assert found[0]["sessions"] > 0
    assert found[0]["size"] > 0


def test_interrupted_and_run_again(
    chats: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = tmp_path / "many", tmp_path / "store"
    for number in range(60):
        turns = chats.said(*(f"{number}.{n}" for n in range(60)))
        chats.write_chat(folder, f"c{number}", turns)
    arguments = command("import", "chatter", folder, "--to", store)
    env = environment({"PYTHONPATH": str(tmp_path / "site")})
    process = subprocess.Popen(
        arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(store.rglob("*.jsonl")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert err == (
        "agentsession: what was imported so far is in the store; run the import again to go on\n"
        "agentsession: interrupted\n"
    )
    assert out == ""
    again = run(
        "import", "chatter", folder, "--to", store, env={"PYTHONPATH": str(tmp_path / "site")}
    )
    assert again.code == 0
    chats.run(folder, tmp_path / "peace")
    assert chats.files(store) == chats.files(tmp_path / "peace")


def test_progress_on_a_terminal_only(source: Path, tmp_path: Path, chats: ModuleType) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            command("import", "chatter", source, "--to", tmp_path / "store"),
            env=environment({"PYTHONPATH": str(tmp_path / "site")}),
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=True,
        )
        shown = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "4 of 4 sessions" in shown
    assert b"4 of 4 sessions" not in done.stdout
    piped = run(
        "import",
        "chatter",
        source,
        "--to",
        tmp_path / "store",
        env={"PYTHONPATH": str(tmp_path / "site")},
    )
    assert piped.err == ""


def test_a_store_that_would_be_a_session_file_is_refused_once(call: Caller, tmp_path: Path) -> None:
    place = tmp_path / "one" / "x.jsonl"
    done = call("import", "pi", Path(__file__).parents[1] / "data" / "pi", "--to", place)
    assert done.code == 1
    assert done.err.count("would be a file, not a store") == 1
    assert "sessions" not in done.out
    assert not place.parent.exists()


@pytest.mark.parametrize("inside", ["", "store"])
def test_no_store_among_an_agents_data(call: Caller, recording: Path, inside: str) -> None:
    before = sorted(recording.rglob("*"))
    shown = call("import", recording, "--to", recording / inside)
    assert shown.code == 2
    assert shown.err.startswith(f"agentsession: the store cannot be {recording / inside}")
    assert "name another place for it\nUsage: " in shown.err
    assert sorted(recording.rglob("*")) == before


def test_no_store_at_the_path_that_is_imported(call: Caller, recording: Path) -> None:
    above = recording.parent
    shown = call("import", above, "--to", recording / "..")
    assert shown.code == 2
    assert "which is to be imported; name another place for it" in shown.err
    assert call("import", above, "--to", above / "store").code == 0
