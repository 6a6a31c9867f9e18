"""What every document consists of, and so cannot be a secret.

Spec: decision E5.
"""

from __future__ import annotations

import re
from typing import Final

from agentsession.atif import AUDIO_TYPES, IMAGE_TYPES, PART_TYPES, SOURCES, VERSIONS
from agentsession.atif.shape import SHAPES
from agentsession.export.names import REPLACEMENT, RESERVED
from agentsession.items import KNOWN_ITEM_TYPES

_WORDS: Final = (
    "agentsession/0.",
    "openresponses/",
    "assistant",
    "developer",
    "function_call_output",
    "input_text",
    "output_text",
    "input_image",
    "input_file",
    "summary_text",
    "reasoning_text",
    "annotations",
    "arguments",
    "_arguments",
    "completed",
    "incomplete",
    "in_progress",
    "item_order",
    "instructions",
    "compaction",
    "decisions",
    "dispatch",
    "description",
    "parameters",
    "environment",
    "end_entry_id",
    "start_entry_id",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "input_tokens_details",
    "output_tokens_details",
    "cached_tokens",
    "reasoning_tokens",
    "request_hash",
    "parent_session",
    "spawned_by",
    "images/",
    "audio/",
    "trajectory",
    "unknown",
    REPLACEMENT,
    '"type": "text"',
)

STRUCTURAL: Final = frozenset(
    {
        *_WORDS,
        *(name for members in SHAPES.values() for name in members),
        *SHAPES,
        *RESERVED,
        *KNOWN_ITEM_TYPES,
        *VERSIONS,
        *SOURCES,
        *PART_TYPES,
        *IMAGE_TYPES,
        *AUDIO_TYPES,
    }
)
"""Texts that stand in documents whatever the session says."""

# A piece of a time, and whole numbers small enough to be one or to count tokens.
_TIME: Final = re.compile(r"[0-9T:.Z-]*[T:Z-][0-9T:.Z-]*|[0-9]{1,9}|[0-9]*\.[0-9]*")


def is_structural(value: str) -> bool:
    """Return whether a text is part of what every document consists of."""
    if any(value in word for word in STRUCTURAL):
        return True
    if not value.strip():
        return True
    return bool(_TIME.fullmatch(value)) and len(value) <= len("2026-09-17T12:00:00.123456789Z")
