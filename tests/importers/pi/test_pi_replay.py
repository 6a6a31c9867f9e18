"""Every recorded request of pi against what its converted session says was sent."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from recordings import FIXTURES, not_rebuilt, recordings

from agentsession.entries import ResponseEntry
from agentsession.importers import replay
from agentsession.importers.pi import Pi

RECORDINGS = Path(__file__).parents[2] / "data" / "pi"

# The answer that was coming when pi was killed left nothing in the file.
IMPOSSIBLE = {("0.73.1-killed", 2): "answer-not-stored"}

# What the model server counted and no record has: input and output tokens.
NOT_STORED = {
    # Summary calls, before 0.84.
    "0.13.2-old": (1200, 40),
    "0.30.2-compaction": (10400, 103),
    "0.49.3-tree": (1200, 40),
    "0.73.1-compaction": (10400, 103),
    "1.6.0-migrated": (2400, 80),
    # The answer whose stream broke before its counts.
    "0.30.2-errors": (1200, 40),
    "1.6.0-errors": (1200, 40),
    # The counts of an answer's first event, 150 input tokens each, were kept.
    "0.37.8-tools-anthropic": (26300, 0),
}


@pytest.mark.parametrize("recording", recordings("pi", RECORDINGS))
def test_every_possible_request_is_rebuilt(recording: Path) -> None:
    verdict = replay.replay(recording, replay.AGENTS["pi"])
    expected = {n: why for (name, n), why in IMPOSSIBLE.items() if name == recording.name}
    assert not_rebuilt(verdict) == expected
    assert [r for r in verdict["responses"] if not r["backed"]] == []


def test_every_logged_request_is_judged_or_a_summarys() -> None:
    """Of the 208 requests handed out 195 are main ones, the others ask for summaries."""
    logged: Counter[str] = Counter()
    judged = rebuilt = 0
    for recording in replay.recordings(RECORDINGS):
        for line in (recording / "requests.jsonl").read_text("utf-8").splitlines():
            logged[json.loads(line)["kind"]] += 1
        verdict = replay.replay(recording, replay.AGENTS["pi"])
        judged += len(verdict["requests"])
        rebuilt += sum(one["verdict"] == "rebuilt" for one in verdict["requests"])
    assert logged == {"main": 195, "compaction": 13}
    assert (judged, rebuilt) == (195, 194)


@pytest.mark.parametrize("recording", recordings("pi", RECORDINGS))
def test_the_system_prompt_and_tools_are_those_that_were_sent(recording: Path) -> None:
    """From 0.87 on; a session of an older release has none before it went on."""
    if not recording.name.startswith(("0.87", "1.")):
        pytest.skip("releases before 0.87 store neither")
    if not (FIXTURES / "pi").is_dir():
        pytest.skip("prompts are shortened in the recordings that stand beside the code")
    bodies = {}
    for line in (recording / "requests.jsonl").read_text("utf-8").splitlines():
        request = json.loads(line)
        bodies[request["n"]] = request["body"]
    verdict = replay.replay(recording, replay.AGENTS["pi"])
    numbers = {(r["session"], r["response"]): r["requests"] for r in verdict["responses"]}
    importer = Pi()
    (source,) = importer.find([recording])
    compared = 0
    for native in importer.sessions(source):
        session = importer.convert(source, native.id).session
        for entry in session.entries:
            if not isinstance(entry, ResponseEntry):
                continue
            settings = session.request_context(entry.id).settings
            if recording.name == "1.6.0-migrated" and not settings.instructions:
                continue
            body = bodies[numbers[session.id, entry.response_id][0]]
            told = hashlib.sha256(settings.instructions.encode()).hexdigest()
            assert (_system(body)["sha256"], body["tools"]) == (
                told,
                [tool["name"] for tool in settings.tools],
            )
            compared += 1
    assert compared


def _system(body: dict[str, Any]) -> dict[str, Any]:
    """The hash that stands for the system prompt of a request."""
    found = body.get("system")
    if found is None:
        found = body["messages"][0]["content"]
    found = found[0] if isinstance(found, list) else found
    text = found.get("text", found)
    assert isinstance(text, dict)
    return text


@pytest.mark.parametrize("recording", recordings("pi", RECORDINGS))
def test_usage_is_what_the_server_counted(recording: Path) -> None:
    """Once for each call; in the session and straight from the files."""
    counted: Counter[str] = Counter()
    for line in (recording / "requests.jsonl").read_text("utf-8").splitlines():
        answer = json.loads(line)["answer"]
        if not answer.get("status") and not answer.get("hang"):
            used = answer.get("usage") or {}
            counted["input"] += used.get("prompt", 1200)
            counted["output"] += used.get("completion", 40)
    lost = NOT_STORED.get(recording.name, (0, 0))
    expected = (counted["input"] - lost[0], counted["output"] - lost[1])

    importer = Pi()
    (source,) = importer.find([recording])
    converted: Counter[str] = Counter()
    for native in importer.sessions(source):
        for entry in importer.convert(source, native.id).session.entries:
            used = getattr(entry, "usage", None) or {}
            converted.update(
                {name: used.get(name, 0) for name in ("input_tokens", "output_tokens")}
            )
    assert (converted["input_tokens"], converted["output_tokens"]) == expected

    once = {record.key: record.usage for record in importer.usage_records(source)}
    read = [sum(u[name] for u in once.values()) for name in ("input_tokens", "output_tokens")]
    assert tuple(read) == expected
