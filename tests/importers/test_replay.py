"""Recordings of any agents are measured together, each by the importer whose data it holds."""

from __future__ import annotations

import cProfile
import json
import pstats
import shutil
from pathlib import Path
from typing import Any

import pytest

import agentsession as ags
from agentsession.importers import judging, replay
from agentsession.importers.replayed import LOG, hash_of, same
from agentsession.wire import Profile
from agentsession.wire.profiles_pi import pi_profile

DATA = Path(__file__).parents[1] / "data"
FOLDERS = {
    "claude-code": "claude-code-recordings",
    "codex": "codex",
    "opencode": "opencode-recordings",
    "pi": "pi",
}


def recording_of(agent: str) -> Path:
    return replay.recordings(DATA / FOLDERS[agent])[0]


@pytest.mark.parametrize("agent", FOLDERS)
def test_a_recording_tells_whose_it_is(agent: str) -> None:
    assert {tuple(replay.agents_of(one)) for one in replay.recordings(DATA / FOLDERS[agent])} == {
        (agent,)
    }


def test_recordings_of_several_agents(tmp_path: Path) -> None:
    for agent in FOLDERS:
        shutil.copytree(recording_of(agent), tmp_path / agent)
    report = replay.verdicts(tmp_path)
    assert report["agent"] == "claude-code, codex, opencode, pi"
    assert [one["agent"] for one in report["recordings"]] == sorted(FOLDERS)
    assert all(one["responses"] for one in report["recordings"])
    assert report["totals"]["differs"] == 0


def test_the_agent_named_is_the_one(tmp_path: Path) -> None:
    shutil.copytree(recording_of("pi"), tmp_path / "pi")
    assert replay.verdicts(tmp_path, "opencode")["totals"]["rebuilt"] == 0
    assert replay.verdicts(tmp_path) == replay.verdicts(tmp_path, "pi")


def test_a_recording_that_does_not_tell(tmp_path: Path) -> None:
    nothing, both = tmp_path / "nothing", tmp_path / "both"
    nothing.mkdir()
    request = {"n": 4, "kind": "main", "path": "/v1/messages", "body": {}}
    (nothing / LOG).write_text(json.dumps(request) + "\n", encoding="utf-8")
    for agent in ("codex", "pi"):
        shutil.copytree(recording_of(agent), both, dirs_exist_ok=True)
    reasons = {
        one["recording"]: {request["reason"] for request in one["requests"]}
        for one in replay.verdicts(tmp_path)["recordings"]
    }
    assert reasons == {
        "nothing": {"data of no known agent is here; name the agent"},
        "both": {"data of codex and pi is here; name the agent"},
    }
    assert replay.main([str(tmp_path)]) == 1


def test_no_recordings_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main([str(tmp_path), "--json"]) == 1
    assert f"no {LOG} is below {tmp_path}" in capsys.readouterr().err


def test_a_text_that_a_log_hides_is_compared_by_its_hash() -> None:
    hidden = {"chars": 2, "sha256": hash_of("hi")}
    assert same({"text": hidden}, {"text": "hi"})
    assert not same({"text": hidden}, {"text": "ha"})
    assert not same({"text": {**hidden, "chars": 3}}, {"text": "hi"})


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"n": 1, "kind": "main", "path": "/v1/chat/completions", "body": {"messages": messages}}


def verdict_on(folder: Path, session: ags.Session, *messages: dict[str, Any]) -> dict[str, Any]:
    (folder / LOG).write_text(json.dumps(chat(*messages)) + "\n", encoding="utf-8")
    (found,) = judging.judged(folder, [session], lambda _: Profile())["requests"]
    return {"verdict": found["verdict"], "reason": found.get("reason")}


def spoken(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def test_what_saw_a_call_that_was_deleted_cannot_be_rebuilt(tmp_path: Path) -> None:
    """A revert to a part takes a call out of a message that stays."""
    session = ags.Session(ags.Header(format="agentsession/0.3", id="s"))
    for item in (spoken("user", "Hi"), spoken("assistant", "A"), spoken("user", "Go on")):
        session.append(ags.ItemEntry(item))
    session.append(ags.ResponseEntry("resp_1", model="m"))
    user = {"role": "user", "content": "Hi"}
    call = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    said = {"role": "assistant", "content": "A", "tool_calls": [call]}
    output = {"role": "tool", "tool_call_id": "call_1", "content": ""}
    gone = {"verdict": "impossible", "reason": "messages-not-stored"}
    assert verdict_on(tmp_path, session, user, said, output) == gone
    wrong = verdict_on(tmp_path, session, user, {**said, "content": "B", "tool_calls": None})
    assert wrong["verdict"] == "differs"


def test_a_request_that_only_lacks_what_is_gone_cannot_be_rebuilt(tmp_path: Path) -> None:
    """Of a user's message that was never written the answer is all there is."""
    session = ags.Session(ags.Header(format="agentsession/0.3", id="s"))
    session.append(ags.ItemEntry(spoken("assistant", "A")))
    session.append(ags.ItemEntry(spoken("user", "Go on")))
    session.append(ags.ResponseEntry("resp_1", model="m"))
    lost = {"role": "user", "content": "Hi"}
    said = {"role": "assistant", "content": "A"}
    more = {"role": "user", "content": "Go on"}
    gone = {"verdict": "impossible", "reason": "messages-not-stored"}
    assert verdict_on(tmp_path, session, lost, said, more) == gone
    wrong = verdict_on(tmp_path, session, lost, {**said, "content": "B"}, more)
    assert wrong["verdict"] == "differs"


def test_images_that_a_model_does_not_take_are_told_as_that(tmp_path: Path) -> None:
    session = ags.Session(ags.Header(format="agentsession/0.3", id="s"))
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
    session.append(ags.ItemEntry({"type": "message", "role": "user", "content": [image]}))
    session.append(ags.ResponseEntry("resp_1", model="m"))
    text = {"type": "text", "text": "(image omitted: model does not support images)"}
    (tmp_path / LOG).write_text(
        json.dumps(chat({"role": "user", "content": [text]})) + "\n", encoding="utf-8"
    )
    found = judging.judged(tmp_path, [session], lambda _: pi_profile())
    assert found["requests"][0]["reason"] == "images-not-taken"
    assert found["responses"][0]["backed"]


@pytest.mark.parametrize("forked", [True, False])
def test_an_answer_of_which_a_fork_holds_the_copy(tmp_path: Path, forked: bool) -> None:
    session = ags.Session(ags.Header(format="agentsession/0.3", id="s"))
    session.append(ags.ItemEntry(spoken("user", "Hi")))
    session.append(ags.ItemEntry(spoken("assistant", "A")))
    session.append(ags.LinkEntry("fork_of" if forked else "continued_in", "ses_1"))
    session.append(ags.ItemEntry(spoken("user", "Go on")))
    session.append(ags.ResponseEntry("resp_1", model="m"))
    found = verdict_on(tmp_path, session, {"role": "user", "content": "Hi"})
    assert found["verdict"] == ("impossible" if forked else "differs")
    assert (found["reason"] == "answer-not-stored") is forked


def test_a_text_that_a_log_cut_is_any_of_ours_that_it_can_be(tmp_path: Path) -> None:
    session = ags.Session(ags.Header(format="agentsession/0.3", id="s"))
    words = "Say it " + "again " * 40
    session.append(ags.ItemEntry(spoken("user", words)))
    session.append(ags.ResponseEntry("resp_1", model="m"))
    for whole, verdict in ((words, "rebuilt"), (words + "!", "differs")):
        cut = f"{whole[:20]}…[cut; chars={len(whole)}; sha256={hash_of(whole)}]"
        found = verdict_on(tmp_path, session, {"role": "user", "content": cut})
        assert found["verdict"] == verdict


def nothing_matches(folder: Path, turns: int) -> int:
    """How many calls of functions it takes to judge so many requests that match nothing."""
    session = ags.Session(ags.Header(format="agentsession/0.3", id="s"))
    for turn in range(turns):
        session.append(ags.ItemEntry(spoken("user", f"Q{turn}")))
        session.append(ags.ResponseEntry(f"resp_{turn}", model="m"))
        session.append(ags.ItemEntry(spoken("assistant", f"A{turn}")))
    asked = {"role": "user", "content": "Q0"}
    answered = {"role": "assistant", "content": "another answer"}
    requests = [{**chat(*([asked, answered] * (n + 1))), "n": n} for n in range(turns)]
    (folder / LOG).write_text("".join(json.dumps(one) + "\n" for one in requests), "utf-8")
    profile = cProfile.Profile()
    found = profile.runcall(judging.judged, folder, [session], lambda _: Profile())["requests"]
    assert {one["verdict"] for one in found} == {"differs"}
    calls: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return calls


def test_a_request_is_not_compared_message_by_message_with_each_answer(tmp_path: Path) -> None:
    # Four times the turns are sixteen times the messages, and 64 times the comparisons of them.
    assert nothing_matches(tmp_path, 60) < 24 * nothing_matches(tmp_path, 15)
