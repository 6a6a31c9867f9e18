"""Which release of pi sent a request: a file does not say, but its records give it away.

What counts is not the exact release but the first one that spelled requests as it did.
A record says between which releases it was written: by what it has, and by what it lacks that
later ones write. The settings beside the sessions name the newest release that ran; where that
is one of them, it is taken, else the one most likely. A later release may have run by the time
of a second import: what the first one inferred then stays.
Spec: pi 2, 4, 6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from agentsession.importers.pi.places import last_release
from agentsession.importers.pi.records import (
    ASSISTANT,
    CONTEXT_EDIT,
    RESULT,
    SYSTEM,
    Record,
    mapping,
    objects,
    string,
)
from agentsession.importers.pi.transcript import Transcript
from agentsession.wire.profiles_pi import BORDERS, FIRST_V3, NEWEST, V1, V2

Release = tuple[int, int]


class Span(NamedTuple):
    """Between which releases a record was written.

    Attributes:
        first: the first one that can have written it.
        end: the first later one that cannot.
        likely: the one taken where the settings name none of them.
    """

    first: Release
    end: Release
    likely: Release


_NO_END: Final[Release] = (1 << 31, 0)

_OF_V1: Final = Span((0, 13), (0, 31), V1)
_OF_V2: Final = Span((0, 31), (0, 37), V2)
_PLAIN: Final = Span((0, 37), (0, 60), FIRST_V3)
_PHASED: Final = Span((0, 57), (0, 60), (0, 58))
_NAMED: Final = Span((0, 60), (0, 83), (0, 60))
_TIME_IDS: Final = Span((0, 67), (0, 83), (0, 68))
_STAYS_COUNTED: Final = Span((0, 79), (0, 99), (0, 84))
_NAMED_BY_USER: Final = Span((0, 79), (0, 99), (0, 84))
_REASONING_COUNTED: Final = Span((0, 80), (0, 99), (0, 84))
_STOPS_KEPT: Final = Span((0, 83), (0, 99), (0, 87))
_PROMPTS_KEPT: Final = Span((0, 86), _NO_END, (0, 87))
_TIMED: Final = Span((0, 99), _NO_END, NEWEST)

_APIS: Final = frozenset({"openai-completions", "openai-responses", "anthropic-messages"})
"""The model APIs of which it is known what a release writes of each answer."""

_TIMES: Final = frozenset({"durationMs", "thinkingLevel"})
_FAILED: Final = frozenset({"error", "aborted"})
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-", re.IGNORECASE)


def releases(
    transcript: Transcript, known: Mapping[str, Release] = MappingProxyType({})
) -> Mapping[int, Release]:
    """Return, by the place of each assistant's message, the release that sent its request.

    What a record gives away holds from there on, so that a session that grows says the same
    of what it said before.

    Args:
        transcript: a file, read.
        known: by the name of a message, what an earlier import found. It stays where the
            records allow it.
    """
    newest = last_release(transcript.home or transcript.path)
    earlier = _Earlier(transcript, known)
    found: dict[int, Release] = {}
    floor = _floor(transcript)
    for entry in transcript.entries:
        record = entry.record
        if record.role == SYSTEM or record.type == CONTEXT_EDIT:
            floor = max(floor, _PROMPTS_KEPT)
        elif record.role == RESULT and "durationMs" in record.message:
            floor = max(floor, _TIMED)
        elif record.role == ASSISTANT:
            own = _OF_V1 if record.is_first_version else _given_away(record, transcript.version)
            floor = max(floor, own)
            span = own if record.is_first_version else _ended(floor, own, record)
            found[entry.place] = earlier.release(entry.place, span) or _release(span, newest)
    return found


class _Earlier:
    """What an earlier import found of the messages of a file.

    Args:
        transcript: the file.
        known: by name, the releases of those messages that answered a request.
    """

    def __init__(self, transcript: Transcript, known: Mapping[str, Release]) -> None:
        self._next: dict[int, Release] = {}
        self._newest = last_release(transcript.home or transcript.path) or (0, 0)
        self._last: Release | None = None
        after: Release | None = None
        for entry in reversed(transcript.entries if known else ()):
            after = known.get(entry.name, after)
            self._last = self._last or after
            if after is not None:
                # What has none itself, as a fork's copy, was found with what follows.
                self._next[entry.place] = after

    def release(self, place: int, span: Span) -> Release | None:
        """Return what holds of a message, ``None`` where that is to be inferred anew."""
        found = self._next.get(place)
        if found is None and self._last is not None:
            # A new message: where the settings say nothing of it, or are older ones, the
            # session went on as before.
            is_named = span.first <= self._newest < span.end
            found = None if is_named and self._newest >= self._last else self._last
        possible = found is not None and _border(span.first) <= found < span.end
        return found if possible else None


def _floor(transcript: Transcript) -> Span:
    """Return the oldest releases that can have written what gives nothing away."""
    if transcript.version < 2:
        return _OF_V1
    if transcript.version == 2:
        return _OF_V2
    given = string(transcript.header.get("id"))
    if given and not _UUID.fullmatch(given):
        # The user named it, which no earlier release lets one do.
        return _NAMED_BY_USER
    return _TIME_IDS if _TIME_ID.match(transcript.session_id) else _PLAIN


def _given_away(record: Record, version: int) -> Span:
    """Return when a message was written, by what it has."""
    message, used = record.message, mapping(record.message.get("usage"))
    if version == 2:
        return _OF_V2
    if not _TIMES.isdisjoint(message):
        return _TIMED
    if "rawStopReason" in message:
        return _STOPS_KEPT
    if "reasoning" in used:
        return _REASONING_COUNTED
    if "cacheWrite1h" in used:
        return _STAYS_COUNTED
    if "responseId" in message:
        return _NAMED
    blocks = objects(message.get("content"))
    phased = any(string(block.get("textSignature")).startswith("{") for block in blocks)
    return _PHASED if phased else _PLAIN


def _ended(floor: Span, own: Span, record: Record) -> Span:
    """Return a span ended by what a message lacks."""
    message = record.message
    failed = string(message.get("stopReason")) in _FAILED
    known = string(message.get("api")) in _APIS
    end = _NO_END
    if own != _TIMED:
        # Later releases time whatever came of a request.
        end = _TIMED.first if failed or not known else own.end
    return floor._replace(end=end if end > floor.first else _NO_END)


def _release(span: Span, newest: Release | None) -> Release:
    release = span.likely
    if newest is not None and span.first <= newest < span.end:
        release = newest
    return _border(release)


def _border(release: Release) -> Release:
    return max(border for border in BORDERS if border <= release)
