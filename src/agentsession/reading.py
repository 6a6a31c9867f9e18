"""Bytes to sessions.

Spec: format 7, later drafts 3, decisions A2 to A6.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Protocol

from agentsession import _buffers
from agentsession.line_reading import LineReader
from agentsession.session import Session


class Readable(Protocol):
    """Anything with ``read`` that gives bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return bytes."""
        ...


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Readable


def read(
    source: Source,
    *,
    allow_newer: bool = False,
    verify_ids: bool = True,
    strict: bool = False,
) -> Session:
    """Return the session in a file, given by path, as an open binary file, or as bytes.

    The source is only read. A last line that was cut short is reported in
    ``session.truncated``; anything else that breaks the format raises.

    Args:
        source: a path, bytes, or a binary file object, read to its end.
        allow_newer: read minor versions this release does not know, keeping what is unknown.
        verify_ids: where ids are hashes (from 0.5 on), compute each of them. Without it a
            changed line is not noticed, and ``session.notes`` says so.
        strict: decode every line to its last byte and refuse what a reader forgives: a cut
            last line, and what JSON readers take in different ways, such as a name used twice.

    Spec: format 7, later drafts 3.5.

    Raises:
        DamagedFile: naming file, line and byte range.
        DuplicateEntry, NoEntry: an id used twice, a parent that is not earlier in the file.
        BadID: an id that is not its entry's hash, or a base that the file does not keep to.
        BadConvergence, ReservedMember, BadNormalisation: other rules of later drafts.
        UnsupportedFormat: a format or version this release does not read.
        OSError: when the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return load(bytes(source), allow_newer=allow_newer, verify_ids=verify_ids, strict=strict)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        whole = _buffers.whole(path)
        reader = LineReader(
            whole, path, allow_newer=allow_newer, verify_ids=verify_ids, strict=strict
        )
        return reader.session()
    read_all = getattr(source, "read", None)
    if not callable(read_all):
        raise TypeError(
            f"a session is read from a path, bytes or a binary file, not {type(source).__name__}"
        )
    data = read_all()
    if not isinstance(data, bytes):
        raise TypeError("open the file in binary mode to read a session from it")
    name = getattr(source, "name", None)
    found = name if isinstance(name, str) else None
    return load(data, path=found, allow_newer=allow_newer, verify_ids=verify_ids, strict=strict)


def load(
    data: bytes,
    *,
    path: str | Path | None = None,
    allow_newer: bool = False,
    verify_ids: bool = True,
    strict: bool = False,
) -> Session:
    """Return the session in bytes; ``path`` names the file in messages.

    Raises:
        AgentSessionError: as :func:`read`.
    """
    reader = LineReader(data, path, allow_newer=allow_newer, verify_ids=verify_ids, strict=strict)
    return reader.session()
