"""What no release of Claude Code writes is found in every part of a record, and kept."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from claude_files import USAGE, Log, RequestLog, hash_of

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.unknown import MEMBER

BIG = "planted " * 2500
NEW = {"zzNew": BIG}


def imported(place: Path, store: Path) -> ImportReport:
    importer = ClaudeCode()
    return import_sessions([Work(importer, tuple(importer.find([place])))], store)


def text_of(store: Path) -> str:
    return "".join(path.read_text() for path in sorted(store.rglob("*.jsonl")))


def planted(where: str) -> Log:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    first: dict[str, Any] = {**USAGE, "cache_creation": {"ephemeral_5m_input_tokens": 0}}
    if where == "message.usage.zzNew":
        first |= NEW
    elif where == "message.usage.cache_creation.zzNew":
        first["cache_creation"] |= NEW
    # The second record of the answer says its tokens again, and is the one that counts.
    log.say("a1", "m1", "One.", usage=first)
    log.call("a2", "m1", "t1")
    marks: dict[str, Any] = log.lines[-1]["message"]["content"][0]
    marks |= {"caller": {"type": "direct"}, "cache_control": {"type": "ephemeral"}}
    for mark in ("caller", "cache_control"):
        if where == f"message.content[].{mark}.zzNew":
            marks[mark] |= NEW
    part = {"type": "text", "text": "done"}
    log.result("r1", "t1", [part | NEW if "content[].content[]" in where else part])
    shown = {"content": "<system-reminder>\nToday\n</system-reminder>"}
    rendered: Any = [shown | NEW if where.startswith("rendered[]") else shown]
    if where == "rendered":
        rendered = NEW
    log.add(
        "attachment",
        "x1",
        attachment={"type": "date", "date": "2026-03-01"},
        rendered=rendered,
        renderedRole="user",
    )
    log.say("a3", "m2", "Two.")
    return log


@pytest.mark.parametrize(
    "where",
    [
        "message.usage.zzNew",
        "message.usage.cache_creation.zzNew",
        "message.content[].content[].zzNew",
        "message.content[].caller.zzNew",
        "message.content[].cache_control.zzNew",
        "rendered[].zzNew",
        "rendered",
    ],
)
def test_what_is_unknown_is_named_kept_and_loud(where: str, tmp_path: Path) -> None:
    planted(where).write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    named = [f.sentence for f in report.findings if f.code.startswith("unknown-")]
    assert any(sentence.endswith(f": {where}") for sentence in named)
    assert BIG.strip() in text_of(tmp_path / "store")
    assert [alarm["code"] for alarm in report.more["alarms"]] == ["unknown-content"]


def test_what_is_known_is_not_told(tmp_path: Path) -> None:
    planted("").write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    assert report.ok
    assert [f.code for f in report.findings if f.code.startswith("unknown")] == []
    assert '"unknown":[' not in text_of(tmp_path / "store")


def test_what_is_unknown_is_told_and_kept_in_the_order_of_the_file(tmp_path: Path) -> None:
    # Whatever comes out of a set would come in another order in every process.
    strange = {f"zz{n}": n for n in (5, 3, 8, 1, 9, 2, 7, 4, 6, 0)}
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    told = {"type": "date", "date": "2026-03-01", **strange}
    log.add("attachment", "x1", attachment=told, rendered=[{"content": "Today"}])
    log.say("a1", "m1", "One.")
    log.other("last-prompt", lastPrompt="Go", leafUuid="a1", **strange)
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    named = [f.sentence.rpartition(": ")[2] for f in report.findings if f.code == MEMBER]
    assert named == [*(f"attachment.{name}" for name in strange), *strange]
    members = json.dumps(strange, separators=(",", ":"))
    assert f'"members":{members}' in text_of(tmp_path / "store")


def test_the_counts_of_the_record_that_counts_are_kept_once(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    log.say("a1", "m1", "One.", usage={**USAGE, **NEW})
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    assert any(f.code == MEMBER for f in report.findings)
    assert text_of(tmp_path / "store").count(BIG.strip()) == 1


@pytest.mark.parametrize("differs", [False, True])
def test_what_a_copy_has_that_its_original_has_not_is_kept(differs: bool, tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go", zzNew="first words")
    log.say("a1", "m1", "One.")
    again = copy.deepcopy(log.lines[0])
    again["zzNew"] = "second words" if differs else "first words"
    log.lines.append(again)
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    kept = text_of(tmp_path / "store")
    assert kept.count("first words") == 1
    assert kept.count("second words") == int(differs)
    assert sum(f.count for f in report.findings if f.code == MEMBER) == 2
    read = report.totals["records"]
    assert read["read"] == read["entry"] + read["folded"] + read["left-out"] == 3


def test_what_a_snapshot_that_was_not_sent_has_is_kept(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    log.say("a1", "m1", "One.")
    log.user("u2", "On")
    log.add("attachment", "x1", attachment={"type": "prompt_snapshot", "systemPrompt": []}, **NEW)
    log.write(tmp_path / "home")
    imported(tmp_path / "home", tmp_path / "store")
    assert BIG.strip() in text_of(tmp_path / "store")


def test_a_logged_message_that_is_not_of_its_hash_is_kept(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "one"}
    first, said = {"role": "user", "content": "Go"}, {"role": "assistant", "content": [call]}
    back = {"role": "user", "content": [result]}
    changed = {"role": "assistant", "content": [{**call, "input": {"command": "planted"}}]}
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    asked = RequestLog(log)
    asked.ask("q1", [first])
    log.call("a1", "m1", "c1", requestRef="q1")
    log.result("r1", "c1", "one")
    for message in (said, changed):
        log.other("api-request-blob", hash=hash_of(said), message=message)
    asked.ask("q2", [first, said, back], base="q1", keep=1)
    log.say("a2", "m2", "Done.", requestRef="q2")
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    told = [(f.code, f.count) for f in report.findings if f.code == "logged-message-differs"]
    assert told == [("logged-message-differs", 1)]
    kept = text_of(tmp_path / "store")
    # The request held what the record says.
    assert kept.count("planted") == 1
    assert '"arguments":"{\\"command\\":\\"ls\\"}"' in kept
    assert '"type":"compaction"' not in kept


def test_what_is_new_in_the_error_of_a_failed_request_is_named(tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    error = {"status": 529, "formatted": "529 Overloaded", "rateLimits": {"free": 1}, **NEW}
    log.add("system", "s1", subtype="api_error", level="error", error=error)
    log.say("a1", "m1", "One.", error="unknown")
    log.write(tmp_path / "home")
    report = imported(tmp_path / "home", tmp_path / "store")
    named = [f.sentence.rpartition(": ")[2] for f in report.findings if f.code == MEMBER]
    assert named == ["error.zzNew"]
    assert text_of(tmp_path / "store").count(BIG.strip()) == 1
