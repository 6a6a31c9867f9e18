"""Turns: a context's items gathered into the messages every wire is made of.

Nothing is dropped, reordered or merged here beyond what one message of the agent held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsession.items import parts_text
from agentsession.wire.origin import Origin, Piece, Target
from agentsession.wire.profile import Foreign, Media, Profile

USER = "user"
ASSISTANT = "assistant"
TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Text:
    """A text of an assistant's message.

    ``named`` when something of its provider goes along, ``own`` when the wire looks for it too.
    """

    text: str
    piece: Piece
    own: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A reasoning of an assistant's message.

    ``own`` when what its provider wants back goes along: the target itself wrote it, or the
    profile does not ask who did.
    """

    text: str
    piece: Piece
    own: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an assistant's message, or one whose result stands within it."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Other:
    """An item no wire but Responses can carry, kept as it is."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Result:
    """What a call returned.

    Attributes:
        piece: the output.
        parts: its parts, without media that is sent elsewhere.
        said: its text, where its media is sent elsewhere and one text is left.
    """

    piece: Piece
    parts: tuple[dict[str, Any], ...]
    said: str | None = None


@dataclass(slots=True)
class Turn:
    """One message: its role and what it is made of.

    Attributes:
        role: ``user``, ``assistant``, ``tool``, or a message's own, such as ``system``.
        key: what the pieces of an assistant's message have in common.
        content: a user's parts, an assistant's texts and calls, or a tool's results.
    """

    role: str
    key: tuple[str, int] = ("", 0)
    content: list[Any] = field(default_factory=list)


def turns(
    pieces: Sequence[Piece], target: Target, profile: Profile, *, media_fits: bool, space: str = ""
) -> list[Turn]:
    """Return the messages that items make, in order.

    Args:
        pieces: the items with their origins.
        target: who the request goes to.
        profile: the spelling.
        media_fits: whether the wire carries media inside a tool's result.
        space: the name space in which the wire looks for what a provider wants back.
    """
    gathered = _Gathered(target, profile, pieces, media_fits=media_fits, space=space)
    for piece in pieces:
        gathered.take(piece)
    gathered.release_media()
    return gathered.turns


class _Gathered:
    def __init__(
        self,
        target: Target,
        profile: Profile,
        pieces: Sequence[Piece],
        *,
        media_fits: bool,
        space: str,
    ) -> None:
        self.turns: list[Turn] = []
        self._target = target
        self._profile = profile
        self._tools = _tools(pieces)
        self._signed = _signed(pieces) if profile.keep_empty else frozenset()
        self._space = space
        fits = profile.media is Media.INSIDE or (profile.media is Media.FITTING and media_fits)
        self._inside = fits
        self._held: list[tuple[str, list[dict[str, Any]]]] = []
        self._held_for = ("", 0)

    def take(self, piece: Piece) -> None:
        item = piece.item
        if item.type == "function_call_output":
            self._take_result(piece)
        elif item.type == "message" and item.role != ASSISTANT:
            self.release_media()
            self.turns.append(Turn(item.role or USER, content=content_parts(item.get("content"))))
        else:
            self._take_assistant(piece)

    def _take_assistant(self, piece: Piece) -> None:
        key = (piece.origin.message, piece.origin.step)
        last = self.turns[-1] if self.turns else None
        if self._held and key[0] != self._held_for[0]:
            self.release_media()
            last = self.turns[-1]
        if last is None or last.role != ASSISTANT or last.key != key:
            last = Turn(ASSISTANT, key)
            self.turns.append(last)
        last.content.extend(self._assistant_parts(piece))

    def _assistant_parts(self, piece: Piece) -> Iterator[Text | Reasoning | Call | Other]:
        item, origin = piece.item, piece.origin
        if item.type == "function_call":
            yield Call(piece)
        elif item.type == "message":
            own = bool(origin.metadata) and self._travels_whole(origin)
            named = own or (bool(origin.metadata) and self._profile.foreign is Foreign.WHOLE)
            kept = " " if origin.message in self._signed else ""
            texts = _texts(item.get("content"))
            yield from (Text(part or kept, piece, own, named) for part in texts)
        elif item.type == "reasoning":
            own = self._travels_whole(origin)
            words = reasoning_text(piece)
            as_text = not own and self._profile.foreign is Foreign.TEXT
            if self._profile.failed_reasoning_as_text and (origin.error or origin.unfinished):
                as_text = True
            if as_text:
                if words.strip():
                    yield Text(words, piece)
            elif own or self._profile.foreign in {Foreign.BARE, Foreign.WHOLE}:
                yield Reasoning(words, piece, own)
        else:
            yield Other(piece)

    def _travels_whole(self, origin: Origin) -> bool:
        """Return whether what a provider wants back with a reasoning goes along."""
        if self._profile.foreign is Foreign.WHOLE:
            spaces = {self._space, self._target.provider if self._profile.space_renamed else ""}
            return origin.space in spaces
        return self._target.wrote(origin)

    def _take_result(self, piece: Piece) -> None:
        key = (piece.origin.message, piece.origin.step)
        if self._held and key[0] != self._held_for[0]:
            self.release_media()
        last = self.turns[-1] if self.turns else None
        if last is None or last.role != TOOL or last.key != key:
            last = Turn(TOOL, key)
            self.turns.append(last)
        output = piece.item.output
        parts = content_parts(output) if isinstance(output, list) else []
        media = [part for part in parts if not is_text(part)]
        if media and self._profile.media is Media.BEFORE:
            self._put_before(piece, media)
            parts = [part for part in parts if is_text(part)]
        elif media and not self._inside:
            self._held.append((self._tools.get(piece.item.call_id, ""), media))
            self._held_for = key
            parts = [part for part in parts if is_text(part)]
        apart = bool(media) and len(parts) == 1 and is_text(parts[0])
        last.content.append(Result(piece, tuple(parts), parts[0]["text"] if apart else None))

    def _put_before(self, piece: Piece, media: list[dict[str, Any]]) -> None:
        """Put the media of a result into a user message before the message that called."""
        at = len(self.turns) - 1
        while at > 0 and self.turns[at - 1].key[0] == piece.origin.message != "":
            at -= 1
        if at > 0 and self.turns[at].role == TOOL:
            at -= 1
        self.turns.insert(at, self._beside(self._tools.get(piece.item.call_id, ""), media))

    def _beside(self, tool: str, media: list[dict[str, Any]]) -> Turn:
        lead = self._profile.media_lead.replace("{tool}", tool)
        return Turn(USER, content=[{"type": "input_text", "text": lead}, *media])

    def release_media(self) -> None:
        """Put the media that did not fit its results into user messages after them."""
        held, self._held = self._held, []
        if not held:
            return
        lead = self._profile.media_lead
        if self._profile.media is Media.BESIDE:
            self.turns.extend(self._beside(tool, media) for tool, media in held)
            return
        everything = [part for _, media in held for part in media]
        self.turns.append(Turn(USER, content=[{"type": "input_text", "text": lead}, *everything]))


def _tools(pieces: Sequence[Piece]) -> dict[str, str]:
    return {
        piece.item.call_id: piece.item.name
        for piece in pieces
        if piece.item.type == "function_call"
    }


def _signed(pieces: Sequence[Piece]) -> frozenset[str]:
    """Return the messages that hold reasoning with a signature."""
    return frozenset(
        piece.origin.message
        for piece in pieces
        if piece.item.type == "reasoning"
        and piece.origin.encrypted.endswith(".signature")
        and piece.item.get("encrypted_content")
    )


def content_parts(content: object) -> list[dict[str, Any]]:
    """Return a message's content as a list of parts; what is no part is passed over."""
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, dict)]


def is_text(part: dict[str, Any]) -> bool:
    """Return whether a part holds a text."""
    return isinstance(part.get("text"), str)


def _texts(content: object) -> Iterator[str]:
    for part in content_parts(content):
        yield parts_text([part])


def reasoning_text(piece: Piece) -> str:
    """Return the words of a reasoning item: its summary, or its content."""
    return parts_text(piece.item.get("summary")) or parts_text(piece.item.get("content"))


def result_text(result: Result, joint: str = "\n") -> str | None:
    """Return what a call returned when it is text alone, else ``None``."""
    output = result.piece.item.output
    if isinstance(output, str):
        return output
    if all(is_text(part) for part in result.parts):
        return joint.join(part["text"] for part in result.parts)
    return None
