"""Evidence: between which releases of pi a record was written, by what it has and what it lacks.

Spec: pi 2, 4, 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from agentsession.importers.numbers import count
from agentsession.importers.pi.records import (
    ASSISTANT,
    BRANCH_SUMMARY,
    COMPACTION,
    CONTEXT_EDIT,
    RESULT,
    SYSTEM,
    Record,
    mapping,
    objects,
    string,
)

Release = tuple[int, int]

START: Final[Release] = (0, 0)
NO_END: Final[Release] = (1 << 31, 0)

NAMED: Final[Release] = (0, 60)
"""The first release that keeps what a provider calls its answer."""

PROMPTS_KEPT: Final[Release] = (0, 86)
"""The first release that writes the system prompt and context edits, and heeds them."""

IMAGES_TOLD: Final[Release] = (0, 68)
"""The first release that says with an image that was read that the model takes none."""

NO_IMAGES: Final = "[Current model does not support images"
"""How it begins to say so."""

_TIMED: Final[Release] = (0, 99)
_STOPS_KEPT: Final[Release] = (0, 83)
_TIMES: Final = frozenset({"durationMs", "thinkingLevel"})
_FAILED: Final = frozenset({"error", "aborted"})

APIS: Final = frozenset({"openai-completions", "openai-responses", "anthropic-messages"})
"""The model APIs of which it is known what a release writes of each answer."""

_SAID: Final = (
    ("write", re.compile(r"Successfully wrote [0-9]+ bytes to "), START, (0, 85)),
    ("write", re.compile(r"Successfully wrote to "), (0, 85), NO_END),
    ("edit", re.compile(r"Successfully replaced text in "), START, (0, 63)),
    ("edit", re.compile(r"Successfully replaced [0-9]+ block\(s\) in "), (0, 63), NO_END),
    ("", re.compile(r"Skipped due to queued user message\."), START, (0, 57)),
)
"""What a tool said: its name, its words, and the releases that have it say them."""


class Sent(NamedTuple):
    """How a request was sent, as an earlier import found.

    Attributes:
        release: who sent it.
        images: whether its model takes images.
    """

    release: Release
    images: bool = True


class Told(NamedTuple):
    """What one record says of the release that wrote it.

    Attributes:
        first: the first one that can have written it.
        end: the first later one that cannot.
        nameless: it is an answer whose provider gave it no name, or whose release kept none.
    """

    first: Release = START
    end: Release = NO_END
    nameless: bool = False


def told(record: Record) -> Told:
    """Return what a record says, by itself, of the release that wrote it."""
    if record.role == ASSISTANT:
        return _answered(record.message)
    if record.role == SYSTEM or record.type == CONTEXT_EDIT:
        return Told(PROMPTS_KEPT)
    if record.role == RESULT:
        return _returned(record.message)
    if record.type in {COMPACTION, BRANCH_SUMMARY}:
        return _summed_up(record)
    return Told()


def _answered(message: Mapping[str, Any]) -> Told:
    if not _TIMES.isdisjoint(message):
        return Told(_TIMED)
    if string(message.get("stopReason")) in _FAILED:
        return Told(_first(message), _TIMED)
    if string(message.get("api")) not in APIS:
        return Told(_first(message), _TIMED, "responseId" not in message)
    bounds = list(_bounds(message))
    first = max([_first(message), *(bound for bound, is_end in bounds if not is_end)])
    end = min([_TIMED, *(bound for bound, is_end in bounds if is_end)])
    # What no release writes together says nothing but what it has.
    return Told(first, end if end > first else _TIMED, "responseId" not in message)


def _first(message: Mapping[str, Any]) -> Release:
    """Return the first release that writes what an answer has."""
    used = mapping(message.get("usage"))
    if "rawStopReason" in message:
        return _STOPS_KEPT
    if "reasoning" in used:
        return (0, 80)
    if "cacheWrite1h" in used:
        return (0, 79)
    if "responseId" in message:
        return NAMED
    blocks = objects(message.get("content"))
    phased = any(string(block.get("textSignature")).startswith("{") for block in blocks)
    return (0, 57) if phased else START


def _bounds(message: Mapping[str, Any]) -> Iterator[tuple[Release, bool]]:
    """Yield releases that an answer which did not fail is older than, or not older than.

    The latter come with ``False``.
    """
    if "rawStopReason" not in message:
        yield _STOPS_KEPT, True
    used, api = mapping(message.get("usage")), message["api"]
    if count(used.get("input")) or count(used.get("output")):
        if api == "anthropic-messages" and "cacheWrite1h" not in used:
            yield (0, 79), True
        elif api != "anthropic-messages" and "reasoning" not in used:
            yield (0, 80), True
    if api != "openai-responses":
        return
    for block in objects(message.get("content")):
        signature = string(block.get("textSignature"))
        if block.get("type") == "text" and signature and not signature.startswith("{"):
            yield (0, 57), True
        elif block.get("type") == "toolCall":
            yield (0, 67), "partialJson" in block


def _returned(message: Mapping[str, Any]) -> Told:
    tool, details = string(message.get("toolName")), mapping(message.get("details"))
    first, end = (_TIMED if "durationMs" in message else START), NO_END
    if tool == "edit" and isinstance(details.get("diff"), str):
        if "patch" in details:
            first = max(first, (0, 75))
        else:
            end = (0, 75)
    for words in _texts(message):
        if tool == "read" and NO_IMAGES in words:
            first = max(first, IMAGES_TOLD)
        for name, pattern, since, until in _SAID:
            if name in {"", tool} and pattern.match(words):
                first, end = max(first, since), min(end, until)
    return Told(first, end if end > first else NO_END)


def _summed_up(record: Record) -> Told:
    value = record.value
    if "systemMessage" in value:
        return Told(PROMPTS_KEPT)
    if "usage" in value:
        return Told((0, 84))
    # What an extension summed up has no usage in any release.
    own = record.type == COMPACTION and value.get("fromHook") is False
    return Told(end=(0, 84) if own else NO_END)


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    for part in objects(message.get("content")):
        words = part.get("text")
        if isinstance(words, str):
            yield words
