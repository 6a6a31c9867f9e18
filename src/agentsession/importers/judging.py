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
from agentsession.importers.numbering import Found, Numbering, shared
from agentsession.importers.replayed import logged_requests, response_verdict
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

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict on the response."""
        note = SUMMARY_ATTEMPT if self.made else ""
        return response_verdict(self.session, self.response, self.backed + self.near, note)


@dataclass(slots=True)
class Request:
    """What an answer's request is on a wire: its messages, and their numbers.

    Attributes:
        plain: the numbers of the messages as they are.
        bare: those without cache marks.
        stripped: those without what the store does not have.
    """

    answer: Answer
    messages: Messages
    plain: tuple[int, ...]
    bare: tuple[int, ...]
    stripped: tuple[int, ...]


class Wire:
    """What the answers' requests are on a wire, each message made and numbered once.

    Args:
        path: how a request's path ends there.
        answers: the converted responses.
    """

    def __init__(self, path: str, answers: Sequence[Answer]) -> None:
        self.plain, self.bare, self.stripped = Numbering(), Numbering(), Numbering()
        self.member, self._lowering = WIRES[path]
        self._answers = answers
        self._imageless: list[tuple[Answer, tuple[int, ...]]] | None = None
        self.calls: set[str] = set()
        self.said: set[str] = set()
        self.requests: list[Request] = []
        for answer in answers:
            messages = self._messages(answer, answer.profile)
            bare = _without_marks(messages)
            stripped = _without_marks(_without_unstored(messages)[0])
            self.calls.update(_calls(messages))
            known = self.bare.count
            numbers = self.bare.numbers(bare)
            self.said.update(
                json.dumps(message, sort_keys=True)
                for message, number in zip(bare, numbers, strict=True)
                if number >= known and message.get("role") == "user"
            )
            self.requests.append(
                Request(
                    answer,
                    messages,
                    self.plain.numbers(messages),
                    numbers,
                    self.stripped.numbers(stripped),
                )
            )

    def imageless(self, logged: Messages) -> Answer | None:
        """Return the answer whose request these messages are where its model takes no images."""
        if self._imageless is None:
            found = [(one, one.profile.without_images()) for one in self._answers]
            self._imageless = [
                (answer, self.plain.numbers(self._messages(answer, profile)))
                for answer, profile in found
                if profile is not None
            ]
        numbers = [self.plain.find(message) for message in logged]
        return next((a for a, ours in self._imageless if _is_whole(numbers, ours)), None)

    def _messages(self, answer: Answer, profile: Profile) -> Messages:
        return spoken(self._lowering(answer.pieces, answer.target, profile))


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
    wires: dict[str, Wire] = {}
    requests = [
        _judge(request, answers, wires) for request in logged if request.get("kind") == "main"
    ]
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


def _judge(
    request: dict[str, Any], answers: Sequence[Answer], wires: dict[str, Wire]
) -> dict[str, Any]:
    number = request["n"]
    verdict = {"n": number, "path": request["path"]}
    asked = request["path"].partition("?")[0]
    path = next((ending for ending in WIRES if asked.endswith(ending)), "")
    if not path:
        return {**verdict, "verdict": "impossible", "reason": "unknown-wire"}
    wire = wires.get(path) or wires.setdefault(path, Wire(path, answers))
    logged = spoken(request["body"].get(wire.member) or [])
    plain = [wire.plain.find(message) for message in logged]
    found = [one.answer for one in wire.requests if _is_whole(plain, one.plain)]
    for answer in found:
        answer.backed.append(number)
    if found:
        where = {"session": found[0].session, "response": found[0].response}
        return {**verdict, "verdict": "rebuilt", **where}
    imageless = wire.imageless(logged)
    if imageless is not None:
        imageless.near.append(number)
        return _near(verdict, "images-not-taken", imageless)
    stripped, reason = _without_unstored(logged)
    rest = _without_marks(stripped)
    if reason:
        kept = [wire.stripped.find(message) for message in rest]
        for one in wire.requests:
            if _is_whole(kept, one.stripped):
                one.answer.near.append(number)
                return _near(verdict, reason, one.answer)
    bare = [wire.bare.find(message) for message in _without_marks(logged)]
    if _is_unanswered(bare, wire):
        return {**verdict, "verdict": "impossible", "reason": "answer-not-stored"}
    # What came last is often the only message nothing followed: it was then deleted.
    lost = not all(wire.bare.find(message) for message in rest)
    if lost and _is_deleted(logged, bare, wire):
        return {**verdict, "verdict": "impossible", "reason": "messages-not-stored"}
    return {**verdict, "verdict": "differs", "reason": _difference(logged, plain, wire)}


def _near(verdict: dict[str, Any], reason: str, answer: Answer) -> dict[str, Any]:
    """Return the verdict on a request that differs from an answer's by what is not stored."""
    where = {"session": answer.session, "response": answer.response}
    return {**verdict, "verdict": "impossible", "reason": reason, **where}


def _is_whole(logged: Sequence[Found], ours: Sequence[int]) -> bool:
    return len(logged) == len(ours) == shared(logged, ours)


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


def _is_unanswered(bare: Sequence[Found], wire: Wire) -> bool:
    """Return whether a later request goes on, with input, from one that nothing answered.

    An agent that was killed while an answer came has stored nothing of it. Of an answer that
    was deleted a fork may hold a copy, which no request was made for.
    """
    count = len(bare)
    return any(
        0 < count < len(later.messages)
        and (later.answer.forked or later.messages[count].get("role") == "user")
        and shared(bare, later.bare) == count
        for later in wire.requests
    )


def _is_deleted(logged: Messages, bare: Sequence[Found], wire: Wire) -> bool:
    """Return whether a request goes on from one of ours with messages that are gone.

    They are a user's, or one of the model's with a call that is nowhere any more.
    """
    gone = [
        place
        for place, message in enumerate(_without_marks(logged))
        if message.get("role") == "user" and json.dumps(message, sort_keys=True) not in wire.said
    ]
    kept = [found for place, found in enumerate(bare) if place not in gone]
    if gone and any(_is_whole(kept, ours.bare) for ours in wire.requests):
        return True
    for at in {shared(bare, ours.bare) for ours in wire.requests} - {0, len(logged)}:
        if set(_calls(logged[at : at + 1])) - wire.calls:
            return True
        if gone and gone[-1] >= at and logged[at].get("role") == "user":
            return True
    return False


def _calls(messages: Messages) -> Iterator[str]:
    """Yield the ids of the calls in a request's messages, on whichever wire it went."""
    for message in messages:
        if message.get("type") == "function_call":
            yield str(message.get("call_id"))
        for member in ("tool_calls", "content"):
            found = message.get(member)
            for call in found if isinstance(found, list) else ():
                if isinstance(call, dict) and call.get("type") in {"function", "tool_use"}:
                    yield str(call.get("id"))


def _difference(logged: Messages, plain: Sequence[Found], wire: Wire) -> str:
    """Return where the nearest of our requests first differs."""
    best, words = -1, "no converted response"
    for ours in wire.requests:
        at = shared(plain, ours.plain)
        if at > best:
            best = at
            theirs = json.dumps(logged[at], ensure_ascii=False) if at < len(logged) else "the end"
            own = ours.messages
            mine = json.dumps(own[at], ensure_ascii=False) if at < len(own) else "the end"
            words = (
                f"message {at} of {len(logged)}: logged {theirs[:300]}, "
                f"rebuilt for {ours.answer.response} {mine[:300]}"
            )
    return words
