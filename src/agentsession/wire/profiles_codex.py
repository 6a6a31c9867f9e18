"""Codex's spelling: recorded Responses items, without what a release did not send.

Spec: codex 2.2 and 8.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from agentsession.wire._codex_chat import chat_of
from agentsession.wire._codex_models import in_tokens, reads_text
from agentsession.wire._codex_outputs import (
    Limit,
    in_lines,
    limit_of,
    shortened,
    shortened_again,
    shortened_whole,
    structured,
)
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import Profile, Wire

_PASSTHROUGH: Final = "internal_chat_message_metadata_passthrough"
_IMAGE_MADE: Final = "image_generation_call"

_POLICY: Final = 10_000
_NO_POLICY: Final[Mapping[str, Any]] = MappingProxyType({})

Items = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CodexProfile(Profile):
    """The spelling of one Codex release.

    Attributes:
        ids: items are sent with their ids.
        images: an image that a model made is sent with its id, whatever ``ids`` says.
        passthrough: what the release keeps beside an item for its own provider is sent.
        freeform: outputs of the shell that are stored as JSON are sent as text.
        doubled: a streamed text went into the history beside the final item.
        steered: how many of the last messages are sent twice.
        since: the first response whose text was streamed into it; empty for all of them.
        details: the ``detail`` of an image is sent where it is ``original``.
        grouped: on the chat wire calls that follow one another are one message.
        lines: outputs of too many lines or bytes are sent by their first and last lines.
        limit: what the model takes of an output that is stored whole; ``None`` for all of it.
        noted: outputs are stored cut, and cut again where the note of that is too much: in
            ``bytes`` or ``tokens``; empty for never.
    """

    ids: bool = True
    images: bool = False
    passthrough: bool = False
    freeform: bool = False
    doubled: bool = False
    steered: int = 0
    since: str = ""
    details: bool = False
    grouped: bool = False
    lines: bool = False
    limit: Limit | None = None
    noted: str = ""

    def spell(self, wire: Wire, pieces: Sequence[Piece], target: Target) -> Items | None:
        """Return a request's messages as the release spelled them; ``None`` for Anthropic."""
        if wire is Wire.ANTHROPIC:
            return None
        items = [piece.item.to_dict() for piece in pieces]
        if self.lines:
            items = in_lines(items)
        elif self.limit is not None and self.noted:
            items = shortened_whole(items, self.limit, tokens=self.noted == "tokens")
        elif self.limit is not None:
            items = shortened(items, self.limit)
        elif self.noted:
            items = shortened_again(items, tokens=self.noted == "tokens")
        if self.freeform:
            items = structured(items)
        if self.doubled:
            # The chat wire added none, and texts that met became one message there too.
            streamed = [""] * len(items) if wire is Wire.CHAT else self._streamed(pieces)
            items = _doubled(items, streamed)
        items += items[len(items) - self.steered :]
        if wire is Wire.CHAT:
            return chat_of(items, grouped=self.grouped)
        return [self._sent(item) for item in items]

    def _streamed(self, pieces: Sequence[Piece]) -> list[str]:
        """The response of each piece, where its text was streamed by the same process."""
        responses = [piece.origin.message for piece in pieces]
        if not self.since:
            return responses
        first = responses.index(self.since) if self.since in responses else len(responses)
        return [""] * first + responses[first:]

    def _sent(self, item: dict[str, Any]) -> dict[str, Any]:
        gone = set()
        if not self.ids and not (self.images and item.get("type") == _IMAGE_MADE):
            gone.add("id")
        if not self.passthrough:
            gone.add(_PASSTHROUGH)
        sent = {name: value for name, value in item.items() if name not in gone}
        if not self.details:
            for member in ("content", "output"):
                if isinstance(sent.get(member), list):
                    sent[member] = [_without_detail(part) for part in sent[member]]
        return sent


def codex_profile(
    version: tuple[int, ...],
    model: str = "",
    provider: str = "",
    policy: Mapping[str, Any] = _NO_POLICY,
    *,
    whole: bool = False,
) -> CodexProfile:
    """Return the spelling of a release.

    Args:
        version: the release's numbers.
        model: who was asked: some models are given shell outputs as text.
        provider: the provider's name.
        policy: the ``truncation_policy`` of the turn, where the release recorded one.
        whole: the thread holds outputs of releases that stored them whole.
    """
    held = whole and version >= (0, 145)
    noted = "" if version < (0, 145) else "bytes" if version < (0, 151) else "tokens"
    return CodexProfile(
        name="codex/" + ".".join(str(number) for number in version),
        ids=version < (0, 34) or version >= (0, 146),
        images=version < (0, 145),
        passthrough=provider.lower() == "openai" and version >= (0, 145),
        freeform=reads_text(model, version),
        doubled=version < (0, 34),
        details=version < (0, 171),
        grouped=version >= (0, 78),
        lines=(0, 53) <= version < (0, 59),
        limit=_limit(version, model, policy) if (0, 59) <= version < (0, 145) or held else None,
        noted=noted,
    )


def _limit(version: tuple[int, ...], model: str, policy: Mapping[str, Any]) -> Limit | None:
    """What a model takes of an output; by its name where that is not recorded."""
    again = version < (0, 115)
    said = limit_of(policy.get("mode"), policy.get("limit"), again=again)
    if said is not None:
        return said
    tokens = ("codex" in model and version < (0, 123)) or in_tokens(model, version)
    return limit_of("tokens" if tokens else "bytes", _POLICY, again=again)


def _without_detail(part: Any) -> Any:
    if isinstance(part, dict) and part.get("detail") == "original":
        return {name: value for name, value in part.items() if name != "detail"}
    return part


def _doubled(items: Items, responses: Sequence[str]) -> Items:
    """Items as releases before 0.34 sent them: streamed texts too. Spec: codex 8.1.

    A text went into the history as it came, and again with the items of its response when
    that was whole; texts of the model that met there became one message.

    Args:
        items: the items.
        responses: the response each is of; empty for an item that no response made.
    """
    streamed: dict[str, str] = {}
    for item, response in zip(items, responses, strict=True):
        if response and _is_said(item):
            streamed[response] = streamed.get(response, "") + _words(item)
    sent: Items = []
    for item, response in zip(items, responses, strict=True):
        words = streamed.pop(response, "")
        if words:
            _say(sent, {"type": "message", "id": None, "role": "assistant"}, words)
        if _is_said(item):
            _say(sent, item, _words(item))
        else:
            sent.append(item)
    return sent


def _say(sent: Items, message: dict[str, Any], words: str) -> None:
    """Put a text of the model behind what is sent, into the message before if it is one."""
    before = sent[-1] if sent else {}
    if _is_said(before):
        content = [{"type": "output_text", "text": _words(before) + words}]
        sent[-1] = {**before, "content": content}
    else:
        sent.append({"content": [{"type": "output_text", "text": words}], **message})


def _is_said(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "message" and item.get("role") == "assistant"


def _words(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(words for words in texts if isinstance(words, str))
