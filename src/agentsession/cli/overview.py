"""What ``agentsession`` alone prints: what is on this machine, and what to type next.

Spec: decision C.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import agentsession
from agentsession import places
from agentsession.cli.output import open_output
from agentsession.errors import AgentSessionError
from agentsession.stores.layout import SUFFIX


def print_overview() -> int:
    """Print the overview in less than ten lines; return the exit code."""
    stores = [(place, _count(place)) for place in _known_places()]
    with open_output() as out:
        out.line(
            (f"agentsession {agentsession.__version__}", "heading"),
            ": check, show and list recorded sessions of coding agents",
        )
        out.line()
        for place, count in stores:
            sessions = "no sessions yet" if not count else f"{count} session(s)"
            out.line("  ", (str(place), "id"), f"  {sessions}")
        if any(count for _, count in stores):
            command = "agentsession list"
            if not stores[0][1]:
                command += f" {next(place for place, count in stores if count)}"
        else:
            command = "agentsession verify FILE"
            out.line(f"  Set {places.HOME_VARIABLE} to keep them elsewhere.")
        out.line()
        out.line("Next: ", (command, "type"), "   (all commands: agentsession help)")
    return 0


def _known_places() -> list[Path]:
    """The stores sessions may be in: the chosen one, then the platform's own."""
    known = [places.default_store()]
    with contextlib.suppress(AgentSessionError):
        known.append(places.platform_store())
    return list(dict.fromkeys(known))


def _count(root: Path) -> int:
    """How many sessions a store has; files are counted by name: a first look opens none."""
    if root.is_file():
        return _count_rows(root)
    count = 0
    for project in _entries(root):
        if project.is_dir(follow_symlinks=False):
            count += sum(found.name.endswith(SUFFIX) for found in _entries(project.path))
    return count


def _count_rows(database: Path) -> int:
    from agentsession.stores import Summary, open_store  # noqa: PLC0415 - only for a database

    with (
        contextlib.suppress(AgentSessionError, OSError),
        open_store(database, read_only=True) as store,
    ):
        return sum(isinstance(found, Summary) for found in store.list())
    return 0


def _entries(directory: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except (OSError, ValueError):
        return []
