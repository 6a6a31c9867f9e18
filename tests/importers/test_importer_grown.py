"""A source that grows: what no release wrote is in the store once, however often it is imported."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers import registry
from agentsession.importers.identity import FORMATS
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.session import Session
from agentsession.stores import JSONLStore

Line = dict[str, Any]

SESSION = "11111111-2222-4333-8444-555555555555"
THREAD = "01a22e3a-5167-7df1-906b-8422524e4ab1"
FILES = {
    "claude-code": f"projects/-home-dev-project/{SESSION}.jsonl",
    "codex": f"sessions/2026/11/30/rollout-2026-11-30T20-51-43-{THREAD}.jsonl",
    "pi": "2026_s1.jsonl",
}


def claude(kind: str, at: int, **more: Any) -> Line:
    return {
        "type": kind,
        "uuid": f"u{at}",
        "parentUuid": f"u{at - 1}" if at else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/project",
        "sessionId": SESSION,
        "version": "2.1.332",
        "timestamp": f"2026-03-01T10:00:{at:02}.000Z",
        **more,
    }


def claude_lines() -> list[Line]:
    said = {"id": "m", "type": "message", "role": "assistant", "model": "claude-opus-4-5"}
    found: list[Line] = []
    for turn in range(3):
        at = 2 * turn
        found.append(claude("user", at, message={"role": "user", "content": f"ask {turn}"}))
        text = [{"type": "text", "text": f"say {turn}"}]
        used = {"input_tokens": 1, "output_tokens": 1}
        answer = {**said, "id": f"m{turn}", "content": text, "usage": used}
        found.append(claude("assistant", at + 1, message=answer, requestId=f"req{turn}"))
        prompt = {"type": "last-prompt", "lastPrompt": f"ask {turn}", "leafUuid": f"u{at + 1}"}
        found.append({**prompt, "sessionId": SESSION, "planted": f"member {turn}"})
        found.append({"type": "brand-new", "sessionId": SESSION, "planted": f"record {turn}"})
        title = {"type": "ai-title", "aiTitle": "The title", "sessionId": SESSION}
        found.append(title if turn else {**title, "planted": "title"})
    return found


def codex(kind: str, at: int, **payload: Any) -> Line:
    return {"timestamp": f"2026-11-30T20:51:{at:02}.000Z", "type": kind, "payload": payload}


def codex_lines() -> list[Line]:
    meta = {
        "id": THREAD,
        "cwd": "/w",
        "cli_version": "0.145.0",
        "timestamp": "2026-11-30T20:51:43Z",
    }
    found = [codex("session_meta", 43, **meta)]
    for turn in range(3):
        for role, part in (("user", "input_text"), ("assistant", "output_text")):
            content = [{"type": part, "text": f"{role} {turn}"}]
            item = {"type": "message", "role": role, "content": content}
            found.append(codex("response_item", 44 + turn, **item))
        world = {"full": True, "state": {}, "planted": f"member {turn}"}
        found.append(codex("world_state", 44 + turn, **world))
    return found


def pi_lines() -> list[Line]:
    time = "2026-05-01T10:00:0{}.000Z"
    head = {"type": "session", "version": 3, "id": "s1", "timestamp": time.format(0), "cwd": "/w"}
    found: list[Line] = [head]
    parent = None
    for turn in range(3):
        for name, message in (
            (f"u{turn}", {"role": "user", "content": f"ask {turn}"}),
            (
                f"a{turn}",
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": f"say {turn}"}, f"planted {turn}"],
                    "api": "openai-completions",
                    "provider": "p",
                    "model": "m",
                    "stopReason": "stop",
                },
            ),
        ):
            entry = {"type": "message", "id": name, "parentId": parent}
            found.append({**entry, "timestamp": time.format(turn + 1), "message": message})
            parent = name
    return found


LINES = {"claude-code": claude_lines, "codex": codex_lines, "pi": pi_lines}
PLANTED = {
    "claude-code": [*(f"{what} {n}" for n in range(3) for what in ("member", "record")), "title"],
    "codex": [f"member {n}" for n in range(3)],
    "pi": [f"planted {n}" for n in range(3)],
}


def imported(
    agent: str, lines: list[Line], tmp_path: Path, to: str
) -> tuple[ImportReport, list[Line]]:
    """Import a file that holds some lines; return the report, and the account of the records."""
    place = tmp_path / "home" / FILES[agent]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    importer = registry.load(agent)
    records = io.BytesIO()
    work = [Work(importer, tuple(importer.find([tmp_path / "home"])))]
    report = import_sessions(work, tmp_path / "store", records=records, format=to)
    return report, [json.loads(line) for line in records.getvalue().splitlines()]


def stored(tmp_path: Path) -> tuple[str, Session]:
    (path,) = (tmp_path / "store").rglob("*.jsonl")
    store = JSONLStore(tmp_path / "store", read_only=True)
    (listed,) = store.list()
    return path.read_text(), store.open(listed.id)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("agent", LINES)
def test_what_is_unknown_is_stored_once(agent: str, to: str, tmp_path: Path) -> None:
    lines = LINES[agent]()
    for end in range(2, len(lines) + 1):
        report, records = imported(agent, lines[:end], tmp_path, to)
        kept, session = stored(tmp_path)
        wanted = [word for word in PLANTED[agent] if word in json.dumps(lines[:end])]
        assert [kept.count(f'"{word}"') for word in wanted] == [1] * len(wanted)
        # The account names entries that the store has, and these hold what it says of them.
        assert {name for one in records for name in one["entry_ids"]} <= {e.id for e in session}
        read = report.totals["records"]
        assert read["read"] == read["entry"] + read["folded"] + read["left-out"] == len(records)
        again, accounted = imported(agent, lines[:end], tmp_path, to)
        assert again.totals["entries"]["appended"] == 0
        assert stored(tmp_path)[0] == kept
        assert accounted == records


@pytest.mark.parametrize("agent", LINES)
def test_the_entry_named_for_a_record_holds_what_was_unknown(agent: str, tmp_path: Path) -> None:
    lines = LINES[agent]()
    half = len(lines) // 2 + 1
    imported(agent, lines[:half], tmp_path, FORMATS[0])
    _, records = imported(agent, lines, tmp_path, FORMATS[0])
    _, session = stored(tmp_path)
    named = [[session[name].line.decode() for name in one["entry_ids"]] for one in records]
    for word in PLANTED[agent]:
        assert any(f'"{word}"' in line for told in named for line in told)


@pytest.mark.parametrize("agent", LINES)
def test_a_grown_source_is_open_where_a_fresh_import_is(agent: str, tmp_path: Path) -> None:
    lines = LINES[agent]()
    for end in range(2, len(lines) + 1):
        imported(agent, lines[:end], tmp_path / "grown", FORMATS[0])
    imported(agent, lines, tmp_path / "fresh", FORMATS[0])
    grown, fresh = stored(tmp_path / "grown")[1], stored(tmp_path / "fresh")[1]
    assert [i.text for i in grown.context().items] == [i.text for i in fresh.context().items]
    assert grown.name == fresh.name
