"""What SQLite refuses, as the errors of this package.

Spec: stores 1, decision A12.
"""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from agentsession.errors import AgentSessionError, DamagedFile, StoreFailed
from agentsession.stores.layout import shown

_SYSTEM_ERRORS: Final = {
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_CANTOPEN: errno.ENOENT,
    sqlite3.SQLITE_TOOBIG: errno.EFBIG,
}
_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "; another process is writing to it, try again",
    sqlite3.SQLITE_READONLY: "; open the store read-only to read it",
    sqlite3.SQLITE_TOOBIG: "; a row of SQLite holds no more than a gigabyte",
}


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code of an error; 0 for one it did not raise."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


class failing:  # noqa: N801
    """Turns what SQLite and the system refuse in the block into an error that says why.

    Raises:
        DamagedFile: when the database itself is damaged, or is none.
        StoreFailed: for everything else.
    """

    # A class, because a generator would take longer than the rest of an append.
    __slots__ = ("_path", "_session_id", "_what")

    def __init__(self, what: str, session_id: str = "", path: Path | None = None) -> None:
        self._what = what
        self._session_id = session_id
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        failed = failure(error, self._what, self._session_id, self._path)
        if failed is not None:
            raise failed from error


def failure(
    error: BaseException | None, what: str, session_id: str = "", path: Path | None = None
) -> DamagedFile | StoreFailed | None:
    """Return the error that says what was refused; ``None`` for one of ours, or of others."""
    if isinstance(error, AgentSessionError):
        return None
    if not isinstance(error, (sqlite3.Error, OSError, OverflowError)):
        return None
    code = code_of(error) if isinstance(error, sqlite3.Error) else 0
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    reason = reason[:1].lower() + reason[1:]
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return DamagedFile(f"is a SQLite database that cannot be read: {reason}", path=path)
    which = f" session {shown(session_id)}" if session_id else ""
    place = f" ({path})" if path else ""
    number = error.errno if isinstance(error, OSError) else _SYSTEM_ERRORS.get(code)
    return StoreFailed(
        f"cannot {what}{which}{place}: {reason}{_ADVICE.get(code, '')}",
        session_id=session_id,
        path=path,
        errno=number,
    )
