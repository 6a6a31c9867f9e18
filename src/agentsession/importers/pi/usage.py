"""What pi's model calls used, in the payload's form, and read straight from its files.

pi's ``input`` leaves cache reads and writes out; ``output`` holds the reasoning tokens.
Up to 0.69 chat completions counted them twice: their number was added to an output that
held it already, and is not kept. Spec: pi 4, format 5.6, decision D12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from agentsession._regular import open_regular
from agentsession.beside import value_of
from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.importers.base import Source
from agentsession.importers.numbers import count, number
from agentsession.importers.pi.lines import lines_of
from agentsession.importers.pi.places import files_below, id_in_name, is_header, session_id_of
from agentsession.importers.pi.placing import Place, places_of
from agentsession.importers.pi.records import (
    ASSISTANT,
    BRANCH_SUMMARY,
    COMPACTION,
    MESSAGE,
    USAGE,
    Record,
    mapping,
    objects,
    record_of,
    string,
)
from agentsession.importers.pi.times import of_record
from agentsession.importers.usage import Tell, Told, Unread, UsageRecord, tokens_of
from agentsession.session import Session
from agentsession.timestamp import Timestamp

_ANSWERED: Final = b'{"type":"message","id":"'
_NAMES: Final = ("input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning")
_SUMMARIES: Final = frozenset({COMPACTION, BRANCH_SUMMARY, USAGE})
_FAILED: Final = frozenset({"error", "aborted"})


def usage_of(given: object) -> dict[str, Any] | None:
    """Return pi's counts as usage; ``None`` for a call that recorded none, as a failed one."""
    tokens = mapping(given)
    fresh, made = count(tokens.get("input")), count(tokens.get("output"))
    reads, writes = count(tokens.get("cacheRead")), count(tokens.get("cacheWrite"))
    if not (fresh or made or reads or writes):
        return None
    details: dict[str, Any] = {"cached_tokens": reads}
    hour = min(count(tokens.get("cacheWrite1h")), writes)
    if writes:
        details["cache_creation_tokens"] = writes
    if hour:
        details["cache_creation_1h_tokens"] = hour
    sent = fresh + reads + writes
    return {
        "input_tokens": sent,
        "output_tokens": made,
        "total_tokens": sent + made,
        "input_tokens_details": details,
        "output_tokens_details": {"reasoning_tokens": count(tokens.get("reasoning"))},
    }


def cost_of(given: object) -> float | None:
    """Return what a call cost in USD, ``None`` when that was not recorded."""
    return number(mapping(mapping(given).get("cost")).get("total"))


def is_odd(given: object) -> bool:
    """Return whether a call's counts say something that is no number of tokens."""
    tokens = mapping(given)
    return any(tokens.get(n) is not None and count(tokens[n]) != tokens[n] for n in _NAMES)


def is_counted(given: object) -> bool:
    """Return whether a call recorded what it used or cost, readable or not."""
    return usage_of(given) is not None or bool(cost_of(given)) or is_odd(given)


def told_of(ts: Timestamp | None, given: Mapping[str, Any], began: object, name: str = "") -> Told:
    """Return what is to say of a call, in the files and in an import of them.

    A call is known by when its record was written and when its message began, by what it
    used and by its name: copies in forks and upgrades keep these.

    Args:
        ts: when its record was written, or the one before it; without it the call has no key.
        given: its message, or its record, or what an import kept of one.
        began: when its message began, in milliseconds; ``None`` for a summary.
        name: the id of its response; without one the name of its record, where an import
            has that in every copy. See :func:`is_named`.
    """
    used = given.get("usage")
    key = ""
    if ts is not None:
        tokens, cost = tokens_of(usage_of(used)), cost_of(used) or 0
        key = f"pi:{ts.nanoseconds}:{count(began)}:{tokens}:{cost}:{name}"
    return Told(key, odd=is_odd(used))


def is_named(message: Mapping[str, Any]) -> bool:
    """Return whether the call of an answer without a response id is told by its record's name.

    Of the copy of one that failed, or said nothing, an import does not have the name.
    """
    return string(message.get("stopReason")) not in _FAILED


def told_of_import(session: Session, entry: Entry, message: Mapping[str, Any]) -> Told:
    """Return what is to say of a call that an import left in an entry.

    Args:
        session: the session.
        entry: a response, a summary, or the note of a copied answer.
        message: what of pi's own record is kept in it.
    """
    name = string(message.get("responseId"))
    if isinstance(entry, ResponseEntry) and entry.response_id != message.get("message"):
        name = entry.response_id
    if not name and is_named(message):
        name = _name_above(session, entry)
    return told_of(entry.ts, message, message.get("timestamp"), name)


def _name_above(session: Session, entry: Entry) -> str:
    """The name of the record whose items an entry ends; empty when it has none."""
    item = session.get(entry.parent) if entry.parent is not None else None
    if not isinstance(item, ItemEntry) or item.ts != entry.ts:
        return ""
    origin = mapping(value_of(item, "origin"))
    is_output = item.item.type == "function_call_output" or item.item.role == "user"
    return "" if is_output else string(origin.get("message"))


def usage_records(source: Source, tell: Tell | None = None) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used; the files are read line by line.

    A session comes before its forks. A fork's copies, and a copy of a file made before an
    upgrade, have the key of the call they are copies of.

    Args:
        source: the source.
        tell: called with what could not be read.
    """
    shut: dict[str, OSError] = {}
    found = dict.fromkeys(path for place in source.paths for path in files_below(place, shut))
    for place, error in shut.items():
        Unread(place, tell).file(error)
    for path in sorted(found, key=_age):
        yield from _of_file(path, Unread(path, tell))


def _age(path: str) -> tuple[str, bool, str]:
    """Tell files apart so that a session comes before its forks."""
    try:
        with open_regular(path) as file:
            header = record_of(1, file.readline()).value
    except OSError:
        header = {}
    forked = "parentSession" in header or "branchedFrom" in header
    return string(header.get("timestamp")), forked, path


class _Said(msgspec.Struct):
    """What of a message counts."""

    role: str = ""
    model: str = ""
    provider: str = ""
    usage: dict[str, Any] | None = None
    timestamp: Any = None
    responseId: Any = None  # noqa: N815


class _Line(msgspec.Struct):
    """What of a line counts: its other members are passed over."""

    type: str
    id: str
    timestamp: str = ""
    message: _Said | None = None


class _Other(msgspec.Struct):
    """A line that counts nothing: nothing in it is looked at."""


_FAST: Final = msgspec.json.Decoder(_Line)
_PASS: Final = msgspec.json.Decoder(_Other)


def _of_file(path: str, unread: Unread) -> Iterator[UsageRecord]:
    session_id, cwd = id_in_name(path), ""
    model = provider = ""
    places: Mapping[int, Place] | None = None
    order = -1
    try:
        with open_regular(path) as file:
            for order, (number, line) in enumerate(lines_of(file)):
                if number > 1 and not _may_count(line) and _is_object(line):
                    continue
                record = _quick(number, line) or record_of(number, line)
                if not record.readable:
                    if line.strip():
                        unread.line(number)
                    continue
                if number == 1 and is_header(record.value):
                    session_id = session_id_of(record.value, path)
                    cwd = string(record.value.get("cwd"))
                    continue
                message = record.message
                if record.role == ASSISTANT:
                    model, provider = string(message.get("model")), string(message.get("provider"))
                holder = message if record.role == ASSISTANT else record.value
                used = _used(record)
                if not is_counted(used):
                    continue
                ts = of_record(record)
                name = string(message.get("responseId"))
                at = ts
                if ts is None or (not name and _is_named(record)):
                    places = places_of(path, _is_unnamed) if places is None else places
                    place = places.get(order)
                    at = place.ts if place is not None else ts
                    name = place.name if place is not None and _is_named(record) else name
                told = told_of(at, holder, message.get("timestamp"), name)
                yield UsageRecord(
                    session_id,
                    string(record.value.get("model")) or model,
                    string(record.value.get("provider")) or provider,
                    ts,
                    cwd,
                    usage_of(used) or {},
                    cost_of(used),
                    told.key,
                    odd=told.odd,
                )
    except OSError as error:
        unread.file(error)
    else:
        if order < 0:
            unread.empty()
    unread.done()


def _is_named(record: Record) -> bool:
    """Return whether a call is told by its record's name."""
    message = record.message
    if record.role != ASSISTANT or string(message.get("responseId")):
        return False
    return is_named(message) and bool(objects(message.get("content")))


def _is_unnamed(record: Record) -> bool:
    """Return whether a call's place is to be looked for."""
    used = _used(record)
    if not is_counted(used):
        return False
    return of_record(record) is None or _is_named(record)


def _is_object(line: bytes) -> bool:
    """Return whether a line is an object, as far as can be said without reading it."""
    try:
        _PASS.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def _may_count(line: bytes) -> bool:
    """Return whether a line can hold counts; a name may be spelled with escapes."""
    return b'"usage"' in line or b"\\u00" in line


def _quick(number: int, line: bytes) -> Record | None:
    """Return the record of an answer as later releases write it, without what it says."""
    if not line.startswith(_ANSWERED):
        return None
    try:
        found = _FAST.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if found.type != MESSAGE or found.message is None:
        return None
    if not string(found.message.responseId):
        # What it says tells whether it has a name.
        return None
    said = {
        "role": found.message.role,
        "model": found.message.model,
        "provider": found.message.provider,
        "usage": found.message.usage,
        "timestamp": found.message.timestamp,
        "responseId": found.message.responseId,
    }
    value = {
        "type": MESSAGE,
        "id": found.id,
        "timestamp": found.timestamp,
        "message": said,
    }
    return Record(number, len(line), value)


def _used(record: Record) -> object:
    if record.role == ASSISTANT:
        return record.message.get("usage")
    return record.value.get("usage") if record.type in _SUMMARIES else None
