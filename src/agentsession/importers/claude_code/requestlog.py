"""The request log: what each request held, as releases from 2.1.300 on write it down.

Spec: claude-code 4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession.canonical import canonical_json
from agentsession.errors import AgentSessionError
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.blocks import STORAGE_ONLY, content_blocks
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.rules import Rules

Message = dict[str, Any]

_RUN: Final = 48
_KEPT: Final = 8
_NOT_DIGESTED: Final = frozenset(
    {"metadata", "stream", "thread", "diagnostics", "safeguards", "data_flow"}
)
_SAFEGUARDS: Final = "safeguards"
"""What 2.1.300 and 2.1.301 digested with the rest."""


class CannotRebuild(Exception):
    """A logged request lacks something that the files do not have."""


@dataclass(frozen=True, slots=True)
class Request:
    """One logged request.

    Attributes:
        id: its id.
        record: its record.
        base: the earlier request that its list goes on from; empty for none.
        keep: how many messages of that list it keeps.
        tail: the hashes of the messages that follow.
        shape: the hash of its system prompt and tools.
        params: its other members.
        digest: the digest the log has of it; empty for none.
        model: the model it asks for.
    """

    id: str
    record: Record
    base: str
    keep: int
    tail: tuple[str, ...]
    shape: str
    params: dict[str, Any]
    digest: str

    @property
    def model(self) -> str:
        """The model it asks for; empty when it does not say."""
        found = self.params.get("model")
        return found if isinstance(found, str) else ""


class RequestLog:
    """The logged requests of one conversation.

    Args:
        records: the records of its files, and of others that messages may be found in.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.requests: dict[str, Request] = {}
        self.shapes: dict[str, Record] = {}
        self._blobs: dict[str, Record] = {}
        self._given: dict[str, Record] = {}
        self._spare: list[Record] = []
        self._found: dict[str, Message] = {}
        self._sources: list[Record] = []
        self._searched = 0
        self._lists: dict[str, list[str]] = {}
        for record in records:
            if record.type == names.REQUEST:
                request = _request(record)
                if request is not None:
                    self.requests.setdefault(request.id, request)
            elif record.type == names.SHAPE:
                self.shapes.setdefault(record.text("shapeHash"), record)
            elif record.type == names.BLOB:
                digest = record.text("hash")
                if self._blobs.setdefault(digest, record) is not record:
                    self._spare.append(record)
            elif record.is_tree:
                self._sources.append(record)
        if not self.requests:
            self._sources.clear()

    def __bool__(self) -> bool:
        return bool(self.requests)

    def hashes(self, request: Request) -> list[str]:
        """Return the hashes of a request's messages, in order. The list must not be changed.

        Raises:
            CannotRebuild: when a request it goes on from is not in the log.
        """
        known = self._lists.get(request.id)
        if known is not None:
            return known
        chain = [request]
        seen = {request.id}
        while chain[-1].base and chain[-1].base not in self._lists:
            base = self.requests.get(chain[-1].base)
            if base is None or base.id in seen:
                raise CannotRebuild(f"request {chain[-1].base} is not in the log")
            seen.add(base.id)
            chain.append(base)
        found: list[str] = []
        for step in reversed(chain):
            before = self._lists.get(step.base, found) if step.base else []
            if step.keep > len(before):
                raise CannotRebuild(f"request {step.base} has fewer than {step.keep} messages")
            found = [*before[: step.keep], *step.tail]
            if step is not request:
                continue
        self._lists[request.id] = found
        while len(self._lists) > _KEPT:
            del self._lists[next(iter(self._lists))]
        return found

    def message(self, digest: str) -> Message:
        """Return the message of a hash, its content as blocks without cache marks.

        Raises:
            CannotRebuild: when no record, and no run of records, is that message.
        """
        found = self._found.get(digest)
        if found is not None:
            return found
        blob = self._blobs.get(digest)
        if blob is not None:
            found = self._found[digest] = bare_message(blob.value("message"))
            self._given[digest] = blob
            return found
        self._search()
        try:
            return self._found[digest]
        except KeyError:
            raise CannotRebuild(f"no record is the message {digest[:16]}") from None

    def differing(self) -> Iterator[Record]:
        """Yield the logged messages that are others than the one that requests had.

        Its hash is theirs, and the records, or a message logged before, are what it is of.
        """
        for record in (*self._blobs.values(), *self._spare):
            digest = record.text("hash")
            found = self._found.get(digest)
            if found is None or self._given.get(digest) is record:
                continue
            if bare_message(record.value("message")) != found:
                yield record

    def _search(self) -> None:
        """Hash every message that the records, or runs of them, can be."""
        if self._searched:
            return
        self._searched = 1
        for message in _candidates(self._sources):
            try:
                self._found.setdefault(message_hash(message), message)
            except AgentSessionError:
                continue

    def shape(self, request: Request) -> dict[str, Any]:
        """Return the system prompt and the tools of a request.

        Raises:
            CannotRebuild: when they are not in the log.
        """
        record = self.shapes.get(request.shape)
        value = record.value("shape") if record is not None else None
        if not isinstance(value, dict):
            raise CannotRebuild(f"the shape {request.shape[:16]} is not in the log")
        return value

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request as it was sent, but for what its digest leaves out.

        Raises:
            CannotRebuild: when a part of it is not in the files.
        """
        messages = [self.message(digest) for digest in self.hashes(request)]
        body: dict[str, Any] = {
            **request.params,
            **self.shape(request),
            "messages": [
                {**message, "content": _copied(message["content"])} for message in messages
            ],
        }
        body["system"] = _copied(body.get("system") or [])
        body["tools"] = _copied(body.get("tools") or [])
        for mark in _listed(request.record.value("cacheControl")):
            _mark(body, mark)
        for name in _listed(request.record.value("withheld")):
            body.pop(str(name), None)
        return body

    def digest(self, request: Request) -> str:
        """Return the digest of a request as it is rebuilt.

        Raises:
            CannotRebuild: when a part of it is not in the files.
            CannotHash: when it has a number that JSON cannot say.
        """
        body = self.body(request)
        left = _NOT_DIGESTED
        if Rules.of(request.record.version).digests_safeguards:
            left = left - {_SAFEGUARDS}
        told = {name: value for name, value in body.items() if name not in left}
        return hashlib.sha256(canonical_json(told)).hexdigest()


def _request(record: Record) -> Request | None:
    base, keep, tail = record.value("base"), record.value("keep"), record.value("tail")
    params = record.value("params")
    name = record.text("id")
    if not name or not isinstance(tail, list):
        return None
    return Request(
        name,
        record,
        base if isinstance(base, str) else "",
        keep if isinstance(keep, int) and keep > 0 else 0,
        tuple(str(digest) for digest in tail),
        record.text("shapeHash"),
        params if isinstance(params, dict) else {},
        record.text("requestDigest"),
    )


def bare_message(value: object) -> Message:
    """Return a message with its content as blocks, and without cache marks."""
    if not isinstance(value, dict):
        return {"role": "", "content": []}
    return {**value, "content": content_blocks(value.get("content"))}


def message_hash(message: Message) -> str:
    """Return the hash of a message. Spec: claude-code 4, 2."""
    return hashlib.sha256(canonical_json(message)).hexdigest()


def _candidates(records: Sequence[Record]) -> Iterator[Message]:
    """Yield the messages that records are: answers, and runs of one role's records."""
    answers: dict[str, list[Record]] = {}
    run: list[Record] = []
    for record in records:
        if record.type not in (names.USER, names.ASSISTANT):
            continue
        if record.is_answer:
            answers.setdefault(record.message_id, []).append(record)
        if run and run[-1].type != record.type:
            yield from _runs(run)
            run = []
        run.append(record)
    yield from _runs(run)
    for group in answers.values():
        blocks: list[Any] = []
        for record in group:
            blocks += _bare(record)
            if len(group) > 1:
                yield {"role": "assistant", "content": list(blocks)}
        if len(group) == 1:
            yield {"role": "assistant", "content": blocks}


def _runs(run: Sequence[Record]) -> Iterator[Message]:
    """Yield the messages that neighbours, or some of them, make together.

    The blocks of one answer are told together, wherever they stand.
    """
    if all(r.is_answer and r.message_id == run[0].message_id for r in run):
        return
    role = names.ASSISTANT if run[0].is_answer else names.USER
    for start in range(len(run)):
        blocks: list[Any] = []
        for record in run[start : start + _RUN]:
            blocks += _bare(record)
            yield {"role": role, "content": list(blocks)}


def _bare(record: Record) -> list[Any]:
    found = content_blocks(record.message.get("content"))
    record.forget()
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _copied(value: Any) -> Any:
    """Return a list whose objects may be marked; what a damaged log has instead as it is."""
    if not isinstance(value, list):
        return value
    return [dict(one) if isinstance(one, dict) else one for one in value]


def _mark(body: dict[str, Any], mark: object) -> None:
    if not isinstance(mark, dict) or not isinstance(mark.get("path"), list):
        return
    at: Any = body
    for step in mark["path"]:
        try:
            at = at[step]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(at, dict):
        at["cache_control"] = mark.get("value")


__all__ = ["STORAGE_ONLY", "CannotRebuild", "Message", "Request", "RequestLog", "bare_message"]
