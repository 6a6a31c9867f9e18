"""Files that yield nothing: those that cannot be read, and those that nothing was written to.

All importers tell of them in the same words, and so does a count of usage.

Spec: decisions B4 and D11.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentsession._regular import reason
from agentsession.findings import Finding

UNREADABLE_FILE: Final = "unreadable-file"
"""The code of a file that cannot be read; an import that finds one exits with 1."""

EMPTY_FILE: Final = "empty-file"
"""The code of an empty file: its agent was ended before it wrote anything. It is no session."""

SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        UNREADABLE_FILE: "the file cannot be read",
        EMPTY_FILE: "the file is empty: the agent was ended before it wrote anything",
    }
)
"""What the codes mean."""


def unreadable(problem: OSError) -> str:
    """Return the sentence of a file that cannot be read, with the reason."""
    return f"{SENTENCES[UNREADABLE_FILE]}: {reason(problem)}"


def unreadable_file(path: str, problem: OSError) -> Finding:
    """Return what an import tells of a file that cannot be read."""
    return Finding(UNREADABLE_FILE, unreadable(problem), path)


def empty_file(path: str) -> Finding:
    """Return what is told of an empty file."""
    return Finding(EMPTY_FILE, SENTENCES[EMPTY_FILE], path)
