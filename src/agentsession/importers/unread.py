"""What yields nothing: files and directories that cannot be read, and files that are empty.

All importers tell of them in the same words, and so does a count of usage.

Spec: decisions B4 and D11.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agentsession._regular import open_regular, reason
from agentsession.findings import Finding

UNREADABLE_FILE: Final = "unreadable-file"
"""The code of a file that cannot be read; an import that finds one exits with 1."""

UNREADABLE_PLACE: Final = "unreadable-place"
"""The code of a directory that cannot be read, likewise."""

EMPTY_FILE: Final = "empty-file"
"""The code of an empty file: its agent was ended before it wrote anything. It is no session."""

OLD_LAYOUT: Final = "old-layout"
"""The code of a directory that holds sessions in a layout too old to be read."""

NOTES: Final = frozenset({EMPTY_FILE, OLD_LAYOUT})
"""The codes of what yields nothing and is no problem: an import that finds some is whole."""

SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        UNREADABLE_FILE: "the file cannot be read",
        UNREADABLE_PLACE: "the directory cannot be read",
        EMPTY_FILE: "the file is empty: the agent was ended before it wrote anything",
    }
)
"""What the codes mean."""


def unreadable(path: str, problem: OSError) -> Finding:
    """Return what an import tells of a file or directory that cannot be read."""
    code = UNREADABLE_PLACE if os.path.isdir(path) else UNREADABLE_FILE
    return Finding(code, f"{SENTENCES[code]}: {reason(problem)}", path)


def noting(unreadable: dict[str, OSError]) -> Callable[[OSError], None]:
    """Return what notes directories that a walk cannot read, each with the reason.

    One that is not there, or no longer, is not noted, unless it is behind a link to nothing.
    """

    def note(error: OSError) -> None:
        place = os.fspath(error.filename or "")
        gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
        if not gone or leads_nowhere(place):
            unreadable[place] = error

    return note


def leads_nowhere(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is, or is behind, a link to nothing, such as a disk not mounted."""
    place = Path(os.path.abspath(path))
    for above in (place, *place.parents):
        if os.path.lexists(above):
            return not os.path.exists(above)
    return False


def unread_below(path: str | os.PathLike[str]) -> tuple[Finding, ...]:
    """Return what cannot be read at or below a path, in no agent's account, links not followed."""
    place = os.fspath(path)
    shut: dict[str, OSError] = {}
    if os.path.isdir(place):
        for _ in os.walk(place, onerror=noting(shut)):
            pass
    else:
        try:
            open_regular(place).close()
        except OSError as error:
            shut[place] = error
    return tuple(unreadable(found, error) for found, error in shut.items())


def empty_file(path: str) -> Finding:
    """Return what is told of an empty file."""
    return Finding(EMPTY_FILE, SENTENCES[EMPTY_FILE], path)
