"""Anthropic Messages as pi spells them. Spec: pi 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from agentsession.wire import media
from agentsession.wire._pi_messages import (
    REDACTED,
    REDACTED_KNOWN,
    SEE_IMAGE,
    Answered,
    Message,
    Release,
    Returned,
    Said,
    Thought,
    Words,
    parsed,
)
from agentsession.wire.origin import Target
from agentsession.wire.turns import is_text

_CACHED: Final = {"type": "ephemeral"}
_AFTER: Final = "(image attached after the tool results)"


def lower(messages: Sequence[Message], _target: Target, release: Release) -> list[dict[str, Any]]:
    """Return the messages of an Anthropic request, the last one marked for the cache."""
    found: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    after: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, Returned):
            results.append(_result(message, release))
            if _is_split(message, release):
                after += _split_off(message)
            continue
        _release(found, results, after)
        if isinstance(message, Said):
            found += _said(message)
        else:
            blocks = list(_answered(message, release))
            if blocks:
                found.append({"role": "assistant", "content": blocks})
    _release(found, results, after)
    _mark(found, release)
    return found


def _release(
    found: list[dict[str, Any]], results: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    if results:
        found.append({"role": "user", "content": [*results, *after]})
        results.clear()
        after.clear()


def _mark(found: list[dict[str, Any]], release: Release) -> None:
    """Mark the last message, a user's, for the cache."""
    if not found or found[-1]["role"] != "user":
        return
    last = found[-1]
    if isinstance(last["content"], list):
        last["content"][-1]["cache_control"] = _CACHED
    elif release >= (0, 51):
        last["content"] = [{"type": "text", "text": last["content"], "cache_control": _CACHED}]


def _said(message: Said) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        said = message.content
        return [{"role": "user", "content": said}] if said.strip() else []
    blocks = [_block(part) for part in message.content if not is_text(part) or part["text"].strip()]
    return [{"role": "user", "content": blocks}] if blocks else []


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if is_text(part):
        return {"type": "text", "text": part["text"]}
    return media.anthropic_part(part)


def _answered(message: Answered, release: Release) -> Iterator[dict[str, Any]]:
    for block in message.blocks:
        if isinstance(block, Words):
            if block.words.strip():
                yield {"type": "text", "text": block.words}
        elif isinstance(block, Thought):
            yield from _thought(block, release)
        else:
            called = parsed(block.piece.item.arguments)
            name = block.piece.item.name
            yield {"type": "tool_use", "id": block.id, "name": name, "input": called}


def _thought(block: Thought, release: Release) -> Iterator[dict[str, Any]]:
    if block.piece.origin.encrypted == REDACTED and release >= REDACTED_KNOWN:
        yield {"type": "redacted_thinking", "data": block.signature}
        return
    signed = bool(block.signature.strip())
    if not block.words.strip() and not (signed and release >= (0, 80)):
        return
    if signed:
        yield {"type": "thinking", "thinking": block.words, "signature": block.signature}
    else:
        yield {"type": "text", "text": block.words}


def _result(message: Returned, release: Release) -> dict[str, Any]:
    content: Any = "\n".join(message.texts)
    if _is_split(message, release):
        content = "\n".join(_held_places(message))
    elif message.images:
        content = [_block(part) for part in message.parts]
        if not message.texts:
            content.insert(0, {"type": "text", "text": SEE_IMAGE})
    return {
        "type": "tool_result",
        "tool_use_id": message.id,
        "content": content,
        "is_error": message.error,
    }


def _is_split(message: Returned, release: Release) -> bool:
    """Return whether a failed call's images go behind the results."""
    return bool(release >= (1, 3) and message.error and message.images)


def _held_places(message: Returned) -> Iterator[str]:
    """Yield a failed call's texts, with a note where images were."""
    last = ""
    for part in message.parts:
        words = part["text"] if is_text(part) else _AFTER
        if is_text(part) or last != _AFTER:
            yield words
        last = words


def _split_off(message: Returned) -> list[dict[str, Any]]:
    lead = f"Images from the error result of tool call {message.id} ({message.tool}):"
    return [{"type": "text", "text": lead}, *(_block(part) for part in message.images)]
