"""OpenCode as an importer: where its stores are, and what belongs to none of its sessions.

Spec: opencode 1 and 11, decisions D7 and D11.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

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
from agentsession.importers.opencode import convert as conversion
from agentsession.importers.opencode import files
from agentsession.importers.opencode.convert.strays import place_finding
from agentsession.importers.opencode.convert.timeline import releases_in
from agentsession.importers.opencode.database import Database
from agentsession.importers.opencode.directories import (
    data_directory,
    database_path,
    is_database_name,
    is_own,
)
from agentsession.importers.opencode.names import DATABASE_NAME
from agentsession.importers.opencode.places import find_sessions, store_of
from agentsession.importers.opencode.records import PART, PLACES, SESSION, Stray
from agentsession.importers.opencode.tree import Tree
from agentsession.importers.origin import origin_in
from agentsession.importers.unread import OLD_LAYOUT
from agentsession.session import Session
from agentsession.timestamp import Timestamp

_BAD: Final = "unreadable-record"
_STRAY: Final = "stray"
_LEFT_PART: Final = "part-without-message"
_MESSAGE_LOST: Final = "message-lost"
_LOST: Final = "unreadable-session"


class OpenCode(Importer):
    """Imports the sessions of OpenCode, from every store it has kept them in.

    All stores found together are one source: a session that stands in several of them is
    converted once, and links are resolved over all of them.
    """

    name = "opencode"

    def __init__(self) -> None:
        self._opened: tuple[Source, conversion.Source] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_opened": None}

    def find(self, paths: Sequence[Path] = ()) -> tuple[Source, ...]:
        """Return one source of all the stores at some paths, or of this user's own.

        A path may be a data directory, a database, any file of either, or a directory above.
        """
        found: list[str] = []
        for place in paths:
            below = find_sessions(place) if os.path.isdir(place) else ()
            named = below or (store_of(place),)
            found += [os.path.abspath(path) for path in named if path is not None]
        if not paths:
            # What stands there is OpenCode's own, whether it can be read or not.
            found += map(os.path.abspath, _own_places())
        found = list(dict.fromkeys(found))
        # A data directory brings the databases of other channels in it along.
        roots = tuple(
            path
            for path in found
            if os.path.dirname(path) not in found or not is_database_name(os.path.basename(path))
        )
        return (Source(self.name, roots),) if roots else ()

    def owns(self, directory: Path) -> bool:
        """Return whether a directory is a data directory of OpenCode's."""
        return is_own(directory)

    def sessions(self, source: Source) -> Iterator[NativeSession]:
        """Yield the sessions, parents before their children, oldest first."""
        for summary in self._source(source).summaries():
            yield NativeSession(
                summary.id, summary.title, summary.directory, _time(summary.updated), summary.copies
            )

    def convert(self, source: Source, session_id: str) -> Converted:
        """Return one session converted, from the copy that holds most of what its model saw.

        Raises:
            NoSession: when the source has no such session.
        """
        return conversion.convert(self._source(source), session_id)

    def convert_again(self, source: Source, session_id: str, stored: Session) -> Converted:
        """Return one session converted, with what a stored one says of its releases and its origin.

        Both are inferred from the other sessions of the source, which a user may delete.

        Raises:
            NoSession: when the source has no such session.
        """
        known, origin = releases_in(stored), origin_in(stored).session
        return conversion.convert(self._source(source), session_id, known, origin)

    def report(self, source: Source) -> Rest:
        """Return the records that belong to no session, and what holds no conversation."""
        opened = self._source(source)
        tables: dict[str, int | None] = {}
        for store in opened.stores:
            tables |= {f"{store.name}:{name}": count for name, count in store.others().items()}
        records, findings = [], []
        named: dict[str, int] = {}
        for stray in opened.strays:
            if stray.kind in PLACES:
                findings.append(place_finding(stray))
                continue
            record = _left_out(stray, known=stray.session in opened)
            records.append(record)
            if record.code in {_LEFT_PART, _MESSAGE_LOST}:
                findings.append(Finding(record.code, record.sentence, stray.session))
            elif record.code == _STRAY and stray.kind != SESSION:
                name = stray.session or f"{stray.kind} {stray.unit}"
                named[name] = named.get(name, 0) + 1
        trees = [store for store in opened.stores if isinstance(store, Tree)]
        findings += [_not_read(path) for tree in trees for path in tree.legacy]
        findings += [_of_no_session(name, count) for name, count in named.items()]
        read = sum(s.units() for s in opened.stores if isinstance(s, (Tree, Database)))
        return Rest(tuple(records), tuple(findings), tables, read)

    def unread(self, source: Source) -> list[Finding]:
        """Return which directories, files and tables cannot be read, and why."""
        places = (stray for stray in self._source(source).strays if stray.kind in PLACES)
        return [place_finding(stray) for stray in places if stray.malformed]

    def close(self) -> None:
        """Close the stores that are open."""
        if self._opened is not None:
            self._opened[1].close()
        self._opened = None

    def _source(self, source: Source) -> conversion.Source:
        if self._opened is None or self._opened[0] != source:
            self.close()
            # A directory that holds nothing was named as a database: it is told of as one.
            named = [Database(path) for path in source.paths if _is_empty_handed(path)]
            self._opened = (source, conversion.Source(*source.paths, stores=named))
        return self._opened[1]


def _own_places() -> Iterator[Path]:
    """Yield this user's stores: of the data directory, and what the environment names."""
    directory, named = data_directory(), database_path()
    if not os.path.isfile(directory):
        yield from find_sessions(directory)
    if named is not None and named != directory / DATABASE_NAME:
        yield from find_sessions(named) or ((named,) if os.path.isdir(named) else ())


def _is_empty_handed(path: str) -> bool:
    return os.path.isdir(path) and not find_sessions(path)


def _time(millis: int | None) -> Timestamp | None:
    if millis is None:
        return None
    try:
        return Timestamp.from_nanoseconds(millis * 1_000_000)
    except (ValueError, OverflowError):
        return None


def _not_read(path: Path) -> Finding:
    """Return what is told of a directory of the layout before the MessageV2 model."""
    return Finding(OLD_LAYOUT, conversion.CODES[OLD_LAYOUT], files.shown(path))


def _of_no_session(name: str, count: int) -> Finding:
    """Return what is told of conversation records whose session has no record."""
    sentence = f"{conversion.CODES[_LOST]}: {count} left out"
    return Finding(_LOST, sentence, name, count)


def _left_out(stray: Stray, *, known: bool) -> Disposition:
    code = _BAD if stray.malformed else _STRAY
    if code == _STRAY and stray.kind == PART and known:
        code = _MESSAGE_LOST if stray.message_lost else _LEFT_PART
    return Disposition(
        stray.kind, stray.unit, Outcome.LEFT_OUT, code=code, sentence=conversion.CODES[code]
    )
