"""Heads: what is decoded of a line when it is read; its values stay JSON text.

Most lines hold one message of one plain block, and are decoded once, into :class:`Head`
with typed blocks. A line that this decoder refuses is decoded by one that looks at no more
than the type of each block, and one that even this refuses the exact way.

Spec: claude-code 2, 2.1.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final, Literal

import msgspec

from agentsession.importers.claude_code.blocks import content_blocks
from agentsession.importers.claude_code.lines import REFUSALS, Members, ToolResult, value_of

Text = msgspec.Raw | msgspec.UnsetType
NOTHING: Final = msgspec.UNSET


class TextBlock(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True, gc=False):
    """Words."""

    type: ClassVar[str] = "text"
    text: msgspec.Raw
    cache_control: Text = NOTHING


class ThinkingBlock(
    msgspec.Struct, tag_field="type", tag="thinking", forbid_unknown_fields=True, gc=False
):
    """Reasoning."""

    type: ClassVar[str] = "thinking"
    thinking: msgspec.Raw
    signature: msgspec.Raw
    cache_control: Text = NOTHING


class CallBlock(
    msgspec.Struct, tag_field="type", tag="tool_use", forbid_unknown_fields=True, gc=False
):
    """A call."""

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: msgspec.Raw
    caller: Text = NOTHING
    cache_control: Text = NOTHING


class ResultBlock(
    msgspec.Struct, tag_field="type", tag="tool_result", forbid_unknown_fields=True, gc=False
):
    """The result of a call."""

    type: ClassVar[str] = "tool_result"
    tool_use_id: str
    content: msgspec.Raw
    is_error: bool | msgspec.UnsetType = NOTHING
    caller: Text = NOTHING
    cache_control: Text = NOTHING


Plain = TextBlock | ThinkingBlock | CallBlock | ResultBlock


class AnyBlock(msgspec.Struct, gc=False):
    """A block of which no more than this is known."""

    type: Any = None
    id: Any = None
    tool_use_id: Any = None


class PlainMessage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A message of plain blocks; ``content`` is its words where it is a string."""

    id: str | None = None
    model: str | None = None
    role: str | None = None
    content: list[Plain] | str | None = None
    usage: Text = NOTHING
    stop_reason: str | None = None
    type: Literal["message"] | None = None
    stop_sequence: str | None = None
    stop_details: Text = NOTHING
    container: Text = NOTHING
    context_management: Text = NOTHING
    diagnostics: Text = NOTHING
    output_config: Text = NOTHING


class PlainHead(msgspec.Struct, gc=False):
    """What is known of every line, each member of the type that it should have."""

    type: str | None = None
    uuid: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    timestamp: str | None = None
    version: str | None = None
    cwd: str | None = None
    branch: str | None = msgspec.field(default=None, name="gitBranch")
    request: str | None = msgspec.field(default=None, name="requestRef")
    sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    meta: bool | None = msgspec.field(default=None, name="isMeta")
    summary: bool | None = msgspec.field(default=None, name="isCompactSummary")
    shown: bool | None = msgspec.field(default=None, name="isVisibleInTranscriptOnly")
    error: bool | None = msgspec.field(default=None, name="isApiErrorMessage")
    aborted: Any = msgspec.field(default=None, name="isAbortedMidStream")
    subtype: str | None = None
    tool_result: ToolResult = msgspec.field(default=None, name="toolUseResult")
    # What only a first look at a log asks for.
    session: str | None = msgspec.field(default=None, name="sessionId")
    request_id: Any = msgspec.field(default=None, name="requestId")
    asked_in: str | None = msgspec.field(default=None, name="requestSessionId")
    compaction: Text = msgspec.field(default=NOTHING, name="compactMetadata")
    message: PlainMessage | None = None


class AnyMessage(PlainMessage, gc=False, forbid_unknown_fields=False):
    """A message whose members are of any type."""

    id: Any = None
    model: Any = None
    role: Any = None
    content: list[AnyBlock] | str | None = None  # type: ignore[assignment]
    stop_reason: Any = None
    type: Any = None
    stop_sequence: Any = None


class AnyHead(PlainHead, gc=False):
    """The head of a line whose members are of any type."""

    type: Any = None
    uuid: Any = None
    parent: Any = msgspec.field(default=None, name="parentUuid")
    timestamp: Any = None
    version: Any = None
    cwd: Any = None
    branch: Any = msgspec.field(default=None, name="gitBranch")
    request: Any = msgspec.field(default=None, name="requestRef")
    sidechain: Any = msgspec.field(default=None, name="isSidechain")
    meta: Any = msgspec.field(default=None, name="isMeta")
    summary: Any = msgspec.field(default=None, name="isCompactSummary")
    shown: Any = msgspec.field(default=None, name="isVisibleInTranscriptOnly")
    error: Any = msgspec.field(default=None, name="isApiErrorMessage")
    subtype: Any = None
    tool_result: Text = msgspec.field(default=NOTHING, name="toolUseResult")  # type: ignore[assignment]
    session: Any = msgspec.field(default=None, name="sessionId")
    asked_in: Any = msgspec.field(default=None, name="requestSessionId")
    message: AnyMessage | None = None


Head = PlainHead

_STRINGS: Final = (
    "type",
    "uuid",
    "parent",
    "timestamp",
    "version",
    "cwd",
    "branch",
    "request",
    "subtype",
)


_plain = msgspec.json.Decoder(PlainHead).decode
_any = msgspec.json.Decoder(AnyHead).decode
_WIRE: Final = {field.name: field.encode_name for field in msgspec.structs.fields(Head)}

_ESCAPES: Final = re.compile(rb"\\[u/]")
_UNLIKE: Final = re.compile(rb"\\u(?!00(?:0[0-7bef]|1[0-9a-f]))|\\/")
_COLOURS: Final = re.compile(rb"\\u(?!00(?:0[0-7bef]|1[0-9a-f]))")
_WRITTEN: Final = (b'{"parentUuid":"', b'{"parentUuid":null,"', b'{"type":"')


def escapes(line: bytes) -> tuple[bool, bool]:
    """Return whether the exact way has to read a line, and whether it is spelled as the format.

    No escape of a line of the first kind can be trusted: a name may be spelled with one, and
    a string be half a pair of surrogates. In a line of the second kind every string has the
    escapes that the format's spelling has; only the line separators of Unicode, which Claude
    Code writes as they are, are spelled in another way there. Spec: format 6.
    """
    if _ESCAPES.search(line) is None:
        return False, True
    if line.startswith(_WRITTEN) and _UNLIKE.search(line) is None:
        return False, True
    return _is_unlike(line), False


def _is_unlike(line: bytes) -> bool:
    """Whether a line has escapes of characters, but for colours in a file written as usual."""
    if b"\\u" not in line:
        return False
    return not line.startswith(_WRITTEN) or _COLOURS.search(line) is not None


def plain_head(line: bytes) -> Head | None:
    """Return the head of a line of plain blocks; ``None`` for any other."""
    try:
        return _plain(line)
    except REFUSALS:
        return None


def fast_head(line: bytes) -> Head:
    """Return the head of a line.

    Raises:
        MsgspecError, RecursionError, ValueError: when only the exact way can tell.
    """
    try:
        return _plain(line)
    except REFUSALS:
        return _typed(_any(line))


def _typed(head: Head) -> Head:
    """A head in which what is not of its type is as if it was not there."""
    for name in _STRINGS:
        if not isinstance(getattr(head, name), str):
            setattr(head, name, None)
    message = head.message
    if message is not None:
        for name in ("id", "model"):
            if not isinstance(getattr(message, name), str):
                setattr(message, name, None)
    return head


def exact_head(members: Members) -> tuple[Head, Any]:
    """Return the head of a line that the fast decoders refuse, and the usage in its message."""
    message = value_of(members.get("message"))
    inner: AnyMessage | None = None
    if isinstance(message, dict):
        blocks = [
            AnyBlock(block.get("type"), block.get("id"), block.get("tool_use_id"))
            for block in content_blocks(message.get("content"))
        ]
        inner = AnyMessage(
            message.get("id"),
            message.get("model"),
            message.get("role"),
            blocks,
            NOTHING,
            message.get("stop_reason"),
        )
    told = {name: value_of(members.get(wire)) for name, wire in _WIRE.items()}
    usage = message.get("usage") if isinstance(message, dict) else None
    return _typed(AnyHead(**{**told, "message": inner})), usage
