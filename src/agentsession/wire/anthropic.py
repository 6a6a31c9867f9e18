"""Anthropic Messages: the ``messages`` of a request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agentsession import text as json_text
from agentsession.errors import NotJSON
from agentsession.wire import media
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import DEFAULT, Profile, Wire
from agentsession.wire.turns import (
    ASSISTANT,
    TOOL,
    Call,
    Reasoning,
    Result,
    Text,
    Turn,
    is_text,
    turns,
)

_CACHED = {"type": "ephemeral"}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def anthropic_messages(
    pieces: Sequence[Piece], target: Target | None = None, profile: Profile = DEFAULT
) -> list[dict[str, Any]]:
    """Return the messages an Anthropic request holds for these items.

    The wire has two roles, wants them to take turns and refuses empty texts: neighbours
    of one role are one message with all their blocks, and empty texts are left out. System
    messages are left out too; they belong to the request's ``system`` member.
    """
    target = target or Target()
    spelled = profile.spell(Wire.ANTHROPIC, pieces, target)
    if spelled is not None:
        return spelled
    spoken = [
        (role, blocks)
        for turn in turns(pieces, target, profile, media_fits=True, space="anthropic")
        for role, blocks in [_blocks(turn, profile)]
        if blocks or _is_sent_empty(turn, profile)
    ]
    if profile.cache_control:
        for _, blocks in spoken[-2:]:
            _mark(blocks, target, profile)
    messages: list[dict[str, Any]] = []
    for role, blocks in spoken:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(blocks)
        else:
            messages.append({"role": role, "content": blocks})
    _trim_prefill(messages)
    return messages


def _is_sent_empty(turn: Turn, profile: Profile) -> bool:
    """Return whether a message is sent of which nothing is left.

    With some profiles that is an assistant's that holds reasoning with words.
    """
    if profile.nothing_sent and turn.role in {ASSISTANT, "user"}:
        return True
    return profile.emptied_sent and any(
        isinstance(part, Reasoning) and part.text for part in turn.content
    )


def _mark(blocks: list[dict[str, Any]], target: Target, profile: Profile) -> None:
    """Mark a message's last block for the cache; thinking cannot be marked."""
    if not blocks:
        return
    if blocks[-1]["type"] not in _THINKING:
        blocks[-1]["cache_control"] = _CACHED
    elif profile.mark_for_signature and target.provider != "anthropic":
        blocks.pop()


def _trim_prefill(messages: list[dict[str, Any]]) -> None:
    # The wire refuses an assistant's last text that ends in white space.
    if messages and messages[-1]["role"] == ASSISTANT and messages[-1]["content"]:
        last = messages[-1]["content"][-1]
        if last["type"] == "text":
            last["text"] = last["text"].strip()


def _blocks(turn: Turn, profile: Profile) -> tuple[str, list[dict[str, Any]]]:
    if turn.role == ASSISTANT:
        return ASSISTANT, list(_assistant(turn, profile))
    if turn.role == TOOL:
        return "user", [_result(result) for result in turn.content]
    if turn.role != "user":
        return turn.role, []
    return "user", [
        {"type": "text", "text": part["text"]} if is_text(part) else media.anthropic_part(part)
        for part in turn.content
        if part.get("text") != ""
    ]


def _assistant(turn: Turn, profile: Profile) -> Iterator[dict[str, Any]]:
    for part in turn.content:
        if isinstance(part, Text):
            if part.text or (part.named and profile.nothing_sent and profile.empty_kept):
                yield {"type": "text", "text": part.text}
        elif isinstance(part, Reasoning):
            if part.text or profile.blank_reasoning:
                yield from _thinking(part)
        elif isinstance(part, Call):
            item = part.piece.item
            yield {
                "type": "tool_use",
                "id": _call_id(item.call_id),
                "name": item.name,
                "input": _input(item.arguments),
            }


def _thinking(part: Reasoning) -> Iterator[dict[str, Any]]:
    secret = part.piece.item.get("encrypted_content")
    if not part.own or not isinstance(secret, str) or not secret:
        return
    if part.piece.origin.encrypted.endswith("redactedData"):
        yield {"type": "redacted_thinking", "data": secret}
    else:
        yield {"type": "thinking", "thinking": part.text, "signature": secret}


def _call_id(call_id: str) -> str:
    # The wire refuses ids with any other character; other providers give such ids.
    return _NOT_IN_IDS.sub("_", call_id)


def _input(arguments: str) -> Any:
    try:
        return json_text.parse(arguments)
    except NotJSON:
        return arguments


def _result(result: Result) -> dict[str, Any]:
    item = result.piece.item
    content: Any = item.output
    if result.said is not None:
        content = result.said
    elif isinstance(content, list):
        content = [
            {"type": "text", "text": part["text"]}
            if is_text(part)
            else media.anthropic_part(part, titled=False)
            for part in result.parts
        ]
    block = {"type": "tool_result", "tool_use_id": _call_id(item.call_id), "content": content}
    return {**block, "is_error": True} if result.piece.origin.error else block
