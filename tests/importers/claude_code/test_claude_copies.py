"""Copies of a home: each session once, from the copy that says most, the others left out."""

from __future__ import annotations

import shutil
from pathlib import Path

from claude_files import Log

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions

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
