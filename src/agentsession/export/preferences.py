"""Preferences: which child of a fork counts as the one that was continued.

Spec: export 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from agentsession.record_entries import OutcomeEntry
from agentsession.session import Session

Preference = Callable[[Session, str, Sequence[str]], str]
"""Chooses the continued child at a fork.

It is called with the session, the entry that has several children, and their ids in file
order. It returns one of them, or an empty string for no opinion.
"""


def prefer_latest(session: Session, fork: str, children: Sequence[str]) -> str:
    """Return the child whose subtree holds the entry written last; the rule without others.

    Right when a branch was left for good, wrong when somebody hopped between branches.

    Spec: export 1.
    """
    del fork
    latest = ""
    for child in _owners(session, children).values():
        latest = child
    return latest


def prefer_current_leaf(session: Session, fork: str, children: Sequence[str]) -> str:
    """Return the child whose subtree holds the session's leaf as it is now.

    No opinion when there is no leaf, or it lies under none of the children.

    Spec: export 1.
    """
    del fork
    return _owners(session, children).get(session.leaf or "", "")


def prefer_label(label: str) -> Preference:
    """Return the preference for the child whose subtree holds an entry with a label.

    Only labels in force count. No opinion when no child is labelled, or more than one.

    Spec: export 1.
    """

    def preferred(session: Session, fork: str, children: Sequence[str]) -> str:
        del fork
        owners = _owners(session, children)
        targets = (target for target, found in session.labels.items() if found == label)
        return _only(owners[target] for target in targets if target in owners)

    return preferred


def prefer_score(session: Session, fork: str, children: Sequence[str]) -> str:
    """Return the child whose subtree holds the outcome with the highest score.

    An outcome counts for its target, or, without one, where it stands. No opinion when no
    child has a score, or when the best is shared by two.

    Spec: export 1.
    """
    del fork
    owners = _owners(session, children)
    best: dict[str, float] = {}
    for entry in session:
        if isinstance(entry, OutcomeEntry) and entry.score is not None:
            child = owners.get(entry.target or entry.id, "")
            if child:
                best[child] = max(entry.score, best.get(child, entry.score))
    if not best:
        return ""
    highest = max(best.values())
    return _only(child for child, score in best.items() if score == highest)


def _owners(session: Session, children: Sequence[str]) -> dict[str, str]:
    """For each entry in a subtree of the children that child, entries in file order."""
    own = set(children)
    owners: dict[str, str] = {}
    for entry in session:
        if entry.id in own:
            owners[entry.id] = entry.id
        elif entry.parent in owners:
            owners[entry.id] = owners[entry.parent]
    return owners


def _only(found: Iterable[str]) -> str:
    distinct = set(found)
    return distinct.pop() if len(distinct) == 1 else ""
