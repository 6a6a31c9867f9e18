"""The Responses API: the ``input`` of a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from agentsession import text as json_text
from agentsession.wire import media
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import DEFAULT, Profile, References, Wire
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

_SPACE: Final = "openai"
"""The name space of what this wire wants back."""


def responses_input(
    pieces: Sequence[Piece], target: Target | None = None, profile: Profile = DEFAULT
) -> list[dict[str, Any]]:
    """Return the input a Responses request holds for these items, sent with ``store: false``.

    Reasoning travels only with what its own provider gave to send it back; an empty text is
    sent only where it has such a thing too.
    """
    target = target or Target()
    spelled = profile.spell(Wire.RESPONSES, pieces, target)
    if spelled is not None:
        return spelled
    found: list[dict[str, Any]] = []
    for turn in turns(pieces, target, profile, media_fits=True, space=_SPACE):
        if turn.role == ASSISTANT:
            found.extend(_assistant(turn, profile, target))
        elif turn.role == TOOL:
            found.extend(_result(result) for result in turn.content)
        else:
            content = [_part(part, place) for place, part in enumerate(turn.content)]
            found.append({"role": turn.role, "content": content})
    return found


def _reference(piece: Piece) -> str:
    origin = piece.origin
    return origin.told("itemId") if origin.space == _SPACE else ""


def _assistant(turn: Turn, profile: Profile, target: Target) -> Iterator[dict[str, Any]]:
    told: set[str] = set()
    names = profile.references is not References.NEVER
    referring = names and profile.references.named(target.provider, target.model)
    for part in turn.content:
        if isinstance(part, Text) and not part.text and not profile.empty_kept:
            continue
        kept = _reference(part.piece) if names else ""
        name = {"id": kept} if kept else {}
        if kept and referring:
            if kept not in told:
                yield {"type": "item_reference", "id": kept}
            told.add(kept)
        elif isinstance(part, Text):
            if not part.text and not part.named:
                continue
            text = {"type": "output_text", "text": part.text}
            yield {"role": ASSISTANT, "content": [text], **name, **_phase(part)}
        elif isinstance(part, Reasoning):
            joined = part.piece.origin.told("itemId") if profile.summaries_joined else ""
            if not joined or joined not in told:
                yield from _reasoning([part] if not joined else _of_item(turn, joined), name)
            told.add(joined)
        elif isinstance(part, Call):
            item = part.piece.item
            called = {"call_id": item.call_id, "name": item.name, "arguments": item.arguments}
            yield {"type": "function_call", **name, **called}
        elif isinstance(part, Other):
            yield part.piece.item.to_dict()


def _phase(part: Text) -> dict[str, str]:
    phase = part.piece.origin.told("phase") if part.own else ""
    return {"phase": phase} if phase else {}


def _of_item(turn: Turn, name: str) -> list[Reasoning]:
    """Return the reasonings that were one item of the provider: one for each of its summaries."""
    found = (part for part in turn.content if isinstance(part, Reasoning))
    return [part for part in found if part.piece.origin.told("itemId") == name]


def _reasoning(parts: Sequence[Reasoning], name: dict[str, str]) -> Iterator[dict[str, Any]]:
    own = [part for part in parts if part.own]
    secrets = [part.piece.item.get("encrypted_content") for part in own]
    secret = next((one for one in reversed(secrets) if isinstance(one, str) and one), "")
    if secret:
        summary = [{"type": "summary_text", "text": part.text} for part in own if part.text]
        yield {"type": "reasoning", **name, "encrypted_content": secret, "summary": summary}


def _part(part: dict[str, Any], place: int) -> dict[str, Any]:
    if is_text(part):
        return {"type": "input_text", "text": part["text"]}
    return media.responses_part(part, f"part-{place}.pdf")


def _result(result: Result) -> dict[str, Any]:
    item = result.piece.item
    output: Any = item.output
    if result.said is not None:
        output = result.said
    elif isinstance(output, list):
        output = [_inside(part) for part in result.parts]
    elif not isinstance(output, str):
        output = json_text.encode(output).decode("utf-8")
    return {"type": "function_call_output", "call_id": item.call_id, "output": output}


def _inside(part: dict[str, Any]) -> dict[str, Any]:
    if is_text(part):
        return {"type": "input_text", "text": part["text"]}
    # Media of a result has no name of its own.
    return media.responses_part({**part, "filename": "data"})
