"""What every importer is, and what it hands over: sessions and the account of their records.

Spec: decisions D2, D6, D7, D11, design decision 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import msgspec

from agentsession._processes import size_at
from agentsession.findings import Finding
from agentsession.session import Session
from agentsession.timestamp import Timestamp

UNREADABLE = "unreadable"
"""How the codes begin of what could not be read; an import that has one exits with 1."""

UNKNOWN_CONTENT = "unknown-content"
"""The code of a file of which an importer does not know more than 5%; it exits with 1."""


def is_alarm(code: str) -> bool:
    """Return whether a code says that the import is not whole. Spec: decisions B4, D11."""
    return code.startswith(UNREADABLE) or code == UNKNOWN_CONTENT


class Outcome(StrEnum):
    """What became of a native record."""

    ENTRY = "entry"
    """It is an entry of its own, or several."""
    FOLDED = "folded"
    """It is part of an entry that stands for more."""
    LEFT_OUT = "left-out"
    """It is in no entry; the code says why."""


class Disposition(msgspec.Struct, frozen=True, gc=False):
    """What became of one native record; small, for there are as many as records.

    Attributes:
        kind: what kind of record, in the agent's words.
        native_id: its id in the agent's store, or its place when it has none.
        disposition: ``entry``, ``folded`` or ``left-out``.
        entry_ids: the entries it went to.
        code: why it was left out, or what was lost; empty when nothing was.
        sentence: the code in words.
    """

    kind: str
    native_id: str
    disposition: Outcome
    entry_ids: tuple[str, ...] = ()
    code: str = ""
    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the disposition as plain values."""
        return {
            "kind": self.kind,
            "native_id": self.native_id,
            "disposition": str(self.disposition),
            "entry_ids": list(self.entry_ids),
            "code": self.code,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Converted:
    """One session converted.

    Attributes:
        session: the session, in memory; its id is the native one.
        records: what became of each native record, each exactly once.
        findings: every difference of meaning, by code.
        totals: what was counted, native and converted side by side.
        cut: whether what it goes on from is not in the source any more, so that its beginning
            is not what it was when the session was stored.
    """

    session: Session
    records: tuple[Disposition, ...] = ()
    findings: tuple[Finding, ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """One place, or several that belong together, where an agent keeps sessions.

    Links between sessions, and copies of one session, are looked for within a source.

    Attributes:
        importer: the importer's name.
        paths: the files and directories that hold the sessions, absolute.
    """

    importer: str
    paths: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.paths) - 1
        return f"{self.paths[0]} and {more} more" if more > 0 else "".join(self.paths)

    def size(self) -> int:
        """Return how many bytes the files of the source have, links not followed."""
        return sum(size_at(path) for path in self.paths)


@dataclass(frozen=True, slots=True)
class NativeSession:
    """One session in a source, before it is converted.

    Attributes:
        id: the agent's id for it, and the id of the session it becomes.
        title: what the agent calls it.
        directory: the working directory.
        updated: its last activity; ``None`` when that is not known.
        copies: the stores that hold a copy of it.
    """

    id: str
    title: str = ""
    directory: str = ""
    updated: Timestamp | None = None
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rest:
    """What a source holds beside the records of its sessions.

    Attributes:
        records: records that belong to no session, each exactly once.
        findings: what is to be told of the source as a whole.
        tables: what holds no conversation, by name, with its number of records; ``None``
            for what is not opened.
        read: how many records the whole source holds, counted apart from the conversion;
            ``None`` when that cannot be said.
    """

    records: tuple[Disposition, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: Mapping[str, int | None] = field(default_factory=dict)
    read: int | None = None


class Importer(Protocol):
    """What an importer of one agent's sessions does; derive from it.

    A source is never written to, and nothing that it holds makes a method raise: what
    cannot be read is a record with a code that begins with ``unreadable``. An importer may
    keep a source open between calls. For conversions in several processes it is pickled
    after it listed the sessions: what it knows then may go along, what is open may not.

    Attributes:
        name: the agent, as the command names it.
    """

    name: str

    def find(self, paths: Sequence[Path] = ()) -> Sequence[Source]:
        """Return the sources at some paths, or at the places the agent uses on this machine.

        A path that holds nothing of the agent is passed over.
        """
        ...

    def sessions(self, source: Source) -> Iterable[NativeSession]:
        """Yield the sessions of a source, each once, in an order that does not change."""
        ...

    def convert(self, source: Source, session_id: str) -> Converted:
        """Return one session converted; the same source gives the same bytes."""
        ...

    def convert_again(self, source: Source, session_id: str, stored: Session) -> Converted | None:
        """Return one session converted with what was known of it when it was stored.

        What a session's own records leave open may be inferred from something beside them that
        changes: the release that ran last, or the session that this one was forked from, which
        may be deleted, or brought in later. What was known when the session was imported first
        stays. This is asked when a plain conversion says something else than the store.

        Args:
            source: the source.
            session_id: the session.
            stored: the session as the store has it.

        Returns:
            The session, or ``None`` when nothing in it is inferred from what changes. Its
            header may name the parent that is known now, where none was known then.
        """
        return None

    def report(self, source: Source) -> Rest:
        """Return what a source holds beside the records of its sessions."""
        return Rest()

    def unread(self, source: Source) -> Sequence[Finding]:
        """Return which files and directories of a source cannot be read, and why.

        It is asked when the sessions of a source are listed and none is converted; the
        findings are among those of the report.
        """
        return [f for f in self.report(source).findings if f.code.startswith(UNREADABLE)]

    def owns(self, directory: Path) -> bool:
        """Return whether a directory is the agent's alone, by its place, its name or what it holds.

        No store is made in one, nor below it. A user's own directory in which an agent's
        files lie, such as a project's, is not the agent's.
        """
        return False

    def close(self) -> None:
        """Let go of what is open. The importer may be used again."""
        return
