"""Fidelity: what a recording's requests may differ in from what the files hold.

System prompts that are not stored are set aside, and so is what the recording itself cut: a
text of which only its length and hash were kept is compared by the hash. Spec: codex 2.2, 9
and 11, decision D2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from agentsession.importers.codex.lines import mapping, sequence, string
from agentsession.importers.replayed import CUT, hash_of, is_same_text

Messages = list[dict[str, Any]]

_HASHED: Final = frozenset({"chars", "sha256"})
_ENVIRONMENT: Final = "<environment_context>"
_PROMPTS: Final = (
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "You have exceeded the maximum number of tokens",
    "Start Summarization",
)
_ASIDE: Final = frozenset({"internal_chat_message_metadata_passthrough"})
_NAME_BASED: Final = re.compile(r"msg_[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-.*")
_MADE_ID: Final = re.compile(r"f?c?t?co_[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-.*")


def is_request(request: dict[str, Any]) -> bool:
    """Return whether a logged request is one that a response can answer: no summary's."""
    return request.get("kind") in {"main", "review", "notools"} and not _ends_in_prompt(request)


def is_summary(request: dict[str, Any]) -> bool:
    """Return whether a logged request asks for the summary of a compaction."""
    return request.get("kind") == "compaction" or _ends_in_prompt(request)


def _ends_in_prompt(request: dict[str, Any]) -> bool:
    last = messages(request)[-1:]
    words = "".join(_texts(last[0].get("content"))) if last else ""
    return words.startswith(_PROMPTS)


def messages(request: dict[str, Any]) -> Messages:
    """Return a logged request's messages, without a system prompt that is not stored."""
    body = mapping(request.get("body"))
    found = [mapping(item) for item in sequence(body.get("input") or body.get("messages"))]
    if found and found[0].get("role") == "system":
        return found[1:]
    if found and _NAME_BASED.fullmatch(string(found[0].get("id"))):
        # From 0.166 on the instructions are the first item, under an id that is not stored.
        return found[1:]
    return found


def without_environment(logged: Messages, ours: Messages) -> Messages:
    """Return a request without the environment context that 0.20 did not store."""
    if not logged or not ours:
        return logged
    begins = "".join(_texts(logged[0].get("content"))).startswith(_ENVIRONMENT)
    stored = "".join(_texts(ours[0].get("content"))).startswith(_ENVIRONMENT)
    return logged[1:] if begins and not stored else logged


def same(logged: Any, ours: Any) -> bool:
    """Return whether a logged value is ours."""
    if isinstance(logged, dict):
        if logged.keys() == _HASHED and isinstance(ours, str):
            return bool(hash_of(ours) == logged["sha256"])
        if not isinstance(ours, dict):
            return False
        if logged.get("type") == "additional_tools" == ours.get("type"):
            return logged.get("id") == ours.get("id")
        names = {name for name in (*logged, *ours) if _counts(name, logged, ours)}
        return all(
            name in logged and name in ours and same(logged[name], ours[name]) for name in names
        )
    if isinstance(logged, list):
        return (
            isinstance(ours, list)
            and len(logged) == len(ours)
            and all(same(one, other) for one, other in zip(logged, ours, strict=True))
        )
    if isinstance(logged, str) and isinstance(ours, str):
        return is_same_text(logged, ours)
    return bool(logged == ours)


def _counts(name: str, logged: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether a member has to be the same: not what the provider's own name decides."""
    if name in _ASIDE:
        return name in logged and name in ours
    # An output that was made up for the request has an id of nothing that is stored.
    return name != "id" or _MADE_ID.fullmatch(string(logged.get("id"))) is None


def is_cut_again(logged: Messages, ours: Messages) -> bool:
    """Return whether nothing differs but outputs that were cut once more. Spec: codex 8.1."""
    if len(logged) != len(ours):
        return False
    other = [(one, two) for one, two in zip(logged, ours, strict=True) if not same(one, two)]
    return bool(other) and all(_is_shorter(one, two) for one, two in other)


def _is_shorter(logged: dict[str, Any], ours: dict[str, Any]) -> bool:
    member = "output" if "output" in logged else "content"
    if "call_id" not in logged and "tool_call_id" not in logged:
        return False
    sent, stored = logged.get(member), ours.get(member)
    if not isinstance(sent, str) or not isinstance(stored, str):
        return False
    cut = CUT.fullmatch(sent)
    begins = (cut[1] if cut is not None else sent)[:100]
    return stored.startswith(begins) and same({**logged, member: ""}, {**ours, member: ""})


def goes_on(logged: Messages, ours: Messages) -> bool:
    """Return whether a request goes on, with input, from one that left no answer."""
    return (
        0 < len(logged) < len(ours)
        and ours[len(logged)].get("role") in {"user", "developer"}
        and same(logged, ours[: len(logged)])
    )


def difference(logged: Messages, ours: Messages) -> tuple[int, str]:
    """Return how many messages are the same, and in words where the first other one is."""
    at = 0
    while at < min(len(logged), len(ours)) and same(logged[at], ours[at]):
        at += 1
    theirs = json.dumps(logged[at], ensure_ascii=False)[:300] if at < len(logged) else "the end"
    mine = json.dumps(ours[at], ensure_ascii=False)[:300] if at < len(ours) else "the end"
    return at, f"message {at} of {len(logged)}: logged {theirs}, rebuilt {mine}"


def _texts(content: object) -> Sequence[str]:
    if isinstance(content, str):
        return [content]
    return [string(mapping(part).get("text")) for part in sequence(content)]
