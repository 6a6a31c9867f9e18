"""What pi's model calls used, in the payload's form, and read straight from its files.

pi's ``input`` leaves cache reads and writes out; ``output`` holds the reasoning tokens.
Up to 0.49 chat completions counted them twice: their number was added to an output that
held it already, and is not kept. Spec: pi 4, format 5.6, decision D12.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agentsession.importers.base import Source
from agentsession.importers.pi.names import Naming
from agentsession.importers.pi.places import files_below, id_in_name, is_header
from agentsession.importers.pi.records import (
    ASSISTANT,
    BRANCH_SUMMARY,
    COMPACTION,
    USAGE,
    Record,
    amount,
    count,
    mapping,
    read,
    string,
)
from agentsession.importers.usage import UsageRecord
from agentsession.timestamp import Timestamp

_SUMMARIES: Final = frozenset({COMPACTION, BRANCH_SUMMARY, USAGE})


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
    return amount(mapping(mapping(given).get("cost")).get("total"))


def usage_records(source: Source) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used; the files are read line by line.

    A fork's copies, and a copy of a file made before an upgrade, have the key of the call
    they are copies of. A file that cannot be read is passed over.
    """
    for place in source.paths:
        for path in files_below(place):
            yield from _of_file(path)


def _of_file(path: str) -> Iterator[UsageRecord]:
    session_id, cwd = id_in_name(path), ""
    naming = Naming()
    model = provider = ""
    try:
        for record in read(path):
            if record.line == 1 and is_header(record.value):
                session_id, cwd = record.id, string(record.value.get("cwd"))
            elif record.readable:
                message = record.message
                if record.role == ASSISTANT:
                    model, provider = string(message.get("model")), string(message.get("provider"))
                used = _used(record)
                name = naming.name(record)
                if usage_of(used) is None and not cost_of(used):
                    continue
                yield UsageRecord(
                    session_id,
                    string(record.value.get("model")) or model,
                    string(record.value.get("provider")) or provider,
                    _time(record),
                    cwd,
                    usage_of(used) or {},
                    cost_of(used),
                    f"pi:{name}:{record.timestamp}",
                )
    except OSError:
        return


def _used(record: Record) -> object:
    if record.role == ASSISTANT:
        return record.message.get("usage")
    return record.value.get("usage") if record.type in _SUMMARIES else None


def _time(record: Record) -> Timestamp | None:
    try:
        return Timestamp.parse(record.timestamp)
    except ValueError:
        return None
