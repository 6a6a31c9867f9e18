"""Files that yield nothing, for each agent: what is told of them, and that nothing waits."""

from __future__ import annotations

import errno
import json
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from unreadable import as_nobody, needs_rights, open_to_all

from agentsession._regular import open_regular
from agentsession.importers import registry
from agentsession.importers.counted import Count
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import of_source

ID = "01a2292c-94c5-7d25-901d-e46952270001"
NAMES = {
    "claude-code": f"projects/-home-dev-project/{ID}.jsonl",
    "codex": f"sessions/2026/03/01/rollout-2026-03-01T10-00-00-{ID}.jsonl",
    "pi": f"sessions/--home-dev-project--/2026-03-01T10-00-00-000Z_{ID}.jsonl",
}
EMPTY = "the file is empty: the agent was ended before it wrote anything"


@pytest.fixture(params=sorted(NAMES))
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def log(agent: str, tmp_path: Path) -> Path:
    path = tmp_path / "home" / NAMES[agent]
    path.parent.mkdir(parents=True)
    return path


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def bound(path: Path) -> None:
    # The name of a socket is short: it is bound from where it stands.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


ODD: list[tuple[Callable[[Path], None], str]] = [
    (os.mkfifo, "not a regular file"),
    (bound, "not a regular file"),
    (lambda path: path.symlink_to("/dev/null"), "not a regular file"),
    (loop, os.strerror(errno.ELOOP).lower()),
    (dangling, "no such file or directory"),
]


def imported(agent: str, home: Path, store: Path | None) -> ImportReport:
    importer = registry.load(agent)
    work = [Work(importer, tuple(importer.find([home])))]
    return import_sessions(work, store, dry_run=store is None)


def counted(agent: str, home: Path) -> Count:
    count = Count()
    importer = registry.load(agent)
    for source in importer.find([home]):
        for record in of_source(importer, source, count.tell):
            count.add(record)
    return count


@pytest.mark.skipif(os.name != "posix", reason="a system without pipes that have names")
@pytest.mark.parametrize(("made", "reason"), ODD, ids=["fifo", "socket", "device", "loop", "none"])
def test_what_is_no_file_is_told_and_never_opened(
    agent: str, log: Path, made: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    made(log)
    sentence = f"the file cannot be read: {reason}"
    report = imported(agent, tmp_path / "home", tmp_path / "store")
    assert report.totals["sessions"]["found"] == 0
    assert [(f.code, f.sentence, f.count) for f in report.findings] == [
        ("unreadable-file", sentence, 1)
    ]
    assert not report.ok
    count = counted(agent, tmp_path / "home")
    assert [(f.code, f.sentence, f.where) for f in count.alarms] == [
        ("unreadable-source", sentence, str(log))
    ]


def test_an_empty_file_is_no_session(agent: str, log: Path, tmp_path: Path) -> None:
    log.touch()
    report = imported(agent, tmp_path / "home", tmp_path / "store")
    assert report.totals["sessions"]["found"] == 0
    assert report.totals["records"]["read"] == 0
    assert [(f.code, f.sentence, f.where) for f in report.findings] == [
        ("empty-file", EMPTY, str(log))
    ]
    assert report.ok
    assert not list((tmp_path / "store").rglob("*.jsonl"))
    count = counted(agent, tmp_path / "home")
    assert count.ok
    assert [(f.code, f.where) for f in count.report().findings] == [("empty-file", str(log))]


def test_a_link_to_a_file_is_read(agent: str, log: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"".join(beginning(agent)))
    log.symlink_to(tmp_path / "elsewhere")
    report = imported(agent, tmp_path / "home", tmp_path / "store")
    assert [session["id"] for session in report.more["sessions"]] == [ID]
    assert report.ok


SHUT = {
    "claude-code": ["projects/-home-dev-other", f"projects/-home-dev-project/{ID}/subagents"],
    "codex": ["sessions/2026/03/02"],
    "pi": ["sessions/--home-dev-other--"],
}


@needs_rights
@pytest.mark.parametrize("inner", [0, 1])
def test_a_directory_that_cannot_be_read_is_told(agent: str, inner: int) -> None:
    with open_to_all() as made:
        home = made / "home"
        log, shut = home / NAMES[agent], home / SHUT[agent][min(inner, len(SHUT[agent]) - 1)]
        log.parent.mkdir(parents=True)
        log.write_bytes(b"".join(beginning(agent)))
        shut.mkdir(parents=True)
        unrelated = home / "unrelated"
        unrelated.mkdir()
        for path in (shut, unrelated) if agent != "codex" else (shut,):
            path.chmod(0)
        try:
            with as_nobody():
                report, count = imported(agent, home, None), counted(agent, home)
        finally:
            shut.chmod(0o755)
            unrelated.chmod(0o755)
    sentence = "the directory cannot be read: permission denied"
    assert [session["id"] for session in report.more["sessions"]] == [ID]
    assert [(f.code, f.sentence, f.where) for f in report.findings] == [
        ("unreadable-place", sentence, str(shut))
    ]
    assert not report.ok
    assert [(f.code, f.sentence, f.where) for f in count.alarms] == [
        ("unreadable-source", sentence, str(shut))
    ]


WHOLE = {
    "claude-code": "projects",
    "codex": "sessions/2026/03",
    "pi": "agent/sessions",
}


@needs_rights
def test_an_agent_whose_sessions_are_all_shut_away_is_told(agent: str) -> None:
    with open_to_all() as made:
        shut = made / WHOLE[agent]
        shut.mkdir(parents=True)
        shut.chmod(0)
        try:
            with as_nobody():
                report, count = imported(agent, made, None), counted(agent, made)
        finally:
            shut.chmod(0o755)
    assert [(f.code, f.where) for f in report.findings] == [("unreadable-place", str(shut))]
    assert [(f.code, f.where) for f in count.alarms] == [("unreadable-source", str(shut))]
    assert not report.ok


@needs_rights
@pytest.mark.parametrize("depth", [1, 2])
def test_a_usual_place_that_is_shut_is_told(
    agent: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unset_homes(monkeypatch)
    with open_to_all() as made:
        monkeypatch.setenv("HOME", str(made))
        (made / USUAL[agent]).mkdir(parents=True)
        importer = registry.load(agent)
        shut = made.joinpath(*Path(USUAL[agent]).parts[:depth])
        shut.chmod(0)
        try:
            with as_nobody():
                work = [Work(importer, tuple(importer.find()))]
                report = import_sessions(work, None, dry_run=True)
                (source,) = work[0].sources
                listed = [finding.code for finding in importer.unread(source)]
        finally:
            shut.chmod(0o755)
    assert [f.code[:10] for f in report.findings] == ["unreadable"]
    assert [code[:10] for code in listed] == ["unreadable"]
    assert not report.ok


@pytest.mark.parametrize("depth", [1, 2])
def test_a_usual_place_behind_a_link_to_nothing_is_told(
    agent: str, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unset_homes(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    link = tmp_path.joinpath(*Path(USUAL[agent]).parts[:depth])
    link.parent.mkdir(exist_ok=True)
    link.symlink_to("nowhere")
    importer = registry.load(agent)
    (source,) = importer.find()
    assert list(importer.sessions(source)) == []
    (told,) = importer.unread(source)
    assert told.sentence.endswith("cannot be read: no such file or directory")


def test_codexs_sessions_on_another_disk(tmp_path: Path) -> None:
    log = tmp_path / "home" / ".codex" / NAMES["codex"]
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(beginning("codex")))
    sessions = tmp_path / "home" / ".codex" / "sessions"
    sessions.rename(tmp_path / "disk")
    sessions.symlink_to(tmp_path / "disk")
    report = imported("codex", tmp_path / "home", None)
    assert [session["id"] for session in report.more["sessions"]] == [ID]


USUAL = {"claude-code": ".claude/projects", "codex": ".codex/sessions", "pi": ".pi/agent"}


def unset_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("there", [False, True])
def test_a_usual_place_with_nothing_in_it_is_no_source(
    agent: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unset_homes(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".claude/projects", ".codex/sessions", ".pi/agent/sessions") if there else ():
        (tmp_path / name).mkdir(parents=True)
    assert registry.load(agent).find() == ()


BESIDE = {
    "claude-code": [f"projects/-home-dev-project/{ID}/subagents/agent-1.meta.json"],
    "codex": ["session_index.jsonl", "state_1.sqlite", "queue_1.sqlite"],
    "pi": ["settings.json"],
}


@pytest.mark.skipif(os.name != "posix", reason="a system without pipes that have names")
def test_pipes_beside_the_logs_are_not_waited_for(agent: str, log: Path, tmp_path: Path) -> None:
    log.write_bytes(b"".join(beginning(agent)))
    for name in BESIDE[agent]:
        pipe = tmp_path / "home" / name
        pipe.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(pipe)
        if name.endswith(".meta.json"):
            pipe.with_name("agent-1.jsonl").write_bytes(b"".join(beginning(agent)))
    report = imported(agent, tmp_path / "home", tmp_path / "store")
    assert ID in {session["id"] for session in report.more["sessions"]}
    assert report.ok


@pytest.mark.skipif(os.name != "posix", reason="a system without pipes that have names")
@pytest.mark.parametrize("name", ["opencode.db", "opencode-dev.db", "opencode.db-wal"])
def test_pipes_in_the_place_of_databases_are_told(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for database in {"opencode.db", "opencode-dev.db"} - {name}:
        sqlite3.connect(home / database).executescript("CREATE TABLE session (id TEXT)").close()
    os.mkfifo(home / name)
    importer = registry.load("opencode")
    (source,) = importer.find([home])
    assert list(importer.sessions(source)) == []
    told = [f.sentence for f in importer.report(source).findings]
    assert sum("not a regular file" in sentence for sentence in told) == 1
    importer.close()


def beginning(agent: str) -> Iterator[bytes]:
    time = "2026-03-01T10:00:00.000Z"
    said = {"role": "user", "content": "hello"}
    if agent == "codex":
        meta = {"id": ID, "timestamp": time, "cwd": "/home/dev/project", "originator": "x"}
        meta |= {"cli_version": "0.77.0"}
        yield line({"timestamp": time, "type": "session_meta", "payload": meta})
    elif agent == "pi":
        yield line({"type": "session", "version": 3, "id": ID, "timestamp": time, "cwd": "/x"})
        entry = {"id": "a1b2c3d4", "parentId": None, "timestamp": time}
        yield line({"type": "message", **entry, "message": {**said, "timestamp": 1772359200000}})
    else:
        more = {"sessionId": ID, "version": "2.0.60", "timestamp": time, "cwd": "/x"}
        yield line({"type": "user", "uuid": "u1", "parentUuid": None, **more, "message": said})


def line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


@pytest.mark.skipif(os.name != "posix", reason="a system without pipes that have names")
def test_a_pipe_is_refused_where_a_file_is_wanted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "pipe")
