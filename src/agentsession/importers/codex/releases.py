"""Releases: the numbers of a version, to compare, and what a line tells of who wrote it.

A thread names the release that made it, and none that went on with it. Spec: codex 2 and 3.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.lines import Line, string

_SINCE: Final = (
    ("approvals_reviewer", "0.145.0"),
    ("permission_profile", "0.124.0"),
    ("realtime_active", "0.110.0"),
    ("current_date", "0.107.0"),
    ("collaboration_mode", "0.90.0"),
    ("truncation_policy", "0.79.0"),
)
"""Members of turn contexts, and the first release that was seen to write them; newest first."""

CUT_WHEN_STORED: Final = (0, 145)
"""Releases before stored what tools returned whole, and cut what they sent."""

_SETTINGS: Final = "thread_settings_applied"
_REVIEW: Final = b'"<user_action>'
_MADE: Final = frozenset({"user", "developer"})


def version_of(release: str) -> tuple[int, ...]:
    """Return a release's numbers; the newest for one that has none."""
    numbers: list[int] = []
    for part in release.split("-", maxsplit=1)[0].split("."):
        if not part.isascii() or not part.isdigit() or len(part) > 6:
            break
        numbers.append(int(part))
    return tuple(numbers) or (999,)


def at_least(line: Line) -> str:
    """Return the oldest release that could have written a line; empty when nothing tells."""
    if line.kind == lines.ITEM:
        payload = line.payload
        if line.metadata:
            return "0.160.0"
        made = string(payload.get("role")) in _MADE or line.name.endswith("_output")
        # What 0.145 says of a review has an id as well.
        named = made and bool(string(payload.get("id"))) and _REVIEW not in line.text
        return "0.146.0" if named else ""
    if line.kind == lines.CONTEXT:
        return next((release for name, release in _SINCE if name in line.payload), "")
    return "0.145.0" if line.name == _SETTINGS else ""
