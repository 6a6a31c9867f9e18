"""The whole flow with the importer of ``docs/importing.md``: found, converted, stored, told."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import chatter_folder as chats
import pytest
from chatter_folder import actions, files, run, said, stored, texts, write_chat

from agentsession.entries import ItemEntry
from agentsession.errors import AgentSessionError, NoSession
from agentsession.importers import registry
from agentsession.importers.base import NativeSession, Source
from agentsession.importers.run import Choice, Work, import_sessions
from agentsession.stores import JSONLStore, MemoryStore, open_store
from agentsession.timestamp import Timestamp


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats.install(tmp_path / "site", monkeypatch)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "chats"
    for number in range(6):
        write_chat(folder, f"c{number}", said(*(f"{number}.{n}" for n in range(number + 1))))
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def mine(session: Any, text: str) -> str:
    content = [{"type": "input_text", "text": text}]
    added: str = session.append(ItemEntry({"type": "message", "role": "user", "content": content}))
    return added


def test_the_example_is_short_and_registered() -> None:
    lines = [line for line in chats.example().splitlines() if line.strip()]
    assert len(lines) <= 60
    assert "chatter" in registry.names()
    assert "opencode" in registry.names()
    assert type(registry.load("chatter")).__name__ == "Chatter"


def test_import_and_import_again(source: Path, place: Path, tmp_path: Path) -> None:
    report = run(source, place)
    assert actions(report) == {"created": 6}
    assert report.ok
    assert texts(stored(place, "c2")) == ["2.0", "2.1", "2.2"]
    written = files(place)
    again = run(source, place)
    assert actions(again) == {"unchanged": 6}
    assert again.totals["entries"]["appended"] == 0
    assert files(place) == written
    run(source, tmp_path / "other")
    assert files(tmp_path / "other") == written


def test_a_grown_source(source: Path, place: Path) -> None:
    run(source, place)
    before = files(place)
    write_chat(source, "c1", said("1.0", "1.1", "more", "and more"))
    report = run(source, place)
    assert actions(report) == {"grown": 1, "unchanged": 5}
    assert report.totals["entries"]["appended"] == 3
    after = files(place)
    changed = [name for name in after if after[name] != before[name]]
    assert len(changed) == 1
    assert after[changed[0]].startswith(before[changed[0]])
    assert texts(stored(place, "c1")) == ["1.0", "1.1", "more", "and more"]


def test_a_rewritten_past(source: Path, place: Path) -> None:
    run(source, place)
    write_chat(source, "c3", said("3.0", "another", "way", "it", "went"))
    report = run(source, place)
    assert actions(report) == {"branched": 1, "unchanged": 5}
    assert [(f.code, f.count) for f in report.findings] == [("rewritten-past", 1)]
    session = stored(place, "c3")
    assert texts(session) == ["3.0", "another", "way", "it", "went"]
    assert len(session.children(session.roots[0].id)) == 2


def test_a_leaf_set_by_a_user(source: Path, place: Path) -> None:
    run(source, place)
    with JSONLStore(place) as store:
        session = store.open("c4")
        session.branch(session.roots[0].id)
        leaf = session.mark_leaf().target
        session.append(session.mark_leaf())
    write_chat(source, "c4", said("4.0", "4.1", "4.2", "4.3", "4.4", "4.5"))
    report = run(source, place)
    assert [f.code for f in report.findings] == ["user-leaf-kept"]
    assert stored(place, "c4").leaf == leaf


def test_a_session_continued_by_a_user(source: Path, place: Path) -> None:
    run(source, place)
    with JSONLStore(place) as store:
        leaf = mine(store.open("c2"), "mine")
    write_chat(source, "c2", said("2.0", "2.1", "2.2", "2.3"))
    run(source, place)
    session = stored(place, "c2")
    assert session.leaf == leaf
    assert texts(session) == ["2.0", "2.1", "2.2", "mine"]


def test_several_processes_write_the_same(source: Path, place: Path, tmp_path: Path) -> None:
    one = run(source, place)
    two = run(source, tmp_path / "two", jobs=2)
    assert files(place) == files(tmp_path / "two")
    assert one.to_dict() == two.to_dict()
    assert actions(run(source, place, jobs=3)) == {"unchanged": 6}


def test_into_a_database(source: Path, place: Path, tmp_path: Path) -> None:
    """A database takes the same lines as files do, also from several processes."""
    database = tmp_path / "sessions.db"
    run(source, place)
    assert actions(run(source, database, jobs=2)) == {"created": 6}
    for folder in (place, database):
        with open_store(folder) as store:
            mine(store.open("c2"), "mine")
    write_chat(source, "c1", said("1.0", "1.1", "more"))
    write_chat(source, "c3", said("3.0", "another"))
    expected = actions(run(source, place))
    assert actions(run(source, database)) == expected == {"branched": 1, "grown": 1, "unchanged": 4}
    assert actions(run(source, database, jobs=2)) == {"unchanged": 6}
    with open_store(database, read_only=True) as store, JSONLStore(place, read_only=True) as files_:
        for number in (0, 1, 3, 4, 5):
            assert store.content(f"c{number}") == files_.content(f"c{number}")


def test_several_processes_need_a_place(source: Path) -> None:
    with MemoryStore() as store, pytest.raises(ValueError, match="place"):
        import_sessions([], store, jobs=2)
    with pytest.raises(ValueError, match="dry run"):
        import_sessions([], None)


def test_a_dry_run_writes_nothing(source: Path, place: Path) -> None:
    report = run(source, place, dry_run=True)
    assert actions(report) == {"created": 6}
    assert not place.exists()
    run(source, place, choice=Choice(("c0", "c1")))
    before = files(place)
    write_chat(source, "c0", said("0.0", "0.1"))
    report = run(source, place, dry_run=True)
    assert actions(report) == {"created": 4, "grown": 1, "unchanged": 1}
    assert files(place) == before
    assert report.totals["dry_run"] is True


def spoil(tmp_path: Path, session_id: str, statement: str) -> None:
    """Make the importer stumble over one session."""
    module = tmp_path / "site" / f"{chats.MODULE}.py"
    first = "        title, turns = read(Path("
    wrong = f"        if session_id == {session_id!r}: {statement}\n"
    module.write_text(module.read_text().replace(first, wrong + first))


def test_a_process_that_dies_is_told(source: Path, place: Path, tmp_path: Path) -> None:
    spoil(tmp_path, "c3", "import os; os._exit(9)")
    with pytest.raises(AgentSessionError, match="ended before its time"):
        run(source, place, jobs=2)


def test_killed_in_the_middle_and_run_again(source: Path, place: Path, tmp_path: Path) -> None:
    """What a kill leaves is completed by the next run, byte for byte."""
    for number in range(6, 40):
        turns = said(*(f"{number}.{n}" for n in range(40)))
        write_chat(source, f"c{number:02}", turns)
    expected = tmp_path / "expected"
    run(source, expected)
    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "import chatter_folder as chats; from pathlib import Path\n"
        "chats.run(Path(sys.argv[3]), Path(sys.argv[4]), jobs=int(sys.argv[5]))\n"
    )
    here = str(Path(__file__).parent)
    for jobs, wanted in ((1, 5), (1, 20), (2, 12)):
        args = [here, str(tmp_path / "site"), str(source), str(place), str(jobs)]
        process = subprocess.Popen([sys.executable, "-c", script, *args])
        while len(list(place.rglob("*.jsonl"))) < wanted and process.poll() is None:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        # Processes that the killed one had started end with their session.
        report = run(source, place)
        if report.totals["sessions"]["failed"] == 0:
            break
    assert report.ok, report.more["alarms"]
    assert {n: d for n, d in files(place).items() if n.endswith(".jsonl")} == files(expected)


def test_totals_add_up(source: Path, place: Path, tmp_path: Path) -> None:
    turns = [*said("5.0", "5.1"), ("narrator", "later"), ("user", "5.3")]
    write_chat(source, "c5", turns)
    with tempfile.TemporaryFile() as records:
        report = run(source, place, records=records)
        records.seek(0)
        told = [json.loads(line) for line in records]
    assert report.ok
    counted = report.totals["records"]
    assert counted == {"read": 25, "entry": 24, "folded": 0, "left-out": 1}
    assert len(told) == 25
    assert len({(r["session"], r["kind"], r["native_id"]) for r in told}) == 25
    assert [r["native_id"] for r in told if r["disposition"] == "left-out"] == ["t2"]
    assert report.totals["native"] == {"turns": 19}
    assert report.more["codes"] == [
        {"code": "unknown-role", "count": 1, "sentence": "the turn has a role nobody knows"}
    ]
    for record in told:
        for entry in record["entry_ids"]:
            assert entry in stored(place, record["session"])


def test_what_does_not_add_up_is_told(source: Path, place: Path, tmp_path: Path) -> None:
    module = tmp_path / "site" / f"{chats.MODULE}.py"
    module.write_text(module.read_text().replace("Rest(read=sum(1 +", "Rest(read=sum(2 +"))
    report = run(source, place)
    assert [alarm["code"] for alarm in report.more["alarms"]] == ["records-not-accounted"]
    assert not report.ok
    # Sessions that were not asked for are not missed.
    assert run(source, place, choice=Choice(("c1",))).ok


def test_one_bad_session_does_not_take_the_others(
    source: Path, place: Path, tmp_path: Path
) -> None:
    (source / "c1.chat").write_bytes(b'{"title": ')
    spoil(tmp_path, "c2", "raise RuntimeError('a bug')")
    report = run(source, place)
    assert actions(report) == {"created": 5, "failed": 1}
    alarms = [(a["code"], a["where"], a["sentence"]) for a in report.more["alarms"]]
    assert alarms == [
        ("unreadable-chat", "c1: chat c1", "the file is not a chat"),
        ("session-failed", "c2", "internal error: RuntimeError: a bug; please report it"),
    ]
    assert [s["id"] for s in report.more["sessions"] if s["error"]] == ["c2"]
    assert texts(stored(place, "c3")) == ["3.0", "3.1", "3.2", "3.3"]


def test_a_source_that_an_importer_cannot_list(source: Path, place: Path, tmp_path: Path) -> None:
    module = tmp_path / "site" / f"{chats.MODULE}.py"
    module.write_text(
        module.read_text().replace("            title, turns = read(file)", "            1 / 0")
    )
    report = run(source, place)
    assert [a["code"] for a in report.more["alarms"]] == ["source-failed"]
    assert report.more["sources"][0]["sessions"] is None


def test_a_locked_session_is_told(source: Path, place: Path) -> None:
    run(source, place)
    write_chat(source, "c1", said("1.0", "1.1", "1.2"))
    with JSONLStore(place) as store, tempfile.TemporaryFile() as records:
        store.open("c1")
        report = run(source, place, records=records)
        records.seek(0)
        told = [json.loads(line) for line in records]
    assert actions(report) == {"failed": 1, "unchanged": 5}
    # Its records are counted, in no entry.
    counted = report.totals["records"]
    assert counted["left-out"] == sum(r["session"] == "c1" for r in told) == 4
    assert counted["read"] == len(told)
    assert {r["code"] for r in told if r["session"] == "c1"} == {"session-failed"}
    assert not any(r["entry_ids"] for r in told if r["session"] == "c1")
    assert "lock" in report.more["alarms"][0]["sentence"] or "held" in str(report.more["alarms"])
    assert actions(run(source, place)) == {"grown": 1, "unchanged": 5}


def test_choices() -> None:
    found = [
        NativeSession("ab1", updated=Timestamp.parse("2026-03-01T12:00:00Z")),
        NativeSession("ab2", updated=Timestamp.parse("2026-03-05T12:00:00Z")),
        NativeSession("c"),
    ]

    def chosen(*sessions: str, since: dt.date | None = None) -> list[str]:
        return [session.id for session in Choice(sessions, since).of(found)]

    assert chosen() == ["ab1", "ab2", "c"]
    assert chosen("ab2", "c") == ["ab2", "c"]
    assert chosen("ab1", "ab1") == ["ab1"]
    assert chosen(since=dt.date(2026, 3, 3)) == ["ab2", "c"]
    assert chosen("ab1", since=dt.date(2026, 3, 3)) == []
    with pytest.raises(NoSession, match="begins 2 ids: ab1, ab2"):
        chosen("ab")
    with pytest.raises(NoSession, match="no session"):
        chosen("zz")


def test_since_is_a_local_date(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [NativeSession("late", updated=Timestamp.parse("2026-03-01T23:30:00Z"))]
    since = Choice(since=dt.date(2026, 3, 2))
    try:
        for zone, expected in (("UTC", []), ("Asia/Tokyo", ["late"])):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert [session.id for session in since.of(found)] == expected
    finally:
        monkeypatch.undo()
        time.tzset()


def test_progress_is_told(source: Path, place: Path) -> None:
    told: list[tuple[int, int]] = []
    run(source, place, progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 6) for n in range(1, 7)]


def test_a_source_that_is_gone(source: Path, place: Path) -> None:
    work = Work(chats.chatter(), (Source("chatter", (str(source / "nowhere"),)),))
    report = import_sessions([work], place)
    assert report.totals["sessions"]["found"] == 0
    assert not list(place.rglob("*.jsonl"))
