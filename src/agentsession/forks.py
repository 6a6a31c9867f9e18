"""Sessions that continue from an entry of another one.

A fork's file starts with the path to that entry, its base: the same entries, with the same
ids. Everything of its own hangs below the base.

Spec: later drafts 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from agentsession import versions
from agentsession.entries import LEAF_LABEL, Entry
from agentsession.errors import BadID, InvalidEntry, NoEntry, UnsupportedFormat
from agentsession.header import MEDIA_INLINE, Header
from agentsession.record_entries import LabelEntry
from agentsession.rows import Rows

if TYPE_CHECKING:
    from agentsession.session import Session


class Creating(Protocol):
    """What forking into a store needs of it."""

    def create(self, header: Header, /) -> Session:
        """Start a session."""


def is_leaf_label(entry: Entry | None) -> bool:
    """Return whether an entry is a label that marks a leaf."""
    return isinstance(entry, LabelEntry) and entry.label == LEAF_LABEL


def check_base(base: str, rows: Rows, place: str = "") -> None:
    """Return when the entries of a file keep to its base.

    Args:
        base: the base the header names.
        rows: the entries, in file order.
        place: what messages begin with.

    Spec: later drafts 5.

    Raises:
        NoEntry: when the base is not in the file.
        BadID: when the file does not start with the path to it, or an entry of its own is
            not below it.
    """
    at = rows.index.get(base)
    if at is None:
        raise NoEntry(f'{place}the base "{base}" is not an entry of the file', entry_id=base)
    if is_leaf_label(rows[at]):
        raise BadID(f"{place}the base {base} is a leaf label", entry_id=base)
    before = None
    for entry_id, parent in zip(rows.ids[: at + 1], rows.parents, strict=False):
        if parent != before:
            raise BadID(
                f"{place}entry {entry_id} stands before the base and is not the child of the "
                "entry before it; a file with a base starts with the path to it",
                entry_id=entry_id,
            )
        before = entry_id
    for entry_id, parent in zip(rows.ids[at + 1 :], rows.parents[at + 1 :], strict=True):
        if parent is None or rows.index[parent] < at:
            raise BadID(f"{place}entry {entry_id} is not below the base {base}", entry_id=entry_id)


def fork(
    session: Session,
    entry_id: str,
    *,
    header: Header | None = None,
    store: Creating | None = None,
) -> Session:
    """Return a new session that continues from an entry of another one, which stays as it is.

    Args:
        session: the origin; its entry ids are hashes.
        entry_id: the entry to continue from.
        header: members of the new header that are not the origin's; its format, its base
            and, where it names none, its origin are filled in.
        store: the store to create it in, which holds the origin; in memory without one.

    Spec: later drafts 5.

    Raises:
        NoEntry: when the origin has no such entry.
        InvalidEntry: when the entry is a leaf label, or the header asks for other media.
        UnsupportedFormat: when the origin's ids are no hashes; migrate it first.
    """
    given = fork_header(session, entry_id, header)
    return store.create(given) if store is not None else started(given, session)


def fork_header(session: Session, entry_id: str, header: Header | None = None) -> Header:
    """Return the header of a fork of a session.

    Raises:
        NoEntry, InvalidEntry, UnsupportedFormat: as :func:`fork`.
    """
    _check_origin(session, entry_id)
    origin, given = session.header, header or Header()
    if header is not None and _media(given) != _media(origin) and given.media:
        raise _other_media(given, origin)
    own = {
        wire: value
        for wire, value in origin._loaded().items()
        if wire in ("harness", "records", "cwd", "media", "redacted")
    }
    texts = {
        **own,
        **given._loaded(),
        **Header(
            format=versions.format_name(versions.NEWEST_HASHED),
            parent_session=given.parent_session or session.id,
            base=entry_id,
        )._loaded(),
    }
    ordered = {wire: texts[wire] for wire in Header.MEMBERS if wire in texts}
    return Header.from_texts({**ordered, **texts})


def new_session(header: Header | None, origin: Callable[[str], Session]) -> Session:
    """Return the session a store is to create: an empty one, or with a base a fork. For stores.

    Args:
        header: what the caller gave.
        origin: gives a session of the store by its id, to be read only.

    Spec: later drafts 5, stores 6.

    Raises:
        NoEntry: when the header names a base and not the session it comes from, or that
            session does not hold it.
        InvalidEntry, UnsupportedFormat: as :func:`fork`.
    """
    from agentsession.session import Session  # noqa: PLC0415 - a session forks by this module

    if header is None or not header.base:
        return Session(header)
    if not header.parent_session:
        raise NoEntry(
            f'the header names the base "{header.base}" and no parent_session that holds it; use '
            "fork, or name it",
            entry_id=header.base,
        )
    return started(header, origin(header.parent_session))


def started(header: Header, origin: Session) -> Session:
    """Return the session of a header with a base, its prefix taken from the origin.

    Raises:
        NoEntry, InvalidEntry, UnsupportedFormat: as :func:`fork`.
    """
    from agentsession.session import Session  # noqa: PLC0415 - a session forks by this module

    _check_origin(origin, header.base)
    if _media(header) != _media(origin.header):
        raise _other_media(header, origin.header)
    return Session.forked(header, origin.path(header.base))


def _check_origin(origin: Session, entry_id: str) -> None:
    version = origin.header.version
    if not versions.has_content_ids(version) or version > versions.NEWEST_READ:
        raise UnsupportedFormat(
            f"session {origin.id} of {origin.header.format} cannot be forked, for its entry ids "
            "are no hashes that are known here; migrate it first",
            format=origin.header.format,
        )
    if entry_id not in origin:
        raise NoEntry(
            f'session {origin.id} has no entry "{entry_id}" to fork from', entry_id=entry_id
        )
    if is_leaf_label(origin[entry_id]):
        raise InvalidEntry(
            f"entry {entry_id} is a leaf label; fork from the entry it names", type="label"
        )


def _media(header: Header) -> str:
    return header.media or MEDIA_INLINE


def _other_media(header: Header, origin: Header) -> InvalidEntry:
    return InvalidEntry(
        f"a fork keeps its media as its origin does, {_media(origin)}, not {_media(header)}",
        type="session",
        member="media",
    )
