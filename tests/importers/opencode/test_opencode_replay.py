"""Every recorded request against what its converted session says was sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recordings import not_rebuilt, recordings

from agentsession.importers import replay, replayed

RECORDINGS = Path(__file__).parents[2] / "data" / "opencode-recordings"

# The requests that cannot be rebuilt from what OpenCode stores, one by one.
IMPOSSIBLE = {
    ("1.1.65-queued", 4): "busy-wrapper-not-stored",
    ("1.1.65-inputs", 19): "plan-reminder-not-stored",
    ("1.1.65-inputs", 21): "plan-reminder-not-stored",
    ("1.1.65-inputs", 23): "plan-reminder-not-stored",
    ("1.1.65-revert", 8): "messages-not-stored",
    ("1.1.65-revert", 10): "messages-not-stored",
    ("1.15.13-inputs", 11): "plan-reminder-not-stored",
    ("1.15.13-inputs", 12): "plan-reminder-not-stored",
    ("1.15.13-inputs", 13): "plan-reminder-not-stored",
    ("1.18.33-inputs", 11): "plan-reminder-not-stored",
    ("1.18.33-inputs", 12): "plan-reminder-not-stored",
    ("1.18.33-inputs", 13): "plan-reminder-not-stored",
    ("1.18.33-revert", 6): "messages-not-stored",
    ("1.18.33-revert", 7): "messages-not-stored",
}


@pytest.mark.parametrize("recording", recordings("opencode", RECORDINGS))
def test_every_possible_request_is_rebuilt(recording: Path) -> None:
    verdict = replay.replay(recording, replay.AGENTS["opencode"])
    expected = {n: why for (name, n), why in IMPOSSIBLE.items() if name == recording.name}
    assert not_rebuilt(verdict) == expected
    assert [r for r in verdict["responses"] if not r["backed"]] == []


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main([str(RECORDINGS / "1.1.65-queued")]) == 0
    out = capsys.readouterr().out
    assert "request 4: impossible: busy-wrapper-not-stored" in out
    assert replay.main([str(RECORDINGS / "1.18.33-anthropic"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["totals"]["rebuilt"] == report["totals"]["requests"] == 5


def test_a_request_nobody_made_is_told(tmp_path: Path) -> None:
    recording = tmp_path / "odd"
    recording.mkdir()
    body = {"messages": [{"role": "user", "content": "Nobody asked"}]}
    lines = [
        {"n": 1, "kind": "main", "path": "/v1/chat/completions", "body": body},
        {"n": 2, "kind": "main", "path": "/v1/other", "body": {}},
        {"n": 3, "kind": "title", "path": "/v1/chat/completions", "body": {}},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (recording / replayed.LOG).write_text(text, encoding="utf-8")
    report = replay.verdicts(tmp_path, "opencode")
    assert report["totals"]["differs"] == 1
    assert report["totals"]["impossible"] == 1
    assert replay.main([str(tmp_path), "--agent", "opencode"]) == 1
    assert replay.main([str(tmp_path / "nothing")]) == 1


@pytest.mark.parametrize(
    ("logged", "ours", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "abd", False),
        (
            (
                "ab…[cut; chars=3; sha256="
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad]"
            ),
            "abc",
            True,
        ),
        ("ab…[cut; chars=3; sha256=" + "0" * 64 + "]", "abc", False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": [1]}, {"a": [1], "b": 2}, False),
        ([1], [1, 2], False),
        (None, "", False),
    ],
)
def test_cut_strings_compare_by_hash(logged: object, ours: object, expected: bool) -> None:
    assert replayed.same(logged, ours) is expected
