"""How an entry gets its place where ids are hashes.

Parent and time are filled in, the time and ``parents`` spelled the one way, what cannot be
hashed normalised; then the id is computed, and the rules about calls are checked.

Spec: later drafts 4, 6, 7, 10.3 and 13.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from agentsession import convergence, text
from agentsession.entries import Entry, ItemEntry
from agentsession.entry_ids import RESERVED, identity
from agentsession.errors import BadID, CannotHash, InvalidEntry, ReservedMember
from agentsession.members import Version
from agentsession.normalising import normalise_members
from agentsession.timestamp import Timestamp


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry is to go.

    Attributes:
        session_id: the session.
        version: its format version.
        parent: the entry it goes under; ``None`` for a root.
        known: the ids of the session's entries.
    """

    session_id: str
    version: Version
    parent: str | None
    known: Container[str]


def sealed(entry: Entry, place: Place) -> Entry:
    """Return an entry with its place, the members it can be hashed with, and its id.

    Spec: later drafts 13, the append pipeline.

    Raises:
        InvalidEntry: when the entry cannot be hashed or has a time that cannot be written.
        ReservedMember, BadNormalisation: when its members break the rules of a body.
        BadConvergence: when its ``parents`` break theirs.
        BadID: when it has an id, and the hash is another.
    """
    _refuse_reference(entry)
    ts = one_spelling(entry.ts or Timestamp.now(), entry.type)
    texts = entry.held_texts()
    parents = texts.pop("parents", None)
    reserved = RESERVED & texts.keys()
    if reserved:
        name = min(reserved)
        raise ReservedMember(
            f'{entry.type} entry: a body must not have a member "{name}"',
            type=entry.type,
            member=name,
        )
    if parents is not None:
        convergence.check(entry, place.parent, place.session_id, place.known, place.version)
        if parents != b"null":
            texts = {"parents": convergence.sorted_parents(parents), **texts}
    return with_id(entry, texts, place, ts)


def with_id(entry: Entry, texts: dict[str, bytes], place: Place, ts: str) -> Entry:
    """Return an entry with these members, sealed under the id they hash to.

    Args:
        entry: the entry.
        texts: its members beside the envelope, with ``parents`` where it has any.
        place: where it goes.
        ts: its time in the one spelling.

    Raises:
        InvalidEntry, BadID: as :func:`sealed`.
    """
    parents = {wire: value for wire, value in texts.items() if wire == "parents"}
    try:
        body = normalise_members({w: value for w, value in texts.items() if w != "parents"})
        envelope = {
            "type": text.encode(entry.type),
            "parent": text.encode(place.parent),
            "ts": text.encode(ts),
        }
        entry_id = identity({**body, **parents, **envelope}).id
    except InvalidEntry as error:
        error.args = (f"{entry.type} entry: {error}", *error.args[1:])
        raise
    except CannotHash as error:
        raise InvalidEntry(f"{entry.type} entry: {error}", type=entry.type) from error
    if entry.id and entry.id != entry_id:
        raise BadID(
            f"{entry.type} entry: its id {entry.id} is not {entry_id}, the hash of what it holds; "
            "leave the id out",
            entry_id=entry.id,
            expected=entry_id,
        )
    return entry.sealed(entry_id, place.parent, ts, place.version, {**parents, **body})


def one_spelling(ts: Timestamp, entry_type: str) -> str:
    """Return a time in the one spelling that ids allow (later drafts 3.4).

    Raises:
        InvalidEntry: when its year in UTC cannot be written.
    """
    try:
        return ts.normal()
    except ValueError as error:
        raise InvalidEntry(f"{entry_type} entry: ts: {error}", type=entry_type, member="ts") from (
            error
        )


def _refuse_reference(entry: Entry) -> None:
    """Refuse an item that only points at another one (later drafts 6, the ingress rule)."""
    if isinstance(entry, ItemEntry) and entry.item.type == "item_reference":
        raise InvalidEntry(
            "item entry: an item_reference stands for an item of elsewhere; append the item itself",
            type="item",
            member="item",
        )
