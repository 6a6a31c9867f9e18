"""Profiles: how the release that sent a response's request spelled it.

Spec: codex 2.2 and 8.1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agentsession.beside import value_of
from agentsession.entries import ResponseEntry
from agentsession.importers.codex.lines import mapping, string
from agentsession.importers.codex.releases import version_of
from agentsession.importers.codex.writer import NAMESPACE
from agentsession.wire.profiles_codex import CodexProfile, codex_profile

_STEERED_ONCE: Final = (0, 48)
"""Releases before sent what a user put into a turn twice, in the request that held it first."""


def profile_of_response(response: ResponseEntry) -> CodexProfile:
    """Return how the release that sent a response's request spelled it."""
    native = mapping(value_of(response, NAMESPACE))
    release = string(native.get("release"))
    provider = string(value_of(response, "provider"))
    version = version_of(release) if release else (0, 20)
    steered = native.get("steered")
    policy = mapping(native.get("truncation_policy"))
    whole = native.get("whole_outputs") is True
    found = codex_profile(version, response.model, provider, policy, whole=whole)
    if not release:
        # Plain files name none: what stands in them tells which it was.
        streamed = native.get("streamed") is not False
        found = replace(found, doubled=streamed, since=string(native.get("resumed")))
    if isinstance(steered, int) and version < _STEERED_ONCE:
        found = replace(found, steered=steered)
    return found
