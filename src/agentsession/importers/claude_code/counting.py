"""Counting: what each answer used, straight from the files, one line at a time.

Spec: claude-code 2 and 7, decision D12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from agentsession._regular import open_regular
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

_BUFFER: Final = 1 << 18


def usage_records(source: Source, tell: Tell | None = None) -> Iterator[UsageRecord]:
    """Yield the usage of every answer in a source, straight from its files.

    Copies of one answer, which resumes and forks make, have one ``key``: of these the one
    with the most output tokens counts. Spec: decision D12.

    Args:
        source: the source.
        tell: called with what could not be read.
    """
    shut: dict[str, OSError] = {}
    for path in source.paths:
        for log in logs(Path(path), shut):
            yield from file_usage(log, tell)
    for place, error in shut.items():
        Unread(place, tell).file(error)


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_creation: Any = None
    output_tokens: Any = None
    output_tokens_details: Any = None


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    usage: _Usage | None = None
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


_NAMES: Final = {found.name: found.encode_name for found in msgspec.structs.fields(_Line)}
_DECODER: Final = msgspec.json.Decoder(_Line)
_decode, _decode_lines = _DECODER.decode, _DECODER.decode_lines


def file_usage(path: Path, tell: Tell | None = None) -> Iterator[UsageRecord]:
    """Yield the usage of each answer of one file, once for each answer; nothing is converted.

    Args:
        path: the file.
        tell: called with what could not be read.
    """
    answers = _Answers(Unread(str(path), tell))
    number = 0
    try:
        with open_regular(path, _BUFFER) as file:
            while chunk := file.read(_BUFFER):
                chunk += file.readline()
                lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
                try:
                    found = _decode_lines(chunk)
                except REFUSALS:
                    found = []
                if len(found) == lines:
                    answers.take(found)
                else:
                    answers.take_exactly(chunk, number)
                number += lines
    except OSError as error:
        answers.unread.file(error)
    else:
        if not number:
            answers.unread.empty()
    answers.unread.done()
    yield from answers.records()


class _Answers:
    """The answers of one file: of each the record that counts.

    Args:
        unread: told of lines that cannot be read.
    """

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self._waiting: dict[str, _Line] = {}
        self._ended: set[str] = set()

    def take(self, found: Iterable[_Line]) -> None:
        """Take in the records of some lines."""
        for read in found:
            if read.type == names.ASSISTANT:
                self._take(read)

    def take_exactly(self, chunk: bytes, before: int) -> None:
        """Take in lines some of which are no record, or several, as an import takes them."""
        for number, line in enumerate(chunk.split(b"\n"), before + 1):
            try:
                self.take([_decode(line)])
                continue
            except REFUSALS:
                pass
            for part in split_tail(line.rstrip(b"\r\n")):
                if is_blank(part):
                    continue
                read = _exact(part)
                if read is None:
                    self.unread.line(number)
                elif read.type == names.ASSISTANT:
                    self._take(read)

    def _take(self, read: _Line) -> None:
        message, uuid = read.message, read.uuid
        if message is None or message.usage is None or message.model == names.SYNTHETIC:
            return
        if not isinstance(uuid, str) or not uuid:
            # It stands in no tree, and no import makes anything of it.
            return
        key = message.id if isinstance(message.id, str) and message.id else uuid
        if message.stop_reason is not None:
            self._ended.add(key)
        known = self._waiting.get(key)
        if known is None or _made(known) <= count(message.usage.output_tokens):
            self._waiting[key] = read

    def records(self) -> Iterator[UsageRecord]:
        """Yield what each answer used."""
        for key, read in self._waiting.items():
            found = _record(key, read, complete=key in self._ended)
            if found is not None:
                yield found


def _made(read: _Line) -> int:
    usage = read.message.usage if read.message is not None else None
    return count(usage.output_tokens) if usage is not None else 0


def _exact(line: bytes) -> _Line | None:
    """A record that the fast decoder refuses; ``None`` for what is none."""
    members = members_of(line)
    if members is None:
        return None
    told = {name: value_of(members.get(wire)) for name, wire in _NAMES.items()}
    inner = told.pop("message")
    inner = inner if isinstance(inner, dict) else {}
    used = inner.get("usage")
    if isinstance(used, dict):
        usage = _Usage(*(used.get(name) for name in _Usage.__struct_fields__))
    else:
        usage = None
    message = _Message(inner.get("id"), inner.get("model"), usage, inner.get("stop_reason"))
    return _Line(**told, message=message)


def _record(key: str, read: _Line, *, complete: bool) -> UsageRecord | None:
    message = read.message
    if message is None or message.usage is None:
        return None
    native = msgspec.structs.asdict(message.usage)
    usage = usage_of(native) or {}
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
        is_odd(native),
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _time(value: object) -> Timestamp | None:
    if not isinstance(value, str):
        return None
    try:
        if _PLAIN.fullmatch(value):
            # Most of an answer's records, and many answers, are of one minute.
            millis = int(value[17:19]) * 1000 + int(value[20:23])
            return Timestamp(value, _minute(value[:17]) + millis * 1_000_000, 0)
        return Timestamp.parse(value)
    except ValueError:
        return None


_PLAIN: Final = re.compile(r".{17}[0-5][0-9]\.[0-9]{3}Z")


@lru_cache(maxsize=64)
def _minute(spelled: str) -> int:
    """The nanoseconds at which a minute begins."""
    return Timestamp.parse(f"{spelled}00Z").nanoseconds
