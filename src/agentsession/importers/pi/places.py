"""Where pi keeps its sessions, and which files are sessions of pi.

Spec: pi 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agentsession import text
from agentsession._regular import open_regular
from agentsession.errors import NotJSON
from agentsession.importers.pi.lines import MARK
from agentsession.importers.unread import noting
from agentsession.stores.layout import id_problem

SUFFIX: Final = ".jsonl"

HOME: Final = ".pi"
_AGENT: Final = "agent"
_SESSIONS: Final = "sessions"

_HEAD: Final = 1 << 20
"""How much of a file is looked at to tell whether it is a session."""

_NAME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{3}Z_(.+)\.jsonl", re.DOTALL
)
_RELEASE: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})", re.ASCII)
_PROJECT: Final = re.compile(r"--.*--", re.DOTALL)


def own_places(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return the directories where pi keeps this user's sessions; they may not exist.

    Args:
        environ: the environment; this process's own by default.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or os.path.expanduser("~")
    agent = _expanded(environ.get("PI_CODING_AGENT_DIR") or "", home) or Path(home, HOME, _AGENT)
    places = [agent / _SESSIONS]
    named = _expanded(environ.get("PI_CODING_AGENT_SESSION_DIR") or "", home)
    if named is not None and not named.is_relative_to(places[0]):
        places.append(named)
    return places


def is_own(directory: Path) -> bool:
    """Return whether a directory is pi's alone: where it keeps its sessions, or a copy of that.

    That is also the directory of a project, which has a name that only pi gives.
    """
    if directory in own_places():
        return True
    above, name = directory.parent, directory.name
    if name == HOME or (name, above.name) == (_AGENT, HOME):
        return (directory / ("" if name == _AGENT else _AGENT) / _SESSIONS).is_dir()
    if name == _SESSIONS:
        return any(_is_project(directory / inner) for inner in _names(directory))
    return _is_project(directory)


def _is_project(directory: Path) -> bool:
    """Whether a directory has the name of one for a project, and a session."""
    if not _PROJECT.fullmatch(directory.name):
        return False
    return any(_NAME.fullmatch(name) for name in _names(directory))


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _expanded(named: str, home: str) -> Path | None:
    if not named:
        return None
    return Path(home, named[2:]) if named.startswith("~/") else Path(named)


def files_below(
    place: str | os.PathLike[str], unreadable: dict[str, OSError] | None = None
) -> Iterator[str]:
    """Yield the files at a place that are sessions of pi, by path.

    Links to directories are not followed, those to files are. Also what cannot be read is
    yielded, where it stands where a session does.

    Args:
        place: a file or directory.
        unreadable: takes the projects' directories that cannot be read, each with the reason.
    """
    shut: dict[str, OSError] = {}
    path = os.path.abspath(place)
    if os.path.isfile(path):
        if is_session(path):
            yield path
        return
    for directory, inner, names in os.walk(path, onerror=noting(shut)):
        inner.sort()
        for name in sorted(names):
            found = os.path.join(directory, name)
            if name.endswith(SUFFIX) and is_session(found):
                yield found
    if unreadable is not None:
        # What else is shut below the place is no matter of pi's.
        unreadable |= {k: v for k, v in shut.items() if _is_pis(k)}


def _is_pis(directory: str) -> bool:
    """Whether a directory is that of a project, or that of all projects."""
    above, name = os.path.split(directory)
    if name == _SESSIONS and os.path.basename(above) == _AGENT:
        return True
    return _PROJECT.fullmatch(name) is not None


def is_session(path: str) -> bool:
    """Return whether a file is a session of pi: by its header, or by where it is kept."""
    try:
        with open_regular(path) as file:
            head = file.readline(_HEAD).removeprefix(MARK).lstrip(b"\0")
    except (OSError, ValueError):
        return is_named_as_session(path)
    return (b'"session"' in head and is_header(_value(head))) or is_named_as_session(path)


def is_header(value: object) -> bool:
    """Return whether a value is the header of a session of pi, and of no one else's."""
    if not isinstance(value, dict) or value.get("type") != "session" or "format" in value:
        return False
    return isinstance(value.get("id"), str) and ("cwd" in value or "timestamp" in value)


def is_named_as_session(path: str) -> bool:
    """Return whether a file stands where pi puts its sessions, under a name it gives them."""
    directory, name = os.path.split(path)
    return bool(_NAME.fullmatch(name) and _PROJECT.fullmatch(os.path.basename(directory)))


def id_in_name(path: str) -> str:
    """Return the session id in a file's name, or its stem; the path may be of any system."""
    name = re.split(r"[/\\]", path)[-1]
    found = _NAME.fullmatch(name)
    return found[1] if found else name.removesuffix(SUFFIX)


def session_id_of(header: Mapping[str, Any], path: str) -> str:
    """Return a session's id: the header's, or the one in the file's name where there is none.

    An id that no store can hold is none, unless the file's name has no better one.
    """
    given = header.get("id")
    named = id_in_name(path)
    if not isinstance(given, str) or not given:
        return named
    return named if id_problem(given) and not id_problem(named) else given


def last_release(path: str) -> tuple[int, int] | None:
    """Return the newest release that ran in the home a session's file is kept in.

    Its settings name the release whose news were shown last; ``None`` without them.
    """
    agent = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    try:
        with open_regular(os.path.join(agent, "settings.json")) as file:
            value = _value(file.read(_HEAD))
    except (OSError, ValueError):
        return None
    named = value.get("lastChangelogVersion") if isinstance(value, dict) else None
    found = _RELEASE.match(named) if isinstance(named, str) else None
    return (int(found[1]), int(found[2])) if found else None


def _value(line: bytes) -> Any:
    try:
        return text.parse(line)
    except NotJSON:
        return None
