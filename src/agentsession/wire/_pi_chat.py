"""Chat completions as pi spells them. Spec: pi 6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsession.wire._pi_messages import (
    FIELDS,
    LEAD,
    NO_OUTPUT,
    SEE_IMAGE,
    Answered,
    Called,
    Message,
    Release,
    Returned,
    Said,
    Thought,
    Words,
    image_url,
    parsed,
)
from agentsession.wire.origin import Target
from agentsession.wire.turns import is_text


def lower(messages: Sequence[Message], target: Target, release: Release) -> list[dict[str, Any]]:
    """Return the messages of a chat-completions request."""
    found: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    for message in messages:
        if not isinstance(message, Returned):
            _release(found, held)
        if isinstance(message, Said):
            found += _said(message, release)
        elif isinstance(message, Answered):
            found += _answered(message, target, release)
        else:
            content = _output(message, release)
            found.append({"role": "tool", "content": content, "tool_call_id": message.id})
            held += [_image(part) for part in message.images]
            if release < (0, 50):
                _release(found, held)
    _release(found, held)
    return found


def _release(found: list[dict[str, Any]], held: list[dict[str, Any]]) -> None:
    """Put the images of outputs into a user message after them."""
    if held:
        found.append({"role": "user", "content": [{"type": "text", "text": LEAD}, *held]})
        held.clear()


def _said(message: Said, release: Release) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        return [{"role": "user", "content": message.content}]
    content = [
        {"type": "text", "text": part["text"]} if is_text(part) else _image(part)
        for part in message.content
        if release < (0, 87) or part.get("text") != ""
    ]
    return [{"role": "user", "content": content}] if content else []


def _image(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image_url(part)}}


def _answered(message: Answered, target: Target, release: Release) -> list[dict[str, Any]]:
    blank_kept = release < (0, 31)
    texts = [
        block.words
        for block in message.blocks
        if isinstance(block, Words) and (blank_kept or block.words.strip())
    ]
    thoughts = [
        block
        for block in message.blocks
        if isinstance(block, Thought) and (blank_kept or block.words.strip())
    ]
    calls = [block for block in message.blocks if isinstance(block, Called)]
    spoken: dict[str, Any] = {"role": "assistant", "content": None}
    if texts and release < (0, 58) and target.provider != "github-copilot":
        spoken["content"] = [{"type": "text", "text": words} for words in texts]
    elif texts:
        spoken["content"] = "".join(texts)
    details = _details(message, release)
    if thoughts and not (details and release >= (0, 84)):
        name = thoughts[0].signature
        if release >= (0, 75) and target.provider == "opencode-go" and name == "reasoning":
            name = "reasoning_content"
        if release >= (0, 84) and name not in FIELDS:
            name = ""
        if name:
            spoken[name] = "\n".join(thought.words for thought in thoughts)
    if calls:
        spoken["tool_calls"] = [_call(call) for call in calls]
    if details:
        spoken["reasoning_details"] = details
    return [spoken] if spoken["content"] or calls else []


def _details(message: Answered, release: Release) -> list[Any]:
    """Return structured reasoning that some providers want back. Spec: pi 4."""
    if release >= (0, 84):
        for block in message.blocks:
            if isinstance(block, Thought) and block.signature.startswith("["):
                value = parsed(block.signature)
                if isinstance(value, list):
                    return value
    kept = [
        parsed(block.signature)
        for block in message.blocks
        if isinstance(block, Called) and block.signature
    ]
    return [value for value in kept if isinstance(value, dict)]


def _call(call: Called) -> dict[str, Any]:
    item = call.piece.item
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": item.name, "arguments": item.arguments},
    }


def _output(message: Returned, release: Release) -> str:
    joined = "\n".join(message.texts)
    if joined.strip() if release >= (1, 4) else joined:
        return joined
    return SEE_IMAGE if message.images or release < (0, 80) else NO_OUTPUT
