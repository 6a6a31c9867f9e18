"""Records: what one line of a Claude Code log says, decoded when it is asked for.

Spec: claude-code 2.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.blocks import Block, content_blocks
from agentsession.importers.claude_code.lines import (
    Members,
    is_deep,
    is_true,
    members_of,
    text_of,
    value_of,
)
from agentsession.timestamp import Timestamp

_FIRST: Final = "2020"
_LAST: Final = "2100"


class Record:
    """One line of a log.

    Attributes:
        file: the number of its file among those of a conversation.
        line: the number of its line, from 0.
        index: its place among the records of a conversation; equal for copies.
        size: its bytes.
        number: its number in the account.
        members: its members as JSON text; ``None`` when the line is damaged.
        type: its type; empty when it has none.
        uuid, parent: its own id in the tree, and that of the record above.
        entries: the entries it went to.
        original: the record that this one is a copy of.
        raw: the line of a record that is damaged.
        unflagged_from: the first file that has it without the mark of an error.
    """

    __slots__ = (
        "_blocks",
        "_calls",
        "_message",
        "_results",
        "entries",
        "file",
        "index",
        "line",
        "members",
        "message_id",
        "number",
        "original",
        "parent",
        "raw",
        "size",
        "type",
        "unflagged_from",
        "uuid",
    )

    def __init__(self, raw: bytes, file: int, line: int) -> None:
        self.file = file
        self.line = line
        self.index = -1
        self.size = len(raw) + 1
        self.number = -1
        self.entries: list[str] = []
        self.original: Record | None = None
        self.unflagged_from: int | None = None
        self.members: Members | None = members_of(raw)
        self._message: dict[str, Any] | None = None
        self._blocks: list[Block] | None = None
        self._calls: tuple[str, ...] | None = None
        self._results: tuple[str, ...] | None = None
        members = self.members or {}
        self.raw = raw if self.members is None else None
        self.type = text_of(members.get("type"))
        if self.members is not None and is_deep(raw):
            self.type = f"deep {self.type}".strip()
        self.uuid = text_of(members.get("uuid"))
        self.parent = text_of(members.get("parentUuid"))
        self.message_id = ""
        if self.type == names.ASSISTANT:
            found = self.message.get("id")
            self.message_id = found if isinstance(found, str) and found else self.uuid

    # The tree.

    @property
    def is_tree(self) -> bool:
        """Whether the record stands in a conversation's tree."""
        return bool(self.uuid)

    @property
    def is_sidechain(self) -> bool:
        """Whether it belongs to a sub-agent."""
        return is_true(self.get("isSidechain"))

    @property
    def is_answer(self) -> bool:
        """Whether it is a part of a model's answer, or stands for one."""
        return self.type == names.ASSISTANT

    @property
    def is_synthetic(self) -> bool:
        """Whether the program made the answer up."""
        return self.is_answer and self.message.get("model") == names.SYNTHETIC

    @property
    def is_error(self) -> bool:
        """Whether it stands for an answer that the program reported a failure with."""
        return self.is_answer and is_true(self.get("isApiErrorMessage"))

    @property
    def is_meta(self) -> bool:
        """Whether the program wrote a user's message."""
        return is_true(self.get("isMeta"))

    @property
    def is_summary(self) -> bool:
        """Whether it holds the summary of a compaction."""
        return is_true(self.get("isCompactSummary"))

    @property
    def is_shown_only(self) -> bool:
        """Whether it is marked as shown and not sent."""
        return is_true(self.get("isVisibleInTranscriptOnly")) and not self.is_summary

    @property
    def is_boundary(self) -> bool:
        """Whether a compaction begins the history anew here."""
        return self.type == names.SYSTEM and self.text("subtype") == "compact_boundary"

    @property
    def is_local_command(self) -> bool:
        """Whether it is the output of a command that the program ran by itself."""
        return self.type == names.SYSTEM and self.text("subtype") == "local_command"

    # Members.

    def get(self, name: str) -> Any:
        """Return a member's JSON text, ``None`` when there is none."""
        return self.members.get(name) if self.members is not None else None

    def text(self, name: str) -> str:
        """Return a member that is a string; empty for anything else."""
        return text_of(self.get(name))

    def value(self, name: str) -> Any:
        """Return a member's value, ``None`` when there is none."""
        return value_of(self.get(name))

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

    @property
    def model(self) -> str:
        """The model that answered; empty when no model did."""
        found = self.message.get("model")
        return found if isinstance(found, str) and found != names.SYNTHETIC else ""

    @property
    def results(self) -> tuple[str, ...]:
        """The ids of the calls whose results the record holds."""
        if self._results is None:
            self._results = _ids(self.blocks, "tool_result", "tool_use_id")
        return self._results

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of the calls that the record holds."""
        if self._calls is None:
            self._calls = _ids(self.blocks, "tool_use", "id")
        return self._calls

    @property
    def time(self) -> Timestamp | None:
        """When it was written; ``None`` for no time, or one that cannot be."""
        written = self.text("timestamp")
        if not _FIRST <= written[:4] < _LAST:
            return None
        try:
            return Timestamp.parse(written)
        except ValueError:
            return None

    @property
    def where(self) -> str:
        """A name of the record for people: its id, or its line."""
        return self.uuid or f"line {self.line + 1}"

    def content_digest(self) -> bytes:
        """Return what tells the content of copies apart from other content."""
        blocks = content_blocks(self.message.get("content"))
        return hashlib.sha256(text.encode([self.type, blocks])).digest()

    def beside(self, left_out: frozenset[str] = names.ENVELOPE) -> bytes:
        """Return the members that an entry does not say in its own words, as JSON text."""
        if self.members is None:
            return b""
        kept = [
            b"%b:%b" % (text.encode(name), bytes(raw))
            for name, raw in self.members.items()
            if name not in left_out
        ]
        return b"{%b}" % b",".join(kept) if kept else b""

    def unknown_members(self) -> list[str]:
        """Return the names of members that no known release writes."""
        if self.members is None or self.type not in names.TREE:
            return []
        return [name for name in self.members if name not in names.MEMBERS]


def _ids(blocks: list[Block], kind: str, member: str) -> tuple[str, ...]:
    found = (block.get(member) for block in blocks if block.get("type") == kind)
    return tuple(name for name in found if isinstance(name, str) and name)
