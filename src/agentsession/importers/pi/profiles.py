"""The profile of a converted response: how the release that asked spelled its request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentsession.beside import value_of
from agentsession.entries import ResponseEntry
from agentsession.importers.pi.evidence import Release, Sent
from agentsession.importers.pi.records import mapping, string
from agentsession.importers.pi.settings import IMAGES, NAMESPACE
from agentsession.session import Session
from agentsession.wire.profiles_pi import NEWEST, PiProfile, pi_profile

_RELEASE: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


def profile_of_response(response: ResponseEntry) -> PiProfile:
    """Return how the request was spelled that a converted response answered."""
    native = mapping(value_of(response, NAMESPACE))
    release = _release(native) or NEWEST
    api, thinking = string(native.get("api")), string(native.get("thinkingLevel"))
    return pi_profile(release, api, thinking, images=native.get(IMAGES) is not False)


def sent_in(stored: Session) -> dict[str, Sent]:
    """Return, by the name of a message, how an import said its request was sent.

    Of several branches of one message the last one says so.

    Args:
        stored: the session, as a store has it.
    """
    found: dict[str, Sent] = {}
    for entry in stored.entries:
        if isinstance(entry, ResponseEntry):
            native = mapping(value_of(entry, NAMESPACE))
            release, name = _release(native), string(native.get("message"))
            if release is not None and name:
                found[name] = Sent(release, native.get(IMAGES) is not False)
    return found


def _release(native: Mapping[str, Any]) -> Release | None:
    found = _RELEASE.match(string(native.get("release")))
    return (int(found[1]), int(found[2])) if found else None
