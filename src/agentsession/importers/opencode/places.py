"""Searching for OpenCode's stores, and opening what a path names.

Spec: opencode 1.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from agentsession.importers.opencode import files, names
from agentsession.importers.opencode.database import Database, is_sqlite
from agentsession.importers.opencode.directories import (
    KINDS,
    databases,
    is_data_dir,
    is_database_name,
)
from agentsession.importers.opencode.tree import Tree
from agentsession.importers.unread import leads_nowhere, noting

_SIDE_FILES: Final = ("-wal", "-shm", "-journal")


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
    if any(_may_be_tree(root, kind) for kind in KINDS):
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
