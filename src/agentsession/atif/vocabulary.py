"""The closed sets of ATIF: versions, sources, part types and media types.

Spec: atif 2.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = "ATIF-v1.8"
"""The version this package writes."""

VERSION_PREFIX: Final = "ATIF-v1."
"""What every version this package reads begins with."""

VERSIONS: Final = tuple(f"{VERSION_PREFIX}{minor}" for minor in range(9))
"""Every version that validates, oldest first."""

SOURCES: Final = ("system", "user", "agent")
PART_TYPES: Final = ("text", "image", "audio")
IMAGE_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
AUDIO_TYPES: Final = (
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
    "audio/aiff",
)
AUDIO_ALIASES: Final = {
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
}

MAX_EMBEDDING: Final = 254
"""How many documents deep an embedded document may lie; readers stop there."""


def audio_type(written: str) -> str:
    """The audio type a spelling stands for: trimmed, in lower case, aliases resolved.

    A spelling of no known type comes back trimmed and in lower case.
    Spec: atif 2.
    """
    plain = written.strip().lower()
    return AUDIO_ALIASES.get(plain, plain)
