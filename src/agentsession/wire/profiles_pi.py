"""The spelling of pi: how its releases turned the same messages into requests.

What pi changes between a message and a request depends on the release and on who wrote the
message: reasoning of another model, ids of calls, where images of a tool's output go. Which
release sent a request is the importer's to find out. Spec: pi 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentsession.wire import _pi_anthropic, _pi_chat, _pi_responses
from agentsession.wire._pi_messages import Release, gather
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import Profile, Wire

V1: Final[Release] = (0, 27)
"""The releases whose files have no version, but for the first of them: 0.27 to 0.30."""

V2: Final[Release] = (0, 31)
"""The releases whose files are of version 2: 0.31 to 0.36."""

FIRST_V3: Final[Release] = (0, 49)
"""The first release that leaves failed messages out of requests."""

NEWEST: Final[Release] = (1, 4)

BORDERS: Final[tuple[Release, ...]] = (
    (0, 13),
    V1,
    V2,
    (0, 40),
    (0, 45),
    FIRST_V3,
    (0, 50),
    (0, 51),
    (0, 55),
    (0, 57),
    (0, 58),
    (0, 60),
    (0, 62),
    (0, 67),
    (0, 68),
    (0, 75),
    (0, 78),
    (0, 80),
    (0, 81),
    (0, 82),
    (0, 84),
    (0, 87),
    (1, 0),
    (1, 3),
    NEWEST,
)
"""The first releases that spelled requests as they did, as far as releases were compared."""

OFF: Final = "off"
"""The level of a model that is not to think."""

_SILENCED: Final = "# Juice: 0 !important"

_LOWER: Final = {
    Wire.CHAT: _pi_chat.lower,
    Wire.ANTHROPIC: _pi_anthropic.lower,
    Wire.RESPONSES: _pi_responses.lower,
}


@dataclass(frozen=True, slots=True)
class PiProfile(Profile):
    """How one release of pi spelled a request.

    Attributes:
        release: the first release known to spell as this one did.
        api: the model API of the request, in pi's words, such as ``openai-completions``.
        thinking: how hard the model was to think, in pi's words; empty where it does not matter.
        images: whether the model takes images.
    """

    release: Release = NEWEST
    api: str = ""
    thinking: str = ""
    images: bool = True

    def without_images(self) -> PiProfile | None:
        """Return how the request is spelled for a model that takes no images."""
        return replace(self, images=False) if self.images else None

    def spell(self, wire: Wire, pieces: Sequence[Piece], target: Target) -> list[dict[str, Any]]:
        """Return a request's messages as pi spelled them."""
        said = gather(pieces, target, self.api, self.release, images=self.images)
        found = _LOWER[wire](said, target, self.release)
        if wire is Wire.RESPONSES and silences(self.release, self.api, target.model, self.thinking):
            content = [{"type": "input_text", "text": _SILENCED}]
            found.append({"role": "developer", "content": content})
        return found


def silences(release: Release, api: str, model: str, thinking: str) -> bool:
    """Return whether a model is told at the end of a request not to think.

    Args:
        release: who sent it.
        api: its model API, in pi's words.
        model: the model.
        thinking: how hard it was to think, in pi's words.
    """
    asked = api == "openai-responses" and model.startswith("gpt-5")
    return asked and thinking == OFF and release < (0, 62)


def pi_profile(
    release: Release = NEWEST, api: str = "", thinking: str = "", *, images: bool = True
) -> PiProfile:
    """Return the profile of a release of pi.

    Args:
        release: its major and minor number.
        api: the model API of the request, in pi's words.
        thinking: how hard the model was to think, in pi's words.
        images: whether the model takes images.
    """
    name = ".".join(str(number) for number in release)
    return PiProfile(f"pi {name}", release=release, api=api, thinking=thinking, images=images)
