"""The checks of the records on the paths of a session, where paths part with shared work.

One check goes down the tree and takes back what it took in on its way up, so that an entry is
checked once and not once for each leaf below it.

Spec: context 10, later drafts 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agentsession import versions
from agentsession._undoing import Journal, walked
from agentsession.earlier_records import EarlierRecords
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.later_records import Elsewhere, LaterRecords

if TYPE_CHECKING:
    from agentsession.session import Session


@dataclass(frozen=True, slots=True)
class LeafRecords:
    """What the records on the path to one leaf say.

    Attributes:
        leaf: the entry id of the leaf.
        error: the first problem found, or ``None``.
        notes: notes that are no errors; none beside an error.
    """

    leaf: str
    error: AgentSessionError | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return self.error is None


class _Check(Protocol):
    def feed(self, entry: Entry) -> None: ...
    def problem(self) -> AgentSessionError | None: ...
    def notes(self) -> tuple[str, ...]: ...


def of_path(session: Session, path: Sequence[Entry]) -> LeafRecords:
    """Return what the records on a root-first path of a session say."""
    base = next((at for at, entry in enumerate(path) if entry.id == session.header.base), -1)
    check = _check(session, path[: base + 1], Journal())
    for entry in path:
        check.feed(entry)
    return _found(path[-1].id, check)


def of_leaves(session: Session) -> tuple[LeafRecords, ...]:
    """Return what :func:`of_path` says of the path to each leaf, in file order."""
    entries = session.entries
    base = next((at for at, entry in enumerate(entries) if entry.id == session.header.base), -1)
    # All that is not in a fork's prefix is below its base, so that every path inherits as much.
    journal = Journal(keeps=True)
    check = _check(session, entries[: base + 1], journal)
    found: dict[str, LeafRecords] = {}
    for entry, is_leaf in walked(entries, journal):
        check.feed(entry)
        if is_leaf:
            found[entry.id] = _found(entry.id, check)
    return tuple(found[entry.id] for entry in entries if entry.id in found)


def _found(leaf: str, check: _Check) -> LeafRecords:
    error = check.problem()
    if error is None:
        return LeafRecords(leaf, None, check.notes())
    # What is raised for one leaf, or noted on it, is no other leaf's.
    return LeafRecords(leaf, copy(error))


def _check(session: Session, prefix: Iterable[Entry], journal: Journal) -> _Check:
    """The check of a session's version; the prefix is what a fork inherited."""
    header = session.header
    if not versions.has_later_calls(header.version):
        return EarlierRecords(header, journal)
    elsewhere = Elsewhere(session.dispatched(), session.repeated_call_ids())
    inherited = frozenset(entry.id for entry in prefix)
    return LaterRecords(header, elsewhere, inherited, journal)
