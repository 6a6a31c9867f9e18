"""The profile of a converted response: how the release that asked spelled its request."""

from __future__ import annotations

import re
from typing import Final

from agentsession.beside import value_of
from agentsession.entries import ResponseEntry
from agentsession.importers.pi.records import mapping, string
from agentsession.importers.pi.settings import NAMESPACE
from agentsession.wire.profiles_pi import NEWEST, PiProfile, pi_profile

_RELEASE: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


def profile_of_response(response: ResponseEntry) -> PiProfile:
    """Return how the request was spelled that a converted response answered."""
    native = mapping(value_of(response, NAMESPACE))
    found = _RELEASE.match(string(native.get("release")))
    release = (int(found[1]), int(found[2])) if found else NEWEST
    api, thinking = string(native.get("api")), string(native.get("thinkingLevel"))
    return pi_profile(release, api, thinking)
