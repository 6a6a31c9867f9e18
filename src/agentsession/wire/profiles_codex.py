"""Codex's spelling: recorded Responses items, without what a release did not send.

Spec: codex 2.2 and 8.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession import text as json_text
from agentsession.errors import NotJSON
from agentsession.wire import media
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import Profile, Wire

_PASSTHROUGH: Final = "internal_chat_message_metadata_passthrough"
_SHELLS: Final = frozenset({"shell", "container.exec", "apply_patch"})
_LINES: Final = re.compile(r"Total output lines: (\d+)\n\n?")
_OMITTED: Final = re.compile(r"\[\.\.\. omitted \d+ of (\d+) lines \.\.\.\]")

_CUT: Final = 12_000
"""What models that count bytes are sent of an output, with a fifth to spare. Spec: codex 8.1."""

Items = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CodexProfile(Profile):
    """The spelling of one Codex release.

    Attributes:
        ids: items are sent with their ids.
        passthrough: what the release keeps beside an item for its own provider is sent.
        freeform: outputs of the shell that are stored as JSON are sent as text.
        doubled: a streamed text went into the history beside the final item.
        details: the ``detail`` of an image is sent where it is ``original``.
        longest: how many bytes a stored output may have to be sent whole; 0 for any number.
    """

    ids: bool = True
    passthrough: bool = False
    freeform: bool = False
    doubled: bool = False
    details: bool = False
    longest: int = 0

    def spell(self, wire: Wire, pieces: Sequence[Piece], target: Target) -> Items | None:
        """Return a request's messages as the release spelled them; ``None`` for Anthropic."""
        if wire is Wire.ANTHROPIC:
            return None
        items = [piece.item.to_dict() for piece in pieces]
        if self.freeform:
            items = _structured(items)
        if self.longest:
            items = [_shortened(item, self.longest) for item in items]
        if wire is Wire.CHAT:
            return [message for item in items for message in _chat(item)]
        if self.doubled:
            items = _doubled(items)
        return [self._sent(item) for item in items]

    def _sent(self, item: dict[str, Any]) -> dict[str, Any]:
        gone = set()
        if not self.ids:
            gone.add("id")
        if not self.passthrough:
            gone.add(_PASSTHROUGH)
        sent = {name: value for name, value in item.items() if name not in gone}
        if not self.details:
            for member in ("content", "output"):
                if isinstance(sent.get(member), list):
                    sent[member] = [_without_detail(part) for part in sent[member]]
        return sent


def codex_profile(version: tuple[int, ...], model: str = "", provider: str = "") -> CodexProfile:
    """Return the spelling of a release.

    Args:
        version: the release's numbers.
        model: who was asked: some models are given shell outputs as text.
        provider: the provider's name.
    """
    return CodexProfile(
        name="codex/" + ".".join(str(number) for number in version),
        ids=version < (0, 34) or version >= (0, 150),
        passthrough=provider.lower() == "openai" and version >= (0, 145),
        freeform=(0, 45) <= version < (0, 115) and "codex" in model,
        doubled=version < (0, 34),
        details=version < (0, 171),
        longest=_CUT if (0, 77) <= version < (0, 115) and "codex" not in model else 0,
    )


def _shortened(item: dict[str, Any], longest: int) -> dict[str, Any]:
    """An output as a resume with a model that counts bytes sends it. Spec: codex 8.1, step 4."""
    output = item.get("output")
    if not isinstance(output, str) or len(output) * 4 <= longest:
        return item
    # It is cut where the history is read, and again where that is taken over: by then it is
    # too long by the note of the first cut alone.
    return {**item, "output": _cut(_cut(output, longest), longest)}


def _cut(words: str, longest: int) -> str:
    """A text without its middle, when it has too many bytes."""
    data = words.encode("utf-8", "replace")
    if len(data) <= longest:
        return words
    left = data[: longest // 2].decode("utf-8", "ignore")
    right = data[len(data) - (longest - longest // 2) :].decode("utf-8", "ignore")
    gone = len(words) - len(left) - len(right)
    return f"{left}…{gone} chars truncated…{right}"


def _without_detail(part: Any) -> Any:
    if isinstance(part, dict) and part.get("detail") == "original":
        return {name: value for name, value in part.items() if name != "detail"}
    return part


def _structured(items: Items) -> Items:
    """Items whose JSON shell outputs are texts. Spec: codex 8.1, step 3."""
    shells = {
        item.get("call_id")
        for item in items
        if item.get("type") == "local_shell_call"
        or (
            item.get("type") in {"function_call", "custom_tool_call"}
            and item.get("name") in _SHELLS
        )
    }
    return [
        {**item, "output": _as_text(item["output"])}
        if item.get("call_id") in shells and isinstance(item.get("output"), str)
        else item
        for item in items
    ]


def _as_text(output: str) -> str:
    try:
        stored = json_text.parse(output)
    except NotJSON:
        return output
    metadata = stored.get("metadata") if isinstance(stored, dict) else None
    if not isinstance(metadata, dict) or not isinstance(stored.get("output"), str):
        return output
    code, seconds = metadata.get("exit_code"), metadata.get("duration_seconds")
    if not isinstance(code, int) or not isinstance(seconds, (int, float)):
        return output
    said = stored["output"]
    total = ""
    counted = _LINES.match(said)
    if counted is not None:
        total, said = counted[1], said[counted.end() :]
    elif found := _OMITTED.search(said):
        total = found[1]
    parts = [f"Exit code: {code}", f"Wall time: {seconds:g} seconds"]
    if total:
        parts.append(f"Total output lines: {total}")
    return "\n".join([*parts, "Output:", said])


def _doubled(items: Items) -> Items:
    """Items as 0.20 sent them: its streamed texts stand there too. Spec: codex 8.1."""
    sent: Items = []
    for item in items:
        if item.get("type") != "message" or item.get("role") != "assistant":
            sent.append(item)
            continue
        words = "".join(part.get("text", "") for part in item.get("content") or [])
        before = sent[-1] if sent else {}
        copy = {
            "type": "message",
            "id": None,
            "role": "assistant",
            "content": [{"type": "output_text", "text": words}],
        }
        if before.get("type") == "reasoning":
            sent[-1:] = [copy, before, item]
        else:
            content = [{"type": "output_text", "text": words + words}]
            sent.append({**copy, "content": content})
    return sent


def _chat(item: dict[str, Any]) -> Items:
    """The chat message of one item; none of what that wire does not carry."""
    kind = item.get("type")
    if kind == "message":
        return [{"role": item.get("role"), "content": _content(item.get("content"))}]
    if kind in {"function_call", "custom_tool_call"}:
        return [_call(item)]
    if isinstance(kind, str) and kind.endswith("_output"):
        output = item.get("output")
        content = output if isinstance(output, str) else _content(output)
        return [{"role": "tool", "tool_call_id": item.get("call_id"), "content": content}]
    return []


def _call(item: dict[str, Any]) -> dict[str, Any]:
    name = item.get("name")
    call = {"type": "function", "function": {"name": name, "arguments": item.get("arguments")}}
    if item.get("type") == "custom_tool_call":
        call = {"type": "custom", "custom": {"name": name, "input": item.get("input")}}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": item.get("call_id"), **call}],
    }


def _content(content: object) -> Any:
    if not isinstance(content, list):
        return content
    parts = [part for part in content if isinstance(part, dict)]
    if all(isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts)
    return [
        {"type": "text", "text": part["text"]}
        if isinstance(part.get("text"), str)
        else media.chat_part(part)
        for part in parts
    ]
