"""Ids, names and counts that a log should not have: nothing of the session is lost."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_files import USAGE, Log, RequestLog

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.verify import verify
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.session import Session
from agentsession.stores import JSONLStore


def imported(place: Path, store: Path) -> ImportReport:
    importer = ClaudeCode()
    return import_sessions([Work(importer, tuple(importer.find([place])))], store)


def stored(store: Path) -> list[Session]:
    with JSONLStore(store) as opened:
        return [opened.open(one.id) for one in opened.list()]


def answers(session: Session) -> list[str]:
    return [entry.response_id for entry in session.path() if entry.type == "response"]


def native(place: Path) -> tuple[int, int]:
    importer = ClaudeCode()
    found = [u for source in importer.find([place]) for u in importer.usage_records(source)]
    return len(found), sum(u.usage["output_tokens"] for u in found)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("parent", ["u1", "u2"])
def test_an_answer_with_the_id_of_its_prompt_is_one(
    parent: str, copies: int, tmp_path: Path
) -> None:
    log = Log()
    log.user("u1", "Go")
    log.user("u2", "On")
    log.say("u2", "m1", "One.", parent=parent)
    log.lines += copy.deepcopy(log.lines) * (copies - 1)
    log.user("u3", "Again")
    log.say("a3", "m2", "Two.")
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    (session,) = stored(tmp_path / "store")
    assert report.ok
    assert answers(session) == ["m1", "m2"]
    assert native(tmp_path / "home")[0] == 2
    left_out = {one["code"]: one["count"] for one in report.more["codes"]}
    assert left_out.get("copied-record", 0) == 3 * (copies - 1)


def test_two_answers_of_one_id_are_two(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.say("a1", "m2", "Two.", parent="a1")
    log.write(tmp_path / "home")
    imported(tmp_path / "home", tmp_path / "store")
    (session,) = stored(tmp_path / "store")
    assert answers(session) == ["m1", "m2"]


def test_a_record_below_itself_ends(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go", parent="u1")
    log.say("a1", "m1", "One.", parent="a1")
    log.write(tmp_path / "home")
    imported(tmp_path / "home", tmp_path / "store")
    (session,) = stored(tmp_path / "store")
    assert answers(session) == ["m1"]


@pytest.mark.parametrize("count", [1500.0, 1.5, -1.0, 1e300])
def test_a_whole_number_is_a_count_however_it_is_spelled(count: float, tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("a1", "m1", "One.", usage={**USAGE, "output_tokens": count})
    log.write(tmp_path / "home")
    imported(tmp_path / "home", tmp_path / "store")
    (session,) = stored(tmp_path / "store")
    (response,) = [entry for entry in session.entries if entry.type == "response"]
    wanted = 1500 if count == 1500 else 0
    assert response.usage["output_tokens"] == wanted
    assert native(tmp_path / "home") == (1, wanted)


def test_a_zero_byte_in_the_directory_costs_no_session(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go", cwd="/a\0b")
    log.say("a1", "m1", "One.", cwd="/a\0b")
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    assert report.ok
    assert "cwd-impossible" in [f.code for f in report.findings]
    (session,) = stored(tmp_path / "store")
    assert session.header.cwd == ""
    assert answers(session) == ["m1"]
    assert [entry.cwd for entry in session.entries if entry.type == "env"] == ["/a\0b"]


def test_a_zero_byte_in_ids_costs_no_session(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go", sessionId="\0")
    log.call("a1", "m1", "t1", "Task", sessionId="\0")
    log.result("r1", "t1", "done", sessionId="\0", toolUseResult={"agentId": "x\0"})
    log.say("a2", "m2", "Two.", sessionId="\0")
    log.other(names.CONTINUED, continuedInSessionId="\0")
    path = log.write(tmp_path / "home")
    agent: dict[str, Any] = {"isSidechain": True, "sessionId": "\0", "agentId": "x"}
    inner = Log()
    inner.user("s1", "task", **agent)
    inner.say("s2", "m3", "Done.", **agent)
    path.with_name("agent-x.jsonl").write_bytes(inner.text())
    report = imported(tmp_path / "home", tmp_path / "store")
    assert report.ok, report.more["alarms"]
    found = sorted(answers(session) for session in stored(tmp_path / "store"))
    assert found == [["m1", "m2"], ["m3"]]


@pytest.mark.parametrize("name", [{"a": 1}, ["a"], 1, None])
def test_a_tool_whose_name_is_none_costs_no_session(name: Any, tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    for turn, tool in enumerate(("Bash", name, "Read")):
        tools = [{"name": tool, "description": "runs", "schema": {"type": "object"}}]
        log.add("attachment", f"x{turn}", attachment={"type": "prompt_snapshot", "tools": tools})
        log.user(f"u{turn}", "Go")
        log.say(f"a{turn}", f"m{turn}", "Done.")
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    assert report.ok, report.more["alarms"]
    (session,) = stored(tmp_path / "store")
    assert answers(session) == ["m0", "m1", "m2"]
    assert [tool["name"] for tool in session.context().settings.tools if tool["name"] != name] == [
        "Read"
    ]


@pytest.mark.parametrize("name", [b"bad\xffname.jsonl", b"two\nlines.jsonl", b"a*b.jsonl"])
def test_a_log_whose_name_no_store_can_hold_is_imported(name: bytes, tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.write(tmp_path / "home")
    (path,) = (tmp_path / "home").rglob("*.jsonl")
    path.rename(path.with_name(os.fsdecode(name)))
    report = imported(tmp_path / "home", tmp_path / "store")
    (session,) = stored(tmp_path / "store")
    assert report.ok
    assert session.id.startswith("log-")
    assert answers(session) == ["m1"]
    assert imported(tmp_path / "home", tmp_path / "store").totals["sessions"]["unchanged"] == 1


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every member and element, at every depth."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, held in inner if isinstance(value, (dict, list)) else ():
        yield (*place, name)
        yield from places(held, (*place, name)) if isinstance(held, (dict, list)) else ()


ODD: tuple[Any, ...] = (True, 7, "x", None, [], {}, [1], [None], [[]], {"a": 1})


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_logged_request_of_any_shape_loses_no_session(odd: Any, tmp_path: Path) -> None:
    """Whatever stands in any place of what a release from 2.1.300 on logs of its requests."""
    log = Log(version="2.1.332")
    requests = RequestLog(log)
    prompt = {"role": "user", "content": [{"type": "text", "text": "Go"}]}
    requests.blob(prompt)
    log.user("u1", "Go")
    name = requests.ask("r1", [prompt])
    log.say("a1", "m1", "Yes.", apiRequestId=name)
    marks = [{"path": ["system", 0], "value": {"type": "ephemeral"}}]
    (asked,) = (line for line in log.lines if line["type"] == "api-request")
    asked |= {"withheld": ["betas"], "cacheControl": marks}
    for line in [line for line in log.lines if line["type"].startswith("api-request")]:
        for *above, last in places(line):
            holder: Any = line
            for step in above:
                holder = holder[step]
            kept, holder[last] = holder[last], odd
            log.write(tmp_path)
            holder[last] = kept
            importer = ClaudeCode()
            (source,) = importer.find([tmp_path])
            (native_session,) = importer.sessions(source)
            session = importer.convert(source, native_session.id).session
            assert answers(session)[-1] == "m1"
            assert list(verify(importer, source, native_session.id)) is not None
            importer.close()
