"""Copies of a home: each session once, from the copy that says most, the others left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from claude_files import SESSION, Log

from agentsession.entries import ItemEntry
from agentsession.findings import Finding
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.record_entries import LinkEntry
from agentsession.stores import JSONLStore, SQLiteStore, Summary

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


def diverged(place: Path) -> None:
    for home, ends in (("a", ("p",)), ("b", ("q", "r")), ("c", ("q",))):
        log = talk("one", "two")
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


def early(place: Path, homes: str = "abc") -> None:
    """Copies of a log with agents inside that parted while the second one was at work."""
    ends = [("x", ("p",)), ("y", ("q", "r")), ("z", ())]
    for home, (name, words) in zip(homes, ends, strict=True):
        log = Log(version="1.0.110")
        log.user("u0", "two agents, please")
        for call in ("c1", "c2"):
            task = {"description": "d", "prompt": "a task"}
            log.call(f"a0{call}", "msg0", call, "Task", input=task)
        log.user("s1", "a task", None, isSidechain=True)
        log.say("s2", "msgs", "done", isSidechain=True)
        log.user(f"t1{name}", "a task", None, isSidechain=True)
        log.say(f"t2{name}", f"msgt{name}", f"done by {name}", isSidechain=True)
        log.tip = "a0c2"
        log.result("r1", "c1", "done")
        log.result(f"r2{name}", "c2", f"done by {name}")
        for word in words:
            log.user(f"u{word}", f"on to {word}")
            log.say(f"a{word}", f"msg{word}", f"words of {word}")
        log.write(place / home)


EARLY = ["msg0", "msgp", "msgq", "msgr", "msgs", "msgtx", "msgty", "msgtz"]


def contents(store: JSONLStore | SQLiteStore) -> dict[str, bytes]:
    with store:
        ids = [summary.id for summary in store.list() if isinstance(summary, Summary)]
        return {session_id: store.content(session_id) for session_id in ids}


def test_diverged_copies_with_agents_inside_are_branches_with_their_agents(
    tmp_path: Path,
) -> None:
    early(tmp_path / "homes")
    report = imported(tmp_path / "homes", tmp_path / "store")
    assert report.ok
    assert answers(tmp_path / "store") == EARLY
    read = report.totals["records"]
    assert read["read"] == read["entry"] + read["folded"] + read["left-out"] == 13 + 11 + 9
    assert sorted(Path(f.where).parts[-4] for f in diverged_in(report)) == ["c"]
    assert sum(f.count for f in diverged_in(report)) == 2
    again = imported(tmp_path / "homes", tmp_path / "store")
    assert {session["action"] for session in again.more["sessions"]} == {"unchanged"}
    with JSONLStore(tmp_path / "store") as store:
        headers = [s.header for s in store.list() if isinstance(s, Summary)]
        agents = {header.id: header.spawned_by for header in headers if header.spawned_by}
        assert sorted(agents.values()) == ["c1", "c2", "c2", "c2"]
        parent = store.open(SESSION)
        for name, ends in (("x", "ap"), ("y", "ar")):
            (tip,) = [e.id for e in parent.entries if isinstance(e, ItemEntry) and said(e) == ends]
            path = parent.path(tip)
            results = [said(e) for e in path if isinstance(e, ItemEntry) and said(e)[0] == "r"]
            assert results == ["r1", f"r2{name}"]
            first, second = [e.session for e in path if isinstance(e, LinkEntry)]
            assert (agents[first], agents[second]) == ("c1", "c2")
            (answer,) = [e for e in store.open(second).entries if e.type == "response"]
            assert answer.response_id == f"msgt{name}"


def said(entry: ItemEntry) -> str:
    return str(entry.item.id)


def diverged_in(report: ImportReport) -> list[Finding]:
    return [found for found in report.findings if found.code == "diverged-copy"]


def test_the_places_of_diverged_copies_do_not_matter(tmp_path: Path) -> None:
    found = []
    for place, homes in enumerate(("abc", "cab", "bca", "cba")):
        early(tmp_path / str(place), homes)
        imported(tmp_path / str(place), tmp_path / f"{place}.store")
        found.append(contents(JSONLStore(tmp_path / f"{place}.store")))
    assert all(one == found[0] for one in found)
    imported(tmp_path / "0", tmp_path / "store.db")
    assert contents(SQLiteStore(tmp_path / "store.db")) == found[0]


def test_diverged_copies_imported_one_by_one_have_the_same_answers(tmp_path: Path) -> None:
    early(tmp_path / "homes")
    for home in "cab":
        assert imported(tmp_path / "homes" / home, tmp_path / "store").ok
    assert answers(tmp_path / "store") == EARLY
    assert imported(tmp_path / "homes", tmp_path / "store").ok
    assert answers(tmp_path / "store") == EARLY


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
