"""The Responses API as pi spells it. Spec: pi 6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsession.wire._pi_messages import (
    LEAD,
    NO_OUTPUT,
    RECORDED,
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
    short_hash,
)
from agentsession.wire.origin import Target
from agentsession.wire.turns import is_text


def lower(messages: Sequence[Message], _target: Target, release: Release) -> list[dict[str, Any]]:
    """Return the input of a Responses request."""
    found: list[dict[str, Any]] = []
    place = 0
    for message in messages:
        if isinstance(message, Said):
            said = _said(message)
        elif isinstance(message, Answered):
            said = _answered(message, release, place)
        else:
            said = _returned(message, release)
        found += said
        # What says nothing is passed over before it is counted.
        place += bool(said)
    return found


def _said(message: Said) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        content = [{"type": "input_text", "text": message.content}]
    else:
        content = [
            {"type": "input_text", "text": part["text"]} if is_text(part) else _image(part)
            for part in message.content
        ]
    return [{"role": "user", "content": content}] if content else []


def _image(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "input_image", "detail": "auto", "image_url": image_url(part)}


def _answered(message: Answered, release: Release, place: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    texts = 0
    unsent = message.failed and release < (0, 49)
    for block in message.blocks:
        if isinstance(block, Words):
            found.append(_text(block, release, place, texts))
            texts += 1
        elif unsent:
            continue
        elif isinstance(block, Thought):
            if block.piece.origin.encrypted == RECORDED:
                found.append(block.piece.item.to_dict())
        else:
            found.append(_call(block, message, release))
    return found


def _text(block: Words, release: Release, place: int, nth: int) -> dict[str, Any]:
    name, phase = _signed(block.signature, release)
    if not name:
        name = f"msg_{place}"
        if release >= (0, 78):
            name = f"msg_pi_{place}_{nth}" if nth else f"msg_pi_{place}"
    elif len(name) > 64:
        name = f"msg_{short_hash(name)}"
    content = [{"type": "output_text", "text": block.words, "annotations": []}]
    said = {
        "type": "message",
        "role": "assistant",
        "content": content,
        "status": "completed",
        "id": name,
    }
    return {**said, "phase": phase} if phase else said


def _signed(signature: str, release: Release) -> tuple[str, str]:
    """Return the message id and the phase that a text's signature holds."""
    if signature.startswith("{") and release >= (0, 57):
        value = parsed(signature)
        if isinstance(value, dict) and value.get("v") == 1 and isinstance(value.get("id"), str):
            phase = value.get("phase")
            return value["id"], phase if phase in {"commentary", "final_answer"} else ""
    return signature, ""


def _call(block: Called, message: Answered, release: Release) -> dict[str, Any]:
    call, _, rest = block.id.partition("|")
    name = rest.partition("|")[0]
    if message.sibling and release >= (0, 49) and name.startswith("fc_"):
        name = ""
    if release >= (0, 82) and not name.startswith("fc_"):
        name = ""
    item = block.piece.item
    return {
        "type": "function_call",
        **({"id": name} if name else {}),
        "call_id": call,
        "name": item.name,
        "arguments": item.arguments,
    }


def _returned(message: Returned, release: Release) -> list[dict[str, Any]]:
    joined = "\n".join(message.texts)
    images = [_image(part) for part in message.images]
    output: Any = joined
    if images and release >= (0, 58):
        output = [*([{"type": "input_text", "text": joined}] if joined else []), *images]
    elif not (joined.strip() if release >= (1, 4) else joined):
        output = SEE_IMAGE if images or release < (0, 80) else NO_OUTPUT
    call = message.id.partition("|")[0]
    found: list[dict[str, Any]] = [
        {"type": "function_call_output", "call_id": call, "output": output}
    ]
    if images and release < (0, 58):
        found.append({"role": "user", "content": [{"type": "input_text", "text": LEAD}, *images]})
    return found
