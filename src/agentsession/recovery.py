"""Salvage: the session that can be had of a damaged file, and what was damaged.

Where :func:`agentsession.read` has to raise, :func:`salvage` goes on. The session it gives
reads without error when it is written, and each byte of the file stands in it, ends a
line, or is in the byte range of a damage. The same file always gives the same bytes.

Spec: design "Damage is data", format 7, decisions A3 to A6 and D11.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsession import text
from agentsession._salvaging import Salvage
from agentsession.damage import Damage
from agentsession.errors import AgentSessionError, SessionExists
from agentsession.findings import Report, counts
from agentsession.reading import Source, load
from agentsession.session import Session
from agentsession.writing import write

REPORT_SUFFIX: Final = ".damage.json"
"""What :func:`repair` adds to the name of the clean file for that of the report."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What a file gave.

    Attributes:
        session: the session; it keeps nothing of the file but its entries and header.
        damages: what was wrong, in file order.
        kept: the byte ranges of the file that stand in the session, line ends between
            them included.
        size: bytes of the file.
        lines: lines of the file.
    """

    session: Session
    damages: tuple[Damage, ...]
    kept: tuple[tuple[int, int], ...]
    size: int
    lines: int

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong."""
        return not self.damages

    @property
    def lost(self) -> int:
        """How many bytes of the file are left out of the session."""
        return sum(found.lost for found in self.damages)

    def report(self, **more: object) -> Report:
        """Return the damages as a report, with further members of its JSON object.

        Spec: decision D11.
        """
        totals = {
            "bytes": self.size,
            "bytes_lost": self.lost,
            "lines": self.lines,
            "entries": len(self.session),
            "damages": sum(found.count for found in self.damages),
            "codes": counts(self.damages),
        }
        return Report(totals, self.damages, {"session": self.session.id, **more})


def salvage(source: Source, *, allow_newer: bool = True) -> Salvaged:
    """Return the session that can be had of a file, whatever is wrong with it.

    Nothing is written. An entry that had to be changed keeps what the file said in
    members that start with ``salvaged_``; an entry whose parent is lost becomes a root with
    its parent's id in ``salvaged_parent``. ``docs/damage.md`` lists every kind of damage.

    Args:
        source: a path, bytes, or a binary file object, read to its end.
        allow_newer: take minor versions this release does not know as they are.

    Spec: design "Damage is data".

    Raises:
        OSError: when the file cannot be read.
        TypeError: for a file opened in text mode.
    """
    data, name = _content(source)
    return _salvaged(data, name, allow_newer=allow_newer)


def repair(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    report: str | os.PathLike[str] | None = None,
    force: bool = False,
    allow_newer: bool = True,
    name: str = "",
) -> Salvaged:
    """Write a clean file of a damaged one and a report beside it; return what was found.

    The damaged file is only read. The clean file is put in place whole, after it was
    found to read without error.

    Args:
        path: the damaged file.
        out: the clean file to write.
        report: the report to write; ``OUT.damage.json`` when not given.
        force: replace a clean file and a report that are there already.
        allow_newer: as :func:`salvage`.
        name: what the report calls the damaged file; its path when not given.

    Spec: design "Damage is data", decision B4.

    Raises:
        SessionExists: when ``out`` or the report is the damaged file, or exists already.
        OSError: when the file cannot be read, or the others not be written.
    """
    original, clean = Path(path), Path(out)
    beside = Path(report) if report is not None else clean.with_name(clean.name + REPORT_SUFFIX)
    for target in (clean, beside):
        _refuse_overwriting(target, original, force=force)
    data = original.read_bytes()
    found = _salvaged(data, str(original), allow_newer=allow_newer)
    told = found.report(
        source=name or str(original),
        source_sha256=hashlib.sha256(data).hexdigest(),
        output=str(clean),
    )
    write(clean, found.session)
    _replace(beside, told.to_json(indent=2))
    return found


def _refuse_overwriting(target: Path, original: Path, *, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if target.exists() and target.samefile(original):
        raise SessionExists(f"{target} is the damaged file itself: name another file to write")
    if not force:
        raise SessionExists(
            f"{target} exists already: name another file, or replace it with --force (force=True)"
        )


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _content(source: Source) -> tuple[bytes, str]:
    """The bytes of a source, and the name of its file where it has one."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), ""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).read_bytes(), os.fspath(source)
    data = source.read()
    if not isinstance(data, bytes):
        raise TypeError("open the file in binary mode to salvage a session from it")
    name = getattr(source, "name", "")
    return data, name if isinstance(name, str) else ""


def _salvaged(data: bytes, name: str, *, allow_newer: bool) -> Salvaged:
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    session = _undamaged(data, allow_newer=allow_newer)
    if session is not None:
        return Salvaged(session, (), ((0, len(data)),), len(data), lines)
    work = Salvage(data, name, allow_newer=allow_newer)
    try:
        session = load(work.clean(), allow_newer=True)
    except AgentSessionError as refusal:
        session = load(work.lowered(str(refusal)), allow_newer=True)
    return Salvaged(session, work.told(), tuple(work.kept), len(data), lines)


def _undamaged(data: bytes, *, allow_newer: bool) -> Session | None:
    """The session of a file that is exactly as a writer writes it."""
    try:
        session = load(data, allow_newer=allow_newer)
    except AgentSessionError:
        return None
    # A source is kept where there is more in the file than the lines of the entries.
    return session if session.source is None and text.is_utf8(data) else None
