"""Chat completions: the ``messages`` of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsession import text as json_text
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
    result_text,
    turns,
)


def chat_messages(
    pieces: Sequence[Piece], target: Target | None = None, profile: Profile = DEFAULT
) -> list[dict[str, Any]]:
    """Return the messages a chat-completions request holds for these items.

    Items that chat completions cannot carry (a provider's own compaction) are left out.
    """
    target = target or Target()
    spelled = profile.spell(Wire.CHAT, pieces, target)
    if spelled is not None:
        return spelled
    messages: list[dict[str, Any]] = []
    for turn in turns(pieces, target, profile, media_fits=False):
        if turn.role == ASSISTANT:
            messages.extend(_assistant(turn, profile))
        elif turn.role == TOOL:
            messages.extend(_result(result, profile) for result in turn.content)
        else:
            messages.append(_said(turn, profile))
    return messages


def _said(turn: Turn, profile: Profile) -> dict[str, Any]:
    parts = [
        {"type": "text", "text": part["text"]} if is_text(part) else media.chat_part(part)
        for part in turn.content
    ]
    if all("text" in part for part in parts) and (
        len(parts) == 1 or profile.parts_joined or turn.role != "user"
    ):
        return {"role": turn.role, "content": "".join(part["text"] for part in parts)}
    return {"role": turn.role, "content": parts}


def _assistant(turn: Turn, profile: Profile) -> list[dict[str, Any]]:
    texts = [part.text for part in turn.content if isinstance(part, Text)]
    thoughts = [part.text for part in turn.content if isinstance(part, Reasoning)]
    calls = [_call(part.piece) for part in turn.content if isinstance(part, Call)]
    if not texts and not thoughts and not calls:
        return []
    message: dict[str, Any] = {
        "role": "assistant",
        "content": profile.joint.join(texts) if texts else profile.no_text,
    }
    if profile.reasoning_member and any(thoughts):
        message[profile.reasoning_member] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return [message]


def _call(piece: Piece) -> dict[str, Any]:
    item = piece.item
    return {
        "id": item.call_id,
        "type": "function",
        "function": {"name": item.name, "arguments": item.arguments},
    }


def _result(result: Result, profile: Profile) -> dict[str, Any]:
    content = result_text(result, "\n" if profile.content_texts_joined else "")
    if content is None:
        content = json_text.encode([_inside(part) for part in result.parts]).decode("utf-8")
    return {"role": "tool", "tool_call_id": result.piece.item.call_id, "content": content}


def _inside(part: dict[str, Any]) -> dict[str, Any]:
    if is_text(part):
        return {"type": "text", "text": part["text"]}
    found = media.media_of(part)
    return {"type": "media", "mediaType": found.mime, "data": found.data or found.url}
