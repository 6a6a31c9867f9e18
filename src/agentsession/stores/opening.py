"""Which kind of store a path is, found out by what is there.

Spec: decision C.
"""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsession.errors import AgentSessionError, StoreFailed
from agentsession.stores.jsonl import JSONLStore
from agentsession.stores.layout import SUFFIX
from agentsession.stores.locks import StaleLockReport

if TYPE_CHECKING:
    from agentsession.stores.sqlite import SQLiteStore

DATABASE_SUFFIXES: Final = frozenset({".db", ".sqlite", ".sqlite3"})
"""The endings of a new path that make it a database rather than a directory."""

_MAGIC: Final = b"SQLite format 3\0"


class StoreKind(enum.Enum):
    """The kinds of store that have a path."""

    FILES = "files"
    """A directory of session files."""
    SQLITE = "sqlite"
    """A SQLite database."""


def store_kind(path: str | os.PathLike[str]) -> StoreKind | None:
    """Return the kind of store at a path, or ``None`` for a file that is no store.

    A directory is a file store; a file that begins as SQLite databases do is one. Where
    nothing is yet, or an empty file, the ending decides: ``.db``, ``.sqlite`` and
    ``.sqlite3`` make a database, ``.jsonl`` is a session file, anything else a directory.

    Raises:
        OSError: when it cannot be looked at.
    """
    place = Path(path)
    is_named_so = place.suffix.lower() in DATABASE_SUFFIXES
    if place.is_dir():
        return StoreKind.FILES
    if place.is_file():
        if is_database(place) or (is_named_so and not place.stat().st_size):
            return StoreKind.SQLITE
        return None
    if place.exists() or place.suffix.lower() == SUFFIX:
        return None
    return StoreKind.SQLITE if is_named_so else StoreKind.FILES


def is_database(path: Path) -> bool:
    """Return whether a regular file begins as a SQLite database.

    Raises:
        OSError: when it cannot be read.
    """
    # A pipe can be read once only.
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def open_store(
    path: str | os.PathLike[str],
    *,
    read_only: bool = False,
    on_stale_lock: StaleLockReport | None = None,
    allow_newer: bool = False,
) -> JSONLStore | SQLiteStore:
    """Return the store at a path, made when nothing is there; see :func:`store_kind`.

    Args:
        path: a directory, a SQLite database, or the path of a new store.
        read_only: refuse every write; nothing is made.
        on_stale_lock: as for the stores.
        allow_newer: read sessions of minor versions this release does not know.

    Raises:
        StoreFailed: when it cannot be made or opened.
        AgentSessionError: when it is a file that is no store.
    """
    try:
        kind = store_kind(path)
    except ValueError as error:
        raise StoreFailed(f"the path of a store cannot hold a NUL: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreFailed(f"{os.fspath(path)}: {reason}", errno=error.errno) from error
    if kind is StoreKind.FILES:
        return JSONLStore(
            path, read_only=read_only, on_stale_lock=on_stale_lock, allow_newer=allow_newer
        )
    if kind is StoreKind.SQLITE:
        from agentsession.stores.sqlite import SQLiteStore  # noqa: PLC0415 - only when it is one

        return SQLiteStore(
            path, read_only=read_only, on_stale_lock=on_stale_lock, allow_newer=allow_newer
        )
    what = "is a file" if os.path.exists(path) else "would be a file"
    raise AgentSessionError(
        f"{os.fspath(path)} {what}, not a store; give the directory of a file store, or a "
        "SQLite database"
    )
