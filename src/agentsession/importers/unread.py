"""What yields nothing: files and directories that cannot be read, and files that are empty.

All importers tell of them in the same words, and so does a count of usage.

Spec: decisions B4 and D11.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from agentsession._regular import reason
from agentsession.findings import Finding

UNREADABLE_FILE: Final = "unreadable-file"
"""The code of a file that cannot be read; an import that finds one exits with 1."""

UNREADABLE_PLACE: Final = "unreadable-place"
"""The code of a directory that cannot be read, likewise."""

EMPTY_FILE: Final = "empty-file"
"""The code of an empty file: its agent was ended before it wrote anything. It is no session."""

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

    One that is not there, or no longer, is not noted.
    """

    def note(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            unreadable[os.fspath(error.filename or "")] = error

    return note


def empty_file(path: str) -> Finding:
    """Return what is told of an empty file."""
    return Finding(EMPTY_FILE, SENTENCES[EMPTY_FILE], path)
