"""What a SOURCE argument stands for, found out from what is there.

A directory is the root of a file store, a SQLite database is a store, and any other file
is a session.

Spec: decision C.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentsession.cli.output import complain
from agentsession.errors import AgentSessionError, NoSession
from agentsession.findings import by_kind
from agentsession.reading import read
from agentsession.session import Session

if TYPE_CHECKING:
    from agentsession.recovery import Salvaged
    from agentsession.stores import JSONLStore, SQLiteStore, Store

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_SQLITE_MAGIC = b"SQLite format 3\0"
_NAMED = 10


def open_session(source: str, session_id: str = "", *, allow_newer: bool = False) -> Session:
    """Return the session that SOURCE and ID name; nothing is locked or changed.

    Args:
        source: a session file, or a store.
        session_id: in a store, a session's id or the beginning of one; it may be left out
            when the store has one session.
        allow_newer: read a session of a version this release does not know.

    Spec: command A.1, decision C.

    Raises:
        click.UsageError: an id beside a session file.
        AgentSessionError: no such session, several, or one that cannot be read.
        OSError: when it cannot be opened.
    """
    if not is_store(source):
        _refuse_id(source, session_id)
        return read(source, allow_newer=allow_newer)
    with open_store(source, allow_newer=allow_newer) as store:
        return _found(store, source, session_id, store.open)


def salvage_session(source: str, session_id: str = "", *, allow_newer: bool = False) -> Salvaged:
    """Return what can be had of the session that SOURCE and ID name, and what is damaged.

    Args:
        source: a session file, or a store.
        session_id: as for :func:`open_session`. A file whose header is lost is found by its
            whole id only.
        allow_newer: find sessions of versions this release does not know by the beginning of
            their ids; what can be had of one is had without it.

    Spec: design "Damage is data", decision B4.

    Raises:
        click.UsageError: an id beside a session file.
        AgentSessionError: no such session, or several.
        OSError: when it cannot be opened.
    """
    from agentsession.recovery import salvage  # noqa: PLC0415 - only when asked for

    if not is_store(source):
        _refuse_id(source, session_id)
        return salvage(source)
    with open_store(source, allow_newer=allow_newer) as store:
        return salvage(_found(store, source, session_id, store.content))


def _found(store: Store, source: str, session_id: str, get: Callable[[str], T]) -> T:
    """What a store gives for an id, which may be one it does not list, or the beginning of one."""
    if session_id:
        try:
            return get(session_id)
        except NoSession:
            pass
    return get(*chosen(store, source, [session_id]))


@contextmanager
def session_path(source: str, session_id: str = "", *, allow_newer: bool = False) -> Iterator[Path]:
    """Give the file of the session that SOURCE and ID name; of a store's, a temporary copy.

    Args:
        source: a session file, or a store.
        session_id: as for :func:`open_session`.
        allow_newer: in a store, find sessions of versions this release does not know.

    Raises:
        click.UsageError: an id beside a session file.
        AgentSessionError: no such session, or several.
        OSError: when it cannot be opened.
    """
    if not is_store(source):
        _refuse_id(source, session_id)
        yield Path(source)
        return
    with open_store(source, allow_newer=allow_newer) as store:
        (whole_id,) = chosen(store, source, [session_id])
        content = store.content(whole_id)
    with tempfile.TemporaryDirectory(prefix="agentsession-") as place:
        path = Path(place) / "session.jsonl"
        path.write_bytes(content)
        yield path


def tell_damages(found: Salvaged) -> None:
    """Name on standard error what was damaged: each kind once, where it is first, and how often."""
    told = by_kind(damage.finding for damage in found.damages)
    for sentence in told:
        complain(sentence)
    if len(found.damages) > len(told):
        complain(f"{len(found.damages)} damages in all; agentsession repair lists each of them")


def damages(number: int) -> str:
    """Return the word for so many damages."""
    return "damage" if number == 1 else "damages"


def salvage_option(function: F) -> F:
    """Add ``--salvage``."""
    return click.option(
        "-salvage",
        "--salvage",
        "salvaging",
        is_flag=True,
        help="Take what can be had of a damaged file.",
    )(function)


def _refuse_id(source: str, session_id: str) -> None:
    if session_id:
        raise click.UsageError(
            f"{source} is a file and takes no id, but {session_id} was given",
            click.get_current_context(silent=True),
        )


def open_store(source: str, *, allow_newer: bool = False) -> JSONLStore | SQLiteStore:
    """Return the store that a SOURCE names, opened for reading.

    Args:
        source: a file store or a database.
        allow_newer: read sessions of versions this release does not know.

    Raises:
        AgentSessionError: when it is none.
        OSError: when it cannot be opened.
    """
    _existing(source)
    from agentsession import stores  # noqa: PLC0415 - not needed for a file

    return stores.open_store(source, read_only=True, allow_newer=allow_newer)


def is_store(source: str) -> bool:
    """Return whether a SOURCE is a store, and not a session file.

    Raises:
        OSError: when it cannot be looked at.
    """
    path = _existing(source)
    return path.is_dir() or _is_database(path)


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


def chosen(store: Store, source: str, wanted: Sequence[str]) -> list[str]:
    """Return the whole ids of the sessions a user means by ids or the beginnings of some.

    An empty one means the only session of the store.

    Raises:
        NoSession: when one means none, or several; then they are named.
        AgentSessionError: when the store cannot be read.
    """
    from agentsession.stores import Summary  # noqa: PLC0415 - not needed for a file

    found = list(store.list())
    ids = [summary.id for summary in found if isinstance(summary, Summary)]
    problem = next((item for item in found if not isinstance(item, Summary)), None)
    if problem is not None and not ids:
        raise problem
    return list(dict.fromkeys(_meant(source, ids, session_id) for session_id in wanted))


def _meant(source: str, ids: Sequence[str], session_id: str) -> str:
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
    if not root.is_dir() or next(root.glob("*.jsonl"), None) is None:
        return ""
    return "; name one of the files in it, or the directory above it as the store"
