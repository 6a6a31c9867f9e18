"""Where OpenCode keeps its sessions: data directories, and the names of its databases.

Spec: opencode 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agentsession.importers.opencode import files, names

KINDS: Final = (names.DIR_SESSION, names.DIR_MESSAGE, names.DIR_PART)
"""The directories of a tree that hold conversations."""

_DATABASE: Final = re.compile(r"opencode(-[a-zA-Z0-9._-]+)?\.db", re.ASCII)
_CHANNELS: Final = frozenset({"latest", "beta", "prod", "dev", "next"})


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
    return any(_may_hold_records(storage, kind) for kind in KINDS)


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
