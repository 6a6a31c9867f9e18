"""Claude Code as an importer: where its sessions are, and what belongs to none of them.

Spec: claude-code 1, decisions D7 and D11.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentsession.errors import NoSession
from agentsession.findings import Finding
from agentsession.importers.base import (
    Converted,
    Disposition,
    Importer,
    NativeSession,
    Outcome,
    Rest,
    Source,
)
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.codes import CODES
from agentsession.importers.claude_code.convert import convert
from agentsession.importers.claude_code.copying import paths_of
from agentsession.importers.claude_code.counting import usage_records
from agentsession.importers.claude_code.lines import is_blank
from agentsession.importers.claude_code.looking import Log
from agentsession.importers.claude_code.places import (
    PROJECTS,
    config_directories,
    folders,
    is_own,
)
from agentsession.importers.claude_code.source import Sources, read_records
from agentsession.importers.origin import Origin, origin_in
from agentsession.importers.unread import empty_file, unreadable
from agentsession.importers.usage import Tell, UsageRecord
from agentsession.session import Session
from agentsession.timestamp import Timestamp


class ClaudeCode(Importer):
    """Imports the sessions of Claude Code, of every release that kept any.

    All project folders found together are one source: a resume, a fork and a sub-agent are
    linked to where they came from.
    """

    name = names.HARNESS

    def __init__(self) -> None:
        self._opened: tuple[Source, Sources] | None = None

    def find(self, paths: Sequence[Path] = ()) -> tuple[Source, ...]:
        """Return one source of all the project folders at some paths, or of this user's own.

        A path may be a log, a project folder, or any directory above one.
        """
        places = list(paths) or [place / PROJECTS for place in config_directories()]
        found = [os.path.abspath(folder) for place in places for folder in folders(place)]
        found = list(dict.fromkeys(found))
        return (Source(self.name, tuple(found)),) if found else ()

    def owns(self, directory: Path) -> bool:
        """Return whether a directory is Claude Code's own, or a copy of its ``projects``."""
        return is_own(directory)

    def sessions(self, source: Source) -> Iterator[NativeSession]:
        """Yield the sessions, parents before their agents, oldest first."""
        for conversation in self.opened(source).conversations.values():
            last = max(log.last for log in conversation.logs)
            yield NativeSession(
                conversation.id,
                conversation.title,
                next((log.cwd for log in conversation.logs if log.cwd), ""),
                _time(last),
                paths_of((*conversation.logs, *conversation.copies)),
            )

    def convert(self, source: Source, session_id: str) -> Converted:
        """Return one session converted.

        Raises:
            NoSession: when the source has no such session.
        """
        return self._converted(source, session_id)

    def convert_again(self, source: Source, session_id: str, stored: Session) -> Converted:
        """Return one session converted, with what a stored one says of its origin.

        Raises:
            NoSession: when the source has no such session.
        """
        return self._converted(source, session_id, origin_in(stored))

    def _converted(
        self, source: Source, session_id: str, stored: Origin | None = None
    ) -> Converted:
        opened = self.opened(source)
        found = opened.conversations.get(session_id)
        if found is None:
            raise NoSession(
                f'no session in the source has the id "{session_id}"', session_id=session_id
            )
        return convert(opened, found, stored)

    def report(self, source: Source) -> Rest:
        """Return the records that belong to no session, and the files that are no log."""
        opened = self.opened(source)
        records = [one for log in opened.strays for one in _strays(log)]
        findings = self.unread(source)
        for log in opened.logs:
            if log.unreadable is None and not log.records:
                findings.append(empty_file(str(log.path)))
        read = sum(log.records for log in opened.logs)
        return Rest(tuple(records), tuple(findings), opened.others(), read)

    def unread(self, source: Source) -> list[Finding]:
        """Return which logs and directories cannot be read, and why."""
        opened = self.opened(source)
        found = [unreadable(place, error) for place, error in opened.unreadable.items()]
        logs = ((log.path, log.unreadable) for log in opened.logs)
        return [*found, *(unreadable(str(path), error) for path, error in logs if error)]

    def usage_records(self, source: Source, tell: Tell | None = None) -> Iterator[UsageRecord]:
        """Yield the usage of every model call in a source, straight from its files."""
        yield from usage_records(source, tell)

    def close(self) -> None:
        """Let go of what was found."""
        self._opened = None

    def opened(self, source: Source) -> Sources:
        """Return a source's conversations; they are looked for once."""
        if self._opened is None or self._opened[0] != source:
            self._opened = (source, Sources(source.paths))
        return self._opened[1]


def _strays(log: Log) -> Iterator[Disposition]:
    for record in read_records(log.path, 0):
        code = "stray" if not record.is_damaged else "unreadable-record"
        if record.is_damaged and is_blank(record.raw):
            code = "blank-line"
        where = f"{log.path.name}: {record.where}"
        yield Disposition(
            record.type or "line", where, Outcome.LEFT_OUT, code=code, sentence=CODES[code]
        )


def _time(written: str) -> Timestamp | None:
    try:
        return Timestamp.parse(written) if written else None
    except ValueError:
        return None
