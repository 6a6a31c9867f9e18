"""A source: the OpenCode stores that are converted together, as one place.

The same session may stand in the tree, in the database and in the tables of OpenCode 2;
links between sessions are resolved over all of them. One session's messages are held at a
time. Spec: opencode 4.3, 5.3, 11, decision D7.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Final, Self

from agentsession.errors import NoSession
from agentsession.importers.opencode import names
from agentsession.importers.opencode.convert.clock import id_time, is_plausible
from agentsession.importers.opencode.convert.rules import UNKNOWN, Version, version_of
from agentsession.importers.opencode.database import Database
from agentsession.importers.opencode.directories import preview_database
from agentsession.importers.opencode.names import G1, G3
from agentsession.importers.opencode.places import find_sessions, open_stores
from agentsession.importers.opencode.records import PLACES, MessageRecord, Session, Stray
from agentsession.importers.opencode.store import Store

_FORK_CANDIDATES: Final = 40
_FORK_TITLE: Final = " (fork #"


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a session: the store it stands in and its record there."""

    store: Store
    session: Session

    @property
    def name(self) -> str:
        """The copy's name in reports, such as ``opencode.db (G2)``."""
        return f"{self.store.name} ({self.session.generation})"

    @property
    def damaged(self) -> frozenset[str]:
        """The tables of which rows were lost without a trace, as far as is known by now."""
        return self.store.damaged if isinstance(self.store, Database) else frozenset()


@dataclass(frozen=True, slots=True)
class Summary:
    """A session of a source, before it is converted.

    Attributes:
        id: its native id.
        title: its title; empty when it has none.
        directory: where it was held.
        parent_id: the session it is a child of; empty for none.
        created, updated: in milliseconds since 1970, ``None`` when not recorded.
        version: the release that created it.
        copies: the copies there are, by name.
    """

    id: str
    title: str
    directory: str
    parent_id: str
    created: int | None
    updated: int | None
    version: str
    copies: tuple[str, ...]


class Source:
    """The stores of one or more places, converted together.

    Args:
        places: data directories, database files, or directories that hold some.
        scratch: where a private copy of a database in use may be made.
        stores: stores that are open already, beside those of the places.
    """

    def __init__(
        self,
        *places: str | os.PathLike[str],
        scratch: str | os.PathLike[str] | None = None,
        stores: Sequence[Store] = (),
    ) -> None:
        self._stack = ExitStack()
        found: list[Store] = list(stores)
        for place in places:
            for root in find_sessions(place):
                found += open_stores(root, scratch=scratch)
                preview = preview_database(root) if os.path.isdir(root) else None
                if preview is not None:
                    found.append(Database(preview, scratch=scratch))
        for store in found:
            if isinstance(store, Database):
                self._stack.enter_context(store)
        self.stores: tuple[Store, ...] = tuple(found)

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
        """Close the stores that were opened here."""
        self._stack.close()

    @cached_property
    def _read(self) -> tuple[dict[str, list[Copy]], tuple[Stray, ...]]:
        copies: dict[str, list[Copy]] = {}
        strays: list[Stray] = []
        for store in self.stores:
            read = store.sessions()
            for session in read.sessions:
                copies.setdefault(session.id, []).append(Copy(store, session))
            known = {session.id for session in read.sessions}
            strays += _once([*read.strays, *store.orphans(known)])
        return copies, tuple(strays)

    @property
    def strays(self) -> tuple[Stray, ...]:
        """What the stores hold that belongs to no session."""
        return self._read[1]

    def copies(self, session_id: str) -> list[Copy]:
        """Return the copies of a session.

        Raises:
            NoSession: when the source has no such session.
        """
        try:
            return self._read[0][session_id]
        except KeyError:
            raise NoSession(
                f'no OpenCode session "{session_id}" here; `import opencode --dry-run` lists them',
                session_id=session_id,
            ) from None

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._read[0]

    def summaries(self) -> Iterator[Summary]:
        """Yield the source's sessions, parents before their children, oldest first."""
        sessions = [self._summary(session_id) for session_id in self._read[0]]
        sessions.sort(key=lambda s: (bool(s.parent_id), s.created or 0, s.id))
        yield from sessions

    def _summary(self, session_id: str) -> Summary:
        copies = self._read[0][session_id]
        newest = max((copy.session for copy in copies), key=lambda s: s.updated or 0)
        whole = [copy.session for copy in copies if not copy.session.problem] or [newest]
        return Summary(
            session_id,
            newest.title or next((s.title for s in whole if s.title), ""),
            newest.directory or next((s.directory for s in whole if s.directory), ""),
            next((s.parent_id for s in whole if s.parent_id), ""),
            next((s.created for s in whole if s.created is not None), None),
            newest.updated,
            newest.version,
            tuple(copy.name for copy in copies),
        )

    @cached_property
    def releases(self) -> list[tuple[int, Version]]:
        """When each session was created and by which release, in order of time."""
        found = []
        for copies in self._read[0].values():
            session = copies[0].session
            version = version_of(session.version)
            if version != UNKNOWN and session.created is not None:
                found.append((session.created, version))
        return sorted(found)

    # Links.

    @cached_property
    def _by_time(self) -> list[tuple[int, str]]:
        return sorted(
            (copies[0].session.created or 0, session_id)
            for session_id, copies in self._read[0].items()
            if not copies[0].session.parent_id
        )

    def spawning_call(self, session: Session) -> str:
        """Return the call of the parent that spawned a child; empty when there is none.

        The first call that names the child spawned it; later ones resumed it.
        """
        calls = self._calls_of(session.parent_id)
        return calls.get(session.id, "")

    def _calls_of(self, parent: str) -> dict[str, str]:
        if self._calls[0] != parent:
            calls: dict[str, str] = {}
            for copy in self._read[0].get(parent, ()):
                for child, call in _task_calls(copy):
                    calls.setdefault(child, call)
            self._calls = (parent, calls)
        return self._calls[1]

    _calls: tuple[str, dict[str, str]] = ("", {})

    def fork_origin(self, copy: Copy, copied: MessageRecord) -> str:
        """Return the session a V1 fork was copied from; empty when it cannot be found.

        No link is stored: the origin is the session that has a message made at the same
        time, with the same role, as the first one copied.
        """
        made = copied.created or 0
        times = [at for at, _ in self._by_time]
        last = bisect_right(times, made)
        nearest = self._by_time[max(0, last - _FORK_CANDIDATES) : last]
        plain = copy.session.title.rpartition(_FORK_TITLE)[0]
        order = [session_id for _, session_id in reversed(nearest)]
        if plain:
            order.sort(key=lambda name: self._read[0][name][0].session.title != plain)
        for candidate in order:
            if candidate == copy.session.id:
                continue
            for other in self._read[0][candidate]:
                if other.session.generation == G3:
                    continue
                if any(_same(m, copied) for m in other.store.messages(other.session).messages):
                    return candidate
        return ""


def _once(strays: Sequence[Stray]) -> Iterator[Stray]:
    """Yield the strays of a store; what is shut stands in the way of several questions."""
    places: set[Stray] = set()
    for stray in strays:
        if stray.kind in PLACES and stray in places:
            continue
        places.add(stray)
        yield stray


def _same(message: MessageRecord, copied: MessageRecord) -> bool:
    if message.created != copied.created or message.id == copied.id:
        return False
    if message.info is None or copied.info is None or message.info.role != copied.info.role:
        return False
    mine = [p.part.text for p in message.parts if p.part is not None]
    return mine == [p.part.text for p in copied.parts if p.part is not None]


def _task_calls(copy: Copy) -> Iterator[tuple[str, str]]:
    for message in copy.store.messages(copy.session).messages:
        for found in message.parts:
            part = found.part
            if part is None or part.type != names.PART_TOOL or part.state is None:
                continue
            child = part.state.task().session_id
            if child:
                yield child, part.call_id or found.id
    for row in copy.store.rows(copy.session).rows:
        for content in row.data.contents() if row.data is not None else ():
            tool = content.tool() if content is not None else None
            child = tool.task().session_id if tool is not None else ""
            if child and content is not None:
                yield child, content.id


def last_activity(copy: Copy) -> int:
    """Return when a copy last changed, for choosing between copies."""
    session = copy.session
    updated = session.updated or session.created
    if is_plausible(updated):
        assert updated is not None
        return updated
    return id_time(session.id, 0, descending=True) or 0


def is_tree(copy: Copy) -> bool:
    """Return whether a copy stands in the tree."""
    return copy.session.generation == G1
