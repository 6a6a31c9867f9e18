"""Ids that follow from what an entry says and where it stands.

Equal pasts have equal ids, in every import; a past that was rewritten has others from the
first change on, and so becomes a branch. Where a session is written in the draft whose ids
are hashes, an entry keeps the id an import gave it as its ``legacy_id``.

Spec: decisions D5 and D6, later drafts 12.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from agentsession import text, versions
from agentsession.appending import Place, one_spelling, with_id
from agentsession.canonical import canonical_json
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, UnsupportedFormat
from agentsession.ids import is_content_id
from agentsession.importers.amending import Amended, amended
from agentsession.members import Version
from agentsession.migration import LEGACY_ID
from agentsession.record_entries import RunEntry
from agentsession.session import Session
from agentsession.timestamp import Timestamp

FORMATS: Final = tuple(map(versions.format_name, (versions.NEWEST_SHORT, versions.NEWEST_HASHED)))
"""The formats an import writes; the first when it is asked for none."""

_ENVELOPE: Final = ("type", "id", "parent", "ts")
_DIGITS: Final = 16
_IMPORTED: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)


def written_format(name: str) -> str:
    """Return the format an import is to write, for ``0.11`` or ``agentsession/0.11``.

    Raises:
        UnsupportedFormat: for any that imports do not write.
    """
    found = name if "/" in name else f"agentsession/{name}"
    if found not in FORMATS:
        raise UnsupportedFormat(
            f'"{name}" is not a format that imports write; these are {", ".join(FORMATS)}',
            format=name,
        )
    return found


def is_imported(entry: Entry | str) -> bool:
    """Return whether an entry, or an id, is one that an import gave: 16 hex digits.

    Ids that a harness's own writer gives have 8 or 32, or are content hashes; an entry whose
    id is one is told by its ``legacy_id``.
    """
    if isinstance(entry, Entry):
        return bool(imported_id(entry))
    return _IMPORTED.fullmatch(entry) is not None


def imported_id(entry: Entry) -> str:
    """Return the id that an import gave an entry of a session; empty when none did."""
    found = entry.legacy_id if is_content_id(entry.id) else entry.id
    return found if is_imported(found) else ""


def hashed(entry: Entry, parent: str | None, given: str, session_id: str, ts: Timestamp) -> Entry:
    """Return an entry of an import with its hash as its id.

    Args:
        entry: the entry.
        parent: the entry it stands below.
        given: the id that :func:`entry_id` gives it.
        session_id: the session.
        ts: its time.

    Raises:
        InvalidEntry: when it cannot be hashed.
    """
    version: Version = versions.NEWEST_HASHED
    texts = {**entry.held_texts(), LEGACY_ID: text.encode(given)}
    there = Place(session_id, version, parent, ())
    return with_id(entry.moved(), texts, there, one_spelling(ts, entry.type))


def migrated(converted: Session, stored: Session | None) -> Session:
    """Return a converted session with hashes as ids; what is stored has the same ids in it.

    A time matters to a hash, and not to the id that an import gives: an entry that is stored
    keeps the time it has there. Runs say what the later rules make of their entries, and a start
    that is stored says what it does there.

    Raises:
        UnresolvedMigration: when an entry has no hash.
    """
    times: dict[str, Timestamp] = {}
    begun: dict[str, str] = {}
    for entry in stored.entries if stored is not None else ():
        if entry.ts is not None:
            times.setdefault(imported_id(entry), entry.ts)
        if isinstance(entry, RunEntry) and entry.is_start:
            begun.setdefault(imported_id(entry), entry.source)
    to = versions.format_name(versions.NEWEST_HASHED)
    if any(_has_another(times, entry) for entry in converted.entries):
        converted = _again(converted, times, {})
    done = converted.migrated(to)
    said = {imported_id(done[entry_id]): one for entry_id, one in amended(done).items()}
    for known, source in begun.items():
        start = converted.get(known)
        if isinstance(start, RunEntry):
            said.pop(known, None)
            if source != start.source:
                said[known] = Amended(source=source)
    return _again(converted, times, said).migrated(to) if said else done


def _again(
    converted: Session, times: Mapping[str, Timestamp], said: Mapping[str, Amended]
) -> Session:
    """Return a session with other times, and with runs that say something else."""
    kept = Session(converted.header)
    for entry in converted.entries:
        if entry.parent is None:
            kept.reset_leaf()
        ts = times.get(entry.id, entry.ts)
        one = entry
        if entry.id in said and isinstance(entry, RunEntry):
            one = said[entry.id].of(entry)
        kept.append(one.moved(parent=entry.parent, id=entry.id, ts=ts))
    return kept


def _has_another(times: dict[str, Timestamp], entry: Entry) -> bool:
    known = times.get(entry.id)
    return known is not None and (entry.ts is None or known.nanoseconds != entry.ts.nanoseconds)


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
    known = getattr(entry, "canonical_content", None)
    if isinstance(known, bytes):
        return known
    members = text.split_members(entry.line)
    for name in _ENVELOPE:
        members.pop(name, None)
    try:
        return canonical_json({name: text.parse(value) for name, value in members.items()})
    except AgentSessionError:
        return b"\n".join(members.values())
