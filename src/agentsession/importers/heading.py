"""Headers of a session that is imported again, and ties that were not known when it was made.

A header says for good what it says when the session is created. A child may be imported before
its parent's file names it: what that file says later stands in a link of the child.

Spec: decision D6, format 2, 4.14.
"""

from __future__ import annotations

from typing import Final

from agentsession import text
from agentsession.importers.origin import FORK_OF, fork_link
from agentsession.record_entries import LinkEntry
from agentsession.session import Session

SUBSESSION_OF: Final = "subsession_of"
"""The ``rel`` of a child's link to the session, and the call, that spawned it."""

_TIES: Final = ("parent_session", "spawned_by")


def late_ties(
    stored: Session, converted: Session, found: Session | None = None
) -> tuple[list[LinkEntry], bool]:
    """Return the links that a stored session lacks, and whether its header differs otherwise.

    Args:
        stored: the session as the store has it.
        converted: the session as it is merged.
        found: the session as the source has it now, where it is merged with what was known
            of it when it was stored.
    """
    found = converted if found is None else found
    if stored.header.line == found.header.line:
        return [], False
    mine, theirs = (text.split_members(s.header.line) for s in (stored, found))
    late = [name for name in _TIES if name in theirs and name not in mine]
    for name in late:
        del theirs[name]
    for name in _TIES:
        # What the source does not know any more, or takes from less than was known, stays.
        if name in mine and (name not in theirs or found is not converted):
            del mine[name]
            theirs.pop(name, None)
    differs = mine != theirs
    header = found.header
    if not late or not header.parent_session:
        return [], differs or bool(late)
    for session in (stored, converted):
        for entry in session.entries:
            if isinstance(entry, LinkEntry) and _says(
                entry, header.parent_session, header.spawned_by
            ):
                return [], differs
    forked = fork_link(found)
    if forked is not None and forked.session == header.parent_session and not header.spawned_by:
        return [LinkEntry(FORK_OF, header.parent_session)], differs
    return [LinkEntry(SUBSESSION_OF, header.parent_session, header.spawned_by)], differs


def _says(link: LinkEntry, parent: str, call: str) -> bool:
    """Whether a link names a session as the one that this one comes from."""
    if link.rel == SUBSESSION_OF:
        return (link.session, link.call_id) == (parent, call)
    return link.rel == FORK_OF and link.session == parent and not call
