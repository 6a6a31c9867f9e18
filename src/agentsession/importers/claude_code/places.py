"""Where Claude Code keeps its sessions: homes, project folders, logs, and what is no log.

Spec: claude-code 1 and 6.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from agentsession._regular import open_regular
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.lines import is_blank, members_of, text_of
from agentsession.importers.unread import noting
from agentsession.stores.layout import id_problem

ENDING: Final = ".jsonl"
AGENT: Final = "agent-"
HOME: Final = ".claude"
PROJECTS: Final = "projects"
SUBAGENTS: Final = "subagents"
NO_LOGS: Final = frozenset({"journal.jsonl", "history.jsonl"})
"""Files of lines that are no conversation."""

_UUID: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE
)
_PEEK: Final = 20
_PASSED: Final = frozenset({"node_modules", ".git", "tool-results", "memory"})


def config_directories(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return the directories that this user's Claude Code may keep its data in.

    Args:
        environ: the environment; this process's own by default.
    """
    environ = os.environ if environ is None else environ
    named = environ.get("CLAUDE_CONFIG_DIR") or ""
    if named:
        return [Path(part) for part in named.split(",") if part.strip()]
    home = environ.get("HOME") or os.path.expanduser("~")
    return [Path(home, HOME), Path(home, ".config", "claude")]


def is_own(directory: Path) -> bool:
    """Return whether a directory is Claude Code's alone: where it keeps its data, or a copy.

    Other programs have a ``projects`` too, and projects have a ``.claude``: of a copy the
    name is not enough.
    """
    if directory in config_directories():
        return True
    if directory.name == PROJECTS:
        return any(map(_is_project, _directories(directory)))
    return directory.name == HOME and (directory / PROJECTS).is_dir()


def _is_project(folder: Path) -> bool:
    """Whether a folder of ``projects`` has a log by its name, or what a session keeps beside."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(
        is_agent_name(name) or _UUID.fullmatch(name.removesuffix(ENDING)) is not None
        for name in names
    )


def _directories(above: Path) -> list[Path]:
    try:
        return [path for path in above.iterdir() if path.is_dir()]
    except OSError:
        return []


def is_log_name(name: str) -> bool:
    """Return whether a file name can be that of a session's or an agent's log."""
    return name.endswith(ENDING) and name not in NO_LOGS


def is_agent_name(name: str) -> bool:
    """Return whether a file name is that of an agent's log."""
    return name.startswith(AGENT) and name.endswith(ENDING)


def name_of(path: Path) -> str:
    """Return the name that a log gives its session, or its agent, with ``agent-`` before it.

    A name that no store can hold is spelled by its digest.
    """
    stem = path.stem
    if not id_problem(stem):
        return stem
    digest = hashlib.sha256(os.fsencode(stem)).hexdigest()[:16]
    return f"{AGENT if is_agent_name(path.name) else 'log-'}{digest}"


def folders(place: Path) -> list[Path]:
    """Return the project folders at a place, or below it, each once and in order.

    A place may be a project folder, ``projects``, a configuration directory, a home, a copy
    of one, or a log.
    """
    if os.path.isfile(place):
        return [place] if is_log_name(place.name) and is_log(place) else []
    found: list[Path] = []
    shut: dict[str, OSError] = {}
    for folder, inner, files in os.walk(place, onerror=noting(shut)):
        inner[:] = sorted(name for name in inner if name not in _PASSED)
        path = Path(folder)
        if path.name == SUBAGENTS:
            inner.clear()
            continue
        logs_here = [path / name for name in sorted(files) if is_log_name(name)]
        if any(_is_whole_log(log) for log in logs_here):
            found.append(path)
        elif any(os.path.isdir(path / name / SUBAGENTS) for name in inner):
            # Sessions may be gone while their agents' logs are still there.
            found.append(path)
    # A shut folder of a project, or of all, is told of; what else is shut is no matter of ours.
    return sorted(
        [*found, *(path for path in map(Path, shut) if PROJECTS in (path.name, path.parent.name))]
    )


def _is_whole_log(path: Path) -> bool:
    named = _UUID.fullmatch(path.stem) is not None or is_agent_name(path.name)
    try:
        if named and path.parent.parent.name == PROJECTS:
            return True
    except (OSError, ValueError):
        return False
    return is_log(path)


def is_log(path: Path) -> bool:
    """Return whether a file's first lines are Claude Code's."""
    try:
        with open_regular(path) as file:
            for _ in range(_PEEK):
                line = file.readline()
                if not line:
                    return False
                if not is_blank(line) and _is_line(line):
                    return True
    except (OSError, ValueError):
        return False
    return False


def _is_line(line: bytes) -> bool:
    members = members_of(line)
    if members is None:
        return False
    kind = text_of(members.get("type"))
    if kind in names.TREE:
        return "uuid" in members and "sessionId" in members
    if kind in names.KNOWN:
        return "sessionId" in members or "leafUuid" in members or "snapshot" in members
    return False


def logs(place: Path, unreadable: dict[str, OSError]) -> Iterator[Path]:
    """Yield the logs of a project folder, sessions' before their agents'; or a log itself.

    Args:
        place: the folder or log.
        unreadable: takes the directories that cannot be read, each with the reason.
    """
    if os.path.isfile(place):
        yield place
        return
    here: list[Path] = []
    below: list[Path] = []
    for folder, inner, files in os.walk(place, onerror=noting(unreadable)):
        path = Path(folder)
        if (
            path != place
            and path.name != SUBAGENTS
            and SUBAGENTS not in path.parts[len(place.parts) :]
        ):
            inner[:] = sorted(name for name in inner if name == SUBAGENTS)
            continue
        inner[:] = sorted(name for name in inner if name not in _PASSED)
        found = [path / name for name in sorted(files) if is_log_name(name)]
        if path == place:
            here += found
        else:
            below += [log for log in found if is_agent_name(log.name)]
    yield from sorted(here, key=lambda path: (is_agent_name(path.name), path.name))
    yield from below


def others(place: Path) -> Iterator[Path]:
    """Yield the files of a project folder that hold no conversation."""
    if os.path.isfile(place):
        return
    known = set(logs(place, {}))
    for folder, inner, files in os.walk(place):
        inner.sort()
        yield from (Path(folder, name) for name in sorted(files) if Path(folder, name) not in known)


def inside(paths: Sequence[str]) -> list[Path]:
    """Return a source's paths."""
    return [Path(path) for path in paths]
