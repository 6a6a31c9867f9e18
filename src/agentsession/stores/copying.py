"""Sessions moved from one store to another, without loss, and with a word on what is not.

Each session is stored whole or not at all, and is read back and compared byte for byte. A
copy that was interrupted is simply done again: what is there already is left as it is, and
a session that has grown since is continued.

A file can hold more than its lines: blank lines, carriage returns, a last line cut short. A
row of a database cannot; what it leaves out is named.

Spec: decision B3 and B4.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from agentsession.errors import AgentSessionError, SessionExists, SessionLocked
from agentsession.findings import Finding
from agentsession.recovery import salvage
from agentsession.session import Session
from agentsession.stores.base import Keeper, Put, Summary
from agentsession.stores.jsonl import JSONLStore
from agentsession.stores.sqlite import SQLiteStore

BLANK_LINES: Final = "blank-lines"
CARRIAGE_RETURNS: Final = "carriage-returns"
CUT_TAIL: Final = "cut-tail"
NO_FINAL_NEWLINE: Final = "no-final-newline"
REPEATED_ENTRIES: Final = "repeated-entries"
DIFFERS: Final = "differs"
LOCKED: Final = "locked"
NOT_READ: Final = "not-read"
NOT_STORED: Final = "not-stored"
NOT_VERIFIED: Final = "not-verified"
NOT_LISTED: Final = "not-listed"

CODES: Final = (
    BLANK_LINES,
    CARRIAGE_RETURNS,
    CUT_TAIL,
    NO_FINAL_NEWLINE,
    REPEATED_ENTRIES,
    DIFFERS,
    LOCKED,
    NOT_READ,
    NOT_STORED,
    NOT_VERIFIED,
    NOT_LISTED,
)
"""What can be found when copying, beside the kinds of damage; ``docs/stores.md`` says more."""


class Outcome(enum.StrEnum):
    """What became of a session."""

    COPIED = "copied"
    EXTENDED = "extended"
    PRESENT = "present"
    FAILED = "failed"


_OUTCOMES: Final = {
    Put.CREATED: Outcome.COPIED,
    Put.EXTENDED: Outcome.EXTENDED,
    Put.PRESENT: Outcome.PRESENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What became of one session.

    Attributes:
        session_id: the session; empty for a file of the source that is none.
        outcome: what was done; ``FAILED`` leaves the target as it was, or unverified.
        entries: how many entries it has.
        findings: why it failed, or what was left out.
    """

    session_id: str
    outcome: Outcome
    entries: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the target has all of it."""
        return self.outcome is not Outcome.FAILED and not self.findings

    def with_findings(self, earlier: Iterable[Finding]) -> Copied:
        """Return it with further findings in front."""
        return replace(self, findings=(*earlier, *self.findings))


def copy_sessions(
    source: Keeper,
    target: Keeper,
    session_ids: Iterable[str] | None = None,
    *,
    salvaging: bool = False,
    on_start: Callable[[int, int, str], None] | None = None,
) -> Iterator[Copied]:
    """Copy sessions; yield what became of each.

    Stopping early, or being killed, leaves every session whole or absent.

    Args:
        source: the store to read; open it read-only, and nothing is locked or changed.
        target: the store to write.
        session_ids: the sessions; all of the source when not given, oldest first.
        salvaging: of a damaged file, copy what can be had.
        on_start: called before each with its number from 0, how many there are, and its id.

    Spec: decision B3.
    """
    ids, unlisted = _chosen(source, session_ids)
    for number, session_id in enumerate(ids):
        if on_start is not None:
            on_start(number, len(ids), session_id)
        yield _copied(source, target, session_id, salvaging=salvaging)
    yield from unlisted


def _chosen(source: Keeper, session_ids: Iterable[str] | None) -> tuple[list[str], list[Copied]]:
    if session_ids is not None:
        return list(session_ids), []
    ids: list[str] = []
    unlisted: list[Copied] = []
    for found in source.list():
        if isinstance(found, Summary):
            ids.append(found.id)
        else:
            finding = Finding(NOT_LISTED, str(found))
            unlisted.append(Copied(session_id="", outcome=Outcome.FAILED, findings=(finding,)))
    return ids[::-1], unlisted


def _copied(source: Keeper, target: Keeper, session_id: str, *, salvaging: bool) -> Copied:
    # Asked first: a session that is written to meanwhile is rather said to be too old.
    modified_ns = _modified(source, session_id)
    try:
        session, damages = _read(source, session_id, salvaging=salvaging)
    except AgentSessionError as error:
        finding = Finding(NOT_READ, str(error), session_id)
        return Copied(session_id=session_id, outcome=Outcome.FAILED, findings=(finding,))
    return copy_session(session, target, modified_ns=modified_ns).with_findings(damages)


def _modified(source: Keeper, session_id: str) -> int | None:
    try:
        return source.modified_ns(session_id)
    except AgentSessionError:
        # Of a damaged store all that can be had is copied, with or without a time.
        return None


def _read(
    source: Keeper, session_id: str, *, salvaging: bool
) -> tuple[Session, tuple[Finding, ...]]:
    if salvaging:
        found = salvage(source.content(session_id))
        damages = tuple(damage.finding for damage in found.damages)
        return found.session, (*_lost_rows(source, session_id), *damages)
    session = source.open(session_id)
    # One session at a time is in memory.
    source.release(session_id)
    return session, ()


def _lost_rows(source: Keeper, session_id: str) -> tuple[Finding, ...]:
    if not isinstance(source, SQLiteStore):
        return ()
    return tuple(Finding(NOT_READ, sentence, session_id) for sentence in source.losses(session_id))


def copy_session(session: Session, target: Keeper, *, modified_ns: int | None = None) -> Copied:
    """Store a session as it stands and compare what was stored; return what became of it.

    Args:
        session: the session.
        target: the store to write.
        modified_ns: when the session was last written to, for listings of the target.

    Spec: decision B3.
    """
    try:
        if modified_ns is None:
            outcome = _OUTCOMES[target.put(session)]
        else:
            outcome = _OUTCOMES[target.put(session, modified_ns=modified_ns)]
        is_there = target.holds(session)
    except AgentSessionError as error:
        finding = Finding(_code(error), str(error), session.id)
        return Copied(session_id=session.id, outcome=Outcome.FAILED, findings=(finding,))
    if not is_there:
        sentence = "what was read back is not what was written"
        finding = Finding(NOT_VERIFIED, sentence, session.id)
        return Copied(session_id=session.id, outcome=Outcome.FAILED, findings=(finding,))
    findings = () if isinstance(target, JSONLStore) else beyond_lines(session)
    return Copied(session_id=session.id, outcome=outcome, entries=len(session), findings=findings)


def _code(error: AgentSessionError) -> str:
    if isinstance(error, SessionExists):
        return DIFFERS
    return LOCKED if isinstance(error, SessionLocked) else NOT_STORED


def beyond_lines(session: Session) -> tuple[Finding, ...]:
    """Return what the file of a session has that is no line of it, so that rows lack it.

    Spec: decision B3.
    """
    source = session.source
    if source is None:
        return ()
    tail = session.truncated
    lines = source[: tail.start if tail else len(source)].split(b"\n")
    ends_open = lines[-1] != b""
    whole = lines if ends_open else lines[:-1]
    blank = sum(not line.rstrip(b"\r") for line in whole)
    returns = sum(line.endswith(b"\r") for line in whole)
    repeated = len(whole) - blank - 1 - _read_entries(session)
    found = [
        (BLANK_LINES, blank, "a blank line is left out"),
        (CARRIAGE_RETURNS, returns, "a carriage return at the end of a line is left out"),
        (REPEATED_ENTRIES, repeated, "an entry that stands in the file before is kept once"),
        (NO_FINAL_NEWLINE, int(ends_open), "that the last line has no line end is not kept"),
    ]
    if tail is not None:
        sentence = f"line {tail.line}, which was cut short, is left out: {len(tail.data)} bytes"
        found.append((CUT_TAIL, 1, sentence))
    return tuple(
        Finding(code, sentence, session.id, count) for code, count, sentence in found if count
    )


def _read_entries(session: Session) -> int:
    """How many entries of a session were read; those appended since stand behind."""
    return session._read_count
