"""pi as an importer.

Spec: pi 1, decisions D7 and D11.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentsession.importers.base import Converted, Importer, NativeSession, Rest, Source
from agentsession.importers.origin import origin_in
from agentsession.importers.pi.places import files_below, is_own, own_places
from agentsession.importers.pi.profiles import sent_in
from agentsession.importers.pi.source import Sessions
from agentsession.importers.pi.usage import usage_records
from agentsession.importers.unread import empty_file, unreadable
from agentsession.importers.usage import Tell, UsageRecord
from agentsession.session import Session


class Pi(Importer):
    """Imports the sessions of pi: one file each, below a directory for each project.

    All files found together are one source: forks are linked over all of them, and copies
    of one session are converted once.
    """

    name = "pi"

    def __init__(self) -> None:
        self._opened: tuple[Source, Sessions] | None = None

    def find(self, paths: Sequence[Path] = ()) -> tuple[Source, ...]:
        """Return one source of all the sessions at some paths, or of this user's own.

        A path may be a session's file or any directory above some.
        """
        places = [os.path.abspath(place) for place in (list(paths) or own_places())]
        found = [place for place in dict.fromkeys(places) if _holds_any(place)]
        return (Source(self.name, tuple(found)),) if found else ()

    def owns(self, directory: Path) -> bool:
        """Return whether a directory is pi's own, or one of its sessions'."""
        return is_own(directory)

    def sessions(self, source: Source) -> Iterator[NativeSession]:
        """Yield the sessions, oldest first."""
        yield from self._sessions(source)

    def convert(self, source: Source, session_id: str) -> Converted:
        """Return one session converted, from the copy with the most records.

        Raises:
            NoSession: when the source has no such session.
            OSError: when its file cannot be read any more.
        """
        return self._sessions(source).convert(session_id)

    def convert_again(self, source: Source, session_id: str, stored: Session) -> Converted:
        """Return one session converted, with what a stored one says of its releases and its origin.

        Raises:
            NoSession: when the source has no such session.
            OSError: when its file cannot be read any more.
        """
        return self._sessions(source).convert(session_id, sent_in(stored), origin_in(stored))

    def report(self, source: Source) -> Rest:
        """Return which files cannot be read or are empty, and how many records the others have."""
        sessions = self._sessions(source)
        files = sessions.files
        findings = [unreadable(place, error) for place, error in sessions.unreadable.items()]
        for file in files:
            if file.unreadable is not None:
                findings.append(unreadable(file.path, file.unreadable))
            elif not file.is_session:
                findings.append(empty_file(file.path))
        return Rest(findings=tuple(findings), read=sum(file.records for file in files))

    def usage_records(self, source: Source, tell: Tell | None = None) -> Iterator[UsageRecord]:
        """Yield what each model call of a source used, from its files line by line."""
        yield from usage_records(source, tell)

    def close(self) -> None:
        """Let go of what is known of a source."""
        self._opened = None

    def _sessions(self, source: Source) -> Sessions:
        if self._opened is None or self._opened[0] != source:
            self._opened = (source, Sessions(*source.paths))
        return self._opened[1]


def _holds_any(place: str) -> bool:
    """Whether a place has a session, or may have one where it cannot be read."""
    unreadable: dict[str, OSError] = {}
    return any(files_below(place, unreadable)) or bool(unreadable)
