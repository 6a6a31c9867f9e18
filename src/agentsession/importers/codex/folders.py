"""Folders: which files below some paths may be rollouts, and where a home's databases are.

Spec: codex 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from agentsession.importers.unread import noting

FOLDERS: Final = ("sessions", "archived_sessions")
"""The directories of a home that hold rollouts."""

_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
NAME: Final = re.compile(rf"rollout-.*?-({_UUID})(?:_({_UUID}))?\.jsonl")
"""The name of a rollout: its thread's id, and that of the segment when it is a later one."""

_SKIPPED: Final = frozenset({"node_modules", ".git", "skills", "shell_snapshots", "tmp", "log"})
_OTHER_FILES: Final = frozenset({"history.jsonl", "session_index.jsonl", "requests.jsonl"})


def is_named_as_rollout(path: str) -> bool:
    """Return whether a file has the name of a rollout."""
    return NAME.fullmatch(os.path.basename(path)) is not None


def rollout_files(paths: Iterable[str], unreadable: dict[str, OSError]) -> list[str]:
    """Return the files below some paths that may be rollouts, by path.

    Args:
        paths: files and directories.
        unreadable: takes the directories that cannot be read, each with the reason.
    """
    found: dict[str, None] = {}
    for path in paths:
        if os.path.isfile(path):
            found[path] = None
            continue
        for folder, folders, files in _walk(path, noting(unreadable)):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED)
            for name in sorted(files):
                if name.endswith(".jsonl") and name not in _OTHER_FILES:
                    found[os.path.join(folder, name)] = None
    return list(found)


def _walk(path: str, note: Callable[[OSError], None]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk a directory; of links, those to the directories of a home are followed."""
    for folder, folders, files in os.walk(path, onerror=note):
        yield folder, folders, files
        for name in FOLDERS:
            # They may be on another disk; a link to nothing stands among the files.
            linked = os.path.join(folder, name)
            if name in (*folders, *files) and os.path.islink(linked):
                yield from os.walk(linked, onerror=note)


def homes(paths: Iterable[str]) -> list[str]:
    """Return the directories that hold Codex's databases and lists for some paths."""
    found: dict[str, None] = {}
    for path in paths:
        for place in (Path(path), *Path(path).parents[:6]):
            if any(os.path.isdir(place / name) for name in FOLDERS):
                found[str(place)] = None
                break
        else:
            for below in _nested_homes(path):
                found[below] = None
    return list(found)


def _nested_homes(path: str) -> Iterator[str]:
    for folder, folders, _files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        if not set(FOLDERS).isdisjoint(folders):
            yield folder
            folders[:] = [name for name in folders if name not in FOLDERS]
