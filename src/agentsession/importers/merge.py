"""Writing a converted session into a store: only what is new, and nothing a user did undone.

What is written is planned first. A merge that was cut short is completed by the next one.

Spec: decisions D5 and D6.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

from agentsession import versions
from agentsession.entries import Entry
from agentsession.errors import DamagedFile, NoSession, SessionExists, SessionLocked
from agentsession.importers.base import Converted
from agentsession.importers.grafting import has_grafts
from agentsession.importers.identity import FORMATS
from agentsession.importers.plans import Action, Plan, in_format, plan
from agentsession.session import Session
from agentsession.stores.base import Put, Store

Again = Callable[[Session], Converted | None]
"""Converts a session once more, given the stored one; see ``Importer.convert_again``."""

_PAUSES: Final = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""How long a session that is held is waited for, in seconds: with all of them about 1.5."""


@runtime_checkable
class _Releasing(Protocol):
    def release(self, session_id: str) -> None: ...


@runtime_checkable
class _Keeping(Protocol):
    def put(self, session: Session) -> Put: ...

    def holds(self, session: Session) -> bool: ...


def merge(
    store: Store, converted: Session, to: str = FORMATS[0], again: Again | None = None
) -> Plan:
    """Write a converted session into a store, and check what was written.

    The session is created, or what it lacks is appended to it. Afterwards it is opened
    again: every converted entry must stand in it. A session that is held is waited for a
    little: another import lets go of it soon.

    Args:
        store: the store.
        converted: the session, as an importer converts it.
        to: the format of a new session, ``agentsession/0.3`` or ``agentsession/0.11``; one
            that is stored stays in its own.
        again: converts it once more when its past seems rewritten; what it returns is merged.

    Spec: decision D6, later drafts 12.

    Raises:
        SessionLocked: when somebody else is writing to the session.
        DamagedFile: when the stored session cannot be read, or is not what was written.
        AgentSessionError: what else opening, creating and appending raise.
    """
    for pause in _PAUSES:
        try:
            return _merged(store, converted, to, again)
        except (SessionLocked, SessionExists):
            time.sleep(pause)
    return _merged(store, converted, to, again)


def _merged(store: Store, converted: Session, to: str, again: Again | None) -> Plan:
    stored = _stored(store, converted.id)
    try:
        converted = in_format(stored, converted, to)
        done = _planned(stored, converted, to, again)
        if not done.entries and stored is not None:
            return done
        if stored is None and isinstance(store, _Keeping):
            return done if _put(store, converted) else preview(store, converted, to)
        session = store.create(converted.header) if stored is None else stored
        if isinstance(store, _Keeping) and _is_put_behind(session, done.entries):
            release(store, session.id)
            for entry in done.entries:
                session.commit(entry)
            store.put(session)
        else:
            for entry in done.entries:
                if entry.parent is None:
                    session.reset_leaf()
                store.append(session.id, _unplaced(entry))
        _settle(store, session, done)
        return done
    finally:
        release(store, converted.id)


def _is_put_behind(session: Session, entries: Sequence[Entry]) -> bool:
    """Whether what is new is put behind a stored session, and not appended.

    An append refuses a call id that a session has already, and a past that was rewritten
    repeats its calls.
    """
    if not versions.has_content_ids(session.header.version) or session.raised_header() is not None:
        return False
    # A cut line that begins what is new is completed.
    cut = session.truncated
    return cut is None or entries[0].line.startswith(cut.data)


def _planned(stored: Session | None, converted: Session, to: str, again: Again | None) -> Plan:
    done = plan(stored, converted, to)
    if stored is None or again is None or not _is_doubted(stored, done):
        return done
    settled = again(stored)
    if settled is None:
        return done
    done = plan(stored, settled.session, to, converted)
    if _is_doubted(stored, done) and (settled.cut or has_grafts(stored)):
        done = plan(stored, settled.session, to, converted, later=True)
    return done


def _is_doubted(stored: Session, done: Plan) -> bool:
    """Whether what is stored may have been told by something that the source has not any more.

    What was grafted on a fork has ids that no conversion gives it.
    """
    if done.action is Action.BRANCHED:
        return True
    if not done.entries or not stored.header.parent_session:
        return False
    return done.lacks or has_grafts(stored)


def preview(
    store: Store, converted: Session, to: str = FORMATS[0], again: Again | None = None
) -> Plan:
    """Return what :func:`merge` would do to a store. Nothing is written.

    Raises:
        AgentSessionError: when the stored session cannot be opened.
    """
    try:
        return _planned(_stored(store, converted.id), converted, to, again)
    finally:
        release(store, converted.id)


def _stored(store: Store, session_id: str) -> Session | None:
    try:
        return store.open(session_id)
    except NoSession:
        return None


def release(store: Store, session_id: str) -> None:
    """Let go of a session, in stores that hold what is open."""
    if isinstance(store, _Releasing):
        store.release(session_id)


def _put(store: _Keeping, converted: Session) -> bool:
    """Store a new session, whole or not at all; return whether another one did not do so first.

    Raises:
        SessionExists: when there is one by now that says something else.
        DamagedFile: when it is not there afterwards, byte for byte.
    """
    done = store.put(converted)
    if not store.holds(converted):
        raise DamagedFile(
            f"session {converted.id} was written, and cannot be read back as it was; delete the "
            "session from the store and import it again"
        )
    return done is Put.CREATED


def _settle(store: Store, session: Session, done: Plan) -> None:
    """Open what was written once more, and compare.

    Raises:
        DamagedFile: when an entry or the leaf is not as it was written.
    """
    if not isinstance(store, _Releasing):
        if done.leaf is not None:
            session.branch(done.leaf)
        return
    store.release(session.id)
    written = store.open(session.id)
    for entry in done.entries:
        found = written.get(entry.id)
        if found is None or found.line != entry.line:
            raise DamagedFile(
                f"session {session.id} was written, and entry {entry.id} cannot be read back as "
                "it was; delete the session from the store and import it again"
            )
    if written.leaf != done.leaf:
        raise DamagedFile(
            f"session {session.id} was written, and its leaf is {written.leaf}, not {done.leaf}"
        )


def _unplaced(entry: Entry) -> Entry:
    return entry.moved(parent=entry.parent, id=entry.id) if entry.is_sealed else entry
