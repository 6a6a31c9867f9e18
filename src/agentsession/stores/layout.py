"""Where a file store keeps a session: names made from headers, and taken apart again.

::

    <root>/<project key>/<created stamp>_<session id>.jsonl
    <root>/<project key>/<created stamp>_<session id>.jsonl.lock

Nothing here touches a disk.

Spec: stores 4.1 and 4.2, decision B2.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from agentsession.errors import InvalidEntry
from agentsession.header import Header
from agentsession.timestamp import Timestamp

SUFFIX = ".jsonl"
LOCK_SUFFIX = ".lock"
TEMPORARY_SUFFIX = ".tmp"
DEFAULT_PROJECT = "default"

NAME_BYTES = 255
"""The longest file name the common file systems take."""

_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}\.[0-9]{3}Z")
_STAMP_LENGTH = len("2026-03-01T08-15-30.250Z")
# Path separators, what a shell pattern gives a meaning, and control characters.
_FORBIDDEN = re.compile(r"[/\\*?\[\x00-\x1f\x7f]")
# Names that are devices on Windows, whatever follows a dot or colon in them.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(?:[.:].*)?", re.IGNORECASE)


def project_key(cwd: str) -> str:
    r"""Return the name of the directory that holds the sessions of a working directory.

    >>> project_key("/home/u/app"), project_key("/"), project_key("C:\\Users\\u")
    ('home-u-app', 'default', 'C--Users-u')

    Spec: stores 4.1, decision B2.
    """
    path = cwd.replace(os.sep, "/").lstrip("/")
    key = re.sub(r"[/\\:]", "-", path)
    return DEFAULT_PROJECT if key in {"", ".", ".."} else key


def file_name(created_at: Timestamp, session_id: str) -> str:
    """Return the name of a session's file.

    Spec: stores 4.1.
    """
    return f"{created_at.stamp()}_{session_id}{SUFFIX}"


def lock_path(path: Path) -> Path:
    """Return the lock file of a session file."""
    return path.with_name(path.name + LOCK_SUFFIX)


def temporary_path(path: Path) -> Path:
    """Return the name under which a session file is written before it is put in place."""
    return path.with_name(path.name + TEMPORARY_SUFFIX)


def is_file_of(name: str, session_id: str) -> bool:
    """Return whether a file name is a whole stamp, an underscore and exactly this id.

    Spec: decision B2.
    """
    return (
        name[_STAMP_LENGTH:] == f"_{session_id}{SUFFIX}"
        and _STAMP.fullmatch(name[:_STAMP_LENGTH]) is not None
    )


def session_id_of(name: str) -> str:
    """Return the id in the name of a session file; empty when it is no such name.

    >>> session_id_of("2026-03-01T08-15-30.250Z_abc.jsonl"), session_id_of("notes.jsonl")
    ('abc', '')

    Spec: decision B2.
    """
    if not name.endswith(SUFFIX) or name[_STAMP_LENGTH : _STAMP_LENGTH + 1] != "_":
        return ""
    is_stamped = _STAMP.fullmatch(name[:_STAMP_LENGTH]) is not None
    return name[_STAMP_LENGTH + 1 : -len(SUFFIX)] if is_stamped else ""


def id_problem(session_id: object) -> str:
    """Return why an id cannot be part of a file name here, or an empty string.

    Spec: stores 4.2, decision B2.
    """
    if not isinstance(session_id, str):
        return "it is not text"
    if not session_id:
        return "it is empty"
    if _FORBIDDEN.search(session_id):
        return r"it has a control character or one of / \ * ? ["
    if session_id in {".", ".."} or _DEVICE.fullmatch(session_id):
        return "it names a directory or a device"
    try:
        size = len(session_id.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    room = NAME_BYTES - _STAMP_LENGTH - len("_" + SUFFIX + LOCK_SUFFIX)
    return f"it is {size} bytes long, and {room} fit a file name" if size > room else ""


def place(root: Path, header: Header) -> Path:
    """Return where a session with this filled header is kept.

    Raises:
        InvalidEntry: when its id or working directory cannot be part of a file name.

    Spec: stores 4.1, decision B2.
    """
    problem = id_problem(header.id)
    if problem:
        raise InvalidEntry(
            f'session id "{shown(header.id)}" cannot be stored: {problem}',
            type="session",
            member="id",
        )
    key = project_key(header.cwd)
    if "\0" in key or len(key.encode("utf-8", "replace")) > NAME_BYTES:
        raise InvalidEntry(
            f'cwd "{shown(header.cwd)}" cannot be stored: its directory name would have a NUL '
            f"or more than {NAME_BYTES} bytes",
            type="session",
            member="cwd",
        )
    return root / key / file_name(header.created_at or Timestamp.now(), header.id)


def shown(name: object) -> str:
    """Return an id as a message can hold it: printable and short."""
    characters = (c if c.isprintable() else ascii(c)[1:-1] for c in str(name)[:200])
    printable = "".join(characters)
    return printable if len(printable) <= 80 else printable[:77] + "..."
