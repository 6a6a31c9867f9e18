"""Ids that follow from what an entry says and where it stands.

Equal pasts have equal ids, in every import; a past that was rewritten has others from the
first change on, and so becomes a branch.

Spec: decisions D5 and D6.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from agentsession import text
from agentsession.canonical import canonical_json
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.session import Session

_ENVELOPE: Final = ("type", "id", "parent", "ts")
_DIGITS: Final = 16
_IMPORTED: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)


def is_imported(entry_id: str) -> bool:
    """Return whether an id has the form that imports give: 16 hex digits.

    Ids that a harness's own writer gives have 8 or 32, or are content hashes.
    """
    return _IMPORTED.fullmatch(entry_id) is not None


def entry_id(parent: str | None, native_id: str, role: str, entry: Entry) -> str:
    """Return the id of an entry: a SHA-256 over its place, its origin and what it says.

    Args:
        parent: the id of the entry it stands below; ``None`` for a root.
        native_id: the agent's id of the record it comes from.
        role: tells several entries of one record apart.
        entry: the entry; its own id, parent and time do not matter.

    Spec: decision D5.
    """
    place = text.encode([parent or "", native_id, role])
    return hashlib.sha256(place + b"\n" + _content(entry)).hexdigest()[:_DIGITS]


def place(
    session: Session, parent: str | None, entry: Entry, native_id: str, role: str = "entry"
) -> str:
    """Append an entry below another one, under the id it deserves; return the id.

    Args:
        session: the session being converted, in memory.
        parent: the entry to stand below; ``None`` for a new root.
        entry: the entry, with the time of its record.
        native_id: see :func:`entry_id`.
        role: see :func:`entry_id`.

    Raises:
        AgentSessionError: as :meth:`agentsession.Session.append`.
    """
    new = entry_id(parent, native_id, role, entry)
    while new in session:
        role += "+"
        new = entry_id(parent, native_id, role, entry)
    if parent is None:
        session.reset_leaf()
    return session.append(entry.moved(parent=parent, id=new))


def _content(entry: Entry) -> bytes:
    members = text.split_members(entry.line)
    for name in _ENVELOPE:
        members.pop(name, None)
    try:
        return canonical_json({name: text.parse(value) for name, value in members.items()})
    except AgentSessionError:
        return b"\n".join(members.values())
