"""Judging: each logged request of a recording against what its converted sessions say was sent.

A request of kind ``main`` should be the request context of some converted response, lowered
under the agent's profile; a converted response should answer a logged request. Strings that a
log cut are compared by the hash it gives. The system prompt and the tools are set aside.

Spec: decision D2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentsession.entries import ResponseEntry
from agentsession.importers.replayed import logged_requests, response_verdict, same
from agentsession.record_entries import LinkEntry
from agentsession.session import Session
from agentsession.vocabulary import Rel
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

_REMINDER: Final = "<system-reminder>"
_STEP_LIMIT: Final = "MAXIMUM STEPS REACHED"
_WRAPPER: Final = re.compile(
    r"(?s)<system-reminder>\nThe user sent the following message:\n(.*)\n\n"
    r"Please address this message and continue with your tasks\.\n</system-reminder>"
)

SUMMARY_ATTEMPT: Final = "summary-attempt"
"""The note on a response that is an attempt at a summary."""

Messages = list[dict[str, Any]]
Lowering = Callable[[Sequence[Piece], Target, Profile], Messages]

WIRES: Final[Mapping[str, tuple[str, Lowering]]] = {
    "/chat/completions": ("messages", chat_messages),
    "/messages": ("messages", anthropic_messages),
    "/responses": ("input", responses_input),
}
"""By how a request's path ends: the member that holds the messages, and how they are made."""


@dataclass(slots=True)
class Answer:
    """A converted response, and the logged requests it answers.

    Attributes:
        session: its session's id.
        response: its native id.
        backed: the numbers of the requests that its context is.
        near: the numbers of those that differ by text the store does not have.
        made: whether it is an attempt at a summary, which replay sets aside.
        forked: whether what it answered begins with copies from a fork's origin.
    """

    session: str
    response: str
    pieces: tuple[Piece, ...]
    target: Target
    profile: Profile
    made: bool = False
    forked: bool = False
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
        note = SUMMARY_ATTEMPT if self.made else ""
        return response_verdict(self.session, self.response, self.backed + self.near, note)


def judged(
    recording: Path, sessions: Iterable[Session], profile: Callable[[ResponseEntry], Profile]
) -> dict[str, Any]:
    """Return the verdict on every main request and every converted response of a recording.

    Args:
        recording: its directory.
        sessions: what its data was converted to.
        profile: how a response's request was spelled.
    """
    answers = list(_answers(sessions, profile))
    logged = logged_requests(recording)
    requests = [_judge(request, answers) for request in logged if request.get("kind") == "main"]
    return {
        "recording": recording.name,
        "requests": requests,
        "responses": [answer.to_dict() for answer in answers],
    }


def _answers(
    sessions: Iterable[Session], profile: Callable[[ResponseEntry], Profile]
) -> Iterator[Answer]:
    for session in sessions:
        for entry in session.entries:
            if isinstance(entry, ResponseEntry):
                path = session.path(entry.id)
                yield Answer(
                    session.id,
                    entry.response_id,
                    request_pieces(path),
                    target_of(entry),
                    profile(entry),
                    made=_is_summary(entry),
                    forked=any(isinstance(e, LinkEntry) and e.rel == Rel.FORK_OF for e in path),
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

    An agent that was killed while an answer came has stored nothing of it. Of an answer that
    was deleted a fork may hold a copy, which no request was made for.
    """
    return any(
        0 < len(logged) < len(later)
        and (answer.forked or later[len(logged)].get("role") == "user")
        and same(_without_marks(logged), _without_marks(later[: len(logged)]))
        for answer in answers
        for later in [answer.on(path)]
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
    """Return whether a request goes on from one of ours with messages that are gone.

    They are a user's, or one of the model's with a call that is nowhere any more.
    """
    stored = {call for answer in answers for call in _calls(answer.on(path))}
    for answer in answers:
        ours = answer.on(path)
        shared = 0
        while shared < min(len(ours), len(logged)) and same(
            _without_marks(logged[shared : shared + 1]), _without_marks(ours[shared : shared + 1])
        ):
            shared += 1
        if shared and set(_calls(logged[shared : shared + 1])) - stored:
            return True
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


def _calls(messages: Messages) -> Iterator[str]:
    """Yield the ids of the calls in a request's messages, on whichever wire it went."""
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if message.get("type") == "function_call":
            yield message["call_id"]
        for call in [*(message.get("tool_calls") or []), *blocks]:
            if call.get("type") in {"function", "tool_use"}:
                yield call["id"]


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
