"""Every recorded request of Codex against what its converted threads say was sent."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from codex_files import RECORDINGS, context, counters, line, meta, said, write
from recordings import FIXTURES, not_rebuilt, recordings

from agentsession.importers import replay
from agentsession.importers.codex import Codex

HANDED_OUT = FIXTURES / "codex"

# A compaction that left no record of what it put in place of the history, and before it, in
# 0.20, a partial text that stayed in the history and in no file.
LOST = "history-not-stored"
IMPOSSIBLE = {
    "0.20.0-proto": dict.fromkeys([7, 8, 9, *range(11, 21)], LOST),
    "0.34.0-proto": dict.fromkeys(range(11, 22), LOST),
}

# What the model server counted and no line has: input and output tokens.
NOT_STORED = {
    "0.20.0-proto": (26600, 705),  # nothing is counted
    "0.34.0-proto": (1200, 40),  # interrupted in its tool, before it was counted
    "0.77.0-chat": (20300, 342),  # the chat wire gave no counts
    "0.145.0-remote": (42800, 110),  # remote compactions
    "0.171.0-busy": (1200, 40),  # a steer cut the answer
}


@pytest.mark.parametrize("recording", recordings("codex", RECORDINGS))
def test_every_possible_request_is_rebuilt(recording: Path) -> None:
    verdict = replay.replay(recording, replay.AGENTS["codex"])
    assert not_rebuilt(verdict) == IMPOSSIBLE.get(recording.name, {})
    unbacked = [r for r in verdict["responses"] if not r["backed"] and "note" not in r]
    assert unbacked == []


@pytest.mark.parametrize("recording", recordings("codex", RECORDINGS))
def test_every_possible_summary_request_is_rebuilt(recording: Path) -> None:
    """But for the prompt it ends in, which is not stored."""
    summaries = replay.replay(recording, replay.AGENTS["codex"])["summaries"]
    failed = {one["n"]: one["reason"] for one in summaries if one["verdict"] != "rebuilt"}
    assert failed == ({10: LOST} if recording.name == "0.20.0-proto" else {})


def test_every_logged_request_is_judged() -> None:
    """Of what is handed out: 226 requests, 217 of them on the Responses wire."""
    if not HANDED_OUT.is_dir():
        pytest.skip("the recordings that stand beside the code are not all")
    judged: Counter[tuple[bool, bool, bool]] = Counter()
    for recording in replay.recordings(HANDED_OUT):
        logged = (recording / "requests.jsonl").read_text("utf-8").splitlines()
        verdict = replay.replay(recording, replay.AGENTS["codex"])
        assert len(logged) == len(verdict["requests"]) + len(verdict["summaries"])
        for name in ("requests", "summaries"):
            for one in verdict[name]:
                chat = one["path"].endswith("/chat/completions")
                judged[name == "summaries", chat, one["verdict"] == "rebuilt"] += 1
    assert judged == {
        (False, False, True): 181,
        (False, False, False): 24,
        (False, True, True): 9,
        (True, False, True): 11,
        (True, False, False): 1,
    }


@pytest.mark.parametrize("recording", recordings("codex", RECORDINGS))
def test_usage_is_what_the_server_counted(recording: Path) -> None:
    """Once for each call; in the session, and straight from the files."""
    counted: Counter[str] = Counter()
    for one in (recording / "requests.jsonl").read_text("utf-8").splitlines():
        answer = json.loads(one)["answer"]
        broken = any(answer.get(name) for name in ("status", "break", "hang", "failed"))
        if not broken and answer.get("finish") != "length":
            used = answer.get("usage") or {}
            counted["input"] += used.get("prompt", 1200)
            counted["output"] += used.get("completion", 40)
    lost = NOT_STORED.get(recording.name, (0, 0))
    expected = (counted["input"] - lost[0], counted["output"] - lost[1])

    importer = Codex()
    (source,) = importer.find([recording])
    totals: Counter[str] = Counter()
    for native in importer.sessions(source):
        converted = importer.convert(source, native.id)
        assert converted.totals["native"] == converted.totals["converted"]
        for entry in converted.session.entries:
            used = getattr(entry, "usage", None) or {}
            totals.update({n: used.get(n, 0) for n in ("input_tokens", "output_tokens")})
            data = getattr(entry, "data", None)
            if isinstance(data, dict) and "hidden_call" in data:
                used = data["hidden_call"]["usage"]
                totals.update({n: used[n] for n in ("input_tokens", "output_tokens")})
    assert (totals["input_tokens"], totals["output_tokens"]) == expected

    records = list(importer.usage_records(source))
    named = [record.key for record in records if record.key]
    assert len(set(named)) == len(named)
    read = [sum(r.usage[n] for r in records) for n in ("input_tokens", "output_tokens")]
    assert tuple(read) == expected


@pytest.mark.parametrize("recording", recordings("codex", RECORDINGS))
def test_every_line_is_accounted_for_once(recording: Path) -> None:
    importer = Codex()
    (source,) = importer.find([recording])
    records = [
        record
        for native in importer.sessions(source)
        for record in importer.convert(source, native.id).records
    ]
    assert len({record.native_id for record in records}) == len(records)
    assert len(records) == importer.report(source).read
    assert [r for r in records if r.code.startswith("unknown")] == []
    assert [r for r in records if r.disposition == "left-out" and not r.code] == []


@pytest.mark.parametrize("remote", [True, False])
def test_a_request_for_a_remote_summary_ends_in_no_prompt(tmp_path: Path, remote: bool) -> None:
    """0.101 to 0.125 send the plain history to a path of its own."""
    kept = [said("user", "one")["payload"], {"type": "compaction", "encrypted_content": "E"}]
    compacted = line("compacted", {"message": "", "replacement_history": kept})
    lines = [meta(version="0.125.0"), context(), said("user", "one"), said("assistant", "A")]
    write(tmp_path / "codex", [*lines, counters(11, 10), compacted, said("user", "two")])
    history = [one["payload"] for one in lines[2:]]
    prompt = [] if remote else [said("user", "Sum it up")["payload"]]
    path = "/v1/responses/compact" if remote else "/v1/responses"
    request = {"n": 1, "path": path, "kind": "compaction", "body": {"input": history + prompt}}
    (tmp_path / "requests.jsonl").write_text(json.dumps(request) + "\n", "utf-8")
    (summary,) = replay.replay(tmp_path, replay.AGENTS["codex"])["summaries"]
    assert summary["verdict"] == "rebuilt"


def test_a_request_that_names_the_answer_it_goes_on_from_is_judged_behind_it(
    tmp_path: Path,
) -> None:
    """0.8 sent only what was new. An output of a call that no file has stays impossible."""

    def marker(name: str | None) -> dict[str, object]:
        return {"record_type": "state", "previous_response_id": name}

    def words(role: str, text: str) -> dict[str, object]:
        part = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}

    head = {"id": "0b6f4f1a-0000-4000-8000-00000000000a", "timestamp": "2025-07-01T10:00:00Z"}
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"}
    out = {"type": "function_call_output", "call_id": "a", "output": "out"}
    lost = {"type": "function_call_output", "call_id": "b", "output": "aborted"}
    lines = [
        head, marker(None), words("user", "one"), marker(None), marker("resp_1"),
        call, out, marker("resp_1"), marker("resp_2"), words("assistant", "A"),
        marker("resp_2"), words("user", "two"), marker("resp_2"), marker("resp_4"),
        words("assistant", "B"),
    ]  # fmt: skip
    write(tmp_path / "codex", lines, str(head["id"]))
    sent = [
        (None, [words("user", "one")]),
        ("resp_1", [out]),
        ("resp_2", [lost, words("user", "two")]),
        ("resp_2", [words("user", "two")]),
        ("resp_1", [words("user", "two")]),
    ]
    log = [
        {
            "n": n,
            "kind": "main",
            "path": "/v1/responses",
            "body": {"input": items, "previous_response_id": before},
            "answer": {},
        }
        for n, (before, items) in enumerate(sent, 1)
    ]
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(one) + "\n" for one in log))
    verdict = replay.replay(tmp_path, replay.AGENTS["codex"])
    judged = [one["verdict"] for one in verdict["requests"]]
    assert judged == ["rebuilt", "rebuilt", "impossible", "rebuilt", "differs"]
    assert all(one["backed"] for one in verdict["responses"])
