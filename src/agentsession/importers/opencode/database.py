"""An OpenCode database: the V1 and V2 tables, read without writing to it or beside it.

Spec: opencode 1, 4, 5.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar

from agentsession.importers.opencode import files, message_queries, queries
from agentsession.importers.opencode import schema as tables
from agentsession.importers.opencode.names import DATABASE_NAME, G2, G3, Generation
from agentsession.importers.opencode.records import TABLE, Session, Stray
from agentsession.importers.opencode.salvage import salvage
from agentsession.importers.opencode.store import MessagesRead, RowsRead, SessionsRead
from agentsession.importers.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import TracebackType

    from agentsession.importers.opencode.records import Project

T = TypeVar("T")

_TRIES: Final = 4
_MAGIC: Final = b"SQLite format 3\0"


class Migration(NamedTuple):
    """How far OpenCode 2 came in copying the V1 tables: its phase, and the last session.

    Both are empty when it never began. Spec: opencode 5.1, 11.
    """

    phase: str
    cursor: str


class _Opened(NamedTuple):
    snapshot: Snapshot
    source: queries.Source


class Database:
    """The :class:`Store` of a database file.

    It is opened at the first question and stays one state of the database until
    it is closed, or until another process rewrites a file that is read in
    place. It is not safe for use by several threads.

    Args:
        path: the database file.
        scratch: where a private copy of a database in use may be made; the
            system's place for temporary files by default.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, scratch: str | os.PathLike[str] | None = None
    ) -> None:
        self.path = Path(path)
        self._scratch = None if scratch is None else Path(scratch)
        self._opened: _Opened | None = None
        self._failed = False
        self._salvaged = False
        self._untold: list[Stray] = []
        self._damaged: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Database({os.fspath(self.path)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; the next question opens it anew."""
        if self._opened is not None:
            self._opened.snapshot.close()
        self._opened = None
        self._failed = self._salvaged = False

    @property
    def name(self) -> str:
        """The database's file name."""
        return os.fsencode(self.path.name).decode("utf-8", "replace") or DATABASE_NAME

    @property
    def damaged(self) -> frozenset[str]:
        """The tables, by their names in OpenCode, of which rows were found to be lost."""
        return self._damaged

    def sessions(self) -> SessionsRead:
        """Return the sessions of both session tables, each by id.

        A session that OpenCode 2 copied is there twice, as G2 and as G3. What is
        wrong with the database as a whole is among the strays.
        """
        found: list[Session] = []
        strays: list[Stray] = []
        for generation, table in ((G2, tables.SESSION), (G3, tables.SESSION_V2)):
            read = self._run(partial(self._sessions, generation, table), SessionsRead(()))
            found += read.sessions
            strays += read.strays
        return SessionsRead(tuple(found), (*strays, *self._tell()))

    def messages(self, session: Session) -> MessagesRead:
        """Return a session's rows of the V1 tables.

        They belong to its G2 copy, or to the G3 one when there is no other.
        """
        read = self._run(lambda s: message_queries.messages(s, session), MessagesRead(()))
        return MessagesRead(read.messages, (*read.strays, *self._tell()))

    def rows(self, session: Session) -> RowsRead:
        """Return a session's rows of ``session_message``, and its queued input.

        They belong to its G3 copy, or to the G2 one when there is no other: such
        rows are switch markers, or a whole session of the preview engine.
        Spec: opencode 4, 5.4.
        """
        read = self._run(lambda s: queries.rows(s, session), RowsRead(()))
        return RowsRead(read.rows, read.queue, (*read.strays, *self._tell()))

    def orphans(self, sessions: Collection[str]) -> tuple[Stray, ...]:
        """Return the messages, parts and rows of sessions not in the set, or of no message.

        A part that names one of the sessions and a message that does not exist
        comes out of ``messages``. Losses that were found since are told here too.
        """
        none: tuple[Stray, ...] = ()
        known = frozenset(sessions)
        read = self._run(lambda s: queries.orphans(s, known), none)
        return (*read, *self._tell())

    def project(self, project_id: str) -> Project | None:
        """Return a row of ``project``."""
        none: Project | None = None
        return self._run(lambda s: queries.project(s, project_id), none)

    def migration(self) -> Migration:
        """Return how far OpenCode 2 came in copying the V1 tables."""
        phase, cursor = self._run(queries.migration, ("", ""))
        return Migration(phase, cursor)

    def migration_done(self) -> bool:
        """Return whether OpenCode 2 finished copying the V1 tables."""
        return self.migration().phase == "completed"

    def others(self) -> Mapping[str, int | None]:
        """Return the tables that hold no conversation with their numbers of rows.

        A table of secrets is listed, and not opened.
        """
        none: dict[str, int | None] = {}
        return self._run(queries.others, none)

    def units(self) -> int:
        """Return the number of session, message, part and row records."""
        return self._run(queries.units, 0)

    def _sessions(self, generation: Generation, table: str, source: queries.Source) -> SessionsRead:
        again = partial(self._record, table)
        return queries.sessions(source, generation, table, again)

    def _record(self, table: str, session_id: str) -> bytes:
        return self._run(lambda s: queries.record(s, table, session_id), b"")

    def _tell(self) -> tuple[Stray, ...]:
        """Return what was found wrong with the database since it was last asked."""
        told = tuple(replace(stray, where=self._where(stray.id)) for stray in self._untold)
        self._untold.clear()
        return told

    def _where(self, table: str) -> str:
        place = files.shown(self.path)
        return f"{place}, table {table}" if table else place

    def _run(self, work: Callable[[queries.Source], T], empty: T) -> T:
        """Return the answer to a question, from what can be read of the database."""
        for attempt in range(_TRIES):
            opened = self._open(copy=attempt > 0)
            if opened is None:
                return empty
            try:
                answer = work(opened.source)
            except UnicodeEncodeError:
                # An id that is no text can be the id of nothing here.
                return empty
            except sqlite3.Error as error:
                if opened.snapshot.stale():
                    self.close()
                elif not self._salvaged:
                    self._salvage(opened)
                else:
                    self._lost("", f"it cannot be read: {error}")
                    return empty
                continue
            if not opened.snapshot.stale():
                return answer
            self.close()
        return empty

    def _open(self, *, copy: bool) -> _Opened | None:
        if self._opened is not None or self._failed:
            return self._opened
        snapshot: Snapshot | None = None
        try:
            problem = _unfit(self.path)
            if not problem:
                snapshot = open_snapshot(self.path, scratch=self._scratch, copy=copy)
                schema = tables.read_schema(snapshot.connection)
                self._check(snapshot, schema)
                self._opened = _Opened(
                    snapshot, queries.Source(snapshot.connection, schema, self.name)
                )
                return self._opened
        except sqlite3.Error as error:
            problem = f"SQLite cannot read it: {error}"
        except (OSError, ValueError) as error:
            problem = f"it cannot be opened or copied: {files.reason(error)}"
        if snapshot is not None:
            snapshot.close()
        self._failed = True
        self._lost("", problem)
        return None

    def _check(self, snapshot: Snapshot, schema: tables.Schema) -> None:
        if snapshot.unread:
            self._lost("", snapshot.unread)
        if snapshot.torn:
            self._lost("", "it was rewritten again and again while it was copied")
        if not schema.columns:
            self._lost("", "it holds no table of OpenCode's sessions")
        for table, columns in schema.lacking.items():
            self._lost(schema.prefix + table, f"it has no column {columns}")
        for table in schema.missing():
            self._lost(schema.prefix + table, "the table is not there, and its neighbours are")

    def _salvage(self, opened: _Opened) -> None:
        self._salvaged = True
        prefix = opened.source.schema.prefix
        names = [prefix + table for table in opened.source.schema.columns]
        lost = salvage(opened.snapshot.connection, self.name, names)
        self._damaged |= {stray.id.removeprefix(prefix) for stray in lost}
        self._untold += lost

    def _lost(self, table: str, why: str) -> None:
        unit = f"{self.name}:{table}" if table else self.name
        stray = Stray(unit, TABLE, why, id=table, malformed=True)
        if stray not in self._untold:
            self._untold.append(stray)


def is_sqlite(path: Path) -> bool:
    """Return whether a file begins as SQLite's databases do."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def _unfit(path: Path) -> str:
    """Return why a file cannot be a database, empty when it may be one."""
    found = path.stat()
    if not path.is_file():
        return "it is not a regular file"
    return "" if found.st_size else "it is empty"
