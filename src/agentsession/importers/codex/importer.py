"""Codex as an importer: where its threads are, and what belongs to none of them.

Spec: codex 1, decisions D7 and D11.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentsession.errors import NoSession
from agentsession.findings import Finding
from agentsession.importers.base import Converted, Importer, NativeSession, Rest, Source
from agentsession.importers.codex.codes import CODES
from agentsession.importers.codex.counting import records_of
from agentsession.importers.codex.directories import home, is_own
from agentsession.importers.codex.lines import string
from agentsession.importers.codex.places import find
from agentsession.importers.codex.rollouts import Index
from agentsession.importers.codex.session import Conversion
from agentsession.importers.identity import imported_id
from agentsession.importers.joining import joined
from agentsession.importers.origin import origin_in
from agentsession.importers.unread import empty_file, unreadable
from agentsession.importers.usage import Tell, UsageRecord
from agentsession.session import Session

_DIVERGED: Final = "diverged-copy"


class Codex(Importer):
    """Imports the threads of the Codex CLI from its rollout files.

    All files of a home directory are one source: a thread that stands in several files is one
    session, and links are resolved over all of them. Of copies of one file that went on
    differently, each is a branch of the session; the largest comes first.
    """

    name = "codex"

    def __init__(self) -> None:
        self._opened: tuple[Source, Index] | None = None

    def find(self, paths: Sequence[Path] = ()) -> tuple[Source, ...]:
        """Return one source of all rollouts at some paths, or of this user's own.

        A path may be a rollout, Codex's home, a directory in it, or one above.
        """
        places = [str(path) for path in paths] or [str(home())]
        found = dict.fromkeys(os.path.abspath(root) for place in places for root in find(place))
        return (Source(self.name, tuple(found)),) if found else ()

    def owns(self, directory: Path) -> bool:
        """Return whether a directory is Codex's home, or its directory of rollouts."""
        return is_own(directory)

    def sessions(self, source: Source) -> Iterator[NativeSession]:
        """Yield the threads, parents before their children, oldest first."""
        index = self._index(source)
        for thread in index.ordered():
            files = index.threads[thread]
            times = [time for time in (rollout.updated() for rollout in files) if time]
            yield NativeSession(
                thread,
                index.told.names.get(thread, ""),
                string(files[0].meta.get("cwd")),
                max(times, default=None),
                tuple(rollout.path for rollout in files),
            )

    def convert(self, source: Source, session_id: str) -> Converted:
        """Return one thread converted.

        Raises:
            NoSession: when the source has no such thread.
        """
        index = self._index(source)
        if session_id not in index.threads:
            raise NoSession(f'no thread has the id "{session_id}"', session_id=session_id)
        return self._converted(source, index, session_id)

    def convert_again(self, source: Source, session_id: str, stored: Session) -> Converted:
        """Return one thread converted, with what a stored one says of its origin.

        Whether the lines of its origin were there then, nothing says but what is stored.

        Raises:
            NoSession: when the source has no such thread.
        """
        index, origin = self._index(source), origin_in(stored).session
        if session_id not in index.threads:
            raise NoSession(f'no thread has the id "{session_id}"', session_id=session_id)
        known = {imported_id(entry) for entry in stored.entries}
        best, most = None, -1
        for alone in (False, True):
            was = index.came_from(session_id, origin, alone=alone)
            converted = self._converted(source, was, session_id)
            shared = sum(entry.id in known for entry in converted.session.entries)
            if shared > most:
                best, most = converted, shared
        assert best is not None
        return replace(best, cut=index.lacks_origin(session_id))

    @staticmethod
    def _converted(source: Source, index: Index, thread: str) -> Converted:
        converted = Conversion(index, thread).run()
        for other in index.diverged.get(thread, ()):
            alone = Index((other.path,), source.paths)
            converted = joined(converted, Conversion(alone, thread).run())
        return converted

    def report(self, source: Source) -> Rest:
        """Return what a source holds beside its threads, and how many lines they have."""
        index = self._index(source)
        findings = self.unread(source)
        findings += [empty_file(path) for path in index.empty]
        for others in index.diverged.values():
            findings += [Finding(_DIVERGED, CODES[_DIVERGED], other.path) for other in others]
        read = 0
        for thread, files in index.threads.items():
            less = (*index.diverged.get(thread, ()), *index.copies.get(thread, ()))
            for rollout in (*files, *less):
                read += sum(1 for _ in rollout.lines())
        return Rest((), tuple(findings), dict(index.told.tables), read)

    def unread(self, source: Source) -> list[Finding]:
        """Return which files and directories cannot be read, and why."""
        found = self._index(source).unreadable
        return [unreadable(place, error) for place, error in found.items()]

    def usage_records(self, source: Source, tell: Tell | None = None) -> Iterator[UsageRecord]:
        """Yield what each model call used, as the files record it; nothing is converted."""
        return records_of(self._index(source), tell)

    def close(self) -> None:
        """Let go of what was read."""
        self._opened = None

    def _index(self, source: Source) -> Index:
        if self._opened is None or self._opened[0] != source:
            self._opened = (source, Index(source.paths))
        return self._opened[1]


def usage_records(source: Source) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used, straight from the files, each once."""
    return records_of(Index(source.paths))
