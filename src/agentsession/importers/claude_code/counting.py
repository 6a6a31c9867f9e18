"""Counting: what each answer used, straight from the files, one line at a time.

Spec: claude-code 2 and 7, decision D12.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from agentsession.importers.base import Source
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.lines import (
    REFUSALS,
    is_blank,
    members_of,
    split_tail,
    value_of,
)
from agentsession.importers.claude_code.places import logs
from agentsession.importers.claude_code.usage import count, is_odd, key_of, usage_of
from agentsession.importers.usage import Tell, Unread, UsageRecord, recorded_cost
from agentsession.timestamp import Timestamp

_MARK: Final = b'"usage"'
_BUFFER: Final = 1 << 20


def usage_records(source: Source, tell: Tell | None = None) -> Iterator[UsageRecord]:
    """Yield the usage of every answer in a source, straight from its files.

    Copies of one answer, which resumes and forks make, have one ``key``: of these the one
    with the most output tokens counts. Spec: decision D12.

    Args:
        source: the source.
        tell: called with what could not be read.
    """
    for path in source.paths:
        for log in logs(Path(path)):
            yield from file_usage(log, tell)


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    usage: Any = None
    stop_reason: Any = None


class _Line(msgspec.Struct, gc=False):
    type: Any = None
    uuid: Any = None
    session: Any = msgspec.field(default=None, name="sessionId")
    agent: Any = msgspec.field(default=None, name="agentId")
    origin: Any = msgspec.field(default=None, name="requestSessionId")
    timestamp: Any = None
    cwd: Any = None
    cost: Any = msgspec.field(default=None, name="costUSD")
    message: _Message | None = None


class _Other(msgspec.Struct, gc=False):
    """A line that counts nothing: it must be an object, and nothing in it is looked at."""


_NAMES: Final = {found.name: found.encode_name for found in msgspec.structs.fields(_Line)}
_decode: Final = msgspec.json.Decoder(_Line).decode
_pass: Final = msgspec.json.Decoder(_Other).decode


def file_usage(path: Path, tell: Tell | None = None) -> Iterator[UsageRecord]:
    """Yield the usage of each answer of one file, once for each answer; nothing is converted.

    Args:
        path: the file.
        tell: called with what could not be read.
    """
    waiting: dict[str, _Line] = {}
    ended: set[str] = set()
    unread = Unread(str(path), tell)
    number = 0
    try:
        with path.open("rb", buffering=_BUFFER) as file:
            for line in file:
                number += 1
                try:
                    if _MARK not in line:
                        _pass(line)
                        continue
                    read = _decode(line)
                except REFUSALS:
                    _take_exactly(line, number, waiting, ended, unread)
                    continue
                if read.type == names.ASSISTANT:
                    _take(read, waiting, ended)
    except OSError as error:
        unread.file(error)
    unread.done()
    for key, read in waiting.items():
        found = _record(key, read, complete=key in ended)
        if found is not None:
            yield found


def _take(read: _Line, waiting: dict[str, _Line], ended: set[str]) -> None:
    message = read.message
    if message is None or message.model == names.SYNTHETIC or message.usage is None:
        return
    if not isinstance(read.uuid, str) or not read.uuid:
        # It stands in no tree, and no import makes anything of it.
        return
    key = message.id if isinstance(message.id, str) and message.id else read.uuid
    if message.stop_reason is not None:
        ended.add(key)
    known = waiting.get(key)
    if known is None or _made(known) <= _made(read):
        waiting[key] = read


def _made(read: _Line) -> int:
    usage = read.message.usage if read.message is not None else None
    return count(usage.get("output_tokens")) if isinstance(usage, dict) else 0


def _take_exactly(
    line: bytes, number: int, waiting: dict[str, _Line], ended: set[str], unread: Unread
) -> None:
    """Take in a line that the fast decoder refuses; it may be several records, as in an import."""
    for part in split_tail(line.rstrip(b"\r\n")):
        if is_blank(part):
            continue
        members = members_of(part)
        if members is None:
            unread.line(number)
            continue
        told = {name: value_of(members.get(wire)) for name, wire in _NAMES.items()}
        inner = told.pop("message")
        inner = inner if isinstance(inner, dict) else {}
        message = _Message(*(inner.get(name) for name in _Message.__struct_fields__))
        read = _Line(**told, message=message)
        if read.type == names.ASSISTANT:
            _take(read, waiting, ended)


def _record(key: str, read: _Line, *, complete: bool) -> UsageRecord | None:
    message = read.message
    usage = usage_of(message.usage) if message is not None else None
    if message is None or usage is None:
        return None
    session = _string(read.origin) or _string(read.session)
    if isinstance(read.agent, str) and read.agent:
        session = f"{session}-agent-{read.agent}"
    return UsageRecord(
        session,
        _string(message.model),
        names.PROVIDER,
        _time(read.timestamp),
        _string(read.cwd),
        usage,
        recorded_cost({"costUSD": read.cost}) if read.cost is not None else None,
        key_of(key),
        complete,
        is_odd(message.usage),
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _time(value: object) -> Timestamp | None:
    if not isinstance(value, str):
        return None
    try:
        return Timestamp.parse(value)
    except ValueError:
        return None
