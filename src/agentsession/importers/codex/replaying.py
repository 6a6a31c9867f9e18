"""Replaying: the requests of a recording against what its converted threads say was sent.

Spec: codex 11, decision D2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from agentsession.entries import CompactionEntry, ResponseEntry
from agentsession.importers.codex import fidelity
from agentsession.importers.codex.fidelity import Messages
from agentsession.importers.codex.importer import Codex
from agentsession.importers.codex.lines import mapping, string
from agentsession.importers.codex.profiles import profile_of_response
from agentsession.importers.codex.writer import NAMESPACE
from agentsession.importers.replayed import converted_sessions, logged_requests, response_verdict
from agentsession.record_entries import CustomEntry
from agentsession.session import Session
from agentsession.wire import (
    Piece,
    Target,
    chat_messages,
    pieces,
    request_pieces,
    responses_input,
    target_of,
)
from agentsession.wire.profiles_codex import CodexProfile

_CHAT: Final = "/chat/completions"
_REMOTE: Final = "/responses/compact"
_LOST: Final = "history-not-stored"


@dataclass(slots=True)
class Answer:
    """A converted response, and the logged requests it answers.

    Attributes:
        session, response: which response.
        pieces, target, profile: its request.
        own: what the model made, and what stands among it.
        note: why it may answer none; empty when it has to answer one.
        plain: its file is of the first generation, which stored no compaction.
        backed: the numbers of the requests.
    """

    session: str
    response: str
    pieces: tuple[Piece, ...]
    own: tuple[Piece, ...]
    target: Target
    profile: CodexProfile
    note: str
    plain: bool = False
    backed: list[int] = field(default_factory=list)
    lowered: dict[bool, Messages] = field(default_factory=dict)

    def on(self, *, chat: bool) -> Messages:
        """Return the messages of its request on a wire."""
        if chat not in self.lowered:
            self.lowered[chat] = self._lower(self.pieces, chat=chat)
        return self.lowered[chat]

    def as_stored(self) -> Answer:
        """Return it with outputs as they are stored, whatever tools a request offers."""
        return replace(self, profile=replace(self.profile, freeform=False), lowered={})

    def within(self, logged: Messages, *, chat: bool) -> bool:
        """Return whether a request is its own with some of what answered it."""
        beyond = len(logged) - len(self.on(chat=chat))
        if not 0 < beyond <= len(self.own):
            return False
        return _is(logged, self._lower((*self.pieces, *self.own)[: len(logged)], chat=chat))

    def follows(self, base: Answer, logged: Messages) -> bool:
        """Return whether its request is another's, what answered that, and what was sent.

        That is how a request reads whose server holds the rest. What was sent may stand among
        what the other's answer made, as the file has it.
        """
        begun = len(base.pieces)
        if self.session != base.session or self.pieces[:begun] != base.pieces:
            return False
        sent = [p for p in self.pieces[begun:] if p.origin.message != base.response]
        return _is(logged, self._lower(sent, chat=False))

    def _lower(self, pieces: Sequence[Piece], *, chat: bool) -> Messages:
        lower = chat_messages if chat else responses_input
        return lower(pieces, self.target, self.profile)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict on the response."""
        note = "" if self.backed else self.note
        return response_verdict(self.session, self.response, self.backed, note)


def sessions(place: Path) -> Iterator[Session]:
    """Return the converted threads at a place."""
    return converted_sessions(Codex(), place)


def replay(recording: Path) -> dict[str, Any]:
    """Return the verdict on every request and every converted response of a recording.

    Requests for a summary are told of apart: they end in a prompt that is not stored, and what
    answers them is no response but a compaction. Spec: decision D4.
    """
    converted = list(sessions(recording))
    answers = [
        _answer(session, entry)
        for session in converted
        for entry in session.entries
        if isinstance(entry, ResponseEntry)
    ]
    threads = frozenset(session.id for session in converted)
    logged = [mapping(request) for request in logged_requests(recording)]
    requests = [_judged(r, answers, threads) for r in logged if fidelity.is_request(r)]
    compacted = [one for session in converted for one in _compacted(session)]
    return {
        "recording": recording.name,
        "requests": requests,
        "responses": [answer.to_dict() for answer in answers],
        "summaries": [_summarised(r, compacted, answers) for r in logged if fidelity.is_summary(r)],
    }


def _answer(session: Session, entry: ResponseEntry) -> Answer:
    native = mapping(entry.unknown.get(NAMESPACE))
    note = "uncertain" if native.get("uncertain") is True else ""
    if string(native.get("history")):
        note = _LOST
    path = session.path(entry.id)
    sent, after = request_pieces(path), pieces(path)
    return Answer(
        session.id,
        entry.response_id,
        sent,
        after[len(sent) :],
        target_of(entry),
        profile_of_response(entry),
        note,
        plain=not string(native.get("release")),
    )


def _compacted(session: Session) -> Iterator[Answer]:
    """What stood in the context where each compaction was asked for."""
    for entry in session.entries:
        native = entry.unknown.get(NAMESPACE)
        if isinstance(entry, CustomEntry) and isinstance(entry.data, dict):
            native = entry.data if "notice" in entry.data else None
        elif not isinstance(entry, CompactionEntry):
            continue
        path = session.path(entry.parent) if entry.parent and native is not None else []
        last = next((e for e in reversed(path) if isinstance(e, ResponseEntry)), None)
        if last is None:
            continue
        note = _LOST if string(mapping(last.unknown.get(NAMESPACE)).get("history")) else ""
        sent, profile = pieces(path), profile_of_response(last)
        yield Answer(session.id, entry.id, sent, (), target_of(last), profile, note)


def _summarised(
    request: dict[str, Any], compacted: Sequence[Answer], answers: Sequence[Answer]
) -> dict[str, Any]:
    """The verdict on a request for a summary, its prompt set aside where it ends in one."""
    path = string(request.get("path"))
    chat = path.partition("?")[0].endswith(_CHAT)
    logged = fidelity.messages(request)
    if not path.partition("?")[0].endswith(_REMOTE):
        logged = logged[:-1]
    verdict = {"n": request["n"], "path": path}
    if not mapping(request.get("body")).get("tools"):
        # Outputs are spelled for the tools of a request, and this one has none.
        compacted = [one.as_stored() for one in compacted]
    for one in compacted:
        if _is(logged, one.on(chat=chat)):
            where = {"session": one.session, "compaction": one.response}
            return {**verdict, "verdict": "rebuilt", **where}
    if any(answer.note == _LOST for answer in answers):
        return {**verdict, "verdict": "impossible", "reason": _LOST}
    if any(fidelity.goes_on(logged, answer.on(chat=chat)) for answer in answers):
        # A compaction that failed leaves no line.
        return {**verdict, "verdict": "impossible", "reason": "answer-not-stored"}
    return {**verdict, "verdict": "differs", "reason": _difference(logged, compacted, chat=chat)}


def _judged(
    request: dict[str, Any], answers: Sequence[Answer], threads: frozenset[str]
) -> dict[str, Any]:
    path = string(request.get("path"))
    verdict = {"n": request["n"], "path": path}
    chat = path.partition("?")[0].endswith(_CHAT)
    logged = fidelity.messages(request)
    before = _chained_to(request)
    if not before:
        found = [answer for answer in answers if _is(logged, answer.on(chat=chat))]
    else:
        bases = [answer for answer in answers if answer.response == before]
        found = [
            answer for answer in answers if any(answer.follows(base, logged) for base in bases)
        ]
    for answer in found:
        answer.backed.append(request["n"])
    if found:
        where = {"session": found[0].session, "response": found[0].response}
        return {**verdict, "verdict": "rebuilt", **where}
    reason = _reason(request, logged, answers, threads)
    if reason:
        return {**verdict, "verdict": "impossible", "reason": reason}
    return {**verdict, "verdict": "differs", "reason": _difference(logged, answers, chat=chat)}


def _reason(
    request: dict[str, Any], logged: Messages, answers: Sequence[Answer], threads: frozenset[str]
) -> str:
    """Why the files cannot say what a request held; empty when they should."""
    chat = string(request.get("path")).partition("?")[0].endswith(_CHAT)
    before = _chained_to(request)
    for answer in answers:
        ours = answer.on(chat=chat)
        if fidelity.is_cut_again(fidelity.without_environment(logged, ours), ours):
            answer.note = "output-cut-again"
            return answer.note
    if before and _held_unknown(logged, before, answers):
        return "answer-not-stored"
    if any(answer.within(logged, chat=chat) for answer in answers):
        return "border-not-stored"
    if any(fidelity.goes_on(logged, answer.on(chat=chat)) for answer in answers):
        return "answer-not-stored"
    lost = _lost_roles(logged, answers, chat=chat)
    if "assistant" in lost and any(answer.note == _LOST or answer.plain for answer in answers):
        return _LOST
    key = string(mapping(request.get("body")).get("prompt_cache_key"))
    if key and key not in threads:
        return "thread-not-stored"
    return "messages-not-stored" if "user" in lost else ""


def _chained_to(request: dict[str, Any]) -> str:
    """The answer whose request, and itself, a server put before this one; empty for none.

    0.8 sent only what was new, and named the answer that it goes on from.
    """
    return string(mapping(request.get("body")).get("previous_response_id"))


def _held_unknown(logged: Messages, before: str, answers: Sequence[Answer]) -> bool:
    """Whether a request held what a call of an answer returned that no thread has.

    What it is the request of, but for that, is told so.
    """
    known = {m.get("call_id") for answer in answers for m in answer.on(chat=False)}
    rest = [m for m in logged if "call_id" not in m or m["call_id"] in known]
    if len(rest) == len(logged):
        return False
    for answer in answers:
        if any(answer.follows(base, rest) for base in answers if base.response == before):
            answer.note = "answer-not-stored"
    return True


def _difference(logged: Messages, answers: Sequence[Answer], *, chat: bool) -> str:
    """Where the nearest of our requests first differs."""
    nearest, words = -1, "no converted response"
    for answer in answers:
        ours = answer.on(chat=chat)
        at, told = fidelity.difference(fidelity.without_environment(logged, ours), ours)
        if at > nearest:
            nearest, words = at, f"{told} for {answer.response}"
    return words


def _is(logged: Messages, ours: Messages) -> bool:
    return fidelity.same(fidelity.without_environment(logged, ours), ours)


def _lost_roles(logged: Messages, answers: Sequence[Answer], *, chat: bool) -> set[str]:
    """Who said the messages of a request that no thread has."""
    known = [message for answer in answers for message in answer.on(chat=chat)]
    return {
        string(message.get("role"))
        for message in logged
        if not any(fidelity.same(message, other) for other in known)
    }
