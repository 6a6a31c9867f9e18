"""Records: what one line of a Claude Code log says, decoded when it is asked for.

Spec: claude-code 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.blocks import Block, content_blocks
from agentsession.importers.claude_code.fitting import blocks_fit
from agentsession.importers.claude_code.heads import (
    NOTHING,
    CallBlock,
    Head,
    ResultBlock,
    escapes,
    exact_head,
    fast_head,
)
from agentsession.importers.claude_code.lines import (
    REFUSALS,
    Members,
    agent_in,
    is_deep,
    members_of,
    split_tail,
    text_of,
    value_of,
)
from agentsession.importers.claude_code.parting import misfits, parted
from agentsession.importers.claude_code.stamps import time_of
from agentsession.timestamp import Timestamp

if TYPE_CHECKING:
    from agentsession.importers.claude_code.transcript import Answer

_LONG: Final = 800
_SPOKEN: Final = frozenset({names.USER, names.ASSISTANT})

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Record:
    """One line of a log.

    Args:
        raw: the line.
        file, line: where it stands.
        plain: its head, where that was decoded before.

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
        time: when it was written, as the format writes it; empty for no time that can be.
        version, cwd, branch: the release that wrote it, and where; empty when it does not say.
        request: the id of the logged request that it answers; empty for none.
        subtype: of a system record, what it tells of.
        is_odd: whether its message may hold what no release writes.
        is_plain: whether its strings are spelled as the format does; see :func:`escapes`.
        is_tree: whether it stands in a conversation's tree.
        is_sidechain: whether it belongs to a sub-agent.
        is_answer: whether it is a part of a model's answer, or stands for one.
        is_synthetic: whether the program made the answer up.
        is_cut: whether the answer that it is a part of was cut short.
        is_error: whether it stands for an answer that the program reported a failure with.
        is_meta: whether the program wrote a user's message.
        is_summary: whether it holds the summary of a compaction.
        is_shown_only: whether it is marked as shown and not sent.
        is_boundary: whether a compaction begins the history anew here.
        is_local_command: whether it is the output of a command that the program ran by itself.
        model: the model that answered; empty when no model did.
        role, stop_reason: what the message says of them.
        content: the blocks of its message, or its words; ``None`` for neither.
        message_id: of a part of an answer, the answer's id.
        calls, results: the ids of the calls that it holds, and of those it has results of.
        kinds: the types of the blocks of its message.
        agent: the id of the agent that it has the result of.
        noted: what becomes of it at the end of a conversion.
        original: the record that this one is a copy of.
        above: the record that it stands below, as the transcript finds it.
        answer: the answer that it is a part of; ``None`` for others, and for copies.
        unflagged_from: the first file that has it without the mark of an error.
    """

    __slots__ = (
        "_blocks",
        "_members",
        "_message",
        "_usage",
        "above",
        "agent",
        "answer",
        "branch",
        "calls",
        "content",
        "cwd",
        "file",
        "index",
        "is_answer",
        "is_boundary",
        "is_cut",
        "is_damaged",
        "is_error",
        "is_local_command",
        "is_meta",
        "is_odd",
        "is_plain",
        "is_shown_only",
        "is_sidechain",
        "is_summary",
        "is_synthetic",
        "is_tree",
        "kinds",
        "line",
        "message_id",
        "model",
        "noted",
        "number",
        "original",
        "parent",
        "raw",
        "request",
        "results",
        "role",
        "size",
        "stop_reason",
        "subtype",
        "time",
        "type",
        "unflagged_from",
        "unknown",
        "uuid",
        "version",
    )

    def __init__(self, raw: bytes, file: int, line: int, plain: Head | None = None) -> None:
        self.file = file
        self.line = line
        self.index = -1
        self.size = len(raw) + 1
        self.number = -1
        self.noted = ""
        self.raw = raw
        self.original: Record | None = None
        self.above: Record | None = None
        self.answer: Answer | None = None
        self.unflagged_from: int | None = None
        self.unknown: tuple[str, ...] | None = None
        self._message: dict[str, Any] | None = None
        self._blocks: list[Block] | None = None
        self._members: Members | None = None
        self._usage: Any = None
        self.is_damaged = False
        head = self._read(raw, plain)
        self.is_odd = head.__class__ is not Head
        self.type = intern(head.type or "")
        if self.size > _LONG and is_deep(raw):
            self.type = f"deep {self.type}".strip()
            self.is_plain = False
        self._place(head)
        self._say(head)

    def _read(self, raw: bytes, plain: Head | None) -> Head:
        needs_exact, self.is_plain = escapes(raw)
        if not needs_exact and (raw.isascii() or text.is_utf8(raw)):
            try:
                return plain or fast_head(raw)
            except REFUSALS:
                pass
        self.is_plain = False
        members = members_of(raw)
        if members is None:
            self.is_damaged = True
            return Head()
        self._members = members
        self.raw = b"{%b}" % b",".join(
            b"%b:%b" % (text.encode(name), bytes(value)) for name, value in members.items()
        )
        head, self._usage = exact_head(members)
        return head

    def _place(self, head: Head) -> None:
        """Take in where the record stands, and what surrounded it."""
        kind, subtype = self.type, head.subtype
        self.subtype = intern(subtype) if subtype else ""
        self.uuid = intern(head.uuid or "")
        self.parent = intern(head.parent or "")
        # There are few of these, and many records.
        self.version = intern(head.version or "")
        self.cwd = intern(head.cwd or "")
        self.branch = intern(head.branch or "")
        self.request = head.request or ""
        self.time = time_of(head.timestamp) if head.timestamp else ""
        self.is_tree = bool(self.uuid)
        self.is_sidechain = head.sidechain is True
        self.is_meta = head.meta is True
        self.is_summary = head.summary is True
        self.is_shown_only = head.shown is True and not self.is_summary
        self.is_answer = kind == names.ASSISTANT
        self.is_error = self.is_answer and head.error is True
        self.is_cut = head.aborted is True
        is_system = kind == names.SYSTEM and subtype is not None
        self.is_boundary = is_system and subtype == "compact_boundary"
        self.is_local_command = is_system and subtype == "local_command"

    def _say(self, head: Head) -> None:
        """Take in what its message is."""
        message = head.message
        self.is_synthetic = False
        self.message_id = self.uuid if self.is_answer else ""
        self.model = ""
        self.role: Any = None
        self.content: Any = None
        self.stop_reason: Any = None
        self.calls: tuple[str, ...] = ()
        self.results: tuple[str, ...] = ()
        self.kinds: tuple[Any, ...] = ()
        self.agent = ""
        if message is None:
            return
        model = message.model
        if model is not None:
            if model == names.SYNTHETIC:
                self.is_synthetic = self.is_answer
            else:
                self.model = intern(model)
        self.role = message.role
        stop = message.stop_reason
        self.stop_reason = intern(stop) if type(stop) is str else stop
        if message.usage is not NOTHING:
            self._usage = message.usage
        if self.type not in _SPOKEN:
            return
        if self.is_answer and message.id:
            self.message_id = intern(message.id)
        self.content = content = message.content
        if isinstance(content, list):
            # The blocks are let go of before it is asked what is unknown of them.
            self.is_odd = self.is_odd or not blocks_fit(content)
            self._look_inside(content, head.tool_result)

    def _look_inside(self, content: Sequence[Any], tool_result: object) -> None:
        if len(content) == 1:
            self.kinds = (content[0].type,)
        else:
            self.kinds = tuple([block.type for block in content])
        if CallBlock.type in self.kinds:
            self.calls = tuple(
                [
                    block.id
                    for block in content
                    if block.type == CallBlock.type and isinstance(block.id, str) and block.id
                ]
            )
        if ResultBlock.type in self.kinds:
            self.results = tuple(
                [
                    block.tool_use_id
                    for block in content
                    if block.type == ResultBlock.type
                    and isinstance(block.tool_use_id, str)
                    and block.tool_use_id
                ]
            )
            if tool_result is not None:
                self.agent = agent_in(tool_result)

    # Members.

    @property
    def members(self) -> Members:
        """Its members as JSON text; none when it is damaged."""
        if self._members is None:
            try:
                self._members = {} if self.is_damaged else _members(self.raw)
            except REFUSALS:
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
    def usage(self) -> Any:
        """What the message says of its tokens."""
        found = self._usage
        return value_of(found) if isinstance(found, msgspec.Raw) else found

    @property
    def usage_text(self) -> msgspec.Raw | None:
        """What the message says of its tokens as JSON text; ``None`` where there is no text."""
        found = self._usage
        return found if isinstance(found, msgspec.Raw) else None

    def tells_of_tokens_like(self, other: Record) -> bool:
        """Return whether another record has the same text of its tokens, and ended the same."""
        mine, theirs = self._usage, other._usage
        if not isinstance(mine, msgspec.Raw) or not isinstance(theirs, msgspec.Raw):
            return False
        return self.stop_reason == other.stop_reason and bytes(mine) == bytes(theirs)

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

    def leave(self) -> None:
        """Let go of the records around; it is of no use afterwards."""
        self.original = self.above = self.answer = None

    @property
    def nanoseconds(self) -> int | None:
        """When it was written, in nanoseconds since the epoch."""
        return Timestamp.parse(self.time).nanoseconds if self.time else None

    @property
    def where(self) -> str:
        """A name of the record for people: its id, or its line."""
        return self.uuid or f"line {self.line + 1}"

    def says(self, other: Record) -> bool:
        """Return whether another record has the same type and content."""
        if self.type != other.type or self.calls != other.calls or self.results != other.results:
            return False
        return self.blocks == other.blocks

    def beside(self, left_out: frozenset[str] = names.ENVELOPE) -> bytes:
        """Return the members that an entry does not say in its own words, as JSON text."""
        members = self.members
        told, unknown = parted(tuple(members), left_out)
        self.unknown = misfits(members, unknown) if unknown else ()
        if not told:
            return b""
        parts: list[bytes | msgspec.Raw] = []
        for name, head in told:
            parts += (head, members[name])
        parts.append(b"}")
        return b"".join(parts)

    def unknown_members(self) -> tuple[str, ...]:
        """Return the names of members that no known release writes, or that hold such."""
        if self.type not in names.TREE:
            return ()
        if self.unknown is None:
            self.unknown = misfits(self.members, parted(tuple(self.members), frozenset())[1])
        return self.unknown


def records_of(line: bytes, file: int, number: int, plain: Head | None = None) -> list[Record]:
    """Return the records of a line, of which two can be glued together.

    Args:
        line: the line.
        file: the number of its file.
        number: its number there.
        plain: its head, where that was decoded before.
    """
    record = Record(line, file, number, plain)
    if not record.is_damaged:
        return [record]
    return [Record(part, file, number) for part in split_tail(line)]
