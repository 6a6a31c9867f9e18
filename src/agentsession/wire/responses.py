"""The Responses API: the ``input`` of a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentsession import text as json_text
from agentsession.wire import media
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import DEFAULT, Profile
from agentsession.wire.turns import (
    ASSISTANT,
    TOOL,
    Call,
    Other,
    Reasoning,
    Result,
    Text,
    Turn,
    is_text,
    turns,
)


def responses_input(
    pieces: Sequence[Piece], target: Target | None = None, profile: Profile = DEFAULT
) -> list[dict[str, Any]]:
    """Return the input a Responses request holds for these items, sent with ``store: false``.

    Reasoning travels only with what its own provider gave to send it back.
    """
    target = target or Target()
    found: list[dict[str, Any]] = []
    for turn in turns(pieces, target, profile, media_fits=True):
        if turn.role == ASSISTANT:
            found.extend(_assistant(turn))
        elif turn.role == TOOL:
            found.extend(_result(result) for result in turn.content)
        else:
            content = [_part(part) for part in turn.content]
            found.append({"role": turn.role, "content": content})
    return found


def _assistant(turn: Turn) -> Iterator[dict[str, Any]]:
    thoughts: dict[str, dict[str, Any]] = {}
    for part in turn.content:
        if isinstance(part, Text):
            text = {"type": "output_text", "text": part.text}
            yield {"role": ASSISTANT, "content": [text]}
        elif isinstance(part, Reasoning):
            yield from _reasoning(part, thoughts)
        elif isinstance(part, Call):
            item = part.piece.item
            called = {"call_id": item.call_id, "name": item.name, "arguments": item.arguments}
            yield {"type": "function_call", **called}
        elif isinstance(part, Other):
            yield part.piece.item.to_dict()


def _reasoning(part: Reasoning, thoughts: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    secret = part.piece.item.get("encrypted_content")
    if not part.own or not isinstance(secret, str) or not secret:
        return
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    name = _item_id(part.piece)
    if name and name in thoughts:
        # The parts of one reasoning item travel as one item.
        thoughts[name]["summary"].extend(summary)
        thoughts[name]["encrypted_content"] = secret
        return
    item = {"type": "reasoning", "encrypted_content": secret, "summary": summary}
    thoughts[name] = item
    yield item


def _item_id(piece: Piece) -> str:
    space = piece.origin.metadata.get(piece.origin.encrypted.rpartition(".")[0])
    name = space.get("itemId") if isinstance(space, dict) else piece.origin.metadata.get("itemId")
    return name if isinstance(name, str) else ""


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if is_text(part):
        return {"type": "input_text", "text": part["text"]}
    return media.responses_part(part)


def _result(result: Result) -> dict[str, Any]:
    item = result.piece.item
    output: Any = item.output
    if isinstance(output, list):
        output = [_part(part) for part in result.parts]
    elif not isinstance(output, str):
        output = json_text.encode(output).decode("utf-8")
    return {"type": "function_call_output", "call_id": item.call_id, "output": output}
