"""What a SOURCE argument stands for, found out from what is there.

A regular file is a session; a directory is the root of a file store. A further kind of
store is one more entry in :func:`open_store`.

Spec: decision C.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentsession.errors import AgentSessionError, NoSession
from agentsession.reading import read
from agentsession.session import Session

if TYPE_CHECKING:
    from agentsession.stores import Store

_SQLITE_MAGIC = b"SQLite format 3\0"
_NAMED = 10


def open_session(source: str, session_id: str = "", *, allow_newer: bool = False) -> Session:
    """Return the session that SOURCE and ID name; nothing is locked or changed.

    Args:
        source: a session file, or a store.
        session_id: in a store, a session's id or the beginning of one; it may be left out
            when the store has one session.
        allow_newer: read a file of a version this release does not know.

    Spec: command A.1, decision C.

    Raises:
        click.UsageError: an id beside a session file.
        AgentSessionError: no such session, several, or one that cannot be read.
        OSError: when it cannot be opened.
    """
    path = _existing(source)
    if not (path.is_dir() or _is_database(path)):
        if session_id:
            raise click.UsageError(
                f"{source} is a file and takes no id, but {session_id} was given",
                click.get_current_context(silent=True),
            )
        return read(path, allow_newer=allow_newer)
    with open_store(source) as store:
        return store.open(_chosen(store, source, session_id))


def open_store(source: str) -> Store:
    """Return the store that a SOURCE names, opened for reading.

    Raises:
        AgentSessionError: when it is none.
        OSError: when it cannot be opened.
    """
    path = _existing(source)
    if path.is_dir():
        from agentsession.stores import JSONLStore  # noqa: PLC0415 - not needed for a file

        return JSONLStore(path, read_only=True)
    if _is_database(path):
        raise AgentSessionError(
            f"{source} is a SQLite database, which this release does not open; give the "
            "directory of a file store"
        )
    raise AgentSessionError(f"{source} is a file, not a store; give the directory of a file store")


def _existing(source: str) -> Path:
    """The path of something that is there and can be read to its end."""
    path = Path(source)
    try:
        mode = os.stat(source).st_mode
    except ValueError as error:
        raise AgentSessionError(f'"{source}" is no file name: {error}') from error
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode):
        return path
    raise OSError(errno.EINVAL, "neither a file nor a directory", source)


def _is_database(path: Path) -> bool:
    # A pipe can be read once only.
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


def _chosen(store: Store, source: str, session_id: str) -> str:
    """The whole id of the session a user means."""
    from agentsession.stores import Summary  # noqa: PLC0415 - not needed for a file

    summaries = [found for found in store.list() if isinstance(found, Summary)]
    ids = [summary.id for summary in summaries]
    if session_id in ids:
        return session_id
    found = [candidate for candidate in ids if candidate.startswith(session_id)]
    if len(found) == 1:
        return found[0]
    if not ids:
        raise NoSession(f"{source} holds no sessions{hint(Path(source))}", session_id=session_id)
    if not found:
        raise NoSession(
            f'{source} has no session whose id begins with "{session_id}"', session_id=session_id
        )
    meaning = f'"{session_id}" begins the ids of' if session_id else "name one of"
    raise NoSession(
        f"{source} holds {len(ids)} sessions; {meaning} {_named(found)}", session_id=session_id
    )


def _named(ids: Iterable[str]) -> str:
    names = list(ids)
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def hint(root: Path) -> str:
    """Return what to add when a directory without sessions has session files of its own."""
    if next(root.glob("*.jsonl"), None) is None:
        return ""
    return "; name one of the files in it, or the directory above it as the store"
