"""What can be said of a session file without building its tree.

Spec: stores 4.7.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agentsession import text
from agentsession.codec import Undecodable, decode_header
from agentsession.errors import AgentSessionError, DamagedFile, NotJSON, UnsupportedFormat
from agentsession.stores import files
from agentsession.stores.base import ListFilter, Summary, newest_first
from agentsession.stores.layout import SUFFIX, is_file_of
from agentsession.timestamp import Timestamp

# The letters of "info" and "link" as escapes: such a line may be one without showing it.
_ESCAPED = re.compile(rb"\\u00(?:66|69|6[bcefBCEF])")


def list_sessions(root: Path, asked: ListFilter) -> Iterator[Summary | AgentSessionError]:
    """Yield the sessions below a root, newest first, then an error for each unreadable file.

    A file that is removed meanwhile is left out. Entries are read only of the sessions that
    are yielded, and only when the filter needs them.

    Spec: stores 4.7.
    """
    found: list[Summary] = []
    errors: list[AgentSessionError] = []
    for path in _files(root, errors):
        try:
            summary = summarize(path)
        except AgentSessionError as error:
            errors.append(error)
            continue
        if summary is not None and asked.matches(summary.header):
            found.append(summary)
    yielded = 0
    for summary in newest_first(found):
        if asked.limit and yielded == asked.limit:
            break
        try:
            scanned = _scanned(summary) if asked.reads_entries else summary
        except AgentSessionError as error:
            errors.append(error)
            continue
        if scanned is not None and asked.keep(scanned):
            yielded += 1
            yield scanned
    yield from errors


def find(root: Path, session_id: str) -> Path | None:
    """Return the file of a session, the first in order of names; ``None`` without one.

    Symbolic links are not followed: what they name is not in the store.

    Spec: stores 4.2, decision B2.

    Raises:
        OSError: when a directory cannot be read.
    """
    for project in _projects(root)[0]:
        try:
            names = os.listdir(project)
        except FileNotFoundError:
            continue
        for name in sorted(name for name in names if is_file_of(name, session_id)):
            if not (project / name).is_symlink():
                return project / name
    return None


def _projects(root: Path) -> tuple[list[Path], list[Path]]:
    """The directories below a root, and the links to directories, which are not followed."""
    own: list[Path] = []
    linked: list[Path] = []
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if _leads_to_directory(entry):
                    (linked if entry.is_symlink() else own).append(root / entry.name)
    except FileNotFoundError:
        pass
    return sorted(own), sorted(linked)


def _leads_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _files(root: Path, errors: list[AgentSessionError]) -> Iterator[Path]:
    try:
        projects, linked = _projects(root)
    except OSError as error:
        errors.append(_unreadable(root, error))
        return
    errors.extend(_linked(path) for path in linked)
    for project in projects:
        try:
            names = sorted(os.listdir(project))
        except FileNotFoundError:
            continue
        except OSError as error:
            errors.append(_unreadable(project, error))
            continue
        yield from (project / name for name in names if name.endswith(SUFFIX))


def summarize(path: Path) -> Summary | None:
    """Return what the header of a file says; ``None`` when the file is gone.

    Spec: stores 4.7.

    Raises:
        DamagedFile, UnsupportedFormat: when it has no header that can be read.
    """
    try:
        with open(files.open_file(path), "rb") as file:
            status = os.fstat(file.fileno())
            number, line = _first_line(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    if not line:
        found = "only blank lines" if status.st_size else "an empty file"
        raise DamagedFile(f"expected a session header, and found {found}", path=path)
    try:
        header = decode_header(line)
    except Undecodable as error:
        raise DamagedFile(str(error), path=path, line=number) from error
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{path}: line {number}: {error}", format=error.format) from error
    return Summary(header=header, path=path, size=status.st_size, modified=_modified(status))


def _first_line(file: BinaryIO) -> tuple[int, bytes]:
    """The first line that is not empty, and its number; empty at the end."""
    for number, line in enumerate(file, 1):
        stripped = line.rstrip(b"\r\n")
        if stripped:
            return number, stripped
    return 0, b""


def _modified(status: os.stat_result) -> Timestamp | None:
    try:
        return Timestamp.from_nanoseconds(status.st_mtime_ns)
    except ValueError:
        return None


def _unreadable(path: Path, error: OSError) -> DamagedFile:
    if path.is_symlink():
        return _linked(path)
    reason = error.strerror or str(error)
    return DamagedFile(f"cannot be read: {reason[:1].lower()}{reason[1:]}", path=path)


def _linked(path: Path) -> DamagedFile:
    return DamagedFile("is a symbolic link, which a store does not follow", path=path)


def _scanned(summary: Summary) -> Summary | None:
    assert summary.path is not None
    try:
        with open(files.open_file(summary.path), "rb") as file:
            name, superseded_by = scan(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(summary.path, error) from error
    return replace(summary, name=name, superseded_by=superseded_by)


def scan(lines: Iterable[bytes]) -> tuple[str, str]:
    """Return the display name and the successor that the lines of a session file give.

    Lines that are not JSON are skipped.

    Spec: stores 4.7.
    """
    name = superseded_by = ""
    for line in lines:
        if not _may_matter(line):
            continue
        try:
            members = text.split_members(line)
        except NotJSON:
            continue
        kind = _string(members, "type")
        if kind == "info":
            name = _string(members, "name") or name
        elif kind == "link" and _string(members, "rel") == "continued_in":
            superseded_by = _string(members, "session") or superseded_by
    return name, superseded_by


def _may_matter(line: bytes) -> bool:
    return (
        b'"info"' in line
        or b'"link"' in line
        or (b"\\u00" in line and _ESCAPED.search(line) is not None)
    )


def _string(members: dict[str, bytes], member: str) -> str:
    found = members.get(member, b"")
    value = text.parse(found) if found.startswith(b'"') else ""
    return value if isinstance(value, str) else ""
