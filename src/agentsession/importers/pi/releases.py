"""Which release of pi sent a request: a file does not say, but its records give it away.

What counts is not the exact release but the first one that spelled requests as it did.
Nothing in a record tells 0.37 from 0.49: there the settings beside the sessions decide, which
name the newest release that ran.
Spec: pi 2, 4, 6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agentsession.importers.pi.places import last_release
from agentsession.importers.pi.records import ASSISTANT, RESULT, Record, mapping, string
from agentsession.importers.pi.transcript import Transcript
from agentsession.wire.profiles_pi import FIRST_V3, NEWEST, V1, V2

Release = tuple[int, int]

_PLAIN_TEXTS: Final[Release] = (0, 61)
_TIME_IDS: Final[Release] = (0, 73)
_REASONING_COUNTED: Final[Release] = (0, 84)
_CONTEXT_EDITS: Final[Release] = (0, 87)

_LATE: Final = ("durationMs", "rawStopReason", "thinkingLevel")
_COUNTED: Final = frozenset({"reasoning", "cacheWrite1h"})
_FAILED: Final = frozenset({"error", "aborted"})
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-", re.IGNORECASE)


def releases(transcript: Transcript) -> Mapping[int, Release]:
    """Return, by the place of each assistant's message, the release that sent its request.

    What a record gives away holds from there on, so that a session that grows says the same
    of what it said before.
    """
    found: dict[int, Release] = {}
    floor = _floor(transcript)
    last, timed = floor, False
    for entry in transcript.entries:
        record = entry.record
        if record.role == RESULT:
            timed = "durationMs" in record.message
        if record.role != ASSISTANT:
            continue
        release = _evidence(record, transcript.version, floor)
        if release is None:
            # A failed message that gives nothing away is none of the newest releases'.
            release = min(last, _REASONING_COUNTED)
        elif release == _CONTEXT_EDITS and timed:
            release = NEWEST
        found[entry.place] = last = release
    return found


def _floor(transcript: Transcript) -> Release:
    """Return the oldest release that can have written what gives nothing away."""
    given = string(transcript.header.get("id"))
    if given and transcript.version > 2 and not _UUID.fullmatch(given):
        # The user named it, which no earlier release lets one do.
        return _REASONING_COUNTED
    if _TIME_ID.match(transcript.session_id):
        return _TIME_IDS
    newest = last_release(transcript.home or transcript.path)
    return V2 if newest is not None and newest < FIRST_V3 else FIRST_V3


def _evidence(record: Record, version: int, floor: Release) -> Release | None:
    """Return what a message gives away, ``None`` for a failed one that gives nothing away."""
    if record.is_first_version:
        return V1
    if version == 2:
        return V2
    message = record.message
    if any(name in message for name in _LATE):
        return _CONTEXT_EDITS
    if not _COUNTED.isdisjoint(mapping(message.get("usage"))):
        return _REASONING_COUNTED
    if "responseId" in message:
        return max(_PLAIN_TEXTS, floor)
    return None if string(message.get("stopReason")) in _FAILED else floor
