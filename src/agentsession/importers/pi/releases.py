"""Which release of pi sent a request: a file does not say, but its records give it away.

What counts is not the exact release but the first one that spelled requests as it did.
Spec: pi 2, 4, 6.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping
from typing import Final

from agentsession.importers.pi.records import ASSISTANT, RESULT, Record, mapping, string
from agentsession.importers.pi.transcript import Transcript
from agentsession.wire.profiles_pi import FIRST_V3, NEWEST, V1, V2

Release = tuple[int, int]

_PLAIN_TEXTS: Final[Release] = (0, 61)
_TIME_IDS: Final[Release] = (0, 73)
_REASONING_COUNTED: Final[Release] = (0, 84)
_CONTEXT_EDITS: Final[Release] = (0, 87)

_LATE: Final = ("durationMs", "rawStopReason", "thinkingLevel")
_FAILED: Final = frozenset({"error", "aborted"})
_TIME_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-", re.IGNORECASE)


def releases(transcript: Transcript) -> Mapping[int, Release]:
    """Return, by the place of each assistant's message, the release that sent its request."""
    found: dict[int, Release] = {}
    unsure: list[int] = []
    floor = _TIME_IDS if _TIME_ID.match(transcript.session_id) else FIRST_V3
    timed = _timed_results(transcript)
    for entry in transcript.entries:
        if entry.record.role != ASSISTANT:
            continue
        release = _evidence(entry.record, transcript.version, floor)
        if release is None:
            unsure.append(entry.place)
        elif release == _CONTEXT_EDITS and timed.get(entry.place, True):
            found[entry.place] = NEWEST
        else:
            found[entry.place] = release
    _settle(found, unsure, floor)
    return found


def _evidence(record: Record, version: int, floor: Release) -> Release | None:
    """Return what a message gives away, ``None`` for a failed one that gives nothing away."""
    if version == 1 or record.is_first_version:
        return V1
    if version == 2:
        return V2
    message = record.message
    if any(name in message for name in _LATE):
        return _CONTEXT_EDITS
    if "reasoning" in mapping(message.get("usage")):
        return _REASONING_COUNTED
    if "responseId" in message:
        return max(_PLAIN_TEXTS, floor)
    return None if string(message.get("stopReason")) in _FAILED else floor


def _timed_results(transcript: Transcript) -> dict[int, bool]:
    """Return, by place, whether the result nearest before, or else behind, has a duration."""
    found: dict[int, bool] = {}
    last: bool | None = None
    waiting: list[int] = []
    for entry in transcript.entries:
        if entry.record.role == RESULT:
            last = "durationMs" in entry.record.message
            found.update(dict.fromkeys(waiting, last))
            waiting = []
        elif entry.record.role == ASSISTANT:
            if last is None:
                waiting.append(entry.place)
            else:
                found[entry.place] = last
    return found


def _settle(found: dict[int, Release], unsure: list[int], floor: Release) -> None:
    """Give a failed message the release of the nearest one that is known, none too new."""
    known = sorted(found)
    for place in unsure:
        behind = bisect(known, place)
        near = known[max(behind - 1, 0)] if known else None
        release = floor if near is None else found[near]
        found[place] = min(release, _REASONING_COUNTED)
