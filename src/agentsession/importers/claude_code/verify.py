"""Verify: the digests that Claude Code logged of its requests, computed again.

They are its own, over its own spelling of a request, and no ``request_hash``: a converted
response keeps the digest in its ``claude_code`` member. Spec: decision D10, claude-code 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentsession.errors import AgentSessionError, NoSession
from agentsession.importers.base import Source
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.requestlog import CannotRebuild, RequestLog

OK = "ok"
MISMATCH = "mismatch"
NO_DIGEST = "no_digest"
ERROR = "error"


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of one logged request's digest.

    Attributes:
        request: the request's id.
        outcome: ``ok``, ``mismatch``, ``no_digest`` or ``error``.
        recorded: the digest that was logged.
        rebuilt: the digest of the request as it is rebuilt from the files.
        message: why it cannot be rebuilt.
    """

    request: str
    outcome: str
    recorded: str = ""
    rebuilt: str = ""
    message: str = ""


def verify(importer: ClaudeCode, source: Source, session_id: str) -> Iterator[Verified]:
    """Yield, for each request that a session's files log, whether its digest is right.

    Raises:
        NoSession: when the source has no such session.
    """
    opened = importer.opened(source)
    conversation = opened.conversations.get(session_id)
    if conversation is None:
        raise NoSession(
            f'no session in the source has the id "{session_id}"', session_id=session_id
        )
    records = opened.records(conversation)
    own = {record.text("id") for record in records if record.type == "api-request"}
    for name in conversation.older:
        records += opened.records(opened.conversations[name])
    log = RequestLog(records)
    for request in log.requests.values():
        if request.id not in own:
            continue
        if not request.digest:
            yield Verified(request.id, NO_DIGEST)
            continue
        try:
            rebuilt = log.digest(request)
        except (CannotRebuild, AgentSessionError, RecursionError) as problem:
            yield Verified(request.id, ERROR, request.digest, message=str(problem))
            continue
        outcome = OK if rebuilt == request.digest else MISMATCH
        yield Verified(request.id, outcome, request.digest, rebuilt)
