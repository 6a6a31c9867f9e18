"""Releases: the numbers of a version, to compare."""

from __future__ import annotations


def version_of(release: str) -> tuple[int, ...]:
    """Return a release's numbers; the newest for one that has none."""
    numbers: list[int] = []
    for part in release.split("-", maxsplit=1)[0].split("."):
        if not part.isascii() or not part.isdigit() or len(part) > 6:
            break
        numbers.append(int(part))
    return tuple(numbers) or (999,)
