"""When pi's records were written, as the format writes times.

Spec: format 3.3, decision D7.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.numbers import count
from agentsession.importers.pi.records import Record
from agentsession.importers.pi.transcript import Transcript
from agentsession.timestamp import Timestamp

EPOCH: Final = "1970-01-01T00:00:00Z"
"""The time of what no record near it gives one."""

_MILLI: Final = 1_000_000


def of(spelled: str) -> Timestamp | None:
    """Return the time that a text names; ``None`` for what names none that is plausible."""
    try:
        found = Timestamp.parse(spelled)
    except ValueError:
        return None
    return found if found.nanoseconds > 0 else None


def of_millis(value: object) -> Timestamp | None:
    """Return a time in milliseconds since 1970; ``None`` for what is none."""
    millis = count(value)
    try:
        return Timestamp.from_nanoseconds(millis * _MILLI) if millis else None
    except ValueError:
        return None


def of_record(record: Record) -> Timestamp | None:
    """Return when a record was written, or when its message began."""
    return of(record.timestamp) or of_millis(record.message.get("timestamp"))


def times(transcript: Transcript) -> tuple[list[str], list[int]]:
    """Return when each entry was written, by place, and the places of those that do not say.

    Those have the time of the entry before.
    """
    found: list[str] = []
    missing: list[int] = []
    first = next((t for t in map(of_record, _records(transcript)) if t is not None), None)
    created = of(transcript.created) or first
    last = created.text if created is not None else EPOCH
    for entry in transcript.entries:
        time = of_record(entry.record)
        if time is None:
            missing.append(entry.place)
        else:
            last = time.text
        found.append(last)
    return found, missing


def _records(transcript: Transcript) -> list[Record]:
    return [entry.record for entry in transcript.entries]
