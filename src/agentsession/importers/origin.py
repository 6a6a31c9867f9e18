"""Origins: what a stored session says of the session it was forked from.

Which session that is, and what was copied from it, may be told by that one's records alone,
and a user may delete these, or bring them in later. A fork is stored once: what was known of
its origin then stays.

Spec: decision D6, format 4.14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentsession.entries import ItemEntry, ResponseEntry
from agentsession.importers.identity import is_imported
from agentsession.record_entries import LinkEntry
from agentsession.session import Session
from agentsession.wire.origin import origin_of

FORK_OF = "fork_of"
"""The ``rel`` of a fork's link to the session it was copied from."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What was known of a session's origin when it was stored.

    Attributes:
        session: the session it was forked from, as its header names it; empty when none was
            known. A link of a session whose header names none was found out later.
        copied: the names of the items that stand above the link, or beside what is below it.
        own: the names of the items below the link.
        answers: the answers of which there are items and no response: they were asked for
            in another session.
    """

    session: str = ""
    copied: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()


def origin_in(stored: Session) -> Origin:
    """Return what a session, as a store has it, says of the one it was forked from."""
    parent = stored.header.parent_session
    link = fork_link(stored) if parent else None
    below: set[str] = {link.id} if link is not None else set()
    copied: set[str] = set()
    own: set[str] = set()
    said: set[str] = set()
    answered: set[str] = set()
    for entry in stored.entries:
        if entry.parent in below:
            below.add(entry.id)
        if isinstance(entry, ItemEntry):
            found = own if entry.id in below else copied
            found.update(_names(entry))
            said.add(_message(entry))
        elif isinstance(entry, ResponseEntry):
            answered.add(entry.response_id)
    return Origin(
        session=parent,
        copied=frozenset(copied - own),
        own=frozenset(own),
        answers=frozenset(said - answered - {""}),
    )


def fork_link(session: Session) -> LinkEntry | None:
    """Return the first link by which an import said what a session was forked from."""
    for entry in session.entries:
        if isinstance(entry, LinkEntry) and entry.rel == FORK_OF and is_imported(entry):
            return entry
    return None


def _message(entry: ItemEntry) -> str:
    return origin_of(entry).message


def _names(entry: ItemEntry) -> Iterator[str]:
    """What the record of an item is called: importers put a block's place behind its name."""
    yield _message(entry)
    name = entry.item.id
    if name:
        yield name
        yield name.rpartition(".")[0] or name
