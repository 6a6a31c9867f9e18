"""Records decoded from a file's text or a row's columns; no function here raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsession.importers.opencode import values
from agentsession.importers.opencode.names import G1, Generation
from agentsession.importers.opencode.objects import decode_object, plain_object
from agentsession.importers.opencode.records import (
    MessageRecord,
    PartRecord,
    Project,
    QueueRow,
    Row2,
    Session,
)
from agentsession.importers.opencode.v1 import Message, ModelRef, SessionFile
from agentsession.importers.opencode.v2 import Message2

if TYPE_CHECKING:
    from agentsession.importers.opencode.columns import Columns


def decode_session_file(unit: str, session_id: str, project_id: str, data: bytes) -> Session:
    """Return the session of a tree's file; never raises.

    The path names the session and its project, as OpenCode's own migration
    reads it, whatever ids the file holds. Spec: opencode 3.
    """
    value, problem = decode_object(data)
    if value is None:
        return Session(G1, unit, session_id, project_id, problem=problem, source=data)
    info = SessionFile(value)
    return Session(
        G1,
        unit,
        session_id,
        project_id,
        workspace_id=info.workspace_id,
        parent_id=info.parent_id,
        slug=info.slug,
        directory=info.directory,
        path=info.path,
        title=info.title,
        version=info.version,
        agent=info.agent,
        model=info.model,
        revert=info.revert,
        created=values.millis(info.time.created) if info.time else None,
        updated=values.millis(info.time.updated) if info.time else None,
        source=data,
    )


def decode_session_row(generation: Generation, unit: str, columns: Columns) -> Session:
    """Return the session of a ``session`` (G2) or ``session_v2`` (G3) row; never raises.

    Columns are looked up by name; missing ones count as null. Spec: opencode 4, 5.1.
    """
    model = columns.decoded("model")
    session_id = columns.text("id")
    return Session(
        generation,
        unit,
        session_id,
        columns.text("project_id"),
        workspace_id=columns.text("workspace_id"),
        parent_id=columns.text("parent_id"),
        fork_session_id=columns.text("fork_session_id"),
        fork_boundary=columns.decoded("fork_boundary"),
        slug=columns.text("slug"),
        directory=columns.text("directory"),
        path=columns.text("path"),
        title=columns.text("title"),
        version=columns.text("version"),
        agent=columns.text("agent"),
        model=ModelRef(model) if isinstance(model, dict) else None,
        revert=columns.decoded("revert"),
        created=values.millis(columns.value("time_created")),
        updated=values.millis(columns.value("time_updated")),
        problem="" if session_id else "the row has no id",
        source=columns.json(),
    )


def decode_message(
    unit: str,
    message_id: str,
    session_id: str,
    created: int | None,
    data: bytes,
    *,
    parts: tuple[PartRecord, ...] = (),
) -> MessageRecord:
    """Return a V1 message, without parts unless they are given; never raises.

    Without a ``created`` time (a tree has none) it is the message's own.
    """
    problem, plain = "", True
    value = plain_object(data)
    if value is None:
        plain = False
        value, problem = decode_object(data)
    info = Message(value) if value is not None else None
    if created is None and info is not None and info.time is not None:
        created = values.millis(info.time.created)
    return MessageRecord(
        unit, message_id, session_id, created, info, data, parts, problem, plain=plain
    )


def decode_part(
    unit: str, part_id: str, message_id: str, session_id: str, data: bytes
) -> PartRecord:
    """Return a V1 part, decoded when asked for; never raises."""
    return PartRecord(unit, part_id, message_id, session_id, data)


def decode_row2(unit: str, columns: Columns) -> Row2:
    """Return a ``session_message`` row; never raises. Spec: opencode 5.1."""
    data = json_bytes(columns.value("data"))
    value, problem = decode_object(data)
    return Row2(
        unit,
        columns.text("id"),
        columns.text("session_id"),
        columns.text("type"),
        values.integer(columns.value("seq")),
        values.millis(columns.value("time_created")),
        values.millis(columns.value("time_updated")),
        Message2(value) if value is not None else None,
        data,
        problem,
    )


def decode_queue_row(unit: str, table: str, columns: Columns) -> QueueRow:
    """Return a row of a table of queued input; never raises. Spec: opencode 5.1, 5.4."""
    held = next((c.value for c in columns if c.name in {"data", "payload", "prompt"}), None)
    value, problem = decode_object(json_bytes(held))
    seq = columns.value("admitted_seq")
    return QueueRow(
        unit,
        table,
        columns.text("id"),
        columns.text("session_id"),
        columns.text("type") or ("user" if columns.value("prompt") is not None else ""),
        values.integer(columns.value("enqueued_seq") if seq is None else seq),
        values.millis(columns.value("time_created")),
        values.integer(columns.value("promoted_seq")),
        columns.text("delivery"),
        Message2(value) if value is not None else None,
        columns.json(),
        problem,
    )


def decode_project(unit: str, project_id: str, data: bytes) -> Project | None:
    """Return the project of a tree's file, ``None`` when it cannot be read."""
    value, _ = decode_object(data)
    if value is None:
        return None
    return Project(
        unit,
        project_id,
        values.string(value.get("worktree")),
        values.string(value.get("vcs")),
        values.string(value.get("name")),
        values.millis(values.member(value.get("time"), "created")),
        data,
    )


def json_bytes(value: float | str | bytes | None) -> bytes:
    """Return the JSON text a column holds, whatever type SQLite gave it."""
    if type(value) is bytes:
        return value
    if isinstance(value, bytes):
        # A plain copy of what may be a subclass.
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    return b"" if value is None else str(value).encode()
