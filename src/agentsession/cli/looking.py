"""``agentsession import`` without arguments: what there is to import, and how.

Spec: decision C.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession import places
from agentsession.cli.output import Output, complain, open_output, open_plain
from agentsession.cli.report import Report
from agentsession.cli.table import row, width_of
from agentsession.errors import AgentSessionError
from agentsession.findings import Finding
from agentsession.importers.base import Source
from agentsession.importers.run import Work

_HEADINGS: Final = ("AGENT", "SESSIONS", "NEWEST", "SIZE", "PLACE")
_STYLES: Final = ("id", "type", "", "", "name")
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class _Found:
    """One source and what is in it."""

    source: Source
    sessions: int
    newest: str
    size: int
    unread: tuple[Finding, ...] = ()
    error: str = ""

    @property
    def is_worth_importing(self) -> bool:
        """Whether there is something to import, as far as can be read."""
        return bool(self.sessions) or not (self.unread or self.error)

    @property
    def command(self) -> str:
        return f"agentsession import {shlex.quote(self.source.importer)}"


def print_found(works: Sequence[Work], asked: Sequence[str], *, as_json: bool) -> int:
    """Print the sources that were found; return the exit code.

    Args:
        works: the importers and their sources.
        asked: the names of the importers that looked.
        as_json: print one JSON object.
    """
    found = [_looked_at(work, source) for work in works for source in work.sources]
    if as_json:
        with open_plain() as out, Report(out, "import") as report:
            report.elements("found", map(_fields, found))
    else:
        with open_output() as out:
            _print(out, found, asked)
    for one in found:
        for finding in one.unread:
            complain(str(finding))
        if one.error:
            complain(f"{one.source}: {one.error}")
    return 1 if any(one.error or one.unread for one in found) else 0


def _looked_at(work: Work, source: Source) -> _Found:
    try:
        sessions = list(work.importer.sessions(source))
        unread = tuple(work.importer.unread(source))
    except (AgentSessionError, OSError) as error:
        return _Found(source, 0, "", source.size(), error=str(error))
    finally:
        work.importer.close()
    times = [session.updated for session in sessions if session.updated is not None]
    newest = f"{max(times).sql()[:19]}Z" if times else ""
    return _Found(source, len(sessions), newest, source.size(), unread)


def _fields(found: _Found) -> dict[str, Any]:
    return {
        "importer": found.source.importer,
        "paths": list(found.source.paths),
        "sessions": found.sessions,
        "newest": found.newest or None,
        "size": found.size,
        "command": found.command,
        "findings": [finding.to_dict() for finding in found.unread],
        "error": found.error or None,
    }


def _print(out: Output, found: Sequence[_Found], asked: Sequence[str]) -> None:
    if not found:
        out.line(f"nothing found at the usual places of {', '.join(asked)}")
        out.line()
        out.line("Next: ", ("agentsession import PATH", "type"), "   (data that lies elsewhere)")
        return
    rows = [_HEADINGS, *_cells(found)]
    widths = [width_of(column) for column in zip(*rows, strict=True)]
    out.line(*row(_HEADINGS, widths, ("heading",) * len(_HEADINGS)))
    for texts in rows[1:]:
        out.line(*row(texts, widths, _STYLES))
    commands = dict.fromkeys(one.command for one in found if one.is_worth_importing)
    if commands:
        out.line()
    for command in commands:
        out.line("Next: ", (command, "type"), f"   (into {places.default_store()})")


def _cells(found: Sequence[_Found]) -> Iterator[tuple[str, ...]]:
    for one in found:
        source = one.source
        yield (
            source.importer,
            str(one.sessions) if one.is_worth_importing else "-",
            one.newest or "-",
            _sized(one.size),
            str(source),
        )


def _sized(size: int) -> str:
    """A number of bytes as people read it."""
    amount = float(size)
    for unit in _UNITS[:-1]:
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} {_UNITS[-1]}"
