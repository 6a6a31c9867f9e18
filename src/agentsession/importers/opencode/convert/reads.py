"""Reads: which steps of releases up to 1.0.61 count what was read from a cache twice.

Their ``input`` holds the tokens read from a cache on every wire but Anthropic's, where it
never did; by which wire a call went is not stored. Spec: decision D12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.convert.usage import counts_in
from agentsession.importers.opencode.records import MessageRecord

_LAST: Final = (1, 0, 61)
_APART: Final = frozenset({"anthropic", "amazon-bedrock", "google-vertex-anthropic"})
"""The providers whose wire is Anthropic's way of counting."""
_SPACES: Final = ("anthropic", "bedrock")
"""The name spaces of what such a wire wants back."""


def twice_read(records: Sequence[MessageRecord], rules: Callable[[int], Rules]) -> frozenset[int]:
    """Return the places of the messages whose ``input`` holds what was read from a cache.

    A provider counts apart whose name says so, or once a message of its own did: where it wrote
    to a cache, which the others never tell, where it read more than its input was, or where
    Anthropic signed something. What is read was written before, so one of these is there before
    the first read; what comes later changes nothing.

    Args:
        records: the session's messages in order.
        rules: the rules of each one's release.
    """
    apart = set(_APART)
    found: set[int] = set()
    for place, record in enumerate(records):
        info = record.info
        if info is None or info.role != names.ROLE_ASSISTANT or rules(place).version > _LAST:
            continue
        provider = values.string(info.value.get("providerID"))
        if provider not in apart and _counts_apart(record):
            apart.add(provider)
        if provider not in apart:
            found.add(place)
    return frozenset(found)


def _counts_apart(record: MessageRecord) -> bool:
    """Return whether a message shows that its input is counted without what was read."""
    if record.info is None:
        return False
    fresh, _, _, read, write = counts_in(record.info.value.get("tokens"))
    if write or fresh < read:
        return True
    return any(
        isinstance(told := part.part.value.get("metadata"), dict)
        and any(space in told for space in _SPACES)
        for part in record.parts
        if part.part is not None
    )
