"""The spelling of pi: how its releases turned the same messages into requests.

What pi changes between a message and a request depends on the release and on who wrote the
message: reasoning of another model, ids of calls, where images of a tool's output go. Which
release sent a request is the importer's to find out. Spec: pi 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession.wire import _pi_anthropic, _pi_chat, _pi_responses
from agentsession.wire._pi_messages import Release, gather
from agentsession.wire.origin import Piece, Target
from agentsession.wire.profile import Profile, Wire

V1: Final[Release] = (0, 30)
"""The releases whose files have no version: 0.13 to 0.30."""

V2: Final[Release] = (0, 37)
"""The releases up to 0.48; the first files of version 3 are among theirs."""

FIRST_V3: Final[Release] = (0, 49)
"""The first release that leaves failed messages out of requests."""

NEWEST: Final[Release] = (1, 0)

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
    """

    release: Release = NEWEST
    api: str = ""

    def spell(self, wire: Wire, pieces: Sequence[Piece], target: Target) -> list[dict[str, Any]]:
        """Return a request's messages as pi spelled them."""
        return _LOWER[wire](gather(pieces, target, self.api, self.release), target, self.release)


def pi_profile(release: Release = NEWEST, api: str = "") -> PiProfile:
    """Return the profile of a release of pi.

    Args:
        release: its major and minor number.
        api: the model API of the request, in pi's words.
    """
    name = ".".join(str(number) for number in release)
    return PiProfile(name=f"pi {name}", release=release, api=api)
