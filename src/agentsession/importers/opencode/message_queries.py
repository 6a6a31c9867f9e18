"""What a database is asked of a session's messages and their parts.

As in :mod:`agentsession.importers.opencode.queries`, each may raise ``sqlite3.Error``.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final, NamedTuple

from agentsession.importers.opencode import decode, queries, records, values
from agentsession.importers.opencode import schema as tables
from agentsession.importers.opencode.names import G2
from agentsession.importers.opencode.schema import plain
from agentsession.importers.opencode.store import MessagesRead
from agentsession.importers.snapshot import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentsession.importers.opencode.queries import Source
    from agentsession.importers.opencode.records import (
        MessageRecord,
        PartRecord,
        Session,
        Stray,
    )

# Text comes as plain bytes, without a copy more; what is no text stays what it is.
_DATA: Final = (
    "CASE WHEN typeof(data) IN ('text', 'blob') THEN CAST(data AS BLOB) ELSE data END AS data"
)


class _Read(NamedTuple):
    """A session's messages, its parts of no message, and how many parts name it themselves."""

    messages: list[MessageRecord]
    parts: dict[str, list[PartRecord]]
    own: int


def messages(source: Source, session: Session) -> MessagesRead:
    """Return a session's messages with their parts, and its parts of no message."""
    if not queries.holds(source, session, tables.SESSION, tables.SESSION_V2):
        return MessagesRead(())
    found, parts, own = _read_messages(source, session.id)
    strays = [p.stray() for rest in parts.values() for p in rest]
    strays += _lost_parts(source, session.id, own)
    return MessagesRead(records.sort_messages(G2, found), tuple(strays))


def _read_messages(source: Source, session_id: str) -> _Read:
    """Return a session's messages with their parts, and what else is asked of them."""
    # Ids are nearly always UTF-8, and to be given strings is quicker than to make them.
    source.connection.text_factory = str
    try:
        return _read_by(source, session_id)
    except sqlite3.Error:
        # One is not, or the database is at fault: then it is so again.
        source.connection.text_factory = Text
        return _read_by(source, session_id)
    finally:
        source.connection.text_factory = Text


def _read_by(source: Source, session_id: str) -> _Read:
    parts, own = _read_parts(source, session_id)
    found = list(_messages(source, session_id, parts))
    return _Read(found, parts, own)


def _messages(
    source: Source, session_id: str, parts: dict[str, list[PartRecord]]
) -> Iterator[MessageRecord]:
    """Yield a session's messages, each with its parts, which it takes out of those given."""
    table = tables.MESSAGE
    if not source.has(table):
        return
    created = source.column(table, "time_created")
    cursor = source.select(
        f"SELECT id, {created}, {_DATA} FROM {source.table(table)} WHERE session_id = ?",  # noqa: S608
        (session_id,),
    )
    head = source.unit(table, "")
    for stored_id, time, data in cursor:
        message_id = stored_id if type(stored_id) is str else plain(stored_id)
        yield decode.decode_message(
            head + message_id,
            message_id,
            session_id,
            values.millis(time),
            decode.json_bytes(data),
            parts=tuple(parts.pop(message_id, ())),
        )


def _read_parts(source: Source, session_id: str) -> tuple[dict[str, list[PartRecord]], int]:
    """Return the parts of a session's messages, and how many of them name it themselves.

    They are given by the ids of the messages, and in the order they were read.
    """
    if not source.has(tables.PART) or not source.has(tables.MESSAGE):
        return {}, 0
    own = f"{source.column(tables.PART, 'session_id')} IS ?"
    cursor = source.select(
        f"SELECT id, message_id, {own}, {_DATA} FROM {source.table(tables.PART)}"  # noqa: S608
        f" WHERE message_id IN (SELECT id FROM {source.table(tables.MESSAGE)}"
        " WHERE session_id = ?)",
        (session_id, session_id),
    )
    named = 0
    head = source.unit(tables.PART, "")
    parts: dict[str, list[PartRecord]] = {}
    message_id = ""
    before: object = ...
    held: list[PartRecord] = []
    decode_part, json_bytes = decode.decode_part, decode.json_bytes
    for stored_id, stored_message, is_own, data in cursor:
        named += is_own
        part_id = stored_id if type(stored_id) is str else plain(stored_id)
        if stored_message != before:
            before = stored_message
            message_id = before if type(before) is str else plain(before)
            held = parts.setdefault(message_id, [])
        given = data if type(data) is bytes else json_bytes(data)
        held.append(decode_part(head + part_id, part_id, message_id, session_id, given))
    return parts, named


def _lost_parts(source: Source, session_id: str, found: int) -> list[Stray]:
    """Return strays for the parts that name a session, and no message that exists.

    Args:
        source: the database.
        session_id: the session.
        found: how many parts name it, and a message of it.
    """
    if not source.has(tables.PART, "session_id"):
        return []
    counted = source.select(
        f"SELECT count(*) FROM {source.table(tables.PART)} WHERE session_id = ?",  # noqa: S608
        (session_id,),
    )
    if counted.fetchone() == (found,):
        # Most often none is lost, and to count them is quicker than to look each one up.
        return []
    cursor = source.select(
        f"SELECT p.id FROM {source.table(tables.PART)} p"  # noqa: S608
        f" WHERE p.session_id = ?{queries.without_message(source)}",
        (session_id,),
    )
    return [
        queries.stray_of(source, tables.PART, id_, session_id, queries.NO_MESSAGE)
        for (id_,) in cursor
    ]
