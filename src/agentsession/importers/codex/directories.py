"""Where Codex keeps its threads: its home, and which directories are Codex's own.

Spec: codex 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agentsession.importers.codex.folders import FOLDERS, is_named_as_rollout

HOME: Final = ".codex"
_DATE: Final = re.compile(r"[0-9]{4}|[0-9]{2}", re.ASCII)


def home(environ: Mapping[str, str] | None = None) -> Path:
    """Return Codex's home: ``$CODEX_HOME`` or its default.

    Args:
        environ: the environment; this process's own by default.
    """
    environ = os.environ if environ is None else environ
    chosen = environ.get("CODEX_HOME") or ""
    above = environ.get("HOME") or os.path.expanduser("~")
    return Path(chosen) if chosen else Path(above, HOME)


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
