"""Choosing, of a session's copies, the one that holds most of what its model saw.

Spec: opencode 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsession.importers.opencode import names
from agentsession.importers.opencode.convert.source import Copy, is_tree, last_activity
from agentsession.importers.opencode.convert.uniting import (
    Healed,
    united,
    whole_messages,
    whole_rows,
)
from agentsession.importers.opencode.names import G3
from agentsession.importers.opencode.records import MESSAGE, PART, MessageRecord, Row2
from agentsession.importers.opencode.store import MessagesRead, RowsRead

_ID_HEAD = 16
_MIGRATION_NOTE = "The available tools have changed."


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is converted of a session's copies.

    Attributes:
        messages: the copy whose V1 messages are, ``None`` when none has any.
        read: those messages, and among them the ones that only another copy holds.
        gone: the places of the latter that were deleted from the copy that is taken.
        added: the ids of the latter.
        rows: the copy whose rows are, ``None`` for a session without any.
        rows_read: those rows.
        healed: what that copy cannot give and another one does; of messages and of rows.
        native_from: the place of the first row that no migration made; the number of rows
            when all are a migration's.
        others: the copies that are left out, with what was read of them.
        since_tables: the place of the first message that no tree holds.
        why: why this one was taken, in words.
    """

    messages: Copy | None
    read: MessagesRead
    gone: frozenset[int]
    added: frozenset[str]
    rows: Copy | None
    rows_read: RowsRead
    healed: tuple[tuple[Copy, Healed], ...]
    native_from: int
    others: tuple[tuple[Copy, MessagesRead, RowsRead], ...]
    since_tables: int | None
    why: str


_NO_MESSAGES = MessagesRead(())
_NO_ROWS = RowsRead(())


def choose(copies: Sequence[Copy]) -> Chosen:
    """Return what is converted of a session's copies, and why."""
    read = [(copy, *_read(copy)) for copy in copies]
    v1 = [found for found in read if found[1].messages]
    v2 = [found for found in read if found[2].rows or found[0].session.generation == G3]
    best = max(
        v1, key=lambda f: (_held(f[1]), not is_tree(f[0]), last_activity(f[0])), default=None
    )
    rows = max(v2, key=lambda f: (len(f[2].rows), last_activity(f[0])), default=None)
    if best is None and rows is None:
        best = max(read, key=lambda f: last_activity(f[0]))
    messages = best[1] if best is not None else _NO_MESSAGES
    gone: frozenset[int] = frozenset()
    healed: list[tuple[Copy, Healed]] = []
    added: frozenset[str] = frozenset()
    if best is not None and len(v1) > 1:
        best = max(v1, key=lambda f: (last_activity(f[0]), _held(f[1]), not is_tree(f[0])))
        rest = [found for found in v1 if found is not best]
        lost = best[0].damaged
        messages, found_whole = whole_messages(
            best[1], [found[1] for found in rest], parts_lost=PART in lost
        )
        healed += [(rest[one.source][0], one) for one in found_whole]
        messages, gone = united(messages, [found[1] for found in rest])
        added = frozenset(messages.messages[place].id for place in gone)
        if MESSAGE in lost:
            # They were not deleted: the table is damaged.
            gone = frozenset()
    rows_read = rows[2] if rows is not None else _NO_ROWS
    if rows is not None and len(v2) > 1:
        rest = [found for found in v2 if found is not rows]
        rows_read, rows_whole = whole_rows(rows_read, [found[2] for found in rest])
        healed += [(rest[one.source][0], one) for one in rows_whole]
    native_from = _native_from(messages.messages, rows_read.rows)
    went_on = native_from < len(rows_read.rows)
    taken = {id(best[0])} if best is not None else set()
    if rows is not None and (went_on or best is None or rows[0] is best[0]):
        taken.add(id(rows[0]))
    others = tuple(found for found in read if id(found[0]) not in taken)
    rows_copy = rows[0] if rows is not None and id(rows[0]) in taken else None
    return Chosen(
        best[0] if best is not None else None,
        messages,
        gone,
        added,
        rows_copy,
        rows_read if rows_copy is not None else _NO_ROWS,
        tuple(healed),
        native_from if rows_copy is not None else 0,
        others,
        _since_tables(best[0] if best is not None else None, messages, read, gone),
        _reason(len(read), best is not None, went_on=went_on and rows_copy is not None),
    )


def _read(copy: Copy) -> tuple[MessagesRead, RowsRead]:
    if copy.session.generation == G3:
        return _NO_MESSAGES, copy.store.rows(copy.session)
    return copy.store.messages(copy.session), copy.store.rows(copy.session)


def _held(read: MessagesRead) -> int:
    return len({message.id for message in read.messages if not message.problem})


def _native_from(messages: Sequence[MessageRecord], rows: Sequence[Row2]) -> int:
    """Return the place of the first row that the migration cannot have made."""
    if not messages:
        return 0
    ids = {message.id for message in messages}
    heads = {message.id[:_ID_HEAD] for message in messages}
    newest = max((message.created or 0 for message in messages), default=0)
    for place, row in enumerate(rows):
        if row.id in ids:
            continue
        if row.type == names.TYPE_SYNTHETIC and row.id[:_ID_HEAD] in heads:
            continue
        words = row.data.text if row.data is not None else ""
        if row.type == names.TYPE_SYSTEM and words.startswith(_MIGRATION_NOTE):
            continue
        if row.seq is None or (row.type.endswith("-switched") and (row.created or 0) <= newest):
            # A marker beside a V1 session, no row of OpenCode 2's own.
            continue
        return place
    return len(rows)


def _since_tables(
    taken: Copy | None,
    read: MessagesRead,
    copies: Sequence[tuple[Copy, MessagesRead, RowsRead]],
    gone: frozenset[int],
) -> int | None:
    if taken is None or is_tree(taken):
        return None
    trees = [found[1] for found in copies if is_tree(found[0])]
    if not trees:
        return None
    held = {message.id for tree in trees for message in tree.messages}
    for place, message in enumerate(read.messages):
        if message.id not in held and place not in gone:
            return place
    return None


def _reason(copies: int, has_messages: bool, *, went_on: bool) -> str:
    if copies == 1:
        return "it is the only copy"
    if went_on and has_messages:
        return "its V1 messages hold the most, and OpenCode 2's rows go on from them"
    if not has_messages:
        return "it holds the rows"
    return "it was used last; what only others hold is a branch"
