"""``agentsession usage``."""

from __future__ import annotations

import json
import os
import threading
from importlib import import_module
from pathlib import Path

import pytest
from cli_runner import Caller
from test_cli_docs import documented, settled

from agentsession.importers import registry
from agentsession.importers.run import Work, import_sessions
from agentsession.testing import SessionBuilder
from agentsession.writing import write

DATA = Path(__file__).parents[1] / "data"
PI = DATA / "pi" / "1.6.0-tree"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any agent."""
    for name in ("HOME", "XDG_DATA_HOME", "AGENTSESSION_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "PI_CODING_AGENT_DIR", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR", raising=False)
    return tmp_path / "home"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    importer = registry.load("pi")
    import_sessions([Work(importer, tuple(importer.find([PI])))], tmp_path / "store")
    return tmp_path / "store"


def test_a_table_by_model(call: Caller) -> None:
    done = call("usage", PI)
    assert (done.code, done.err) == (0, "")
    head, mock, total, note = done.out.splitlines()
    assert head.split()[:3] == ["MODEL", "CALLS", "INPUT"]
    assert mock.split() == ["mock/mock-1", "17", "20400", "0", "0", "0", "680", "0", "0.0218"]
    assert total.split()[0] == "total"
    assert note.startswith("note: copies of calls")


def test_a_store_says_the_same_and_is_not_counted_beside_its_source(
    call: Caller, store: Path
) -> None:
    own = call("usage", PI, "--json").json
    stored = call("usage", store, "--json").json
    assert own["totals"] == stored["totals"]
    both = call("usage", PI, store, "--json")
    assert both.json["totals"] == own["totals"]
    assert "session-in-two-sources" in {finding["code"] for finding in both.json["findings"]}
    assert both.code == 0


def test_a_session_file(call: Caller, tmp_path: Path) -> None:
    build = SessionBuilder(cwd="/srv/app")
    build.user("hello")
    build.answer("hi", usage={"input_tokens": 3, "output_tokens": 2})
    write(tmp_path / "one.jsonl", build.session)
    done = call("usage", tmp_path / "one.jsonl", "--by", "project", "--json").json
    assert [(group["key"], group["calls"]) for group in done["groups"]] == [("/srv/app", 1)]


@pytest.mark.parametrize("by", ["day", "model", "project", "session"])
def test_groups(call: Caller, by: str) -> None:
    report = call("usage", PI, "--by", by, "--json").json
    assert report["by"] == by
    assert sum(group["calls"] for group in report["groups"]) == report["totals"]["calls"] == 17


def test_prices(call: Caller, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"claude-x": {"input": 1, "output": 1}}))
    path = DATA / "usage" / "claude-usage-split-blocks.jsonl"
    report = call("usage", path, "--prices", prices, "--json").json
    assert report["totals"]["cost_usd"] == pytest.approx(0.000194)
    prices.write_text("{")
    done = call("usage", path, "--prices", prices)
    assert (done.code, done.out) == (1, "")


@pytest.mark.usefixtures("home")
def test_without_arguments(call: Caller, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = call("usage", "--json")
    assert (done.code, done.json["totals"]["calls"]) == (0, 0)
    monkeypatch.setenv("AGENTSESSION_HOME", str(store))
    assert call("usage", "--json").json["totals"]["calls"] == 17
    assert call("usage", "--from", "pi", "--json").json["totals"]["calls"] == 0


def test_what_is_not_there(call: Caller, tmp_path: Path) -> None:
    assert call("usage", tmp_path / "none").code == 1
    assert call("usage", "--by", "colour").code == 2
    assert call("usage", tmp_path, "--from", "pi").code == 1
    assert call("usage", "--from", "nobody").code == 2


def test_what_cannot_be_read_is_told_and_the_rest_counted(call: Caller, store: Path) -> None:
    broken = min(store.rglob("*.jsonl"))
    broken.write_bytes(b'{"type":"session","format":"agentsession/9.0","id":"x"}\n')
    done = call("usage", store, PI, "--json")
    assert done.code == 1
    assert "unreadable-source" in {finding["code"] for finding in done.json["findings"]}
    assert done.json["totals"]["calls"] > 0


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs the rights of another user")
def test_a_directory_without_rights_is_named_once(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(DATA.parent / "importers"))
    rights = import_module("unreadable")
    with rights.open_to_all() as made:
        for name in ("HOME", "XDG_DATA_HOME", "AGENTSESSION_HOME"):
            monkeypatch.setenv(name, str(made / "home"))
        assert call("usage", made).code == 0
        for name, sentence in (("data", ""), ("opencode", "the directory ")):
            shut = made / name
            shut.mkdir(mode=0)
            with rights.as_nobody():
                done, imported = call("usage", shut), call("import", shut, "--dry-run")
                named = call("usage", "--from", "codex", shut)
            shut.chmod(0o755)
            problem = f"{shut}: {sentence}cannot be read: permission denied"
            assert (done.code, done.err) == (1, f"agentsession: {problem}\n")
            assert imported.code == named.code == 1
            assert "the directory cannot be read: permission denied" in imported.out + imported.err
            assert "the directory cannot be read: permission denied" in named.err
        database = made / "opencode.db"
        database.touch(mode=0)
        with rights.as_nobody():
            done = call("usage", database, "--json")
        (told,) = done.json["findings"]
        assert (done.code, told["where"]) == (1, str(database))


def test_a_broken_session_of_a_store_hides_no_other(call: Caller, store: Path) -> None:
    files = sorted(store.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    whole = call("usage", store, "--json").json["totals"]["calls"]
    files[0].write_bytes(b'{"type":"session","format":"agentsession/9.0","id":"x"}\n')
    done = call("usage", store, "--by", "session", "--json")
    assert done.code == 1
    assert [finding["code"] for finding in done.json["findings"]].count("unreadable-source") == 1
    assert 0 < done.json["totals"]["calls"] <= whole
    assert len(done.json["groups"]) == len(files) - 1


@pytest.mark.skipif(os.name != "posix", reason="a system without pipes that have names")
def test_a_pipe_in_a_store_is_told_and_not_waited_for(call: Caller, store: Path) -> None:
    before = call("usage", store, "--json").json["totals"]
    (first, *_) = sorted(store.rglob("*.jsonl"))
    pipe = first.with_name(first.name.replace(first.stem[-4:], "0000"))
    os.mkfifo(pipe)
    done = call("usage", store, "--json")
    assert (done.code, done.json["totals"]) == (1, before)
    (problem,) = [f for f in done.json["findings"] if f["code"] == "unreadable-source"]
    assert problem["sentence"] == f"{pipe}: cannot be read: not a regular file"
    told = call("show", store, pipe.stem.partition("_")[2])
    assert (told.code, told.out) == (1, "")
    assert "not a regular file" in told.err


@pytest.mark.skipif(os.name != "posix", reason="a system without pipes that have names")
def test_a_pipe_that_is_named_is_read_to_its_end(call: Caller, store: Path, tmp_path: Path) -> None:
    (first, *_) = sorted(store.rglob("*.jsonl"))
    for command in ("usage", "show"):
        pipe = tmp_path / command
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(first.read_bytes(),))
        writer.start()
        done = call(command, pipe)
        writer.join()
        assert (done.code, done.out) == (0, call(command, first).out)


def test_lines_that_cannot_be_read_are_named(call: Caller, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    given = (DATA / "usage" / "claude-usage-split-blocks.jsonl").read_bytes()
    log.write_bytes(given + b'{"type":"assistant","mess\n')
    done = call("usage", log, "--json")
    assert (done.code, done.json["totals"]["output_tokens"]) == (1, 40)
    (finding,) = (f for f in done.json["findings"] if f["code"] == "unreadable-source")
    assert finding["where"] == f"{log}, line {given.count(bytes([10])) + 1}"
    assert str(log) in done.err


def test_fields(call: Caller) -> None:
    path = DATA / "pi" / "1.6.0-migrated"
    assert settled([call("usage", path, "--json").json], "usage") == documented("usage")


def test_a_database_of_our_own_is_no_agents(call: Caller, tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples" / "sessions"
    assert call("copy", examples, tmp_path / "s.db").code == 0
    from_files = call("usage", examples, "--json").json
    from_database = call("usage", tmp_path / "s.db", "--json").json
    assert from_database["totals"] == from_files["totals"]
    assert from_database["totals"]["calls"] > 0
