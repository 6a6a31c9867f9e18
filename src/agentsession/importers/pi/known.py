"""What pi is known to write: the members of its records, and the blocks of its messages.

What an extension, a tool or a model made freely (``details``, ``data``, ``arguments``) has no
shape here: it is kept whole. Spec: pi 2 to 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentsession.importers.pi import records as pi
from agentsession.importers.pi.records import Record
from agentsession.importers.unknown import Kinds, Shape, Strange, shape, strange

_PLACED: Final = "type id parentId timestamp"

_USAGE: Final = shape(
    "input output cacheRead cacheWrite cacheWrite1h reasoning totalTokens",
    cost=shape("input output cacheRead cacheWrite total totalFromProvider"),
)
_TEXT: Final = shape("type text textSignature")
_PARTS: Final = Kinds("type", {"text": _TEXT, "image": shape("type data mimeType")})
_BLOCKS: Final = Kinds(
    "type",
    {
        "text": _TEXT,
        "thinking": shape("type thinking thinkingSignature redacted"),
        "toolCall": shape("type id name arguments thoughtSignature partialArgs argumentsError"),
    },
)
_SYSTEM: Final = shape(
    "role timestamp sections",
    content=_PARTS,
    toolsAdded=shape("name description parameters", constrainedSampling=shape("type strict")),
    toolsRemoved=shape("name"),
)
_INJECTED: Final = shape("role customType display details timestamp", content=_PARTS)

_MESSAGES: Final = Kinds(
    "role",
    {
        pi.USER: shape("role timestamp attachments", content=_PARTS),
        pi.ASSISTANT: shape(
            "role api provider model stopReason rawStopReason errorMessage timestamp responseId "
            "durationMs thinkingLevel",
            content=_BLOCKS,
            usage=_USAGE,
        ),
        pi.RESULT: shape(
            "role toolCallId toolName isError details timestamp durationMs", content=_PARTS
        ),
        pi.BASH: shape(
            "role command output exitCode cancelled truncated fullOutputPath excludeFromContext "
            "timestamp"
        ),
        pi.SYSTEM: _SYSTEM,
        pi.CUSTOM_ROLE: _INJECTED,
        pi.HOOK_ROLE: _INJECTED,
    },
)

_RECORDS: Final[dict[str, Shape]] = {
    pi.HEADER: shape(
        "type id timestamp cwd version provider modelId thinkingLevel branchedFrom parentSession"
    ),
    pi.MESSAGE: shape(_PLACED, message=_MESSAGES),
    pi.MODEL_CHANGE: shape(f"{_PLACED} provider modelId"),
    pi.LEVEL_CHANGE: shape(f"{_PLACED} thinkingLevel"),
    pi.COMPACTION: shape(
        f"{_PLACED} summary firstKeptEntryId firstKeptEntryIndex tokensBefore details fromHook",
        usage=_USAGE,
        systemMessage=_SYSTEM,
    ),
    pi.BRANCH_SUMMARY: shape(f"{_PLACED} fromId summary details fromHook", usage=_USAGE),
    pi.CUSTOM_MESSAGE: shape(f"{_PLACED} customType display details", content=_PARTS),
    pi.CUSTOM: shape(f"{_PLACED} customType data"),
    pi.LABEL: shape(f"{_PLACED} targetId label"),
    pi.SESSION_INFO: shape(f"{_PLACED} name"),
    pi.CONTEXT_EDIT: shape(f"{_PLACED} targetId", replacement=shape("content")),
    pi.USAGE: shape(f"{_PLACED} kind provider model api", usage=_USAGE),
}

_WHOLE: Final = frozenset({pi.CUSTOM, pi.CONTEXT_EDIT, pi.USAGE, pi.HEADER})
"""Records that an entry holds as they are."""

_SPOKEN: Final = frozenset(pi.ROLES - {pi.SYSTEM})
"""Messages of which an entry holds each member that its item does not say."""


def unknown_in(record: Record) -> Iterator[tuple[Strange, bool]]:
    """Yield what is not known in a record, and whether an entry of the record holds it."""
    known = _RECORDS.get(record.type)
    if known is None or not record.is_known:
        return
    for one in strange(record.value, known):
        yield one, _is_held(record, one)


def _is_held(record: Record, one: Strange) -> bool:
    if record.type in _WHOLE:
        return True
    if record.type in (pi.COMPACTION, pi.BRANCH_SUMMARY):
        return not one.place.startswith("systemMessage.")
    if record.type == pi.CUSTOM_MESSAGE:
        return not one.place.startswith("content[") or _is_part(one)
    if record.role not in _SPOKEN or not one.place.startswith("message."):
        return False
    if record.role == pi.ASSISTANT:
        return not one.is_kind or isinstance(one.value, dict)
    return not one.place.startswith("message.content[") or _is_part(one)


def _is_part(one: Strange) -> bool:
    """Whether it is a part of a kind that is not known, which stays as it is."""
    return one.is_kind and isinstance(one.value, dict)
