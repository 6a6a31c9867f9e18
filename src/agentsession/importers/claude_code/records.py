"""Records: what one line of a Claude Code log says, decoded when it is asked for.

Spec: claude-code 2.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.blocks import Block, content_blocks
from agentsession.importers.claude_code.lines import (
    Members,
    is_deep,
    members_of,
    text_of,
    value_of,
)
from agentsession.timestamp import Timestamp

_FIRST: Final = "2020"
_LAST: Final = "2100"
_LONG: Final = 800
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)
_SPOKEN: Final = frozenset({names.USER, names.ASSISTANT})


class _Block(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    tool_use_id: Any = None


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    content: list[_Block] | str | None = None
    usage: Any = None
    stop_reason: Any = None


class _Head(msgspec.Struct, gc=False):
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
    message: _Message | None = None


_head = msgspec.json.Decoder(_Head).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_REFUSALS: Final = (msgspec.MsgspecError, RecursionError, ValueError)


def _exact_head(members: Members) -> _Head:
    """The head of a line that the fast decoder refuses."""
    message = value_of(members.get("message"))
    inner: _Message | None = None
    if isinstance(message, dict):
        blocks = [
            _Block(block.get("type"), block.get("id"), block.get("tool_use_id"))
            for block in content_blocks(message.get("content"))
        ]
        inner = _Message(
            message.get("id"),
            message.get("model"),
            blocks,
            message.get("usage"),
            message.get("stop_reason"),
        )
    told = {name: value_of(members.get(wire)) for name, wire in _WIRE.items()}
    return _Head(**{**told, "message": inner})


_WIRE: Final = {field.name: field.encode_name for field in msgspec.structs.fields(_Head)}


class Record:
    """One line of a log.

    Attributes:
        file: the number of its file among those of a conversation.
        line: the number of its line, from 0.
        index: its place among the records of a conversation.
        size: its bytes.
        number: its number in the account.
        raw: the line.
        is_damaged: whether it is no record.
        type: its type; empty when it has none.
        uuid, parent: its own id in the tree, and that of the record above.
        message_id: of a part of an answer, the answer's id.
        calls, results: the ids of the calls that it holds, and of those it has results of.
        kinds: the types of the blocks of its message.
        noted: what becomes of it at the end of a conversion.
        original: the record that this one is a copy of.
        unflagged_from: the first file that has it without the mark of an error.
    """

    __slots__ = (
        "_blocks",
        "_head",
        "_members",
        "_message",
        "_time",
        "calls",
        "file",
        "index",
        "is_damaged",
        "kinds",
        "line",
        "message_id",
        "noted",
        "number",
        "original",
        "parent",
        "raw",
        "results",
        "size",
        "type",
        "unflagged_from",
        "unknown",
        "uuid",
    )

    def __init__(self, raw: bytes, file: int, line: int) -> None:
        self.file = file
        self.line = line
        self.index = -1
        self.size = len(raw) + 1
        self.number = -1
        self.noted = ""
        self.raw = raw
        self.original: Record | None = None
        self.unflagged_from: int | None = None
        self.unknown: tuple[str, ...] | None = None
        self._message: dict[str, Any] | None = None
        self._blocks: list[Block] | None = None
        self._members: Members | None = None
        self._time: str | None = None
        self.is_damaged = False
        try:
            head = _head(raw) if text.is_utf8(raw) and b"\\u" not in raw else self._slow()
        except _REFUSALS:
            head = self._slow()
        self._head = head
        kind = head.type
        self.type = kind if isinstance(kind, str) else ""
        if self.size > _LONG and is_deep(raw):
            self.type = f"deep {self.type}".strip()
        uuid, parent = head.uuid, head.parent
        self.uuid = uuid if isinstance(uuid, str) else ""
        self.parent = parent if isinstance(parent, str) else ""
        self.message_id = ""
        self.calls: tuple[str, ...] = ()
        self.results: tuple[str, ...] = ()
        self.kinds: tuple[Any, ...] = ()
        message = head.message
        if message is not None and self.type in _SPOKEN:
            self._look_inside(message)
        elif self.type == names.ASSISTANT:
            self.message_id = self.uuid

    def _slow(self) -> _Head:
        members = members_of(self.raw)
        if members is None:
            self.is_damaged = True
            return _Head()
        self._members = members
        self.raw = b"{%b}" % b",".join(
            b"%b:%b" % (text.encode(name), bytes(value)) for name, value in members.items()
        )
        return _exact_head(members)

    def _look_inside(self, message: _Message) -> None:
        if self.type == names.ASSISTANT:
            found = message.id
            self.message_id = found if isinstance(found, str) and found else self.uuid
        content = message.content
        if not isinstance(content, list):
            return
        self.kinds = tuple(block.type for block in content)
        if "tool_use" in self.kinds:
            self.calls = tuple(
                block.id
                for block in content
                if block.type == "tool_use" and isinstance(block.id, str) and block.id
            )
        if "tool_result" in self.kinds:
            self.results = tuple(
                block.tool_use_id
                for block in content
                if block.type == "tool_result"
                and isinstance(block.tool_use_id, str)
                and block.tool_use_id
            )

    # The tree.

    @property
    def is_tree(self) -> bool:
        """Whether the record stands in a conversation's tree."""
        return bool(self.uuid)

    @property
    def is_sidechain(self) -> bool:
        """Whether it belongs to a sub-agent."""
        return self._head.sidechain is True

    @property
    def is_answer(self) -> bool:
        """Whether it is a part of a model's answer, or stands for one."""
        return self.type == names.ASSISTANT

    @property
    def is_synthetic(self) -> bool:
        """Whether the program made the answer up."""
        message = self._head.message
        return self.is_answer and message is not None and message.model == names.SYNTHETIC

    @property
    def is_error(self) -> bool:
        """Whether it stands for an answer that the program reported a failure with."""
        return self.is_answer and self._head.error is True

    @property
    def is_meta(self) -> bool:
        """Whether the program wrote a user's message."""
        return self._head.meta is True

    @property
    def is_summary(self) -> bool:
        """Whether it holds the summary of a compaction."""
        return self._head.summary is True

    @property
    def is_shown_only(self) -> bool:
        """Whether it is marked as shown and not sent."""
        return self._head.shown is True and not self.is_summary

    @property
    def is_boundary(self) -> bool:
        """Whether a compaction begins the history anew here."""
        return self.type == names.SYSTEM and self._head.subtype == "compact_boundary"

    @property
    def is_local_command(self) -> bool:
        """Whether it is the output of a command that the program ran by itself."""
        return self.type == names.SYSTEM and self._head.subtype == "local_command"

    # Members.

    @property
    def members(self) -> Members:
        """Its members as JSON text; none when it is damaged."""
        if self._members is None:
            try:
                self._members = {} if self.is_damaged else _members(self.raw)
            except _REFUSALS:
                self._members = members_of(self.raw) or {}
        return self._members

    def get(self, name: str) -> Any:
        """Return a member's JSON text, ``None`` when there is none."""
        return self.members.get(name)

    def text(self, name: str) -> str:
        """Return a member that is a string; empty for anything else."""
        return text_of(self.get(name))

    def value(self, name: str) -> Any:
        """Return a member's value, ``None`` when there is none."""
        return value_of(self.get(name))

    @property
    def version(self) -> str:
        """The release that wrote it; empty when it does not say."""
        found = self._head.version
        return found if isinstance(found, str) else ""

    @property
    def cwd(self) -> str:
        """The working directory; empty when it does not say."""
        found = self._head.cwd
        return found if isinstance(found, str) else ""

    @property
    def branch(self) -> str:
        """The git branch; empty when it does not say."""
        found = self._head.branch
        return found if isinstance(found, str) else ""

    @property
    def request(self) -> str:
        """The id of the logged request that it answers; empty for none."""
        found = self._head.request
        return found if isinstance(found, str) else ""

    @property
    def usage(self) -> Any:
        """What the message says of its tokens."""
        return self._head.message.usage if self._head.message is not None else None

    @property
    def stop_reason(self) -> Any:
        """Why the answer ended; ``None`` when it had not."""
        return self._head.message.stop_reason if self._head.message is not None else None

    @property
    def message(self) -> dict[str, Any]:
        """The message; empty when there is none."""
        if self._message is None:
            value = self.value("message")
            self._message = value if isinstance(value, dict) else {}
        return self._message

    @property
    def blocks(self) -> list[Block]:
        """The content of the message, without what storage adds."""
        if self._blocks is None:
            self._blocks = content_blocks(self.message.get("content"))
        return self._blocks

    def forget(self) -> None:
        """Let go of what was decoded; it is decoded again when it is asked for."""
        self._message = None
        self._blocks = None
        self._members = None

    @property
    def model(self) -> str:
        """The model that answered; empty when no model did."""
        message = self._head.message
        found = message.model if message is not None else None
        return found if isinstance(found, str) and found != names.SYNTHETIC else ""

    @property
    def time(self) -> str:
        """When it was written, as the format writes it; empty for no time that can be."""
        if self._time is None:
            self._time = self._read_time()
        return self._time

    def _read_time(self) -> str:
        written = self._head.timestamp
        if not isinstance(written, str) or not _FIRST <= written[:4] < _LAST:
            return ""
        try:
            if _STAMP.fullmatch(written) is not None and datetime.fromisoformat(written):
                return written
            return Timestamp.parse(written).text
        except ValueError:
            return ""

    @property
    def nanoseconds(self) -> int | None:
        """When it was written, in nanoseconds since the epoch."""
        written = self.time
        return Timestamp.parse(written).nanoseconds if written else None

    @property
    def where(self) -> str:
        """A name of the record for people: its id, or its line."""
        return self.uuid or f"line {self.line + 1}"

    def says(self, other: Record) -> bool:
        """Return whether another record has the same type and content."""
        return self.type == other.type and self.blocks == other.blocks

    def beside(self, left_out: frozenset[str] = names.ENVELOPE) -> bytes:
        """Return the members that an entry does not say in its own words, as JSON text."""
        kept = []
        unknown = []
        members = self.members
        for name, raw in members.items():
            if name not in left_out:
                kept.append(b"%b:%b" % (_spelled(name), bytes(raw)))
                if name not in names.MEMBERS:
                    unknown.append(name)
        self.unknown = tuple(unknown)
        return b"{%b}" % b",".join(kept) if kept else b""

    def unknown_members(self) -> tuple[str, ...]:
        """Return the names of members that no known release writes."""
        if self.type not in names.TREE:
            return ()
        if self.unknown is None:
            self.unknown = tuple(name for name in self.members if name not in names.MEMBERS)
        return self.unknown


_NAMES: Final = {name: text.encode(name) for name in names.MEMBERS}


def _spelled(name: str) -> bytes:
    return _NAMES.get(name) or text.encode(name)
