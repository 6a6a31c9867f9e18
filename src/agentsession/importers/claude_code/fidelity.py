"""Fidelity: recordings of Claude Code against what their converted sessions say was sent.

Requests are compared block by block: cache marks, the ends of lines behind a user's texts and
the borders between neighbours of one role do not count. Texts that a release put into a
request by itself, and did not store, are set aside; how many is part of the verdict. A
request that the agent logged itself is rebuilt a second time from that log, and its digest
compared.

Spec: decisions D2 and D10, claude-code 4, 5.5.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentsession.entries import ResponseEntry
from agentsession.importers.claude_code.blocks import Block, content_blocks
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.verify import verify
from agentsession.importers.replayed import (
    converted_sessions,
    logged_requests,
    response_verdict,
    same,
)
from agentsession.session import Session
from agentsession.wire import request_pieces, target_of
from agentsession.wire.profiles_claude_code import (
    ClaudeCodeProfile,
    claude_code_messages,
    claude_code_profile,
)

Spoken = tuple[str, Block]

_PRINTED: Final = "<local-command-stdout>"
_COMMAND: Final = ("Caveat: The messages below were generated", "<command-name>")
_TAKEN_IN: Final = "The user sent the following message: "
_REMINDER: Final = "<system-reminder>"
_CONTINUE: Final = ("Output token limit hit", "Your response was cut off because it exceeded")
_SUMMARY: Final = "This session is being continued from a previous conversation"
_NOTICE: Final = "[SYSTEM NOTIFICATION"
_BARE: Final = (
    "This is a reminder that your todo list",
    "The TodoWrite tool hasn't been used",
    "Plan mode is active",
    "Called the ",
    "Result of calling the ",
    "Note: ",
    "Contents of ",
)


def profile_of_response(response: ResponseEntry) -> ClaudeCodeProfile:
    """Return how the release that sent a response's request spelled it."""
    native = response.unknown.get("claude_code")
    release = native.get("release") if isinstance(native, dict) else ""
    return claude_code_profile(release if isinstance(release, str) else "")


def sessions(place: Path) -> Iterator[Session]:
    """Return the converted sessions of a directory."""
    return converted_sessions(ClaudeCode(), place)


@dataclass(slots=True)
class Answer:
    """A converted response, and the logged requests that its context is.

    Attributes:
        session, response: which response.
        said: its request, as it is rebuilt.
        note: why the request that led to it cannot be rebuilt; empty when it can.
        backed: the numbers of the requests.
    """

    session: str
    response: str
    said: list[Spoken]
    note: str = ""
    backed: list[int] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict on the response."""
        note = "" if self.backed else self.note
        return response_verdict(self.session, self.response, self.backed, note)


def replay(recording: Path) -> dict[str, Any]:
    """Return the verdict on a recording's requests and on every converted response.

    Judged are the requests of the main loop and of agents, and whatever else led to an answer
    that is stored: the agents that a release starts to warm its caches up look like helpers to
    a server. ``unjudged`` counts the others, which leave nothing in the log, by their kind.
    """
    answers = list(_answers(recording))
    stored = {answer.response for answer in answers}
    requests = []
    unjudged: Counter[str] = Counter()
    for request in logged_requests(recording):
        is_answered = _answer_id(request) in stored
        if is_answered or request.get("kind") == "main":
            requests.append({**_judge(request, answers), "answered": is_answered})
        else:
            unjudged[str(request.get("kind"))] += 1
    return {
        "recording": recording.name,
        "requests": requests,
        "responses": [answer.to_dict() for answer in answers],
        "unjudged": dict(sorted(unjudged.items())),
        "digests": _digests(recording),
    }


def _answers(recording: Path) -> Iterator[Answer]:
    for session in sessions(recording):
        for entry in session.entries:
            if isinstance(entry, ResponseEntry):
                messages = claude_code_messages(
                    request_pieces(session.path(entry.id)),
                    target_of(entry),
                    profile_of_response(entry),
                )
                name = entry.response_id or entry.id
                yield Answer(session.id, name, spoken(messages))


def _digests(recording: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    importer = ClaudeCode()
    for source in importer.find([recording]):
        for native in importer.sessions(source):
            for result in verify(importer, source, native.id):
                found[result.outcome] = found.get(result.outcome, 0) + 1
    return found


def _answer_id(request: dict[str, Any]) -> str:
    """The id that the recording server gave the answer to a request."""
    return f"msg_{request['n']:04d}"


def _judge(request: dict[str, Any], answers: Sequence[Answer]) -> dict[str, Any]:
    """The verdict on a request: the context of its own answer, where that is stored."""
    number = request["n"]
    verdict = {"n": number, "kind": str(request.get("kind")), "path": request["path"]}
    logged = spoken(request["body"].get("messages") or [])
    own = [answer for answer in answers if answer.response == _answer_id(request)]
    best: tuple[int, Answer] | None = None
    exact = [answer for answer in own or answers if answer.said == logged]
    for answer in exact or own or answers:
        aside = compare(logged, answer.said)
        if aside is None:
            continue
        answer.backed.append(number)
        if best is None or aside < best[0]:
            best = aside, answer
    if best is not None:
        where = {"session": best[1].session, "response": best[1].response}
        return {**verdict, "verdict": "rebuilt", "set_aside": best[0], **where}
    reason = _reason(logged, own, answers)
    if not reason:
        return {**verdict, "verdict": "differs", "reason": _difference(logged, own or answers)}
    for answer in own:
        answer.note = reason
    return {**verdict, "verdict": "impossible", "reason": reason}


def spoken(messages: Sequence[dict[str, Any]]) -> list[Spoken]:
    """Return messages as blocks with their roles."""
    return [
        (str(message.get("role")), block)
        for message in messages
        for block in content_blocks(message.get("content"))
    ]


def compare(logged: Sequence[Spoken], ours: Sequence[Spoken]) -> int | None:
    """Return how many injected texts a logged request had beside ours; ``None`` when it is another.

    Args:
        logged: the request as a server received it.
        ours: the request as it is rebuilt.
    """
    pool: list[str] = []
    waiting: list[str] = []
    aside = at = 0
    for role, block in logged:
        while at < len(ours) and not _same(role, block, ours[at], pool):
            words = _words(ours[at])
            if words is None or not _may_wait(words, role, block):
                break
            waiting.append(words)
            at += 1
        if at < len(ours) and _same(role, block, ours[at], pool):
            at += 1
            continue
        if not _is_injected(role, block):
            return None
        aside += 1
        pool.append(str(block.get("text")))
    for spoken_block in ours[at:]:
        words = _words(spoken_block)
        if words is None:
            return None
        waiting.append(words)
    if not all(_is_inside(words, pool) for words in waiting):
        return None
    return aside + sum(1 for words in pool if words.startswith("\n"))


def _may_wait(words: str, role: str, block: Block) -> bool:
    """Whether a user's text of ours can stand in an injected one that comes later."""
    return words.startswith(_REMINDER) or not _is_injected(role, block)


def _words(spoken_block: Spoken) -> str | None:
    role, block = spoken_block
    if role not in ("user", "system") or block.get("type") != "text":
        return None
    return str(block.get("text"))


def _is_inside(words: str, pool: Sequence[str]) -> bool:
    core = words.removeprefix(_REMINDER).removesuffix("</system-reminder>").strip()
    # Of a text whose wording is derived only the ingredients were on the wire.
    return words.startswith(_REMINDER) or any(core in text for text in pool)


def _is_injected(role: str, block: Block) -> bool:
    if role == "system":
        return True
    words = block.get("text")
    if role != "user" or block.get("type") != "text" or not isinstance(words, str):
        return False
    return words.startswith((_REMINDER, *_BARE))


def _same(role: str, block: Block, ours: Spoken, pool: list[str]) -> bool:
    our_role, our_block = ours
    if role != our_role or block.get("type") != our_block.get("type"):
        return False
    if block.get("type") == "text":
        if role == "assistant":
            return same(block, our_block)
        one, other = str(block.get("text")), str(our_block.get("text"))
        return same(one.rstrip("\n"), other.rstrip("\n")) or one.strip() == other.strip()
    if block.get("type") == "tool_result":
        return _same_result(block, our_block, pool)
    return same(block, our_block)


def _same_result(block: Block, ours: Block, pool: list[str]) -> bool:
    if {**block, "content": 0} != {**ours, "content": 0}:
        return False
    sent, stored = _flat(block.get("content")), _flat(ours.get("content"))
    if same(sent, stored):
        return True
    if not isinstance(sent, str) or not isinstance(stored, str):
        return False
    core = stored.strip()
    rest = sent.strip()
    added = rest[len(core) :]
    if not rest.startswith(core) or not any(told in added for told in (_REMINDER, _TAKEN_IN)):
        return False
    if added not in pool:
        pool.append(added)
    return True


def _flat(content: Any) -> Any:
    if content is None:
        return ""
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" for part in content
    ):
        return [str(part.get("text")) for part in content]
    return content


# What cannot be rebuilt.


def _reason(logged: Sequence[Spoken], own: Sequence[Answer], answers: Sequence[Answer]) -> str:
    """Why the files cannot say what a request held; empty when they should.

    Args:
        logged: the request.
        own: the converted responses that answered it.
        answers: all of them.
    """

    def is_ours(kept: Callable[[Sequence[Spoken]], list[Spoken]], *, both: bool = False) -> bool:
        rest = kept(logged)
        return len(rest) < len(logged) and any(
            compare(rest, kept(answer.said) if both else answer.said) is not None
            for answer in own or answers
        )

    if is_ours(_once):
        return "first-round-repeated"
    if is_ours(_printed_once):
        return "command-output-repeated"
    if any(_is_told(one, _PRINTED) for one in logged) and any(
        compare(logged, _printed_alone(answer.said)) is not None for answer in own
    ):
        return "command-not-sent"
    if is_ours(_not_continued, both=True):
        return "continuation-not-stored"
    if not own:
        return "answer-not-stored"
    if is_ours(_without_prompt):
        return "prompt-not-stored"
    if any(_is_told(one, _SUMMARY) for one in logged) and not any(
        _is_told(one, _SUMMARY) for answer in own for one in answer.said
    ):
        return "summary-not-stored"
    if is_ours(_without_media):
        return "mentioned-image-not-stored"
    if any(_NOTICE in str(block.get("text")) for _, block in logged):
        return "notification-wrapper-not-stored"
    return ""


def _is_told(spoken_block: Spoken, beginning: str | tuple[str, ...]) -> bool:
    """Whether a block is a user's text that begins in some way."""
    role, block = spoken_block
    return role == "user" and str(block.get("text")).startswith(beginning)


def _printed_once(logged: Sequence[Spoken]) -> list[Spoken]:
    """A request without what a local command printed where it holds that twice in a row."""
    return [
        one
        for at, one in enumerate(logged)
        if not (at and one == logged[at - 1] and _is_told(one, _PRINTED))
    ]


def _printed_alone(said: Sequence[Spoken]) -> list[Spoken]:
    """A request without the commands whose output it holds, and what is said about them."""
    return [one for one in said if not _is_told(one, _COMMAND)]


def _not_continued(logged: Sequence[Spoken]) -> list[Spoken]:
    """A request without the prompts by which the program had cut answers go on."""
    return [one for one in logged if not _is_told(one, _CONTINUE)]


def _without_prompt(logged: Sequence[Spoken]) -> list[Spoken]:
    """A request without the words that it begins with."""
    at = 0
    while at < len(logged) and _is_told(logged[at], ""):
        at += 1
    return list(logged[at:])


def _without_media(logged: Sequence[Spoken]) -> list[Spoken]:
    return [one for one in logged if one[1].get("type") not in ("image", "document")]


def _once(logged: Sequence[Spoken]) -> list[Spoken]:
    """A request without calls and results, and what was said with them, that it holds twice."""
    seen: set[str] = set()
    kept: list[Spoken] = []
    for role, block in logged:
        told = json.dumps([role, _bare_result(block)], sort_keys=True)
        if told in seen and (role == "assistant" or block.get("type") == "tool_result"):
            continue
        seen.add(told)
        kept.append((role, block))
    return kept


def _bare_result(block: Block) -> Block:
    if block.get("type") != "tool_result":
        return block
    return {"type": "tool_result", "tool_use_id": block.get("tool_use_id")}


def _difference(logged: Sequence[Spoken], answers: Sequence[Answer]) -> str:
    """Return where the nearest of our requests first differs."""
    best, words = -1, "no converted response"
    for answer in answers:
        at = mine = 0
        while at < len(logged) and mine < len(answer.said):
            role, block = logged[at]
            if _same(role, block, answer.said[mine], []):
                mine += 1
            elif not _is_injected(role, block):
                break
            at += 1
        if mine > best:
            best = mine
            theirs = json.dumps(logged[at], ensure_ascii=False) if at < len(logged) else "the end"
            own = answer.said[mine] if mine < len(answer.said) else "the end"
            told = json.dumps(own, ensure_ascii=False)
            words = f"block {at}: logged {theirs[:300]}, rebuilt for {answer.response} {told[:300]}"
    return words


__all__ = ["compare", "profile_of_response", "replay", "sessions", "spoken"]
