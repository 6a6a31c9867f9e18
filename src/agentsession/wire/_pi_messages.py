"""pi's messages out of a context's items, and what its releases change in them.

Spec: pi 6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentsession import text as json_text
from agentsession.errors import NotJSON
from agentsession.wire import media
from agentsession.wire.origin import Origin, Piece, Target
from agentsession.wire.turns import content_parts, is_text, reasoning_text

Release = tuple[int, int]

SIGNATURE: Final = "signature"
"""The member of an origin's metadata with the signature pi keeps of a block."""

CALL_ID: Final = "id"
"""The member of an origin's metadata with a call's id as pi keeps it: ``call|item``."""

API: Final = "api"
"""The member of an origin's metadata with the model API a message came through."""

REDACTED: Final = "redactedData"
"""What an origin calls the secret of reasoning that only its provider can read."""

REDACTED_KNOWN: Final[Release] = (0, 55)
"""About the first release that knows such reasoning from any other."""

RECORDED: Final = "item"
"""What an origin calls the secret of reasoning that pi keeps as the item it came as."""

FIELDS: Final = frozenset({"reasoning", "reasoning_content", "reasoning_text"})
"""The members of a chat message that hold reasoning."""

WORDS: Final = "thinking"
"""The member of an origin's metadata with the words of reasoning that its item spells otherwise."""

KIND: Final = "kind"
"""The member of an origin's metadata that says what a user message was in pi."""

COMPACTION: Final = "compaction"
"""The kind of a user message that is a summary."""

LEAD: Final = "Attached image(s) from tool result:"
SEE_IMAGE: Final = "(see attached image)"
NO_OUTPUT: Final = "(no tool output)"

_NO_IMAGE: Final = "(image omitted: model does not support images)"
_NO_TOOL_IMAGE: Final = "(tool image omitted: model does not support images)"

_NOT_IN_IDS: Final = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(slots=True)
class Said:
    """A user message: one string, or parts."""

    content: str | list[dict[str, Any]]


@dataclass(slots=True)
class Thought:
    """Reasoning of the model the request goes to.

    Attributes:
        words: the words.
        signature: what pi keeps to send it back; empty for none.
        piece: its item.
    """

    words: str
    signature: str
    piece: Piece


@dataclass(slots=True)
class Words:
    """A text of an assistant; the signature is only of its own model's."""

    words: str
    signature: str = ""


@dataclass(slots=True)
class Called:
    """A call, its id as the wire is to have it."""

    id: str
    piece: Piece
    signature: str = ""


@dataclass(slots=True)
class Answered:
    """An assistant's message.

    Attributes:
        name: its id in pi.
        same: the model of the request wrote it.
        sibling: another model of the same provider and API wrote it.
        failed: it ended in an error.
        blocks: what it holds.
    """

    name: str
    same: bool
    sibling: bool
    failed: bool
    blocks: list[Thought | Words | Called] = field(default_factory=list)


@dataclass(slots=True)
class Returned:
    """What a call returned.

    Attributes:
        id: the call's id as the wire is to have it.
        tool: the tool's name.
        texts: its texts.
        images: its images, as content parts.
        parts: all of it in order.
        error: whether the call failed.
    """

    id: str
    tool: str
    parts: list[dict[str, Any]]
    error: bool

    @property
    def texts(self) -> list[str]:
        """Its texts."""
        return [part["text"] for part in self.parts if is_text(part)]

    @property
    def images(self) -> list[dict[str, Any]]:
        """Its images."""
        return [part for part in self.parts if not is_text(part)]


Message = Said | Answered | Returned


def gather(
    pieces: Sequence[Piece], target: Target, api: str, release: Release, *, images: bool = True
) -> list[Message]:
    """Return pi's messages as they were handed to the wire, system messages left out.

    Args:
        pieces: the items with their origins.
        target: the model of the request.
        api: the API of the request.
        release: who sent it.
        images: whether the model takes images.
    """
    found = _Gathering(target, api, release).all(pieces)
    if not images:
        for message in found:
            _without_images(message, api, release)
    return found


class _Gathering:
    def __init__(self, target: Target, api: str, release: Release) -> None:
        self._target = target
        self._api = api
        self._release = release
        self._tools: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._messages: list[Message] = []

    def all(self, pieces: Sequence[Piece]) -> list[Message]:
        for piece in pieces:
            item = piece.item
            if item.type == "function_call_output":
                self._messages.append(self._returned(piece))
            elif item.type == "message" and item.role == "user":
                self._messages.append(Said(_said(piece, self._release)))
            elif item.type != "message" or item.role == "assistant":
                self._answer(piece)
        return self._messages

    def _answer(self, piece: Piece) -> None:
        origin = piece.origin
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, Answered) or not origin.message or last.name != origin.message:
            last = self._answered(origin)
            self._messages.append(last)
        item = piece.item
        signature = _string(origin.metadata.get(SIGNATURE))
        if origin.encrypted in {SIGNATURE, REDACTED}:
            signature = _string(item.get("encrypted_content"))
        if item.type == "reasoning":
            self._reason(last, piece, signature)
        elif item.type == "function_call":
            last.blocks.append(self._called(last, piece, signature))
        elif item.type == "message":
            # Before 0.49 a message of another provider's kept its signatures.
            kept = signature if last.same or self._release < (0, 49) else ""
            last.blocks += [Words(words, kept) for words in _texts(item.get("content"))]

    def _answered(self, origin: Origin) -> Answered:
        unknown = not origin.provider and not origin.model
        provider = origin.provider == self._target.provider
        near = unknown or (provider and _string(origin.metadata.get(API)) == self._api)
        model = origin.model == self._target.model
        same = near if self._release < (0, 49) else unknown or (near and model)
        return Answered(origin.message, same, near and not model, origin.error)

    def _reason(self, message: Answered, piece: Piece, signature: str) -> None:
        words = _string(piece.origin.metadata.get(WORDS)) or reasoning_text(piece)
        if message.same:
            message.blocks.append(Thought(words, signature, piece))
        elif self._release < (0, 40):
            message.blocks.append(Words(f"<thinking>\n{words}\n</thinking>"))
        elif self._release < (1, 3) and words.strip() and not self._is_redacted(piece):
            message.blocks.append(Words(words))

    def _is_redacted(self, piece: Piece) -> bool:
        """Return whether reasoning is sent to nobody but who wrote it; older releases read on."""
        return piece.origin.encrypted == REDACTED and self._release >= REDACTED_KNOWN

    def _called(self, message: Answered, piece: Piece, signature: str) -> Called:
        item = piece.item
        given = _string(piece.origin.metadata.get(CALL_ID)) or item.call_id
        wanted = given
        if not message.same:
            wanted = foreign_call_id(
                given, self._api, self._target.provider, self._release, sibling=message.sibling
            )
        if self._release < (0, 49) and self._api == "anthropic-messages":
            foreign = not message.same and piece.origin.provider != self._target.provider
            short = foreign and self._release >= (0, 45)
            wanted = _NOT_IN_IDS.sub("", given)[:40] if short else _plain(given)
        self._ids[item.call_id] = wanted
        self._tools[item.call_id] = item.name
        return Called(wanted, piece, signature if message.same else "")

    def _returned(self, piece: Piece) -> Returned:
        item = piece.item
        call_id = item.call_id
        wanted = self._ids.get(call_id, call_id)
        output = item.output
        parts = content_parts(output)
        return Returned(wanted, self._tools.get(call_id, ""), parts, piece.origin.error)


def _without_images(message: Message, api: str, release: Release) -> None:
    """Take the images out of a message for a model that takes none. Spec: pi 6."""
    late = release >= (0, 68)
    if isinstance(message, Said) and isinstance(message.content, list):
        message.content = _replaced(message.content, _NO_IMAGE if late else "")
    elif isinstance(message, Returned) and late:
        message.parts = _replaced(message.parts, _NO_TOOL_IMAGE)
    elif isinstance(message, Returned) and message.images and api != "anthropic-messages":
        message.parts = _replaced(message.parts, "") or [{"type": "input_text", "text": SEE_IMAGE}]


def _replaced(parts: list[dict[str, Any]], words: str) -> list[dict[str, Any]]:
    """Return parts with a text for the images that stand together; none where it is empty."""
    found: list[dict[str, Any]] = []
    last = ""
    for part in parts:
        shown = part["text"] if is_text(part) else words
        if is_text(part):
            found.append(part)
        elif words and last != words:
            found.append({"type": "input_text", "text": words})
        last = shown
    return found


def _said(piece: Piece, release: Release) -> str | list[dict[str, Any]]:
    content = piece.item.get("content")
    if isinstance(content, str):
        return content
    parts = content_parts(content)
    one = len(parts) == 1 and is_text(parts[0])
    if one and release < (0, 31) and piece.origin.metadata.get(KIND) == COMPACTION:
        return str(parts[0]["text"])
    return parts


def foreign_call_id(given: str, api: str, provider: str, release: Release, *, sibling: bool) -> str:
    """Return a call's id as a request to another model has it. Spec: pi 6.

    Args:
        given: the id as pi keeps it.
        api: the API of the request.
        provider: the provider of the request.
        release: who sent it.
        sibling: the caller was another model of the same provider and API.
    """
    if release < (0, 49):
        return given
    if api == "anthropic-messages":
        return _plain(given)[:64]
    if "responses" in api:
        return _responses_id(given, provider, release, sibling=sibling)
    if "|" not in given or release < (0, 50):
        return given[:40] if provider == "openai" else given
    call, _, item = given.partition("|")
    call, item = _plain(call), _plain(item.partition("|")[0] if release < (0, 81) else item)
    if release < (0, 81):
        return call[:40]
    joined = f"{call}_{item}" if item else call
    if len(joined) <= 40:
        return joined
    digest = short_hash(given)[:8]
    return f"{call[: max(1, 40 - len(digest) - 1)]}_{digest}"


_JOINED_IDS: Final = frozenset({"openai", "openai-codex", "opencode", "azure-openai-responses"})


def _responses_id(given: str, provider: str, release: Release, *, sibling: bool) -> str:
    late = release >= (0, 60)
    if provider not in _JOINED_IDS or "|" not in given:
        return _part(given) if late else given
    call, item, *_ = given.split("|")
    if release >= (0, 62) and not sibling:
        item = f"fc_{short_hash(item)}"[:64]
    else:
        item = _part(item) if late else _plain(item)
    if not item.startswith("fc_" if release >= (0, 62) else "fc"):
        item = f"fc_{item}"
    return f"{_part(call)}|{_part(item)}" if late else f"{_plain(call)[:64]}|{item[:64]}"


def _part(part: str) -> str:
    return _plain(part)[:64].rstrip("_")


def _plain(given: str) -> str:
    return _NOT_IN_IDS.sub("_", given)


def short_hash(given: str) -> str:
    """Return the short hash pi gives long ids: two 32-bit mixes in base 36."""
    one, two = 0xDEADBEEF, 0x41C6CE57
    units = given.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        unit = units[at] | units[at + 1] << 8
        one = _times(one ^ unit, 2654435761)
        two = _times(two ^ unit, 1597334677)
    one = _times(one ^ one >> 16, 2246822507) ^ _times(two ^ two >> 13, 3266489909)
    two = _times(two ^ two >> 16, 2246822507) ^ _times(one ^ one >> 13, 3266489909)
    return _base36(two) + _base36(one)


def _times(one: int, other: int) -> int:
    return one * other & 0xFFFFFFFF


_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def parsed(json: str) -> Any:
    """Return a JSON text's value, ``None`` for what is no JSON."""
    try:
        return json_text.parse(json)
    except NotJSON:
        return None


def image_url(part: dict[str, Any]) -> str:
    """Return a media part's URL."""
    return media.media_of(part).url


def _texts(content: object) -> list[str]:
    return [part["text"] for part in content_parts(content) if is_text(part)]


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
