"""Sessions to bytes.

Spec: format 6, decision A3.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from agentsession import canonical
from agentsession.session import Session


class Writable(Protocol):
    """Anything with ``write`` that takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Write bytes."""
        ...


Target = str | os.PathLike[str] | BinaryIO | Writable


def dump(session: Session, *, clean: bool = False, canonical: bool = False) -> bytes:
    """Return a session as the bytes of its file; the options are those of :func:`write`.

    Raises:
        CannotHash: with ``canonical``, for a line that has no canonical form.
    """
    return b"".join(_pieces(session, clean=clean, canonical_lines=canonical))


def write(
    target: Target, session: Session, *, clean: bool = False, canonical: bool = False
) -> None:
    """Write a session to a path or an open binary file.

    What was read is written back byte for byte, and appended entries follow. A path is
    written beside its name first and then put in place, so that it is never half a file.

    Args:
        target: a path or a binary file object.
        session: the session.
        clean: leave out a cut last line, blank lines and repeated entries.
        canonical: write each line in its canonical form (RFC 8785); implies ``clean``.

    Spec: decision A3.

    Raises:
        CannotHash: with ``canonical``, for a line that has no canonical form.
        OSError: when the file cannot be written.
    """
    pieces = _pieces(session, clean=clean, canonical_lines=canonical)
    if not isinstance(target, (str, os.PathLike)):
        for piece in pieces:
            target.write(piece)
        return
    path = Path(target)
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _pieces(session: Session, *, clean: bool, canonical_lines: bool) -> Iterator[bytes]:
    if not clean and not canonical_lines:
        yield from session.lines()
        return
    for line in (session.header.line, *(entry.line for entry in session.entries)):
        yield (canonical.canonical_text(line) if canonical_lines else line) + b"\n"
