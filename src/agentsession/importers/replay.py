"""Replay: recorded model requests against what their converted sessions say was sent.

A recording is a directory with an agent's data as a release wrote it and the requests a
model server received from it in ``requests.jsonl``. Every request of kind ``main`` should
be the request context of some converted response, lowered under the agent's profile; every
converted response should answer a logged request.

    python -m agentsession.importers.replay RECORDINGS [--agent AGENT] [--json]

Strings that a log cut are compared by the hash it gives. The system prompt and the tools
are set aside. Spec: decision D2.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentsession.entries import ResponseEntry
from agentsession.findings import SCHEMA
from agentsession.importers import codex, pi
from agentsession.importers.claude_code import fidelity as claude_code
from agentsession.importers.opencode import convert
from agentsession.importers.replayed import LOG, logged_requests, response_verdict, same
from agentsession.session import Session
from agentsession.wire import (
    Piece,
    Profile,
    Target,
    anthropic_messages,
    chat_messages,
    request_pieces,
    responses_input,
    target_of,
)

_ATTEMPT: Final = "summary-attempt"
_REMINDER: Final = "<system-reminder>"
_STEP_LIMIT: Final = "MAXIMUM STEPS REACHED"
_WRAPPER: Final = re.compile(
    r"(?s)<system-reminder>\nThe user sent the following message:\n(.*)\n\n"
    r"Please address this message and continue with your tasks\.\n</system-reminder>"
)

Messages = list[dict[str, Any]]
Lowering = Callable[[Sequence[Piece], Target, Profile], Messages]

WIRES: Final[Mapping[str, tuple[str, Lowering]]] = {
    "/chat/completions": ("messages", chat_messages),
    "/messages": ("messages", anthropic_messages),
    "/responses": ("input", responses_input),
}
"""By how a request's path ends: the member that holds the messages, and how they are made."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What replay needs of an importer.

    Attributes:
        sessions: yields the converted sessions of a data directory.
        profile: how a response's request was spelled.
        measure: returns the verdict on a recording, for an agent with a measure of its own.
    """

    sessions: Callable[[Path], Iterator[Session]]
    profile: Callable[[ResponseEntry], Profile]
    measure: Callable[[Path], dict[str, Any]] | None = None


def _opencode(place: Path) -> Iterator[Session]:
    with convert.Source(place) as source:
        for summary in convert.sessions(source):
            yield convert.convert(source, summary.id).session


def _pi(place: Path) -> Iterator[Session]:
    sessions = pi.Sessions(str(place))
    for native in sessions:
        yield sessions.convert(native.id).session


AGENTS: Final[Mapping[str, Agent]] = {
    "claude-code": Agent(claude_code.sessions, claude_code.profile_of_response, claude_code.replay),
    "codex": Agent(codex.sessions, codex.profile_of_response, codex.replay),
    "opencode": Agent(_opencode, convert.profile_of_response),
    "pi": Agent(_pi, pi.profile_of_response),
}


@dataclass(slots=True)
class Answer:
    """A converted response, and the logged requests it answers.

    Attributes:
        session: its session's id.
        response: its native id.
        backed: the numbers of the requests that its context is.
        near: the numbers of those that differ by text the store does not have.
        made: whether it is an attempt at a summary, which replay sets aside.
    """

    session: str
    response: str
    pieces: tuple[Piece, ...]
    target: Target
    profile: Profile
    made: bool = False
    backed: list[int] = field(default_factory=list)
    near: list[int] = field(default_factory=list)
    lowered: dict[str, Messages] = field(default_factory=dict)

    def on(self, path: str) -> Messages:
        """Return the messages of its request on a wire."""
        if path not in self.lowered:
            messages = WIRES[path][1](self.pieces, self.target, self.profile)
            self.lowered[path] = spoken(messages)
        return self.lowered[path]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict on the response."""
        note = _ATTEMPT if self.made else ""
        return response_verdict(self.session, self.response, self.backed + self.near, note)


def replay(recording: Path, agent: Agent) -> dict[str, Any]:
    """Return the verdict on every main request and every converted response of a recording."""
    if agent.measure is not None:
        return agent.measure(recording)
    answers = list(_answers(recording, agent))
    logged = logged_requests(recording)
    requests = [_judge(request, answers) for request in logged if request.get("kind") == "main"]
    return {
        "recording": recording.name,
        "requests": requests,
        "responses": [answer.to_dict() for answer in answers],
    }


def _answers(recording: Path, agent: Agent) -> Iterator[Answer]:
    for session in agent.sessions(recording):
        for entry in session.entries:
            if isinstance(entry, ResponseEntry):
                yield Answer(
                    session.id,
                    entry.response_id,
                    request_pieces(session.path(entry.id)),
                    target_of(entry),
                    agent.profile(entry),
                    made=_is_summary(entry),
                )


def _is_summary(entry: ResponseEntry) -> bool:
    native = entry.unknown.get("opencode")
    return isinstance(native, dict) and native.get("summary") is True


def _judge(request: dict[str, Any], answers: Sequence[Answer]) -> dict[str, Any]:
    number = request["n"]
    verdict = {"n": number, "path": request["path"]}
    asked = request["path"].partition("?")[0]
    path = next((ending for ending in WIRES if asked.endswith(ending)), "")
    if not path:
        return {**verdict, "verdict": "impossible", "reason": "unknown-wire"}
    logged = spoken(request["body"].get(WIRES[path][0]) or [])
    found = [answer for answer in answers if same(logged, answer.on(path))]
    for answer in found:
        answer.backed.append(number)
    if found:
        where = {"session": found[0].session, "response": found[0].response}
        return {**verdict, "verdict": "rebuilt", **where}
    stripped, reason = _without_unstored(logged)
    for answer in answers:
        ours = _without_unstored(answer.on(path))[0]
        if reason and same(_without_marks(stripped), _without_marks(ours)):
            answer.near.append(number)
            where = {"session": answer.session, "response": answer.response}
            return {**verdict, "verdict": "impossible", "reason": reason, **where}
    if _is_unanswered(logged, answers, path):
        return {**verdict, "verdict": "impossible", "reason": "answer-not-stored"}
    if _has_lost(logged, answers, path):
        return {**verdict, "verdict": "impossible", "reason": "messages-not-stored"}
    return {**verdict, "verdict": "differs", "reason": _difference(logged, answers, path)}


# Comparing.


def spoken(messages: Messages) -> Messages:
    """Return a request's messages without the system prompt it begins with."""
    start = 0
    while start < len(messages) and messages[start].get("role") in {"system", "developer"}:
        start += 1
    return messages[start:]


def _without_unstored(messages: Messages) -> tuple[Messages, str]:
    """Return a request without reminders and wrappers, and which of them it had."""
    reason = ""
    found: Messages = []
    if messages and _STEP_LIMIT in json.dumps(messages[-1]):
        messages, reason = messages[:-1], "step-limit-not-stored"
    for message in messages:
        content = message.get("content")
        if message.get("role") != "user":
            found.append(message)
            continue
        parts = [{"text": content}] if isinstance(content, str) else list(content or [])
        kept = []
        for part in parts:
            words = part.get("text")
            wrapped = _WRAPPER.fullmatch(words) if isinstance(words, str) else None
            if wrapped is not None:
                reason = reason or "busy-wrapper-not-stored"
                kept.append({**part, "text": wrapped[1]})
            elif isinstance(words, str) and words.startswith(_REMINDER):
                reason = reason or "plan-reminder-not-stored"
            else:
                kept.append(part)
        single = isinstance(content, str) or (
            len(kept) == 1 and len(kept) < len(parts) and kept[0].get("type") == "text"
        )
        if single and len(kept) == 1:
            found.append({**message, "content": kept[0]["text"]})
        else:
            found.append({**message, "content": kept})
    return found, reason


def _without_marks(messages: Messages) -> Messages:
    """Return messages without cache marks, and texts that stand alone as strings."""
    found: Messages = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            parts = [
                {name: value for name, value in part.items() if name != "cache_control"}
                for part in content
            ]
            content = parts
            if len(parts) == 1 and parts[0].get("type") == "text":
                content = parts[0]["text"]
        found.append({**message, "content": content})
    return found


def _is_unanswered(logged: Messages, answers: Sequence[Answer], path: str) -> bool:
    """Return whether a later request goes on, with input, from one that nothing answered.

    An agent that was killed while an answer came has stored nothing of it.
    """
    ours = (answer.on(path) for answer in answers)
    return any(
        0 < len(logged) < len(later)
        and later[len(logged)].get("role") == "user"
        and same(_without_marks(logged), _without_marks(later[: len(logged)]))
        for later in ours
    )


def _has_lost(logged: Messages, answers: Sequence[Answer], path: str) -> bool:
    """Return whether a request holds a message that no converted session has."""
    known = [message for answer in answers for message in answer.on(path)]
    lost = 0
    for message in _without_marks(_without_unstored(logged)[0]):
        if not any(same(message, other) for other in _without_marks(known)):
            lost += 1
    # What came last is often the only message nothing followed: it was then deleted.
    return lost > 0 and _is_deleted(logged, answers, path)


def _is_deleted(logged: Messages, answers: Sequence[Answer], path: str) -> bool:
    """Return whether a request goes on from one of ours with messages that are gone."""
    for answer in answers:
        ours = answer.on(path)
        shared = 0
        while shared < min(len(ours), len(logged)) and same(
            _without_marks(logged[shared : shared + 1]), _without_marks(ours[shared : shared + 1])
        ):
            shared += 1
        said = {
            json.dumps(message, sort_keys=True)
            for other in answers
            for message in _without_marks(other.on(path))
            if message.get("role") == "user"
        }
        gone = [
            message
            for message in _without_marks(logged[shared:])
            if message.get("role") == "user" and json.dumps(message, sort_keys=True) not in said
        ]
        if shared and gone and logged[shared].get("role") == "user":
            return True
    return False


def _difference(logged: Messages, answers: Sequence[Answer], path: str) -> str:
    """Return where the nearest of our requests first differs."""
    best, words = -1, "no converted response"
    for answer in answers:
        ours = answer.on(path)
        at = 0
        while at < min(len(ours), len(logged)) and same(logged[at], ours[at]):
            at += 1
        if at > best:
            best = at
            theirs = json.dumps(logged[at], ensure_ascii=False) if at < len(logged) else "the end"
            mine = json.dumps(ours[at], ensure_ascii=False) if at < len(ours) else "the end"
            words = (
                f"message {at} of {len(logged)}: logged {theirs[:300]}, "
                f"rebuilt for {answer.response} {mine[:300]}"
            )
    return words


# The command.


def recordings(root: Path) -> list[Path]:
    """Return the recordings under a directory, by path."""
    return sorted(log.parent for log in root.rglob(LOG))


def verdicts(root: Path, agent_name: str = "opencode") -> dict[str, Any]:
    """Return the verdict on every recording under a directory, and totals.

    Raises:
        KeyError: when no importer has that name.
    """
    agent = AGENTS[agent_name]
    found = [replay(recording, agent) for recording in recordings(root)]
    requests = [request for one in found for request in one["requests"]]
    responses = [response for one in found for response in one["responses"]]
    counted = [response for response in responses if "note" not in response]
    answered = [request for request in requests if request.get("answered")]
    totals = {
        "recordings": len(found),
        "requests": len(requests),
        "rebuilt": sum(request["verdict"] == "rebuilt" for request in requests),
        "impossible": sum(request["verdict"] == "impossible" for request in requests),
        "differs": sum(request["verdict"] == "differs" for request in requests),
        "responses": len(counted),
        "backed": sum(response["backed"] for response in counted),
        "summary_attempts": sum(r.get("note") == _ATTEMPT for r in responses),
        "unbacked": sum(r.get("note", _ATTEMPT) != _ATTEMPT for r in responses),
    }
    if answered:
        totals["answered"] = len(answered)
        totals["answered_rebuilt"] = sum(r["verdict"] == "rebuilt" for r in answered)
    return {"schema": SCHEMA, "agent": agent_name, "totals": totals, "recordings": found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 when nothing differs and every response is backed."""
    parser = argparse.ArgumentParser(prog="python -m agentsession.importers.replay")
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--agent", default="opencode", choices=sorted(AGENTS))
    parser.add_argument("--json", action="store_true", help="print every verdict as JSON")
    given = parser.parse_args(arguments)
    report = verdicts(given.recordings, given.agent)
    out = sys.stdout
    if given.json:
        out.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        out.writelines(line + "\n" for line in _lines(report))
    totals = report["totals"]
    whole = totals["differs"] == 0 and totals["backed"] == totals["responses"]
    return 0 if whole and totals["recordings"] else 1


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for one in report["recordings"]:
        requests, responses = one["requests"], one["responses"]
        rebuilt = sum(request["verdict"] == "rebuilt" for request in requests)
        backed = sum(response["backed"] for response in responses)
        yield (
            f"{one['recording']:24} requests {rebuilt}/{len(requests)} rebuilt, "
            f"responses {backed}/{len(responses)} backed"
        )
        for request in requests:
            if request["verdict"] != "rebuilt":
                yield f"    request {request['n']}: {request['verdict']}: {request['reason']}"
        for response in responses:
            if not response["backed"]:
                note = response.get("note", "no request")
                yield f"    response {response['response']}: {note}"
    yield ", ".join(f"{name} {count}" for name, count in report["totals"].items())


if __name__ == "__main__":
    sys.exit(main())
