"""Trajectories: one path of a session's tree, and what the tree says about it.

Spec: export 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from agentsession.context import Context, build_context, lost_window
from agentsession.entries import CompactionEntry, Entry
from agentsession.errors import NoContext, NoEntry
from agentsession.export.preferences import Preference
from agentsession.header import Header
from agentsession.session import Session

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One root-to-leaf path with the context algorithm applied.

    Attributes:
        header: the session's header.
        leaf_id: the entry the path ends at; the document's ``trajectory_id``.
        entries: the entries of the context in order: what the model would be sent.
        path: the whole path, root first. Totals are taken from it. Empty in a trajectory made
            by hand, where the entries stand for it.
        name: the session's display name.
        labels: the labels in force in the whole session, by target.
        preferred_over: leaves of the branches this path was continued in preference to.
        abandoned_at: the fork where this path left the preferred route; empty when it did not.
        main: whether the path ends at the last entry of the session.
        error: why the context cannot be built, or ``None``; the entries are empty then.

    Spec: export 1.
    """

    header: Header
    leaf_id: str
    entries: tuple[Entry, ...]
    path: tuple[Entry, ...] = ()
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    preferred_over: tuple[str, ...] = ()
    abandoned_at: str = ""
    main: bool = False
    error: NoContext | None = None

    @property
    def context(self) -> Context:
        """The context at the end of the path, built anew.

        Raises:
            NoContext: when it cannot be built.
        """
        return build_context(self.path or self.entries)


def at(session: Session, entry_id: str, *preferences: Preference) -> Trajectory:
    """Return the trajectory whose path ends at an entry, which need not be a leaf.

    Anything appended after an export moves the leaf; this builds the document that was
    exported, the one a score names, again.

    Spec: export 1.

    Raises:
        NoEntry: when the id is unknown.
        NoContext: when the context cannot be built.
    """
    if entry_id not in session:
        raise NoEntry(f'session {session.id} has no entry "{entry_id}"', entry_id=entry_id)
    found = Forest(session, preferences).trajectory(entry_id)
    if found.error is not None:
        raise found.error
    return found


def trajectories(session: Session, *preferences: Preference) -> Iterator[Trajectory]:
    """Yield one trajectory for each leaf, leaves in file order; none for an empty session.

    At a fork the preferences are asked in order and the first that names a child decides;
    without an answer the child whose subtree was written to last is the continued one. A leaf
    whose context cannot be built comes with its ``error`` set, and the iteration goes on.

    Spec: export 1.
    """
    tree = Forest(session, preferences)
    for leaf in session.leaves:
        yield tree.trajectory(leaf.id)


def selected(path: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the context entries of a path: those the context algorithm selects.

    Spec: context 1.

    Raises:
        NoContext: when the last compaction keeps from an entry that is not before it.
    """
    folds = [at for at, entry in enumerate(path) if isinstance(entry, CompactionEntry)]
    if not folds:
        return tuple(path)
    last = folds[-1]
    fold = path[last]
    assert isinstance(fold, CompactionEntry)
    kept = next((at for at in range(last) if path[at].id == fold.first_kept), None)
    if kept is None:
        raise lost_window(fold)
    return (fold, *path[kept:last], *path[last + 1 :])


class Forest:
    """What all paths of one session share, found once."""

    def __init__(self, session: Session, preferences: Sequence[Preference]) -> None:
        self.session = session
        self.preferences = preferences
        self.name = session.name
        self.labels = MappingProxyType(dict(session.labels))
        entries = session.entries
        self.last = entries[-1].id if entries else ""
        self.latest = {entry.id: row for row, entry in enumerate(entries)}
        for entry in reversed(entries):
            if entry.parent in self.latest:
                written = self.latest[entry.id]
                self.latest[entry.parent] = max(self.latest[entry.parent], written)
        self.winners: dict[str, str] = {}
        self.losers: dict[tuple[str, str], tuple[str, ...]] = {}

    def trajectory(self, entry_id: str) -> Trajectory:
        """Return the trajectory that ends at an entry of the session."""
        path = tuple(self.session.path(entry_id))
        preferred_over, abandoned_at = self._forks(path)
        error = None
        try:
            entries = selected(path)
        except NoContext as lost:
            entries, error = (), lost
        return Trajectory(
            header=self.session.header,
            leaf_id=entry_id,
            entries=entries,
            path=path,
            name=self.name,
            labels=self.labels,
            preferred_over=preferred_over,
            abandoned_at=abandoned_at,
            main=entry_id == self.last,
            error=error,
        )

    def _forks(self, path: Sequence[Entry]) -> tuple[tuple[str, ...], str]:
        preferred_over: list[str] = []
        abandoned_at = ""
        for entry, taken in pairwise(path):
            children = [child.id for child in self.session.children(entry.id)]
            if len(children) < 2:
                continue
            if self._winner(entry.id, children) == taken.id:
                preferred_over += self._others(entry.id, taken.id, children)
            elif not abandoned_at:
                abandoned_at = entry.id
        return tuple(preferred_over), abandoned_at

    def _winner(self, fork: str, children: Sequence[str]) -> str:
        if fork not in self.winners:
            answers = (prefer(self.session, fork, children) for prefer in self.preferences)
            latest = max(children, key=self.latest.__getitem__)
            self.winners[fork] = next((a for a in answers if a in children), latest)
        return self.winners[fork]

    def _others(self, fork: str, taken: str, children: Sequence[str]) -> tuple[str, ...]:
        key = (fork, taken)
        if key not in self.losers:
            others = [child for child in children if child != taken]
            self.losers[key] = tuple(leaf for child in others for leaf in self._leaves(child))
        return self.losers[key]

    def _leaves(self, entry_id: str) -> Iterator[str]:
        """The leaves of a subtree, newest branch first."""
        pending = [entry_id]
        while pending:
            here = pending.pop()
            children = [child.id for child in self.session.children(here)]
            if not children:
                yield here
            pending.extend(children)
