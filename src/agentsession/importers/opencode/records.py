"""Records as read from any store: sessions, V1 messages and parts, V2 rows, strays.

A record keeps the text it was read from. One that cannot be read says why in
``problem`` instead of raising, and :meth:`stray` tells it as a stray.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agentsession import text
from agentsession.importers.opencode import values
from agentsession.importers.opencode.names import G2
from agentsession.importers.opencode.objects import decode_object, plain_object
from agentsession.importers.opencode.v1 import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentsession.importers.opencode.names import Generation
    from agentsession.importers.opencode.v1 import Message, ModelRef
    from agentsession.importers.opencode.v2 import Message2

SESSION: Final = "session"
MESSAGE: Final = "message"
PART: Final = "part"
ROW: Final = "row"
QUEUE: Final = "queue"
DIRECTORY: Final = "directory"
FILE: Final = "file"
TABLE: Final = "table"

PLACES: Final = frozenset({DIRECTORY, FILE, TABLE})
"""The kinds of what is, or holds, no record."""

_Decoded = tuple[Part | None, str, bool]
"""A part, why there is none, and whether every float in it is plain."""


@dataclass(frozen=True, slots=True)
class Stray:
    """A record that belongs to no session it can be converted with, and why.

    Attributes:
        unit: the file's path under the data directory, or ``<database>:<table>/<id>``.
        kind: ``session``, ``message``, ``part``, ``row`` or ``queue``; ``directory``,
            ``file`` or ``table`` for what is, or holds, no record.
        why: a sentence saying why it is a stray.
        session: the session it was read with or names, when there is one.
        id: the record's id, when it has one.
        malformed: whether it could not be read at all.
        where: for what is, or holds, no record: its place on this machine, for people.
        message_lost: whether it is a part whose message may be there and cannot be read.
    """

    unit: str
    kind: str
    why: str
    session: str = ""
    id: str = ""
    malformed: bool = False
    where: str = ""
    message_lost: bool = False


@dataclass(frozen=True, slots=True)
class Revert:
    """A staged revert: the message it starts at, and the part in it, when at one.

    Spec: opencode 8.
    """

    message_id: str
    part_id: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """A V2 fork's origin: the session, and the origin's row it was cut at.

    ``type`` is ``before`` or ``through``; both it and ``message_id`` are empty
    when no boundary was stored. Spec: opencode 5.3.
    """

    session_id: str
    type: str = ""
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """A project's record. Times are milliseconds since 1970. Spec: opencode 3, 4."""

    unit: str
    id: str
    worktree: str = ""
    vcs: str = ""
    name: str = ""
    created: int | None = None
    record: bytes = field(default=b"{}", repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """One copy of a session's record, from any generation.

    Attributes:
        generation: which way of storing it was read from.
        unit: names the record in reports.
        created, updated: milliseconds since 1970, ``None`` when not recorded.
        revert: the staged revert as read, ``None`` when none is staged.
        fork_session_id, fork_boundary: a V2 fork's origin, as read.
        problem: why the record could not be read; only ``unit``, ``id`` and
            ``project_id`` are then set.
    """

    generation: Generation
    unit: str
    id: str
    project_id: str = ""
    workspace_id: str = ""
    parent_id: str = ""
    fork_session_id: str = ""
    fork_boundary: Any = field(default=None, repr=False)
    slug: str = ""
    directory: str = ""
    path: str = ""
    title: str = ""
    version: str = ""
    agent: str = ""
    model: ModelRef | None = None
    revert: Any = field(default=None, repr=False)
    created: int | None = None
    updated: int | None = None
    problem: str = ""
    source: bytes | Callable[[], bytes] = field(default=b"", repr=False)

    @property
    def record(self) -> bytes:
        """The session as read: the file's text, or the row's columns as one JSON object.

        A long record is read again from the store each time it is asked for;
        it is empty when the store no longer has it.
        """
        return self.source if isinstance(self.source, bytes) else self.source()

    def staged_revert(self) -> Revert | None:
        """Return the staged revert, ``None`` when none is staged. Spec: opencode 8."""
        message_id = values.metadata_string(self.revert, "messageID")
        if not message_id:
            return None
        return Revert(message_id, values.metadata_string(self.revert, "partID"))

    def fork(self) -> Fork | None:
        """Return a V2 fork's origin, ``None`` for any other session. Spec: opencode 5.3."""
        if not self.fork_session_id:
            return None
        return Fork(
            self.fork_session_id,
            values.metadata_string(self.fork_boundary, "type"),
            values.metadata_string(self.fork_boundary, "messageID"),
        )

    def encode(self) -> bytes:
        """Return the record as compact JSON, the same value as was read; empty when unreadable."""
        return _encode(self.record, self.problem)

    def stray(self) -> Stray:
        """Return the session told as a stray."""
        return _stray(self, SESSION, self.id)


class PartRecord(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One V1 part as read; its text is decoded when something asks for what it says.

    Attributes:
        unit: names the record in reports.
        id, message_id, session_id: from the path or the row's columns.
        raw: its text as read.
    """

    unit: str
    id: str
    message_id: str
    session_id: str
    raw: bytes
    _decoded: _Decoded | None = None

    @property
    def part(self) -> Part | None:
        """The part, ``None`` when it could not be read."""
        return (self._decoded or self._decode())[0]

    @property
    def problem(self) -> str:
        """Why it could not be read."""
        return (self._decoded or self._decode())[1]

    @property
    def plain(self) -> bool:
        """Whether every number in it with a fraction is spelled one way everywhere."""
        return (self._decoded or self._decode())[2]

    def _decode(self) -> _Decoded:
        value, problem = plain_object(self.raw), ""
        plain = value is not None
        if value is None:
            value, problem = decode_object(self.raw)
        decoded = (None if value is None else Part(value), problem, plain)
        msgspec.structs.force_setattr(self, "_decoded", decoded)
        return decoded

    def __repr__(self) -> str:
        return f"PartRecord(unit={self.unit!r}, part={self.part!r}, problem={self.problem!r})"

    def unread(self, problem: str) -> PartRecord:
        """Return the part as one that could not be read, and why."""
        return msgspec.structs.replace(self, _decoded=(None, problem, False))

    def encode(self) -> bytes:
        """Return the part as compact JSON, the same value as was read; empty when unreadable."""
        return _encode(self.raw, self.problem)

    def stray(self, why: str = "") -> Stray:
        """Return the part told as a stray."""
        return _stray(self, PART, self.session_id, why)


class MessageRecord(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One V1 message as read, with its parts.

    Attributes:
        unit: names the record in reports.
        id, session_id: from the path or the row's columns.
        created: the time OpenCode orders it by, in milliseconds since 1970: the
            row's, or the file's own; ``None`` when there is none.
        info: the message, ``None`` when it could not be read.
        raw: its text as read.
        parts: its parts, in the order OpenCode reads them.
        problem: why it could not be read; its parts then belong to no message
            whose role is known.
        plain: whether every number in it with a fraction is spelled one way everywhere.
        parts_lost: whether it cannot be known which parts it has.
    """

    unit: str
    id: str
    session_id: str
    created: int | None
    info: Message | None
    raw: bytes
    parts: tuple[PartRecord, ...] = ()
    problem: str = ""
    plain: bool = False
    parts_lost: bool = False

    def __repr__(self) -> str:
        told = f"unit={self.unit!r}, info={self.info!r}, parts={len(self.parts)}"
        return f"MessageRecord({told}, problem={self.problem!r})"

    def encode(self) -> bytes:
        """Return the message as compact JSON, the same value as was read; empty when unreadable."""
        return _encode(self.raw, self.problem)

    def stray(self, why: str = "") -> Stray:
        """Return the message told as a stray; its parts are separate records."""
        return _stray(self, MESSAGE, self.session_id, why)


@dataclass(frozen=True, slots=True, eq=False)
class Row2:
    """One ``session_message`` row as read.

    Attributes:
        unit: names the record in reports.
        seq: its place in the session; ``None`` in the releases that had no ``seq``.
        created, updated: the row's times, in milliseconds since 1970.
        data: the message, ``None`` when it could not be read.
        raw: the data's text as read.
        problem: why it could not be read.
    """

    unit: str
    id: str
    session_id: str
    type: str
    seq: int | None
    created: int | None
    updated: int | None
    data: Message2 | None
    raw: bytes = field(repr=False)
    problem: str = ""

    def encode(self) -> bytes:
        """Return the data as compact JSON, the same value as was read; empty when unreadable."""
        return _encode(self.raw, self.problem)

    def stray(self, why: str = "") -> Stray:
        """Return the row told as a stray."""
        return _stray(self, ROW, self.session_id, why)


@dataclass(frozen=True, slots=True, eq=False)
class QueueRow:
    """Input that was accepted and is not yet, or was, put in the history.

    Attributes:
        table: ``session_pending``, ``session_inbox``, or the preview's ``session_input``.
        type: what is queued: ``user``, ``synthetic``, ``compaction``, ``move``;
            ``user`` for ``session_input``, which holds prompts alone.
        seq: the row's ``admitted_seq`` or ``enqueued_seq``.
        created: milliseconds since 1970.
        promoted: ``session_input`` only: the ``seq`` of the row it became, ``None``
            while it waits; the other tables delete what they deliver.
        delivery: ``steer`` or ``queue``, empty when not recorded.
        payload: the queued input itself, ``None`` when it could not be read.
        record: the whole row as one JSON object.
        problem: why the input could not be read.
    """

    unit: str
    table: str
    id: str
    session_id: str
    type: str
    seq: int | None
    created: int | None
    promoted: int | None
    delivery: str
    payload: Message2 | None
    record: bytes = field(repr=False)
    problem: str = ""

    def encode(self) -> bytes:
        """Return the row as compact JSON, the same value as was read."""
        return _encode(self.record, "")

    def stray(self, why: str = "") -> Stray:
        """Return the row told as a stray."""
        return _stray(self, QUEUE, self.session_id, why)


def sort_messages(
    generation: Generation, messages: Iterable[MessageRecord]
) -> tuple[MessageRecord, ...]:
    """Return a session's messages, and the parts of each, as OpenCode orders them.

    G2 orders messages by time and then by id, G1 by id alone; parts are ordered
    by id. Ids do not ascend where the time in them wraps. Spec: opencode 2.
    """
    ordered = [
        m if _are_sorted(m.parts) else with_parts(m, sorted(m.parts, key=_part_id))
        for m in messages
    ]
    if generation == G2:
        return tuple(sorted(ordered, key=lambda m: (m.created or 0, m.id)))
    return tuple(sorted(ordered, key=lambda m: m.id))


def _are_sorted(parts: Sequence[PartRecord]) -> bool:
    ids = [part.id for part in parts]
    return ids == sorted(ids)


def _part_id(part: PartRecord) -> str:
    return part.id


def with_parts(message: MessageRecord, parts: Iterable[PartRecord]) -> MessageRecord:
    """Return a message with these parts."""
    return msgspec.structs.replace(message, parts=tuple(parts))


def with_source(session: Session, source: bytes | Callable[[], bytes]) -> Session:
    """Return a session whose record is that text, or what a function reads."""
    return replace(session, source=source)


def strays_of(
    records: Iterable[Session | MessageRecord | Row2 | QueueRow],
) -> tuple[Stray, ...]:
    """Return a stray for each record, and each part of a message, that could not be read."""
    found: list[Stray] = []
    for record in records:
        if record.problem:
            found.append(record.stray())
        if isinstance(record, MessageRecord):
            found += [part.stray() for part in record.parts if part.problem]
    return tuple(found)


def _encode(raw: bytes, problem: str) -> bytes:
    return b"" if problem or not raw else text.compact(raw)


def _stray(
    record: Session | MessageRecord | PartRecord | Row2 | QueueRow,
    kind: str,
    session: str,
    why: str = "",
) -> Stray:
    why = why or record.problem or "it belongs to no session that can be converted"
    return Stray(record.unit, kind, why, session, record.id, malformed=bool(record.problem))
