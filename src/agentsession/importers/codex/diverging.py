"""Diverging: whether a copy of a file holds what the other copy does not.

A thread that was copied, and then went on in both places, is in one file as little as in the
other. Spec: codex 5, decisions D6 and D12.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.lines import Line

_CHUNK: Final = 1 << 20


def is_beginning(path: str, other: str) -> bool:
    """Return whether a file is how another one begins; so is one that cannot be read."""
    try:
        with open(path, "rb") as file, open(other, "rb") as whole:
            while chunk := file.read(_CHUNK):
                if whole.read(len(chunk)) != chunk:
                    return False
    except OSError:
        return True
    return True


class Kept:
    """The records of some files.

    Args:
        found: those of the first.
    """

    def __init__(self, found: Iterable[Line]) -> None:
        self._known: set[bytes] = set()
        self.take(found)

    def take(self, found: Iterable[Line]) -> None:
        """Take in the records of a file."""
        self._known.update(_mark(line) for line in found)

    def holds(self, found: Iterable[Line]) -> bool:
        """Return whether all records of a file are known; what cannot be read is none."""
        return all(line.kind == lines.BROKEN or _mark(line) in self._known for line in found)


def _mark(line: Line) -> bytes:
    """What tells a record from others, however its line is spelled around it."""
    said = (line.kind.encode("utf-8", "replace"), line.time.encode(), line.text)
    return blake2b(b"\0".join(said), digest_size=16).digest()
