"""Sessions to bytes.

Spec: format 6, decision A3.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from agentsession import canonical
from agentsession.errors import UnresolvedMigration
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
    written beside its name first and then put in place, so that it is never half a file; it
    keeps the mode of a file that was there, a link is followed, and a device or a pipe is
    written to.

    Args:
        target: a path or a binary file object.
        session: the session.
        clean: leave out a cut last line, blank lines and repeated entries.
        canonical: write each line in its canonical form (RFC 8785); implies ``clean``.

    Spec: decision A3.

    Raises:
        CannotHash: with ``canonical``, for a line that has no canonical form.
        UnresolvedMigration: for a migrated session with what could not be rewritten.
        OSError: when the file cannot be written.
    """
    pieces = _pieces(session, clean=clean, canonical_lines=canonical)
    if not isinstance(target, (str, os.PathLike)):
        for piece in pieces:
            target.write(piece)
        return
    # What a link leads to is written, and the link stays.
    path = Path(os.path.realpath(target))
    if path.exists() and not path.is_file():
        # A pipe or a device takes the bytes; nothing can be put in its place.
        with path.open("wb") as file:
            file.writelines(pieces)
        return
    _put_in_place(path, pieces)


def _put_in_place(path: Path, pieces: Iterator[bytes]) -> None:
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _pieces(session: Session, *, clean: bool, canonical_lines: bool) -> Iterator[bytes]:
    if session.unresolved:
        raise UnresolvedMigration(
            f"session {session.id} was migrated, and cannot be written as "
            f"{session.header.format}: {session.unresolved[0]}"
            + (f" (and {len(session.unresolved) - 1} more)" if len(session.unresolved) > 1 else ""),
            unresolved=session.unresolved,
        )
    if not clean and not canonical_lines:
        yield from session.lines()
        return
    for line in (session.header.line, *(entry.line for entry in session.entries)):
        yield (canonical.canonical_text(line) if canonical_lines else line) + b"\n"
