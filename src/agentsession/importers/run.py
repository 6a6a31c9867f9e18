"""Importing: sources found, sessions chosen, converted, merged, and all of it reported.

Spec: decisions D5 to D7, D11.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from agentsession._collecting import uncollected
from agentsession._processes import worth
from agentsession.errors import AgentSessionError, NoSession
from agentsession.importers import report, workers
from agentsession.importers.base import Converted, Importer, NativeSession, Source
from agentsession.importers.identity import FORMATS, written_format
from agentsession.importers.merge import merge, preview
from agentsession.importers.plans import Plan, plan
from agentsession.importers.report import Imported, ImportReport, Tally
from agentsession.importers.target import open_target, refusal
from agentsession.session import Session
from agentsession.stores import Store
from agentsession.stores.layout import SUFFIX

Target = str | os.PathLike[str] | Store | None
Progress = Callable[[int, int], None]

DEBUG_VARIABLE: Final = "AGENTSESSION_DEBUG"
"""Set it to see where an unexpected error comes from."""

_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sessions to import. Links are resolved over the whole source all the same.

    Attributes:
        sessions: their ids, or beginnings of ids that only one session has; all when empty.
        since: only those whose last activity, by the local date, is not before it. One
            whose last activity is not known is taken.

    Spec: decision D7.
    """

    sessions: tuple[str, ...] = ()
    since: date | None = None

    def of(self, found: Sequence[NativeSession]) -> list[NativeSession]:
        """Return those of some sessions that are wanted, in the same order."""
        wanted = {_meant(word, found) for word in self.sessions}
        return [
            session
            for session in found
            if (not wanted or session.id in wanted) and self._is_recent(session)
        ]

    def _is_recent(self, session: NativeSession) -> bool:
        if self.since is None or session.updated is None:
            return True
        try:
            return session.updated.datetime().astimezone().date() >= self.since
        except (OverflowError, OSError, ValueError):
            return True


def _meant(word: str, found: Sequence[NativeSession]) -> str:
    """The id that a word means.

    Raises:
        NoSession: when it means none, or several.
    """
    ids = [session.id for session in found]
    if word in ids:
        return word
    begun = [session_id for session_id in ids if session_id.startswith(word)]
    if len(begun) == 1:
        return begun[0]
    if not begun:
        raise NoSession(f'no session in the source has the id "{word}"', session_id=word)
    named = ", ".join(begun[:_NAMED])
    raise NoSession(f'"{word}" begins {len(begun)} ids: {named}', session_id=word)


class Work(NamedTuple):
    """An importer, and the sources it is to import."""

    importer: Importer
    sources: tuple[Source, ...]


def import_sessions(
    work: Sequence[Work],
    target: Target,
    *,
    choice: Choice | None = None,
    dry_run: bool = False,
    jobs: int = 1,
    records: BinaryIO | None = None,
    progress: Progress | None = None,
    format: str = FORMATS[0],  # noqa: A002
) -> ImportReport:
    """Return the report of an import; cut short, it is completed by the next one.

    A session that cannot be imported is reported, and the others are imported.

    Args:
        work: the importers and their sources.
        target: the store to write to: a store, or the place of one. It may be ``None`` in a
            dry run, and nothing is then taken to be stored.
        choice: which sessions; all by default.
        dry_run: convert and compare, and write nothing.
        jobs: how many processes convert and write; with more than one ``target`` is a place.
            :func:`jobs_for` tells how many are worth their start.
        records: a file that takes the account of every record, one line of JSON each.
        progress: called with the number of sessions done, and of all.
        format: the format of new sessions, ``0.3`` or ``0.11``, also as ``agentsession/0.11``;
            a session that is stored stays in its own.

    Raises:
        UnsupportedFormat: when imports do not write the format.
        NoSession: when the choice names a session that is in no source, or more than one.
        AgentSessionError: when the target is a source or among an agent's own data, or cannot
            be opened, or a process ended early.
        ValueError: when a store is to be shared by processes, or there is nothing to write to.
    """
    to = written_format(format)
    if target is None and not dry_run:
        raise ValueError("an import needs a store to write to, unless it is a dry run")
    if jobs > 1 and target is not None and not isinstance(target, (str, os.PathLike)):
        raise ValueError("several processes cannot share a store object; give its place")
    if target is not None and isinstance(target, (str, os.PathLike)):
        _check_target(work, target)
    tally = Tally(records)
    asked = [_Asked(found.importer, source) for found in work for source in found.sources]
    with contextlib.ExitStack() as stack:
        for found in work:
            stack.callback(found.importer.close)
        for one in asked:
            one.look(tally)
        chosen = (choice or Choice()).of([s for one in asked for s in one.found])
        ids = {session.id for session in chosen}
        for one in asked:
            one.chosen = [session for session in one.found if session.id in ids]
        done, total = 0, sum(len(one.chosen) for one in asked)
        for one in asked:
            worker = _Worker(
                one.importer,
                target,
                dry_run=dry_run,
                records=records is not None,
                to=to,
            )
            tasks = [_Task(one.source, session) for session in one.chosen]
            with contextlib.closing(workers.run(worker, tasks, jobs)) as results:
                for result in results:
                    tally.add(result)
                    one.count(result)
                    done += 1
                    if progress is not None:
                        progress(done, total)
            one.settle(tally)
    return tally.report(dry_run=dry_run)


def problem_of(
    target: str | os.PathLike[str],
    work: Sequence[Work],
    named: Sequence[str | os.PathLike[str]] = (),
) -> str:
    """Return why a place cannot be the store of an import, in a sentence; empty when it can.

    Args:
        target: the place.
        work: the importers and their sources.
        named: the paths at which the sources were found.
    """
    paths = [path for found in work for source in found.sources for path in source.paths]
    return refusal(target, [found.importer for found in work], [*paths, *named])


def _check_target(work: Sequence[Work], target: str | os.PathLike[str]) -> None:
    """Refuse, once and before anything is converted, a place that cannot be the store.

    Raises:
        AgentSessionError: when :func:`problem_of` says why, or what is there is no store.
    """
    problem = problem_of(target, work)
    if problem:
        raise AgentSessionError(problem)
    place = os.path.realpath(target)
    if os.path.isfile(place) or (place.endswith(SUFFIX) and not os.path.exists(place)):
        open_target(target, read_only=True).close()


def jobs_for(work: Sequence[Work], processors: int | None = None) -> int:
    """Return how many processes are worth their start for an import.

    One for each processor, up to 8, where the sources have 32 MB; else 1.

    Args:
        work: the importers and their sources.
        processors: how many there are; those that this process may use by default.
    """
    size = sum(source.size() for found in work for source in found.sources)
    return worth(size, processors)


class _Asked:
    """A source that is to be imported."""

    def __init__(self, importer: Importer, source: Source) -> None:
        self.importer = importer
        self.source = source
        self.found: list[NativeSession] = []
        self.chosen: list[NativeSession] = []
        self.failed = False
        self.accounted = 0

    def look(self, tally: Tally) -> None:
        """Find out which sessions there are."""
        try:
            with uncollected():
                self.found = list(self.importer.sessions(self.source))
        except Exception as error:
            self.failed = True
            tally.failed_source(self.source, _problem(error))
        else:
            tally.source(self.source, len(self.found))

    def count(self, result: Imported) -> None:
        """Count the records of a session."""
        self.failed = self.failed or bool(result.error)
        self.accounted += sum(result.outcomes.values())

    def settle(self, tally: Tally) -> None:
        """Account for what belongs to no session."""
        try:
            rest = self.importer.report(self.source)
        except Exception as error:
            tally.failed_source(self.source, _problem(error))
            return
        whole = not self.failed and len(self.chosen) == len(self.found)
        tally.rest(self.source, rest, accounted=self.accounted if whole else None)


def _problem(error: Exception) -> str:
    """What went wrong, in words: what nobody foresaw in a part must not end the whole."""
    if isinstance(error, (AgentSessionError, OSError)):
        return str(error)
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    return f"internal error: {type(error).__name__}: {error}; please report it"


def _as_written(converted: Converted, done: Plan) -> Converted:
    """The account of a session's records with the ids that its entries were written under."""
    if not done.ids and not done.held:
        return converted
    records = tuple(
        msgspec.structs.replace(record, entry_ids=done.written(record.entry_ids))
        for record in converted.records
    )
    return replace(converted, records=records)


class _Task(NamedTuple):
    source: Source
    native: NativeSession


class _Worker:
    """Converts a session and writes it."""

    def __init__(
        self,
        importer: Importer,
        target: Target,
        *,
        dry_run: bool,
        records: bool,
        to: str,
    ) -> None:
        self._importer = importer
        self._target = target
        self._dry_run = dry_run
        self._records = records
        self._to = to
        self._opened: Store | None = None
        self._owns_importer = False

    def __getstate__(self) -> dict[str, Any]:
        # In another process nobody else lets go of the importer.
        return {**self.__dict__, "_opened": None, "_owns_importer": True}

    def __call__(self, task: _Task, /) -> Imported:
        source, native = task
        converted: Converted | None = None
        try:
            with uncollected():
                converted = self._importer.convert(source, native.id)
                converted, done = self._written(source, converted)
                if self._records:
                    converted = _as_written(converted, done)
        except Exception as error:
            problem = _problem(error)
            return report.failed(native, source, problem, converted, records=self._records)
        return report.imported(native, source, converted, done, records=self._records)

    def _written(self, source: Source, converted: Converted) -> tuple[Converted, Plan]:
        session = converted.session

        def again(stored: Session) -> Converted | None:
            nonlocal converted
            found = self._importer.convert_again(source, session.id, stored)
            if found is not None:
                converted = found
            return found

        store = self._store()
        if store is None:
            return converted, plan(None, session, self._to)
        write = preview if self._dry_run else merge
        done = write(store, session, self._to, again)
        return converted, done

    def _store(self) -> Store | None:
        """The store, opened when it is first needed; ``None`` when there is none to compare."""
        target = self._target
        if target is None or not isinstance(target, (str, os.PathLike)):
            return target
        if self._opened is None:
            if self._dry_run and not os.path.exists(target):
                return None
            self._opened = open_target(target, read_only=self._dry_run)
        return self._opened

    def close(self) -> None:
        """Let go of the store, when it was opened here, and of an importer of its own."""
        try:
            if self._opened is not None:
                self._opened.close()
        finally:
            self._opened = None
            if self._owns_importer:
                self._importer.close()
