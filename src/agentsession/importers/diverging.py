"""Diverging: whether a copy of a file holds what the other copies do not.

A session that was copied, and then went on in both places, is in one file as little as in the
other. What a record says is known by a mark, which is its importer's to make: the same in
every copy, however its line is spelled.

Spec: decisions D6 and D12.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeVar

from agentsession._regular import open_regular

_CHUNK: Final = 1 << 20

_File = TypeVar("_File")


def is_beginning(path: str, other: str) -> bool:
    """Return whether a file is how another one begins; so is one that cannot be read."""
    try:
        with open_regular(path) as file, open_regular(other) as whole:
            while chunk := file.read(_CHUNK):
                if whole.read(len(chunk)) != chunk:
                    return False
    except OSError:
        return True
    return True


class Kept:
    """The records of some files.

    Args:
        marks: those of the first.
    """

    def __init__(self, marks: Iterable[Hashable]) -> None:
        self._known = set(marks)

    def take(self, marks: Iterable[Hashable]) -> None:
        """Take in the records of a file."""
        self._known.update(marks)

    def holds(self, marks: Iterable[Hashable]) -> bool:
        """Return whether all records of a file are known."""
        return all(mark in self._known for mark in marks)


def diverged(
    first: _File,
    others: Sequence[_File],
    path_of: Callable[[_File], str],
    marks_of: Callable[[_File], Iterable[Hashable]],
) -> list[_File]:
    """Return which copies of a file hold what neither it nor one before them holds.

    Args:
        first: the copy that holds most.
        others: the others, those that hold more before those that hold less.
        path_of: says where a file is.
        marks_of: says what its records are known by; those that cannot be read have no mark.
    """
    found: list[_File] = []
    kept: Kept | None = None
    for other in others:
        if is_beginning(path_of(other), path_of(first)):
            continue
        kept = kept or Kept(marks_of(first))
        if not kept.holds(marks_of(other)):
            found.append(other)
            kept.take(marks_of(other))
    return found
