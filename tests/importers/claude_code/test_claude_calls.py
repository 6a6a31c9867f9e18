"""Calls that a request holds once more: each call of a session has an id of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_files import Log, RequestLog
from recordings import verify_paths

from agentsession.entries import ItemEntry, ResponseEntry
from agentsession.importers.claude_code.fidelity import profile_of_response, sessions
from agentsession.migration import migrate
from agentsession.record_entries import DecisionEntry, DispatchEntry
from agentsession.session import Session
from agentsession.wire import request_pieces, target_of
from agentsession.wire.profiles_claude_code import claude_code_messages

CALL = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "one"}


def only(place: Path) -> Session:
    (session,) = sessions(place)
    verify_paths(migrate(session))
    return session


def sent(session: Session) -> list[list[tuple[str, list[object]]]]:
    """What each request held, as it was on the wire."""
    return [
        [
            (message["role"], message["content"])
            for message in claude_code_messages(
                request_pieces(session.path(entry.id)), target_of(entry), profile_of_response(entry)
            )
        ]
        for entry in session.entries
        if isinstance(entry, ResponseEntry)
    ]


def calls(session: Session) -> list[str]:
    return [
        str(entry.item.call_id)
        for entry in session.entries
        if isinstance(entry, ItemEntry) and entry.item.type == "function_call"
    ]


def logged(root: Path, *, answer: list[dict[str, object]]) -> Session:
    """A log whose second request held an answer of a text and a call in some other way."""
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    asked = RequestLog(log)
    first = {"role": "user", "content": "Go"}
    asked.ask("q1", [first])
    log.say("a1", "m1", answer[0].pop("stored"), requestRef="q1")
    log.call("a2", "m1", "c1", requestRef="q1")
    log.result("r1", "c1", "one", permissionDecision={"decision": "accept"})
    said = {"role": "assistant", "content": [block for block in answer if block]}
    asked.blob(said)
    asked.ask("q2", [first, said, {"role": "user", "content": [RESULT]}], base="q1", keep=1)
    log.say("a3", "m2", "Done.", requestRef="q2")
    log.write(root)
    return only(root)


def test_a_blank_text_before_a_call_stands_beside_the_path(tmp_path: Path) -> None:
    session = logged(tmp_path, answer=[{"stored": " \n"}, CALL])
    assert calls(session) == ["c1"]
    assert sent(session)[1] == [
        ("user", [{"type": "text", "text": "Go"}]),
        ("assistant", [CALL]),
        ("user", [RESULT]),
    ]
    path = list(session.path(session.leaf or ""))
    answered = [entry.response_id for entry in path if isinstance(entry, ResponseEntry)]
    assert answered == ["m1", "m2"]
    kept = [entry for entry in session.entries if isinstance(entry, ItemEntry)]
    (blank,) = [entry for entry in kept if entry.item.text == " \n"]
    assert blank.response == "m1"
    assert blank not in path


def test_a_call_on_another_branch_has_another_id_and_is_sent_under_its_own(tmp_path: Path) -> None:
    text = {"type": "text", "text": "As it was sent."}
    session = logged(tmp_path, answer=[{"stored": "As it was stored.", **text}, CALL])
    assert calls(session) == ["c1", "c1-2"]
    assert sent(session)[1][1:] == [("assistant", [text, CALL]), ("user", [RESULT])]
    context = session.context().items
    (call,) = [item for item in context if item.type == "function_call"]
    (result,) = [item for item in context if item.type == "function_call_output"]
    assert call.call_id == result.call_id == "c1-2"


def test_a_killed_call_before_one_that_ran(tmp_path: Path) -> None:
    log = Log()
    log.user("u1", "Go")
    log.call("a1", "m1", "c0")
    log.call("a2", "m1", "c1")
    log.result("r1", "c1", "one")
    log.user("u2", "Again")
    log.say("a3", "m2", "Yes.")
    log.write(tmp_path)
    session = only(tmp_path)
    assert calls(session) == ["c0", "c1", "c1-2"]
    blocks = [block for _, content in sent(session)[1] for block in content]
    assert blocks[1:3] == [CALL, RESULT]


def test_a_result_that_comes_on_the_branch_alone(tmp_path: Path) -> None:
    """Its decision and dispatch are of the call on that branch."""
    log = Log(version="2.1.200")
    log.user("u1", "Go")
    log.call("a1", "m1", "c0")
    log.call("a2", "m1", "c1")
    log.add("system", "s1", subtype="informational", content="stopped")
    log.user("u2", "A word between")
    log.result("r1", "c1", "one", parent="a2", permissionDecision={"decision": "accept"})
    log.user("u3", "Again")
    log.say("a3", "m2", "Yes.")
    log.write(tmp_path)
    session = only(tmp_path)
    assert calls(session)[:2] == ["c0", "c1"]
    about = [e for e in session.entries if e.type in ("decision", "dispatch")]
    for entry in about:
        held = session.get(entry.target)  # type: ignore[union-attr]
        assert isinstance(held, ItemEntry)
        assert held.item.call_id == entry.call_id  # type: ignore[union-attr]
    assert about


def told(session: Session) -> list[str]:
    """What the path says of its calls, in order."""
    found = []
    for entry in session.path():
        if isinstance(entry, DecisionEntry):
            found.append(f"{entry.verdict} {entry.call_id}")
        elif isinstance(entry, DispatchEntry):
            found.append(f"dispatch {entry.call_id}")
        elif isinstance(entry, ItemEntry) and entry.item.type == "function_call_output":
            found.append(f"{entry.item['output']} {entry.item.call_id}")
    return found


@pytest.mark.parametrize("denied", [0, 1])
def test_calls_of_one_id_in_one_answer_have_their_own_results(denied: int, tmp_path: Path) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    log.call("a2", "m1", "c1", input={"command": "rm"})
    for at, name in enumerate(("one", "two")):
        more = {"toolDenialKind": "user-rejected"} if at == denied else {}
        log.result(f"r{at}", "c1", name, parent="a2", **more)
    log.say("a3", "m2", "Done.")
    log.write(tmp_path)
    session = only(tmp_path)
    verify_paths(session)
    verbs = ["reject" if at == denied else "dispatch" for at in range(2)]
    assert calls(session) == ["c1", "c1-2"]
    assert told(session) == [f"{verbs[0]} c1", "one c1", f"{verbs[1]} c1-2", "two c1-2"]
    _, (*_, (role, results)) = sent(session)
    assert role == "user"
    assert [(b["tool_use_id"], b["content"]) for b in results] == [("c1", "one"), ("c1", "two")]


@pytest.mark.parametrize("denied", [0, 1])
def test_of_a_call_with_two_results_the_first_says_what_became_of_it(
    denied: int, tmp_path: Path
) -> None:
    log = Log(version="2.1.332")
    log.user("u1", "Go")
    log.call("a1", "m1", "c1")
    for at, name in enumerate(("one", "two")):
        more = {"toolDenialKind": "user-rejected"} if at == denied else {}
        log.result(f"r{at}", "c1", name, **more)
    log.say("a3", "m2", "Done.")
    log.write(tmp_path)
    session = only(tmp_path)
    verify_paths(session)
    verb = "reject" if denied == 0 else "dispatch"
    assert told(session) == [f"{verb} c1", "one c1", "two c1"]
