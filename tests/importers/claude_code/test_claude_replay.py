"""Every recorded request of Claude Code against what its converted sessions say was sent."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from claude_files import Log, recorded
from recordings import FIXTURES, not_rebuilt, recordings, verify_paths

from agentsession.importers import replay, replayed
from agentsession.importers.claude_code.fidelity import sessions
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.verify import verify
from agentsession.migration import migrate

RECORDINGS = Path(__file__).parents[2] / "data" / "claude-code-recordings"
HANDED_OUT = FIXTURES / "claude-code"

# Print mode of 1.0.35 sent the first round of calls of a process twice from its second request
# on, and no record says that a session was in print mode.
REPEATED = "first-round-repeated"
IMPOSSIBLE = {
    "1.0.35-tools": dict.fromkeys([5, 6, 7, 13, 14, 18, 21, 24], REPEATED),
    "2.1.200-errors": {
        6: "answer-not-stored",  # refused as invalid, and given up
        16: "answer-not-stored",  # an empty answer has no record
    },
}


def judged(recording: Path) -> dict[str, Any]:
    return replay.replay(recording, replay.AGENTS["claude-code"])


@pytest.mark.parametrize("recording", recordings("claude-code", RECORDINGS))
def test_every_possible_request_is_rebuilt(recording: Path) -> None:
    verdict = judged(recording)
    assert not_rebuilt(verdict) == IMPOSSIBLE.get(recording.name, {})


@pytest.mark.parametrize("recording", recordings("claude-code", RECORDINGS))
def test_an_answered_request_is_the_context_of_its_own_answer(recording: Path) -> None:
    """Another response with the same context does not do."""
    for request in judged(recording)["requests"]:
        if request["answered"] and request["verdict"] == "rebuilt":
            assert request["response"] == f"msg_{request['n']:04d}"


@pytest.mark.parametrize("recording", recordings("claude-code", RECORDINGS))
def test_every_response_answers_a_request(recording: Path) -> None:
    """What does not, answered one that cannot be rebuilt, and says why."""
    impossible = IMPOSSIBLE.get(recording.name, {})
    named = {
        f"msg_{number:04d}": reason
        for number, reason in impossible.items()
        if reason != "answer-not-stored"
    }
    unbacked = [one for one in judged(recording)["responses"] if not one["backed"]]
    assert {one["response"]: one.get("note") for one in unbacked} == named


@pytest.mark.parametrize("recording", recordings("claude-code", RECORDINGS))
def test_every_logged_request_is_judged_or_leaves_nothing(recording: Path) -> None:
    verdict = judged(recording)
    logged = (recording / replayed.LOG).read_text("utf-8").splitlines()
    assert len(logged) == len(verdict["requests"]) + sum(verdict["unjudged"].values())
    assert "main" not in verdict["unjudged"]
    sides = {"bash_paths", "bash_prefix", "compaction", "notools", "quota"}
    assert verdict["unjudged"].keys() <= sides


@pytest.mark.parametrize("recording", recordings("claude-code", RECORDINGS))
def test_every_digest_a_release_logged_is_computed_again(recording: Path) -> None:
    importer = ClaudeCode()
    (source,) = importer.find([recording])
    outcomes = Counter(
        result.outcome
        for native in importer.sessions(source)
        for result in verify(importer, source, native.id)
    )
    logs = recording.name.startswith("2.1.332")
    own = [one for one in judged(recording)["requests"] if one["kind"] == "main"]
    assert outcomes == ({"ok": len(own)} if logs else {})


def test_all_that_is_handed_out_is_counted() -> None:
    """Requests that releases log themselves, and of the others those with a stored answer."""
    if not HANDED_OUT.is_dir():
        pytest.skip("the recordings that stand beside the code are not all")
    logged: Counter[bool] = Counter()
    others: Counter[bool] = Counter()
    for recording in replay.recordings(HANDED_OUT):
        for request in judged(recording)["requests"]:
            rebuilt = request["verdict"] == "rebuilt"
            if recording.name.startswith("2.1.332"):
                logged[rebuilt] += 1
            elif request["answered"]:
                others[rebuilt] += 1
    assert logged == {True: 87}
    assert others == {True: 155, False: 8}


@pytest.mark.parametrize("recording", recordings("claude-code", RECORDINGS))
def test_every_session_passes_the_checks_of_the_newest_draft(recording: Path) -> None:
    for session in sessions(recording):
        verify_paths(migrate(session))


def test_helpers_with_a_stored_answer_are_judged(tmp_path: Path) -> None:
    """And those without one are counted by their kind."""
    log = Log(version="2.0.60")
    log.user("u1", "Warmup")
    log.say("a1", "msg_0001", "Ready.")
    log.write(tmp_path)
    said = [{"role": "user", "content": "Warmup"}]
    recorded(tmp_path, [(1, said), (2, [{"role": "user", "content": "A title?"}])])
    requests = tmp_path / replayed.LOG
    requests.write_bytes(requests.read_bytes().replace(b'"main"', b'"notools"'))
    verdict = judged(tmp_path)
    (request,) = verdict["requests"]
    assert (request["kind"], request["verdict"], request["answered"]) == (
        "notools",
        "rebuilt",
        True,
    )
    assert verdict["unjudged"] == {"notools": 1}


def test_a_response_says_why_its_request_cannot_be_rebuilt(tmp_path: Path) -> None:
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Half of", stop="max_tokens")
    log.say("a2", "msg_0002", "it.")
    log.write(tmp_path)
    first = [{"role": "user", "content": "Go"}]
    hidden = "Output token limit hit. Resume as another release would say it."
    second = [
        *first,
        {"role": "assistant", "content": "Half of"},
        {"role": "user", "content": hidden},
    ]
    recorded(tmp_path, [(1, first), (2, second)])
    report = replay.verdicts(tmp_path, "claude-code")
    (verdict,) = report["recordings"]
    assert [one.get("reason") for one in verdict["requests"]] == [None, "continuation-not-stored"]
    assert [one.get("note") for one in verdict["responses"]] == [None, "continuation-not-stored"]
    totals = report["totals"]
    assert (totals["responses"], totals["backed"], totals["noted"]) == (1, 1, 1)
    assert (totals["answered"], totals["answered_rebuilt"]) == (2, 1)
    assert replay.main([str(tmp_path), "--agent", "claude-code"]) == 0


def test_another_request_than_its_answers_differs(tmp_path: Path) -> None:
    """Even where it is what some other response answered."""
    log = Log(version="2.0.60")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "One.")
    log.user("u2", "More")
    log.say("a2", "msg_0002", "Two.")
    log.write(tmp_path)
    first = [{"role": "user", "content": "Go"}]
    recorded(tmp_path, [(1, first), (2, first)])
    verdict = judged(tmp_path)
    assert [one["verdict"] for one in verdict["requests"]] == ["rebuilt", "differs"]
    assert json.dumps(verdict["requests"][1]["reason"]).count("msg_0002") == 1
    assert replay.main([str(tmp_path), "--agent", "claude-code"]) == 1
