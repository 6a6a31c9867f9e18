"""Profiles: how one release of an agent spells the same items on a wire.

A profile decides spelling alone. Which items a request holds, and in which order, is what
the entries say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsession.wire.origin import Piece, Target


class Wire(StrEnum):
    """A form of request."""

    CHAT = "chat"
    """Chat completions."""
    ANTHROPIC = "anthropic"
    """Anthropic Messages."""
    RESPONSES = "responses"
    """The Responses API."""


class Foreign(StrEnum):
    """What becomes of reasoning that another model than the target wrote."""

    DROP = "drop"
    """It is not sent."""
    BARE = "bare"
    """It is sent as reasoning without what only its own provider understands."""
    TEXT = "text"
    """It is sent as a text, unless it is blank."""
    WHOLE = "whole"
    """It is sent as it was written: a wire takes what is in its own name space."""


class References(StrEnum):
    """Where what the Responses API keeps is named by its id instead of sent.

    It keeps nothing of what a model of GPT-5 for Codex says: that is sent, under its id.
    """

    NEVER = "never"
    """It is sent, without an id."""
    BY_MODEL = "by-model"
    """Named, but for such a model, as its own name tells."""
    BY_PROVIDER = "by-provider"
    """Named, but for a model of GPT-5 whose provider's name tells."""

    def named(self, provider: str, model: str) -> bool:
        """Return whether items are named, and not sent, to a model of a provider."""
        told = model if self is References.BY_MODEL else provider
        return not ("gpt-5" in model and "gpt-5-chat" not in model and "codex" in told)


class Media(StrEnum):
    """Where media in a tool's output goes."""

    INSIDE = "inside"
    """Into the result, on every wire."""
    BESIDE = "beside"
    """Into a user message after the results, for each call its own."""
    BEFORE = "before"
    """Into a user message before the message that called, for each call its own."""
    FITTING = "fitting"
    """Into the result where the wire allows it, else into one user message after them."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The spelling of one agent's release.

    Attributes:
        name: the agent and release, for people.
        foreign: what becomes of another model's reasoning.
        space_renamed: what stands in a name space of the target's provider is the wire's own.
        references: where what Responses keeps is named by its id.
        media: where media in a tool's output goes.
        media_lead: the text before media beside a result; ``{tool}`` is the call's tool.
        reasoning_member: the member of a chat message that holds reasoning; empty for none.
        joint: what stands between the texts of one chat message.
        no_text: the content of an assistant's chat message without a text.
        parts_joined: user texts are one string on chat completions.
        keep_empty: an empty text of a message with signed reasoning is sent as one space.
        empty_kept: an empty text that a provider named is one of a message's parts.
        summaries_joined: what one reasoning of the provider was stored as is one item again on
            Responses; else each is sent that has what the provider wants back.
        blank_reasoning: reasoning of Anthropic's without words, redacted or signed alone, is sent.
        cache_control: the last two messages are marked for Anthropic's cache.
        mark_for_signature: but by the provider ``anthropic`` itself, reasoning that such a mark
            falls on loses its signature to it, and is not sent.
        emptied_sent: a message of Anthropic's whose reasoning cannot be sent is sent empty.
        nothing_sent: any message of Anthropic's is sent, and with it an empty text that a
            provider named.
        failed_reasoning_as_text: reasoning of a failed step is sent as text.
        content_texts_joined: the texts of a tool's output are one string on chat completions.
    """

    name: str = ""
    foreign: Foreign = Foreign.DROP
    space_renamed: bool = False
    references: References = References.NEVER
    media: Media = Media.FITTING
    media_lead: str = "Attached media from tool result:"
    reasoning_member: str = "reasoning_content"
    joint: str = ""
    no_text: str | None = ""
    parts_joined: bool = False
    keep_empty: bool = False
    empty_kept: bool = True
    summaries_joined: bool = True
    blank_reasoning: bool = True
    cache_control: bool = False
    mark_for_signature: bool = False
    emptied_sent: bool = False
    nothing_sent: bool = False
    failed_reasoning_as_text: bool = False
    content_texts_joined: bool = False

    def without_images(self) -> Profile | None:
        """Return how a request is spelled for a model that takes no images.

        ``None`` where that is not known, or this is how.
        """
        return None

    def spell(
        self,
        wire: Wire,
        pieces: Sequence[Piece],
        target: Target,
    ) -> list[dict[str, Any]] | None:
        """Return a request's messages in the agent's own spelling.

        ``None``, as here, for an agent whose spelling the switches above describe. A profile
        of an agent that they do not describe overrides this.
        """
        return None


DEFAULT = Profile("default")
"""For sessions that no profile was written for."""
