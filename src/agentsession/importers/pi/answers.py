"""Answers: what an assistant's message says of its model call, as a response entry.

Spec: pi 4, 7, format 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentsession.importers.drafting import Node
from agentsession.importers.numbers import count
from agentsession.importers.pi.evidence import Release
from agentsession.importers.pi.lowering import call_id
from agentsession.importers.pi.records import RESULT, USER, objects, string
from agentsession.importers.pi.settings import IMAGES, NAMESPACE
from agentsession.importers.pi.times import of, of_millis
from agentsession.importers.pi.transcript import Native
from agentsession.importers.pi.usage import is_counted, usage_of
from agentsession.importers.telling import given
from agentsession.timestamp import Timestamp
from agentsession.wire.profiles_pi import OFF, silences

_TOLD: Final = frozenset({"role", "content", "provider", "model", "responseId"})
_STATUS: Final = re.compile(r"\s*([1-5][0-9]{2})\b")
_ABORTED: Final = "This operation was aborted"
"""The error some releases keep in place of the mark of an abort."""
_MILLI: Final = 1_000_000


def made_request(entry: Native) -> bool:
    """Return whether a model was called: not for the mark an abort within a tool leaves.

    Spec: pi 7.
    """
    message = entry.record.message
    stopped = string(message.get("stopReason"))
    if stopped == "error" and message.get("errorMessage") == _ABORTED:
        stopped = "aborted"
    if stopped != "aborted" or message.get("content"):
        return True
    if is_counted(message.get("usage")) or message.get("responseId"):
        return True
    above = entry.parent
    if above is None or above.record.role == RESULT:
        return above is None
    # What the user had said meanwhile is delivered before the mark.
    while above is not None and above.record.role == USER:
        above = above.parent
    return above is None or not _was_aborted(above)


def _was_aborted(entry: Native) -> bool:
    """Return whether an entry is the result of a tool that was aborted."""
    message = entry.record.message
    if entry.record.role != RESULT or message.get("isError") is not True:
        return False
    texts = [string(part.get("text")) for part in objects(message.get("content"))]
    return bool(texts) and texts[-1].endswith("aborted")


def response_of(
    entry: Native, name: str, release: Release, level: str, *, images: bool = True
) -> dict[str, Any]:
    """Return the members of the response entry of a message that answers a request.

    Args:
        entry: the message.
        name: its name.
        release: the release that sent the request.
        level: how hard the model was to think, in pi's words; empty when nothing said so.
        images: whether the model takes images, as far as it is known.
    """
    message = entry.record.message
    status, incomplete, error = _ended(message)
    native = {n: v for n, v in message.items() if n not in _TOLD}
    native["message"] = entry.name
    if silences(release, string(message.get("api")), string(message.get("model")), level or OFF):
        # Nothing else of the request says so.
        native["thinkingLevel"] = OFF
    if not images:
        native[IMAGES] = False
    native["release"] = ".".join(str(number) for number in release)
    return {
        "response_id": name,
        **given(model=string(message.get("model"))),
        "status": status,
        **given(
            usage=usage_of(message.get("usage")),
            incomplete=incomplete,
            error=error,
            latency_ms=count(message.get("durationMs")),
        ),
        NAMESPACE: native,
        **given(provider=string(message.get("provider"))),
    }


def _ended(
    message: dict[str, Any],
) -> tuple[str, dict[str, Any] | None, dict[str, Any] | None]:
    """Return a message's status, what it lacks, and its error. Spec: format 5.7."""
    reason = string(message.get("stopReason"))
    words = string(message.get("errorMessage"))
    if reason == "aborted":
        return "incomplete", {"reason": "aborted"}, None
    if reason == "error":
        code = _STATUS.match(words)
        return "failed", None, {"code": code[1] if code else "error", "message": words or "error"}
    if reason == "length":
        return "incomplete", {"reason": "max_output_tokens"}, None
    return "completed", None, None


def dispatch_of(
    entry: Native, node: Node, items: Mapping[str, str | None], ts: str
) -> tuple[dict[str, Any], str] | None:
    """Return the members of the dispatch of the call a result answers, and when it began.

    That is the result's end less its duration.

    ``None`` where no duration was recorded, or the call is not above.

    Args:
        entry: the result.
        node: where it is to stand.
        items: by entry, the id of the call that it holds; ``None`` for what a user said.
        ts: when it was written.
    """
    message = entry.record.message
    duration = count(message.get("durationMs"))
    call = call_id(string(message.get("toolCallId")))
    ended = of_millis(message.get("timestamp")) or of(ts)
    if "durationMs" not in message or not call or ended is None:
        return None
    at: Node | None = node
    while at is not None and at.entry_id:
        held = items.get(at.entry_id, "")
        if held is None:
            return None
        if held == call:
            began = max(ended.nanoseconds - duration * _MILLI, 0)
            told = {"call_id": call, "target": at.entry_id}
            return told, Timestamp.from_nanoseconds(began).text
        at = at.parent
    return None
