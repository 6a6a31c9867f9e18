"""Uniting the copies of a session: what one cannot give, another may.

Spec: opencode 8, 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from agentsession.importers.opencode.records import MESSAGE, PART, ROW, MessageRecord, Row2
from agentsession.importers.opencode.store import MessagesRead, RowsRead


@dataclass(frozen=True, slots=True)
class Healed:
    """A record that the copy taken cannot give and that was read from another.

    Attributes:
        kind: ``message``, ``part`` or ``row``.
        id: the record's id, the same in both.
        source: the number of the other copy among the others.
        there: the copy taken has a record of it, which cannot be read.
    """

    kind: str
    id: str
    source: int
    there: bool = True


def whole_messages(
    taken: MessagesRead, others: Sequence[MessagesRead], *, parts_lost: bool = False
) -> tuple[MessagesRead, tuple[Healed, ...]]:
    """Return a copy's messages, what is unreadable as another copy has it, and which these are.

    A message without any part has those of another copy: no revert leaves one so.

    Args:
        taken: the copy that is taken.
        others: the other ones.
        parts_lost: the copy lost parts without a trace: a message lacks what others have.
    """
    messages = list(taken.messages)
    bad = [
        place
        for place, message in enumerate(messages)
        if parts_lost
        or message.problem
        or not message.parts
        or any(part.problem for part in message.parts)
    ]
    if not bad or not others:
        return taken, ()
    known = [{m.id: m for m in other.messages} for other in others]
    healed: list[Healed] = []
    for place in bad:
        messages[place] = _whole(messages[place], known, healed, parts_lost=parts_lost)
    return MessagesRead(tuple(messages), taken.strays), tuple(healed)


def _whole(
    message: MessageRecord,
    known: Sequence[Mapping[str, MessageRecord]],
    healed: list[Healed],
    *,
    parts_lost: bool,
) -> MessageRecord:
    parts_lost = parts_lost or not message.parts
    for at, messages in enumerate(known):
        other = messages.get(message.id)
        if other is None:
            continue
        if message.problem and not other.problem:
            healed.append(Healed(MESSAGE, message.id, at))
            message = replace(other, parts=message.parts, created=message.created or other.created)
        intact = {part.id: part for part in other.parts if not part.problem}
        parts = []
        for part in message.parts:
            if part.problem and part.id in intact:
                healed.append(Healed(PART, part.id, at))
                parts.append(intact[part.id])
            else:
                parts.append(part)
        if parts_lost:
            mine = {part.id for part in parts}
            more = [part for part in intact.values() if part.id not in mine]
            healed += [Healed(PART, part.id, at, there=False) for part in more]
            parts = sorted([*parts, *more], key=lambda part: part.id)
        message = replace(message, parts=tuple(parts))
    return message


def whole_rows(taken: RowsRead, others: Sequence[RowsRead]) -> tuple[RowsRead, tuple[Healed, ...]]:
    """Return a copy's rows, each unreadable one as another copy has it, and which these are."""
    if not others or not any(row.problem for row in taken.rows):
        return taken, ()
    healed: list[Healed] = []
    rows = [_whole_row(row, others, healed) if row.problem else row for row in taken.rows]
    return taken._replace(rows=tuple(rows)), tuple(healed)


def _whole_row(row: Row2, others: Sequence[RowsRead], healed: list[Healed]) -> Row2:
    for at, other in enumerate(others):
        for found in other.rows:
            if found.id == row.id and not found.problem:
                healed.append(Healed(ROW, row.id, at))
                return found
    return row


def united(
    taken: MessagesRead, others: Sequence[MessagesRead]
) -> tuple[MessagesRead, frozenset[int]]:
    """Return the messages of a copy with those that only others hold, and where these stand.

    A message that only another copy holds was deleted by a revert, or came later to a copy
    nobody looks at any more. It stands behind the one it follows there.
    """
    known = {message.id for message in taken.messages}
    after: dict[str, list[MessageRecord]] = {}
    added: set[str] = set()
    for other in others:
        last = ""
        for message in other.messages:
            if message.id in known:
                last = message.id
            elif message.id not in added:
                added.add(message.id)
                after.setdefault(last, []).append(message)
    if not added:
        return taken, frozenset()
    found = list(after.get("", ()))
    gone = set(range(len(found)))
    for message in taken.messages:
        found.append(message)
        for lost in after.pop(message.id, ()):
            gone.add(len(found))
            found.append(lost)
    return MessagesRead(tuple(found), taken.strays), frozenset(gone)
