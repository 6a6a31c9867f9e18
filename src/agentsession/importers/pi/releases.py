"""Which release of pi sent a request: a file does not say, but its records give it away.

What counts is not the exact release but the first one that spelled requests as it did.
A session is sent by releases that follow each other, until a record shows that an older one
went on with it. Between such places a release is none older than a record before it, and none
newer than a record behind it, gives away. The settings beside the sessions name the newest
release that ran; where that is possible, it is taken, else the one most likely. A later release
may have run by the time of a second import: what the first one inferred then stays.
Spec: pi 2, 4, 6.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from agentsession.importers.pi.evidence import (
    NAMED,
    NO_END,
    PROMPTS_KEPT,
    Release,
    Sent,
    Told,
    told,
)
from agentsession.importers.pi.places import last_release
from agentsession.importers.pi.records import ASSISTANT, CONTEXT_EDIT, RESULT, string
from agentsession.importers.pi.transcript import Native, Transcript
from agentsession.wire.profiles_pi import BORDERS, FIRST_V3, NEWEST, V1, V2


class Span(NamedTuple):
    """Between which releases a record was written.

    Attributes:
        first: the first one that can have written it.
        end: the first later one that cannot, by the record itself.
        before: the first later one that cannot, by what follows.
    """

    first: Release
    end: Release
    before: Release


_OF_V1: Final = Span((0, 13), (0, 31), (0, 31))
_OF_V2: Final = Span((0, 31), (0, 37), (0, 37))
_FIRST: Final[Release] = (0, 37)
_TIME_IDS: Final[Release] = (0, 67)
_NAMED_BY_USER: Final[Release] = (0, 79)

_LIKELY: Final = (
    ((0, 13), V1),
    ((0, 31), V2),
    (_FIRST, FIRST_V3),
    ((0, 57), (0, 58)),
    (NAMED, NAMED),
    ((0, 63), (0, 63)),
    (_TIME_IDS, (0, 68)),
    ((0, 75), (0, 78)),
    (_NAMED_BY_USER, (0, 84)),
    ((0, 83), (0, 84)),
    (PROMPTS_KEPT, (0, 87)),
    ((0, 99), NEWEST),
)
"""By the first release that is possible, the one taken where the settings name none that is."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-", re.IGNORECASE)


def releases(
    transcript: Transcript, known: Mapping[str, Sent] = MappingProxyType({})
) -> Mapping[int, Release]:
    """Return, by the place of each assistant's message, the release that sent its request.

    Args:
        transcript: a file, read.
        known: by the name of a message, what an earlier import found. It stays where the
            records up to it allow it, so that a session that grows says the same of what it
            said before.
    """
    newest = last_release(transcript.home or transcript.path)
    earlier = _Earlier(transcript, known)
    floors, turns = _floors(transcript)
    # The settings say nothing of what older ones had done by the time one went on.
    last = max(turns, default=0)
    return {
        place: earlier.release(place, span) or _release(span, newest if place >= last else None)
        for place, span in _spans(transcript, floors, turns).items()
    }


def _spans(
    transcript: Transcript, floors: Sequence[tuple[Release, Told]], turns: Collection[int]
) -> dict[int, Span]:
    """Return, by the place of each assistant's message, between which releases it was written.

    Args:
        transcript: the file.
        floors: by place, the oldest release that is possible, and what a record itself says.
        turns: where an older release went on.
    """
    found: dict[int, Span] = {}
    entries = transcript.entries
    before = NO_END
    for entry in reversed(entries):
        record, (floor, own) = entry.record, floors[entry.place]
        if not record.is_first_version and own.end > floor:
            before = min(before, own.end)
        if record.role == ASSISTANT:
            end = own.end if own.end > floor else NO_END
            found[entry.place] = Span(floor, end, before)
            if record.is_first_version:
                found[entry.place] = _OF_V1
            elif transcript.version == 2:
                found[entry.place] = _OF_V2
        if entry.place in turns:
            before = NO_END
    return dict(reversed(found.items()))


def _floors(transcript: Transcript) -> tuple[list[tuple[Release, Told]], set[int]]:
    """Return the oldest release each record allows, and where an older release went on.

    With the first comes what the record says by itself.
    """
    floor, lowest = _floor(transcript), _OF_V1.first if transcript.version < 2 else _FIRST
    floors: list[tuple[Release, Told]] = []
    turns: set[int] = set()
    named: set[str] = set()
    asked: Native | None = None
    for entry in transcript.entries:
        record = entry.record
        own = _told(entry, floor, named)
        if not record.is_first_version:
            if own.end <= floor:
                turns.add(entry.place)
                floor = lowest
            floor = max(floor, own.first)
        floors.append((floor, own))
        if record.role == ASSISTANT:
            asked = entry
        elif asked is not None and _is_of_its_turn(entry, asked):
            before, answered = floors[asked.place]
            if before < own.first < answered.end:
                floors[asked.place] = own.first, answered
    return floors, turns


def _is_of_its_turn(entry: Native, answer: Native) -> bool:
    """Return whether the release that asked for an answer wrote what follows it."""
    record = entry.record
    if record.type == CONTEXT_EDIT:
        return entry.parent is answer and string(record.value.get("targetId")) == answer.record.id
    return record.role == RESULT


def _told(entry: Native, floor: Release, named: set[str]) -> Told:
    """Return what a record says of its release, beside those before it.

    Args:
        entry: the record.
        floor: the oldest release that those before it allow.
        named: the providers that have named an answer; this one's is added.
    """
    record = entry.record
    own = told(record)
    if record.role != ASSISTANT:
        return own
    provider = string(record.message.get("provider"))
    if not own.nameless:
        if "responseId" in record.message:
            named.add(provider)
        return own
    # Some providers name no answer: later releases keep no name either.
    is_old = floor < NAMED or provider in named
    return own._replace(end=min(own.end, NAMED)) if is_old and own.first < NAMED else own


class _Earlier:
    """What an earlier import found of the messages of a file.

    Args:
        transcript: the file.
        known: by name, the releases of those messages that answered a request.
    """

    def __init__(self, transcript: Transcript, known: Mapping[str, Sent]) -> None:
        self._next: dict[int, Release] = {}
        self._newest = last_release(transcript.home or transcript.path) or (0, 0)
        self._last: Release | None = None
        after: Release | None = None
        for entry in reversed(transcript.entries if known else ()):
            after = known[entry.name].release if entry.name in known else after
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


def _floor(transcript: Transcript) -> Release:
    """Return the oldest release that can have written what gives nothing away."""
    if transcript.version < 2:
        return _OF_V1.first
    if transcript.version == 2:
        return _OF_V2.first
    given = string(transcript.header.get("id"))
    if given and not _UUID.fullmatch(given):
        # The user named it, which no earlier release lets one do.
        return _NAMED_BY_USER
    return _TIME_IDS if _TIME_ID.match(transcript.session_id) else _FIRST


def _release(span: Span, newest: Release | None) -> Release:
    end = min(span.end, span.before)
    release = max(likely for first, likely in _LIKELY if first <= span.first)
    if newest is not None and span.first <= newest < end:
        release = newest
    elif release >= end:
        release = max(border for border in (span.first, *BORDERS) if border < end)
    return _border(max(release, span.first))


def _border(release: Release) -> Release:
    return max(border for border in BORDERS if border <= release)
