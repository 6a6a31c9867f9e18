"""Where Codex keeps its threads.

Spec: codex 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agentsession.importers.codex.folders import FOLDERS, rollout_files
from agentsession.importers.codex.rollouts import is_named_as_rollout, is_rollout

HOME: Final = ".codex"
_LOOKED_AT: Final = 200
_DATE: Final = re.compile(r"[0-9]{4}|[0-9]{2}", re.ASCII)
_OWN: Final = re.compile(
    r"/\.codex(?:/(?:archived_)?sessions)?$|/(?:archived_)?sessions(?:/[0-9]+){1,3}$"
)
"""Directories that nobody but Codex has: its own by their place, or those of dates."""


def home(environ: Mapping[str, str] | None = None) -> Path:
    """Return Codex's home: ``$CODEX_HOME`` or its default.

    Args:
        environ: the environment; this process's own by default.
    """
    environ = os.environ if environ is None else environ
    chosen = environ.get("CODEX_HOME") or ""
    above = environ.get("HOME") or os.path.expanduser("~")
    return Path(chosen) if chosen else Path(above, HOME)


def find(place: str) -> tuple[str, ...]:
    """Return the places at, in or below a path that hold rollouts; none when there are none.

    A file counts when it is a rollout. Of a directory its ``.codex`` is taken, where it has
    one, else the directory itself with all below it.
    """
    if os.path.isfile(place):
        return (place,) if is_rollout(place) else ()
    if not os.path.isdir(place):
        return (place,) if _holds_rollouts(place) else ()
    for root in (place, os.path.join(place, HOME)):
        below = tuple(os.path.join(root, folder) for folder in FOLDERS)
        if any(_holds_rollouts(path) for path in below if os.path.isdir(path)):
            return (root,)
    return (place,) if _holds_rollouts(place) else ()


def is_own(directory: Path) -> bool:
    """Return whether a directory is Codex's alone: its home, or one of rollouts in a home."""
    if directory == home():
        return True
    if directory.name == HOME:
        return any((directory / folder).is_dir() for folder in FOLDERS)
    return directory.name in FOLDERS and _is_dated(directory)


def _is_dated(directory: Path) -> bool:
    """Whether rollouts lie in a directory, or in those of years, months and days in it."""
    try:
        inner = os.listdir(directory)
    except OSError:
        return False
    if any(map(is_named_as_rollout, inner)):
        return True
    return any(_is_dated(directory / name) for name in inner if _DATE.fullmatch(name))


def _holds_rollouts(place: str) -> bool:
    shut: dict[str, OSError] = {}
    files = rollout_files([place], shut)
    if any(is_named_as_rollout(path) for path in files):
        return True
    if any(_OWN.search(path.replace(os.sep, "/")) for path in shut):
        # What there is cannot be read, and that is to be told.
        return True
    return any(is_rollout(path) for path in files[:_LOOKED_AT])
