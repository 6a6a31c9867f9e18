"""Copies of a session that went on differently, imported by turns: nothing is appended twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers import registry
from agentsession.importers.identity import FORMATS
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.target import open_target
from agentsession.stores import Summary

Line = dict[str, Any]
NAMES = {
    "claude-code": "11111111-2222-4333-8444-555555555555.jsonl",
    "codex": "rollout-2026-03-01T10-00-00-0c0de000-0000-7000-8000-00000000000c.jsonl",
    "pi": "2026-03-01T10-00-00-000Z_s1.jsonl",
}


def claude(at: int, role: str, words: str, above: str) -> Line:
    message: Line = {"role": role, "content": [{"type": "text", "text": words}]}
    if role == "assistant":
        message |= {"id": f"m-{words}", "type": "message", "model": "m", "stop_reason": "end_turn"}
        message["usage"] = {"input_tokens": 10, "output_tokens": 2}
    return {
        "type": role,
        "uuid": words,
        "parentUuid": above or None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev",
        "sessionId": NAMES["claude-code"][:-6],
        "version": "2.0.60",
        "timestamp": f"2026-03-01T10:00:{at:02}.000Z",
        "message": message,
    }


def codex(at: int, role: str, words: str, _above: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    payload: Line = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
    time = f"2026-03-01T10:00:{at:02}.000Z"
    return {"timestamp": time, "type": "response_item", "payload": payload}


def pi(at: int, role: str, words: str, above: str) -> Line:
    message: Line = {"role": role, "content": [{"type": "text", "text": words}]}
    if role == "assistant":
        message |= {"provider": "p", "model": "m", "api": "openai-completions"}
        message |= {"stopReason": "stop", "usage": {"input": 10, "output": 2}}
    time = f"2026-03-01T10:00:{at:02}.000Z"
    entry = {"type": "message", "id": words, "parentId": above or None, "timestamp": time}
    return {**entry, "message": message}


LINES = {"claude-code": claude, "codex": codex, "pi": pi}
HEADS: dict[str, list[Line]] = {
    "claude-code": [],
    "codex": [
        {
            "timestamp": "2026-03-01T10:00:00.000Z",
            "type": "session_meta",
            "payload": {
                "id": "0c0de000-0000-7000-8000-00000000000c",
                "timestamp": "2026-03-01T10:00:00.000Z",
                "cwd": "/home/dev",
                "cli_version": "0.145.0",
            },
        }
    ],
    "pi": [
        {
            "type": "session",
            "version": 3,
            "id": "s1",
            "timestamp": "2026-03-01T10:00:00.000Z",
            "cwd": "/home/dev",
        }
    ],
}


def copy(home: Path, agent: str, end: str, *, later: int = 0, unknown: bool = False) -> Path:
    """A session of two turns, the second with words of its own."""
    lines, above = list(HEADS[agent]), ""
    turns = [("user", "ask"), ("assistant", "say"), ("user", f"{end}1"), ("assistant", f"{end}2")]
    for at, (role, words) in enumerate(turns, 1):
        line = LINES[agent](at + (later if at > 2 else 0), role, words, above)
        lines.append({**line, "zzUnknown": words} if unknown else line)
        above = words
    place = home / NAMES[agent]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return place


def appended(agent: str, place: Path, store: Path, form: str = FORMATS[0]) -> int:
    importer = registry.load(agent)
    report = import_sessions([Work(importer, tuple(importer.find([place])))], store, format=form)
    assert report.totals["sessions"]["failed"] == 0
    found = report.totals["entries"]["appended"]
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize("agent", LINES)
@pytest.mark.parametrize("store", ["files", "rows.db"])
@pytest.mark.parametrize("later", [0, 7])
@pytest.mark.parametrize("unknown", [False, True])
def test_copies_by_turns_append_once(
    agent: str, store: str, later: int, unknown: bool, tmp_path: Path
) -> None:
    """Also where they were last written to at one moment, and hold what is not known."""
    one = copy(tmp_path / "one", agent, "a", unknown=unknown)
    other = copy(tmp_path / "other", agent, "b", later=later, unknown=unknown)
    target = tmp_path / store
    assert appended(agent, one, target) > 0
    assert appended(agent, other, target) > 0
    assert [appended(agent, place, target) for place in (one, other) * 3] == [0] * 6
    assert [appended(agent, place, target) for place in (other, one, one, other)] == [0] * 4
    with open_target(target, read_only=True) as opened:
        (summary,) = opened.list()
        assert isinstance(summary, Summary)
        texts = [e.item.text for e in opened.open(summary.id).entries if e.type == "item"]
    assert sorted(texts) == ["a1", "a2", "ask", "b1", "b2", "say"]


TAILS: dict[str, Callable[[str], Line]] = {
    "claude-code": lambda words: {"type": "tag", "tag": words, "sessionId": NAMES["claude-code"]},
    "codex": lambda words: codex_event("thread_name_updated", thread_name=words),
    "pi": lambda words: {**HEADS["pi"][0], "type": "session_info", "id": words, "name": words},
}


def codex_event(kind: str, **more: Any) -> Line:
    return {
        "timestamp": "2026-03-01T10:00:04.000Z",
        "type": "event_msg",
        "payload": {"type": kind, **more},
    }


@pytest.mark.parametrize("agent", LINES)
@pytest.mark.parametrize("store", ["files", "rows.db"])
@pytest.mark.parametrize("form", FORMATS)
def test_copies_that_differ_behind_the_conversation_alone_come_to_rest(
    agent: str, store: str, form: str, tmp_path: Path
) -> None:
    """Each has something new once; a later import of either moves the leaf no more."""
    places = []
    for end in ("one", "other", "third"):
        place = copy(tmp_path / end, agent, "a")
        with place.open("a") as file:
            file.write(json.dumps(TAILS[agent](end)) + "\n")
        places.append(place)
    target = tmp_path / store
    assert all(appended(agent, place, target, form) > 0 for place in places)
    before = at_rest(target)
    again = [places[at] for at in (0, 1, 2, 0, 2, 1, 1, 0)]
    assert [appended(agent, place, target, form) for place in again] == [0] * 8
    assert at_rest(target) == before
    # What goes on in one of them opens the session there.
    with places[0].open("a") as file:
        file.write(json.dumps(LINES[agent](9, "user", "more", "a2")) + "\n")
    assert appended(agent, places[0], target, form) > 0
    with open_target(target, read_only=True) as opened:
        (summary,) = opened.list()
        assert isinstance(summary, Summary)
        texts = [item.text for item in opened.open(summary.id).context().items]
    assert texts[:3] == ["ask", "say", "a1"]
    assert appended(agent, places[1], target, form) == 0


def at_rest(target: Path) -> tuple[str | None, int]:
    """The leaf of the one session of a store, and how many entries it has."""
    with open_target(target, read_only=True) as opened:
        (summary,) = opened.list()
        assert isinstance(summary, Summary)
        session = opened.open(summary.id)
        return session.leaf, len(session.entries)
