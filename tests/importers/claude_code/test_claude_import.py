"""Claude Code's sessions found, imported, imported again, and damaged on the way."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from claude_files import SESSION, Log, RequestLog, recorded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsession.importers.claude_code.fidelity import compare, replay, spoken
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.stores import MemoryStore, Store


def run(place: Path, store: Store) -> ImportReport:
    importer = ClaudeCode()
    return import_sessions([Work(importer, importer.find([place]))], store)


def actions(report: ImportReport) -> set[str]:
    return {session["action"] for session in report.more["sessions"]}


def example(version: str = "2.1.200") -> Log:
    log = Log(version=version)
    log.other("queue-operation", operation="enqueue", timestamp="2026-03-01T09:59:00.000Z")
    log.user("u1", "Go", permissionMode="default")
    log.add("attachment", "x1", attachment={"type": "skill_listing", "content": "- a"})
    log.call("a1", "m1", "c1")
    log.call("a2", "m1", "c2")
    log.result("r1", "c1", "one", parent="a1")
    log.result("r2", "c2", "two", parent="a2", block={"is_error": False})
    log.say("a3", "m2", "Both.")
    log.other("last-prompt", lastPrompt="Go", leafUuid="a3")
    log.user("u2", "Left")
    log.say("a4", "m3", "One way.")
    log.user("u3", "Right", parent="a3")
    log.say("a5", "m4", "Other way.")
    told = {"trigger": "auto", "preTokens": 10}
    log.add(
        "system",
        "b",
        None,
        subtype="compact_boundary",
        logicalParentUuid="a5",
        compactMetadata=told,
    )
    log.user("s", "Summary", isCompactSummary=True)
    log.user("u4", "On")
    log.say("a6", "m5", "Going on.")
    log.other("custom-title", customTitle="A title")
    log.other("cost-state", totalCostUSD=0.5)
    return log


def test_importing_again_changes_nothing_and_gives_the_same_bytes(tmp_path: Path) -> None:
    example().write(tmp_path)
    store = MemoryStore()
    report = run(tmp_path, store)
    assert report.ok
    assert report.totals["native"]["native"] == report.totals["native"]["converted"]
    assert actions(run(tmp_path, store)) == {"unchanged"}
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    lines = [
        [entry.line for entry in importer.convert(source, SESSION).session.entries]
        for _ in range(2)
    ]
    assert lines[0] == lines[1]
    (native,) = importer.sessions(source)
    assert (native.title, native.directory) == ("A title", "/home/dev/project")


def test_a_log_that_grows_appends_only(tmp_path: Path) -> None:
    path = example().write(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    store = MemoryStore()
    for length in range(2, len(lines) + 1):
        said = json.loads(lines[length - 1])
        after = json.loads(lines[length]) if length < len(lines) else {}
        if said.get("message", {}).get("id", 0) == after.get("message", {}).get("id", 1):
            # An answer that is still running is the one thing that changes.
            continue
        path.write_bytes(b"".join(lines[:length]))
        report = run(tmp_path, store)
        assert report.ok
        assert actions(report) <= {"created", "grown", "unchanged"}, length


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_damage_never_raises_and_the_account_adds_up(seed: int, times: int) -> None:
    chance = random.Random(seed)
    log = example("2.1.332")
    RequestLog(log).ask("q1", [{"role": "user", "content": "Go"}])
    log.say("a7", "m6", "More.", requestRef="q1")
    lines = log.text().split(b"\n")
    for _ in range(times):
        at = chance.randrange(len(lines))
        lines[at : at + 1] = _damaged(chance, lines, at)
        if not lines:
            lines = [b""]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        damaged = place / "projects" / "-p" / f"{SESSION}.jsonl"
        damaged.parent.mkdir(parents=True)
        damaged.write_bytes(b"\n".join(lines))
        store = MemoryStore()
        report = run(place, store)
        wanted = {"unreadable-record", "unknown-content"}
        assert {alarm["code"] for alarm in report.more["alarms"]} <= wanted
        assert actions(run(place, store)) <= {"unchanged"}
        native = report.totals["native"]
        assert native.get("native") == native.get("converted")


def _damaged(chance: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    line = lines[at]
    kind = chance.randrange(9)
    if kind == 0:
        return []
    if kind == 1:
        return [line[: chance.randrange(len(line) + 1)]]
    if kind == 2:
        return [line + lines[chance.randrange(len(lines))]]
    if kind == 3:
        return [line, lines[chance.randrange(len(lines))]]
    if kind == 4:
        return [line[:20] + b"\xff\x00" + line[20:]]
    if kind == 5:
        deep = b"[" * 3000 + b"]" * chance.choice([0, 3000])
        return [b'{"type":"user","uuid":"d","message":{"content":' + deep + b"}}"]
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return [line]
    if kind == 6:
        value["type"] = chance.choice(["user", "assistant", "progress", "new", 3, None])
    inner = value.get("message") if kind == 7 else value
    if isinstance(inner, dict) and inner:
        odd = [None, 1, [], {}, [None], [{}], "\ud800", [{"type": "tool_use"}], 1e300, True]
        inner[chance.choice(sorted(inner))] = chance.choice(odd)
    return [json.dumps(value).encode()]


def test_a_home_a_folder_and_a_file_are_found(tmp_path: Path) -> None:
    path = example().write(tmp_path / "backup" / ".claude")
    importer = ClaudeCode()
    for place in (tmp_path, path.parent, path.parent.parent, path):
        (source,) = importer.find([place])
        assert [native.id for native in importer.sessions(source)] == [SESSION]
    assert importer.find([tmp_path / "nothing"]) == ()


def test_files_that_hold_no_conversation_are_accounted_for(tmp_path: Path) -> None:
    log = example()
    log.write(tmp_path)
    stray = Log("33333333-2222-4333-8444-555555555555")
    stray.lines = [{"type": "summary", "summary": "A talk", "leafUuid": "a6"}]
    stray.write(tmp_path)
    empty = stray.write(tmp_path, "44444444-2222-4333-8444-555555555555")
    empty.write_bytes(b"")
    report = run(tmp_path, MemoryStore())
    assert report.ok
    assert report.totals["sessions"]["found"] == 1
    assert [code["code"] for code in report.more["codes"] if code["code"] == "stray"] == ["stray"]


def test_usage_counts_an_answer_once_whatever_its_copies(tmp_path: Path) -> None:
    log = example("1.0.110")
    log.write(tmp_path)
    copy = example("1.0.110")
    for line in copy.lines:
        line.pop("requestId", None)
    copy.write(tmp_path, "22222222-2222-4333-8444-555555555555")
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    found = {record.key: record for record in importer.usage_records(source)}
    assert sorted(found) == ["m1", "m2", "m3", "m4", "m5"]
    assert found["m1"].usage["input_tokens"] == 15
    assert found["m1"].usage["output_tokens"] == 7
    assert (found["m1"].model, found["m1"].cwd) == ("claude-opus-4-5", "/home/dev/project")


def test_usage_of_a_first_event_is_marked(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.say("a1", "m1", "One.", stop=None, usage={"input_tokens": 3, "output_tokens": 1})
    log.write(tmp_path)
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    (record,) = importer.usage_records(source)
    assert not record.complete
    findings = importer.convert(source, SESSION).findings
    assert "usage-incomplete" in {finding.code for finding in findings}


def test_a_recording_is_judged(tmp_path: Path) -> None:
    log = Log(version="2.0.60")
    log.user("u1", "Go")
    log.call("a1", "msg_0001", "c1")
    log.result("r1", "c1", "one")
    log.say("a2", "msg_0002", "Done.")
    log.write(tmp_path)
    reminder = {"type": "text", "text": "<system-reminder>\nContext\n</system-reminder>"}
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    smooshed = "one\n\n<system-reminder>\nTodo\n</system-reminder>"
    result = {"type": "tool_result", "tool_use_id": "c1", "content": smooshed}
    first = [{"role": "user", "content": [reminder, {"type": "text", "text": "Go"}]}]
    second = [
        *first,
        {"role": "assistant", "content": [{**call, "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": [result]},
    ]
    third = [{"role": "user", "content": "Something else"}]
    recorded(tmp_path, [(1, first), (2, second), (3, third)])
    verdict = replay(tmp_path)
    assert [one["verdict"] for one in verdict["requests"]] == ["rebuilt", "rebuilt", "impossible"]
    assert [one["set_aside"] for one in verdict["requests"][:2]] == [1, 2]
    assert verdict["requests"][2]["reason"] == "answer-not-stored"
    assert all(one["backed"] for one in verdict["responses"])


def test_nothing_but_injections_is_set_aside() -> None:
    def said(*texts: str) -> list[tuple[str, dict[str, str]]]:
        return spoken([{"role": "user", "content": text} for text in texts])

    reminder = "<system-reminder>\nx\n</system-reminder>"
    assert compare(said("Go"), said("Go")) == 0
    assert compare(said(reminder, "Go\n"), said("Go")) == 1
    assert compare(said("Go", "More"), said("Go")) is None
    assert compare(said("Go"), said("Go", "More")) is None
    assert compare(said("Go"), said("Else")) is None
