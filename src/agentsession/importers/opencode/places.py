"""Where OpenCode keeps its sessions: data directories, database names, searches.

Spec: opencode 1.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsession.importers.opencode import files, names
from agentsession.importers.opencode.database import Database, is_sqlite
from agentsession.importers.opencode.tree import Tree
from agentsession.importers.unread import leads_nowhere, noting

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATABASE: Final = re.compile(r"opencode(-[a-zA-Z0-9._-]+)?\.db", re.ASCII)
_CHANNELS: Final = frozenset({"latest", "beta", "prod", "dev", "next"})
_SIDE_FILES: Final = ("-wal", "-shm", "-journal")
_KINDS: Final = (names.DIR_SESSION, names.DIR_MESSAGE, names.DIR_PART)


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return the data directory of this user: ``$XDG_DATA_HOME/opencode`` or its default.

    Args:
        environ: the environment; this process's own by default.
    """
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_DATA_HOME") or ""
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(base or Path(home, ".local", "share")) / "opencode"


def database_path(environ: Mapping[str, str] | None = None, channel: str = "latest") -> Path | None:
    """Return where a release of a channel keeps its database, ``None`` for in memory.

    ``OPENCODE_DB`` names it, relative to the data directory, else the channel
    does. Spec: opencode 1.
    """
    environ = os.environ if environ is None else environ
    named = environ.get("OPENCODE_DB") or ""
    if named == ":memory:":
        return None
    if not named:
        shared = environ.get("OPENCODE_DISABLE_CHANNEL_DB") in {"1", "true"}
        named = names.DATABASE_NAME
        if not shared and channel not in _CHANNELS:
            named = f"opencode-{re.sub(r'[^a-zA-Z0-9._-]', '-', channel)}.db"
    return data_directory(environ) / named


def is_database_name(name: str) -> bool:
    """Return whether OpenCode gives a database this file name.

    ``opencode.db``, or ``opencode-<channel>.db``; not ``opencode-next.db``, which
    holds the 2.x preview's own schema.
    """
    return name != names.PREVIEW_DATABASE_NAME and _DATABASE.fullmatch(name) is not None


def databases(directory: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the databases of other channels in a data directory, by name.

    Whatever stands in the place of one is among them, so that it is told of.
    """
    return tuple(
        e.path
        for e in files.entries(Path(directory))
        if e.name != names.DATABASE_NAME and is_database_name(e.name)
    )


def preview_database(directory: str | os.PathLike[str]) -> Path | None:
    """Return the 2.x preview's database in a data directory, ``None`` when it has none.

    2.x imports its sessions itself; a :class:`Database` reads it all the same, or tells why
    it cannot.
    """
    path = Path(directory) / names.PREVIEW_DATABASE_NAME
    return path if os.path.lexists(path) else None


def is_data_dir(directory: str | os.PathLike[str]) -> bool:
    """Return whether a directory is an OpenCode data directory.

    It holds ``opencode.db``, or a ``storage/`` tree with sessions in it, or with messages
    or parts whose sessions are lost; or some of this may be in it and cannot be read. Where
    that is the directory itself, or its ``storage``, the name decides: OpenCode's is
    ``opencode``.
    """
    root = Path(directory)
    if os.path.lexists(root / names.DATABASE_NAME):
        return True
    storage = root / names.DIR_STORAGE
    if not files.stands(storage):
        return False
    shut = files.shut(root, storage)
    if shut is not None:
        return root.name == names.DIR_DATA and not shut.is_file
    return any(_may_hold_records(storage, kind) for kind in _KINDS)


def is_own(directory: Path) -> bool:
    """Return whether a directory is OpenCode's alone: its data directory, or a copy of it.

    A database by itself makes its directory nobody's own.
    """
    if directory == data_directory():
        return True
    named = directory.name == names.DIR_DATA or (directory / names.DIR_STORAGE).is_dir()
    return named and directory.is_dir() and is_data_dir(directory)


def _may_hold_records(storage: Path, kind: str) -> bool:
    """Return whether a directory of a tree holds records, or something that cannot be read."""
    top = files.shut(storage, storage / kind)
    if top is not None:
        return not top.is_file
    for folder in files.entries(storage / kind):
        if any(entry.is_record for entry in files.entries(folder.path)):
            return True
        below = files.shut(storage, folder.path)
        if below is not None and not below.is_file:
            return True
    return False


def find_sessions(root: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the OpenCode stores under a root: what ``open_stores`` opens, one by one.

    They are each data directory, each database of another channel in one, and
    each database file outside one. A file is returned as it is, and so is what
    cannot be looked at. Links to directories are not followed. Directories that
    cannot be read are passed over, unless they have the name of OpenCode's own.
    """
    top = Path(root)
    if not os.path.isdir(top):
        return (top,) if files.stands(top) or leads_nowhere(top) else ()
    found: list[Path] = []
    shut: dict[str, OSError] = {}
    for folder, inner, outer in os.walk(top, onerror=noting(shut)):
        path = Path(folder)
        if is_data_dir(path):
            found += [path, *databases(path)]
            # What lies below is the store's own.
            inner.clear()
            continue
        inner.sort()
        found += [path / name for name in sorted([*inner, *outer]) if is_database_name(name)]
    found += [path for path in map(Path, shut) if path.name == names.DIR_DATA]
    return tuple(found)


def store_of(path: str | os.PathLike[str]) -> Path | None:
    """Return the store a path names, ``None`` when it names none.

    It is the data directory that the path is or is in, or else the database
    file itself. ``opencode.db``, its side files and every file of a ``storage/``
    tree name the data directory.
    """
    place = Path(os.path.abspath(path))
    if os.path.isdir(place) and is_data_dir(place):
        return place
    for ending in _SIDE_FILES:
        if place.name.endswith(".db" + ending):
            place = place.with_name(place.name.removesuffix(ending))
    named = is_database_name(place.name) and files.stands(place)
    if place.name != names.DATABASE_NAME and (named or is_sqlite(place)):
        return place
    return next((parent for parent in place.parents if is_data_dir(parent)), None)


def open_stores(
    path: str | os.PathLike[str], *, scratch: str | os.PathLike[str] | None = None
) -> tuple[Tree | Database, ...]:
    """Return the stores of a data directory, or of a database file.

    A data directory has its tree when ``storage/`` holds conversations, or may
    hold some and cannot be read, and its ``opencode.db``; databases of other
    channels are stores of their own, as ``find_sessions`` lists them.

    Args:
        path: a data directory, or a database file.
        scratch: see :class:`Database`.
    """
    root = Path(path)
    # Of what is shut away, or a link to nothing, the name has to say what it is.
    if not os.path.isdir(root) and (os.path.exists(root) or root.name != names.DIR_DATA):
        return (Database(root, scratch=scratch),)
    if is_database_name(root.name) and not is_data_dir(root):
        return (Database(root, scratch=scratch),)
    found: list[Tree | Database] = []
    if any(_may_be_tree(root, kind) for kind in _KINDS):
        found.append(Tree(root))
    database = root / names.DATABASE_NAME
    if os.path.lexists(database):
        found.append(Database(database, scratch=scratch))
    return tuple(found)


def _may_be_tree(root: Path, kind: str) -> bool:
    folder = root / names.DIR_STORAGE / kind
    return os.path.isdir(folder) or files.shut(root, folder) is not None


def units(root: str | os.PathLike[str]) -> int:
    """Return how many native records the stores under a root hold.

    Session, message and part files, and rows of the same kinds; for telling how
    far a conversion has come.
    """
    total = 0
    for path in find_sessions(root):
        for store in open_stores(path):
            if isinstance(store, Database):
                with store:
                    total += store.units()
            else:
                total += store.units()
    return total
