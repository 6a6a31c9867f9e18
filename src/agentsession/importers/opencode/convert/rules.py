"""Rules: what OpenCode's releases did differently between the store and the wire.

Spec: opencode 6 and 12.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentsession.wire import Foreign, Media, Profile, References

Version = tuple[int, int, int]

_VERSION: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", re.ASCII)

UNKNOWN: Final[Version] = (0, 0, 0)
LAST_MEDIA_APART: Final[Version] = (1, 1, 31)
"""The last release known to send media of an output in a message of its own for each call."""
FIRST_UNSAID_LEFT: Final[Version] = (1, 0, 142)
"""The first release seen to leave out a user's message of which nothing is sent."""
LAST_TREE: Final[Version] = (1, 1, 65)
LAST_TABLES: Final[Version] = (1, 18, 34)


@lru_cache(maxsize=1024)
def version_of(release: str) -> Version:
    """Return a release's number, :data:`UNKNOWN` for a name that has none."""
    found = _VERSION.match(release)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else UNKNOWN


@lru_cache(maxsize=1024)
def release_of(version: Version) -> str:
    """Return a release's name, such as ``1.18.33``; empty when it is not known."""
    return "" if version == UNKNOWN else ".".join(str(number) for number in version)


@dataclass(frozen=True, slots=True)
class Rules:
    """What one release of the V1 engine did. Spec: opencode 6.1 to 6.3."""

    version: Version

    @property
    def summary_starts(self) -> bool:
        """A summary without a compaction part begins the history, itself first."""
        return self.version < (1, 0, 98)

    @property
    def failed_summary_counts(self) -> bool:
        """A summary with an error still ends the walk back."""
        return self.version < (1, 2, 0)

    @property
    def tail_behind(self) -> bool:
        """What a compaction kept is sent behind its summary, not where it stood before."""
        return self.version > (1, 14, 34)

    @property
    def unsettled_sent(self) -> bool:
        """A call that never got its result is sent with a notice in its place."""
        return self.version > (1, 1, 16)

    @property
    def pruned_keeps_media(self) -> bool:
        """A pruned output is sent with its media all the same."""
        return self.version <= LAST_MEDIA_APART

    @property
    def interrupted_is_output(self) -> bool:
        """An interrupted call's own output is sent as an ordinary result."""
        return self.version >= (1, 14, 0)

    @property
    def empty_text_skipped(self) -> bool:
        """A user's empty text is not sent."""
        return self.version >= (1, 15, 0)

    @property
    def unsaid_sent(self) -> bool:
        """A user's message of which nothing is sent is sent all the same, empty."""
        return self.version < FIRST_UNSAID_LEFT

    @property
    def busy_wrapped(self) -> bool:
        """Input that arrives during a loop is sent in a wrapper the store does not have."""
        return (1, 0, 185) <= self.version <= (1, 17, 0)


@lru_cache(maxsize=1024)
def rules_of(version: Version) -> Rules:
    """Return the rules of a release."""
    return Rules(version)


def profile_of(release: str) -> Profile:
    """Return how a release of the V1 engine spelled its requests. Spec: opencode 6.3, 6.4."""
    version = version_of(release)
    media, lead = Media.FITTING, "Attached media from tool result:"
    if version <= LAST_MEDIA_APART:
        media = Media.BESIDE if (1, 0, 98) <= version < (1, 1, 0) else Media.BEFORE
        lead = "The tool {tool} returned the following attachments:"
        if version <= (1, 1, 16):
            lead = "Tool {tool} returned an attachment:"
    elif version < (1, 1, 50):
        media = Media.INSIDE
    elif version < (1, 15, 0):
        lead = "Attached image(s) from tool result:"
    foreign = Foreign.WHOLE if version < (1, 1, 30) else Foreign.BARE
    late = version >= (1, 14, 0)
    references = References.NEVER
    if version <= (1, 1, 16):
        references = References.BY_MODEL if version < (1, 0, 142) else References.BY_PROVIDER
    return Profile(
        name=f"opencode {release}".strip(),
        foreign=Foreign.TEXT if late else foreign,
        space_renamed=version > (1, 1, 16),
        references=references,
        media=media,
        media_lead=lead,
        reasoning_member="reasoning_content" if version >= (1, 1, 50) else "",
        keep_empty=version > (1, 14, 34),
        empty_kept=version >= (1, 0, 98),
        summaries_joined=version < (1, 16, 0),
        blank_reasoning=not (1, 1, 0) <= version < (1, 15, 0),
        cache_control=True,
        mark_for_signature=version < (1, 1, 50),
        emptied_sent=True,
        nothing_sent=version < (1, 1, 0),
    )


def rows_profile(*, preview: bool, release: str = "") -> Profile:
    """Return how the V2 engine, or its preview in 1.17 to 1.19, spelled its requests.

    Spec: opencode 5.4, 10.
    """
    return Profile(
        name=f"opencode {release}".strip(),
        foreign=Foreign.TEXT if preview else Foreign.BARE,
        media=Media.FITTING,
        joint="\n",
        no_text=None,
        parts_joined=True,
        failed_reasoning_as_text=True,
        content_texts_joined=True,
        cache_control=not preview,
    )
