"""Copies of a home: each session once, from the copy that says most, the others left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from claude_files import Log

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.stores import JSONLStore

DATA = Path(__file__).parents[2] / "data" / "claude-code"
AGENT = "c1a0de00-0000-4000-8000-00000000000a"


def talk(*words: str, session: str = "11111111-2222-4333-8444-555555555555") -> Log:
    log = Log(session)
    for number, said in enumerate(words):
        log.user(f"{session[:2]}u{number}", said)
        log.say(f"{session[:2]}a{number}", f"{session[:2]}msg{number}", f"{said}, too")
    return log


def imported(place: Path, store: Path) -> ImportReport:
    importer = ClaudeCode()
    return import_sessions([Work(importer, importer.find([place]))], store)


def left_out(report: ImportReport) -> dict[str, int]:
    return {code["code"]: code["count"] for code in report.more["codes"]}


def test_copies_of_a_session_are_one(tmp_path: Path) -> None:
    whole = ("one", "two", "three")
    for home, words in (("a", whole[:1]), ("b", whole), ("c", whole)):
        talk(*words).write(tmp_path / "homes" / home)
    report = imported(tmp_path / "homes", tmp_path / "store")
    (session,) = report.more["sessions"]
    assert session["id"] == "11111111-2222-4333-8444-555555555555"
    assert [Path(path).parts[-4] for path in session["copies"]] == ["b", "a", "c"]
    assert left_out(report)["other-copy"] == 2 + 6
    assert report.ok
    assert report.totals["records"]["read"] == 2 + 6 + 6
    (found,) = [f for f in report.findings if f.code == "other-copy"]
    assert (found.count, Path(found.where).parts[-4]) == (8, "a")
    again = imported(tmp_path / "homes", tmp_path / "store")
    assert [session["action"] for session in again.more["sessions"]] == ["unchanged"]
    alone = imported(tmp_path / "homes" / "b", tmp_path / "store")
    assert [session["action"] for session in alone.more["sessions"]] == ["unchanged"]


def answers(store: Path) -> list[str]:
    lines = [
        json.loads(line)
        for path in store.rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    return sorted(line["response_id"] for line in lines if line["type"] == "response")


def diverged(place: Path, *, sidechain: bool = False) -> None:
    for home, ends in (("a", ("p",)), ("b", ("q", "r")), ("c", ("q",))):
        log = talk("one", "two")
        if sidechain:
            log.user("s1", "a task", None, isSidechain=True)
            log.say("s2", "msgs", "done", isSidechain=True)
            log.tip = "11a1"
        for name in ends:
            log.user(f"u{name}", f"on to {name}")
            log.say(f"a{name}", f"msg{name}", f"words of {name}")
        log.write(place / home)


def test_a_copy_that_went_on_in_another_way_is_a_branch(tmp_path: Path) -> None:
    diverged(tmp_path / "homes")
    report = imported(tmp_path / "homes", tmp_path / "store")
    (session,) = report.more["sessions"]
    assert report.ok
    assert answers(tmp_path / "store") == ["11msg0", "11msg1", "msgp", "msgq", "msgr"]
    assert left_out(report) == {"copied-record": 4, "other-copy": 6}
    (found,) = [f for f in report.findings if f.code == "diverged-copy"]
    assert Path(found.where).parts[-4] == "a"
    read = report.totals["records"]
    assert read["read"] == read["entry"] + read["folded"] + read["left-out"] == 6 + 8 + 6
    with JSONLStore(tmp_path / "store") as store:
        path = [e for e in store.open(session["id"]).path() if e.type == "response"]
    assert [e.response_id for e in path] == ["11msg0", "11msg1", "msgq", "msgr"]
    again = imported(tmp_path / "homes", tmp_path / "store")
    assert [session["action"] for session in again.more["sessions"]] == ["unchanged"]
    imported(tmp_path / "homes" / "a", tmp_path / "two")
    imported(tmp_path / "homes" / "b", tmp_path / "two")
    assert answers(tmp_path / "two") == answers(tmp_path / "store")
    alone = imported(tmp_path / "homes" / "b", tmp_path / "store")
    assert answers(tmp_path / "store") == answers(tmp_path / "two")
    assert alone.ok


def test_a_diverged_copy_with_agents_inside_is_loud(tmp_path: Path) -> None:
    diverged(tmp_path / "homes", sidechain=True)
    report = imported(tmp_path / "homes", tmp_path / "store")
    assert not report.ok
    (found,) = [f for f in report.findings if f.code == "unreadable-branch"]
    assert Path(found.where).parts[-4] == "a"
    assert "import it by itself" in found.sentence
    read = report.totals["records"]
    assert read["read"] == read["entry"] + read["folded"] + read["left-out"]
    assert imported(Path(found.where), tmp_path / "store").ok
    assert {"msgp", "msgr"} <= set(answers(tmp_path / "store"))


def test_what_belongs_together_is_found_over_all_copies(tmp_path: Path) -> None:
    for home in "ab":
        shutil.copytree(DATA / "claude-subagents", tmp_path / "homes" / home / "projects" / "x")
    logs = sorted((tmp_path / "homes").rglob("*.jsonl"))
    (parent,) = [p for p in logs if "/a/" in str(p) and p.stem == AGENT]
    (child,) = [p for p in logs if "/b/" in str(p) and p.name.startswith("agent-")]
    for cut in (parent, child):
        lines = cut.read_bytes().splitlines(keepends=True)
        cut.write_bytes(b"".join(lines[: max(1, len(lines) - 1)]))
    report = imported(tmp_path / "homes", tmp_path / "store")
    one = imported(tmp_path / "homes" / "b", tmp_path / "alone")
    assert [s["id"] for s in report.more["sessions"]] == [s["id"] for s in one.more["sessions"]]
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path / "homes"])
    headers = [importer.convert(source, n.id).session.header for n in importer.sessions(source)]
    assert [header.parent_session for header in headers] == ["", AGENT]
    assert headers[1].spawned_by == "t1"


def test_sessions_of_one_name_that_have_nothing_in_common_are_two(tmp_path: Path) -> None:
    talk("one").write(tmp_path / "homes" / "a", "chat")
    talk("two", session="22222222-2222-4333-8444-555555555555").write(
        tmp_path / "homes" / "b", "chat"
    )
    report = imported(tmp_path / "homes", tmp_path / "store")
    first, second = (session["id"] for session in report.more["sessions"])
    assert first == "chat"
    assert second.startswith("chat-")
    assert "other-copy" not in left_out(report)


def test_another_folder_of_the_same_project_is_no_copy(tmp_path: Path) -> None:
    talk("one").write(tmp_path / "homes" / "a")
    talk("two", session="22222222-2222-4333-8444-555555555555").write(tmp_path / "homes" / "b")
    report = imported(tmp_path / "homes", tmp_path / "store")
    assert report.totals["sessions"]["found"] == 2
    assert "other-copy" not in left_out(report)
