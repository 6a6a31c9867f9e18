"""What can be said of a session file without building its tree.

Spec: stores 4.7.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from agentsession import text
from agentsession.codec import Undecodable, decode_header
from agentsession.errors import AgentSessionError, DamagedFile, NotJSON, UnsupportedFormat
from agentsession.header import Header
from agentsession.stores import files
from agentsession.stores.base import ListFilter, Summary, newest_first
from agentsession.stores.layout import SUFFIX, is_file_of

# A line is an info or a link only where it has the word, or an escape of one of its letters.
_INFO = b'"info"'
_LINK = b'"link"'
_ESCAPE = b"\\u006"
_HEADER_BYTES = 4096
# So long is a time without its zone; digits after nanoseconds do not count (format 3.3).
_NANOSECONDS = len("2026-01-01T00:00:00.123456789")

Passes = Callable[[Header], bool]
"""Whether a session of this header is asked for."""


def list_sessions(
    root: Path, asked: ListFilter, *, allow_newer: bool = False
) -> Iterator[Summary | AgentSessionError]:
    """Yield the sessions below a root, newest first, then an error for each unreadable file.

    A file that is removed meanwhile is left out. Entries are read only of the sessions whose
    header passes, and only when the filter needs them.

    Args:
        root: the root of the store.
        asked: which sessions, and what of them.
        allow_newer: list sessions of minor versions this release does not know.

    Spec: stores 4.7.
    """
    found: list[Summary] = []
    errors: list[AgentSessionError] = []
    # With a limit only the newest are read whole, so their headers are sorted first.
    whole = asked.reads_entries and not asked.limit
    passes = asked.matches if _asks_of_headers(asked) else None
    for path in _files(root, errors):
        try:
            summary = _summary(path, passes, whole=whole, allow_newer=allow_newer)
        except AgentSessionError as error:
            errors.append(error)
            continue
        if summary is not None:
            found.append(summary)
    yielded = 0
    for summary in _newest_first(found):
        if asked.limit and yielded == asked.limit:
            break
        try:
            scanned = _scanned(summary) if asked.reads_entries and not whole else summary
        except AgentSessionError as error:
            errors.append(error)
            continue
        # Its header passed when it was read.
        if scanned is not None and not (asked.current and scanned.superseded_by):
            yielded += 1
            yield scanned
    yield from errors


def _newest_first(found: list[Summary]) -> list[Summary]:
    """As :func:`newest_first`; the usual times, in UTC, are compared as they are written."""
    if not all(summary.header.created.endswith("Z") for summary in found):
        return newest_first(found)

    def key(summary: Summary) -> tuple[str, str]:
        header = summary.header
        written = header.created[:_NANOSECONDS].rstrip("Z")
        return (written.rstrip("0").rstrip(".") if "." in written else written, header.id)

    return sorted(found, key=key, reverse=True)


def find(root: Path, session_id: str) -> Path | None:
    """Return the file of a session, the first in order of names; ``None`` without one.

    Symbolic links are not followed: what they name is not in the store.

    Spec: stores 4.2, decision B2.

    Raises:
        OSError: when a directory cannot be read.
    """
    ending = f"{session_id}{SUFFIX}"
    for project in _projects(root)[0]:
        try:
            # In a root of many sessions most names are ruled out by their ends.
            names = [name for name in os.listdir(project) if name.endswith(ending)]
        except FileNotFoundError:
            continue
        for name in sorted(name for name in names if is_file_of(name, session_id)):
            if not (project / name).is_symlink():
                return project / name
    return None


def session_files(root: Path) -> Iterator[str]:
    """Yield every file whose name ends as those of sessions do, in order of names.

    Symbolic links are left out.

    Raises:
        OSError: when a directory cannot be read.
    """
    for project in _projects(root)[0]:
        try:
            with os.scandir(project) as entries:
                names = [
                    entry.name
                    for entry in entries
                    if entry.name.endswith(SUFFIX) and not entry.is_symlink()
                ]
        except FileNotFoundError:
            continue
        directory = os.path.join(project, "")
        yield from (directory + name for name in sorted(names))


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


def _files(root: Path, errors: list[AgentSessionError]) -> Iterator[str]:
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
        directory = os.path.join(project, "")
        yield from (directory + name for name in names if name.endswith(SUFFIX))


def _asks_of_headers(asked: ListFilter) -> bool:
    """Whether some headers may not pass, so that their entries need not be read."""
    return bool(asked.cwd or asked.parent_session or asked.after or asked.before)


def _summary(path: str, passes: Passes | None, *, whole: bool, allow_newer: bool) -> Summary | None:
    """Return what a file says of itself; ``None`` when it is gone or its header does not pass.

    Args:
        path: the file.
        passes: whether a header passes; ``None`` when all do, and entries are read at once.
        whole: read the entries too, for the name and the successor.
        allow_newer: as for :func:`list_sessions`.

    Spec: stores 4.7.

    Raises:
        DamagedFile, UnsupportedFormat: when it has no header that can be read.
    """
    try:
        fd, status = files.open_with_status(path)
        size = status.st_size
        try:
            data = os.read(fd, size + 1 if whole and passes is None else _HEADER_BYTES)
            number, line = 1, data[: max(0, data.find(b"\n"))].rstrip(b"\r")
            if not line:
                number, line, data = _first_line(fd, size, data)
            header = _header(path, number, line, empty=not size, allow_newer=allow_newer)
            if passes is not None and not passes(header):
                return None
            if whole and len(data) < size:
                data += _rest(fd, size)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(Path(path), error) from error
    name, superseded_by = scan(data) if whole else ("", "")
    return Summary(
        header=header,
        name=name,
        superseded_by=superseded_by,
        file=path,
        size=size,
        modified_ns=status.st_mtime_ns,
    )


def _first_line(fd: int, size: int, data: bytes) -> tuple[int, bytes, bytes]:
    """The first line that is not empty, its number, and all that was read for it."""
    number, start = 1, 0
    while True:
        end = data.find(b"\n", start)
        if end < 0:
            more = os.read(fd, max(_HEADER_BYTES, size)) if len(data) < size else b""
            if more:
                data += more
                continue
            end = len(data)
        line = data[start:end].rstrip(b"\r")
        if line or end == len(data):
            return number, line, data
        number, start = number + 1, end + 1


def _rest(fd: int, size: int) -> bytes:
    """What is left to read; a file that grew meanwhile is read to its end."""
    pieces = []
    while piece := os.read(fd, size + 1):
        pieces.append(piece)
    return b"".join(pieces)


def _header(path: str, number: int, line: bytes, *, empty: bool, allow_newer: bool) -> Header:
    if not line:
        found = "an empty file" if empty else "only blank lines"
        raise DamagedFile(f"expected a session header, and found {found}", path=path)
    try:
        return decode_header(line, allow_newer=allow_newer)
    except Undecodable as error:
        raise DamagedFile(str(error), path=path, line=number) from error
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{path}: line {number}: {error}", format=error.format) from error


def _unreadable(path: Path, error: OSError) -> DamagedFile:
    if path.is_symlink():
        return _linked(path)
    reason = error.strerror or str(error)
    return DamagedFile(f"cannot be read: {reason[:1].lower()}{reason[1:]}", path=path)


def _linked(path: Path) -> DamagedFile:
    return DamagedFile("is a symbolic link, which a store does not follow", path=path)


def _scanned(summary: Summary) -> Summary | None:
    path = Path(summary.file)
    try:
        name, superseded_by = scan(files.content(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return replace(summary, name=name, superseded_by=superseded_by)


def scan(data: bytes) -> tuple[str, str]:
    """Return the display name and the successor that the lines of a session file give.

    Lines that are not JSON are skipped.

    Spec: stores 4.7.
    """
    if data.rfind(_ESCAPE) >= 0:
        return _scan_in_order(data)
    return _last(data, _INFO, _name), _last(data, _LINK, _successor)


def _last(data: bytes, word: bytes, told_by: Callable[[_Noted], str]) -> str:
    """What the last line that has a word and tells something tells; no later one is decoded."""
    at = data.rfind(word)
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        found = _noted(data[start : end if end >= 0 else len(data)])
        told = told_by(found) if found else ""
        if told:
            return told
        at = data.rfind(word, 0, start)
    return ""


def _scan_in_order(data: bytes) -> tuple[str, str]:
    """As :func:`scan`, for data whose words may be spelled with escapes."""
    name = superseded_by = ""
    for line in _lines_that_may_matter(data if data.endswith(b"\n") else data + b"\n"):
        found = _noted(line)
        if found is not None:
            name = _name(found) or name
            superseded_by = _successor(found) or superseded_by
    return name, superseded_by


def _name(line: _Noted) -> str:
    return (line.name or "") if line.type == "info" else ""


def _successor(line: _Noted) -> str:
    return (line.session or "") if line.type == "link" and line.rel == "continued_in" else ""


class _Noted(msgspec.Struct):
    """What a listing needs of a line."""

    type: str = ""
    name: str | None = ""
    rel: str | None = ""
    session: str | None = ""


_NOTED = msgspec.json.Decoder(_Noted)


def _noted(line: bytes) -> _Noted | None:
    """What a line says, or None when it is not JSON; members of another type are empty."""
    try:
        return _NOTED.decode(line)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        members = text.split_members(line)
    except NotJSON:
        return None
    return _Noted(*(_string(members, name) for name in ("type", "name", "rel", "session")))


def _lines_that_may_matter(data: bytes) -> list[bytes]:
    """The lines that may be an info or a link, in file order; no other can be."""
    places = [at for word in (_INFO, _LINK, _ESCAPE) for at in _places(data, word)]
    if not places:
        return []
    starts = {data.rfind(b"\n", 0, at) + 1 for at in places}
    return [data[start : data.find(b"\n", start)] for start in sorted(starts)]


def _places(data: bytes, word: bytes) -> list[int]:
    """One place of a word for each line that has it."""
    found = []
    at = data.find(word)
    while at >= 0:
        found.append(at)
        end = data.find(b"\n", at)
        at = data.find(word, end) if end >= 0 else -1
    return found


def _string(members: dict[str, bytes], member: str) -> str:
    found = members.get(member, b"")
    value = text.parse(found) if found.startswith(b'"') else ""
    return value if isinstance(value, str) else ""
