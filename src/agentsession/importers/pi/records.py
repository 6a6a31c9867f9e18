"""pi's records as its files have them: lines read one by one, nothing interpreted.

Spec: pi 1 to 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._regular import open_regular
from agentsession._scan import may_be_too_deep
from agentsession.errors import NotJSON
from agentsession.importers.holding import held
from agentsession.importers.pi.lines import MARK, lines_of

_HUGE: Final = re.compile(rb"[0-9]{300}|[eE]\+?[0-9]{3}")
_ZEROS: Final = b"0" * 300
_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_DEEP: Final = 9_000

_decode: Final = msgspec.json.Decoder().decode

HEADER: Final = "session"
MESSAGE: Final = "message"
MODEL_CHANGE: Final = "model_change"
LEVEL_CHANGE: Final = "thinking_level_change"
COMPACTION: Final = "compaction"
BRANCH_SUMMARY: Final = "branch_summary"
CUSTOM_MESSAGE: Final = "custom_message"
CUSTOM: Final = "custom"
LABEL: Final = "label"
SESSION_INFO: Final = "session_info"
CONTEXT_EDIT: Final = "context_edit"
USAGE: Final = "usage"

TYPES: Final = frozenset(
    {
        HEADER,
        MESSAGE,
        MODEL_CHANGE,
        LEVEL_CHANGE,
        COMPACTION,
        BRANCH_SUMMARY,
        CUSTOM_MESSAGE,
        CUSTOM,
        LABEL,
        SESSION_INFO,
        CONTEXT_EDIT,
        USAGE,
    }
)
"""The types pi writes."""

USER: Final = "user"
ASSISTANT: Final = "assistant"
RESULT: Final = "toolResult"
BASH: Final = "bashExecution"
SYSTEM: Final = "system"
CUSTOM_ROLE: Final = "custom"
HOOK_ROLE: Final = "hookMessage"

ROLES: Final = frozenset({USER, ASSISTANT, RESULT, BASH, SYSTEM, CUSTOM_ROLE, HOOK_ROLE})
"""The roles pi gives messages."""


@dataclass(slots=True)
class Record:
    """One line of a session's file.

    Attributes:
        line: its number, from 1.
        size: how many bytes it has, its line end included.
        value: the object; empty when it cannot be read.
        readable: whether it is an object.
        changed: whether values in it that no entry can hold were replaced.
        type: its type; empty when it has none.
        id: its id as pi gave it; empty when it has none.
        timestamp: when it was written, as pi spells it; empty when it does not say.
        message: the message; empty when it has none.
        role: the message's role; empty for what is no message.
    """

    line: int
    size: int
    value: dict[str, Any] = field(default_factory=dict)
    readable: bool = True
    changed: bool = False
    type: str = field(init=False)
    id: str = field(init=False)
    timestamp: str = field(init=False)
    message: dict[str, Any] = field(init=False)
    role: str = field(init=False)

    def __post_init__(self) -> None:
        value = self.value
        self.type = string(value.get("type"))
        self.id = string(value.get("id"))
        self.timestamp = string(value.get("timestamp"))
        self.message = mapping(value.get("message"))
        self.role = string(self.message.get("role")) if self.type == MESSAGE else ""

    @property
    def parent(self) -> str | None:
        """The id of the entry above; empty for a root, ``None`` when nothing is said."""
        if "parentId" not in self.value:
            return None
        return string(self.value["parentId"])

    @property
    def kind(self) -> str:
        """What kind of record, for people."""
        if not self.readable:
            return "line"
        return f"{self.type} {self.role}".strip() or "record"

    @property
    def is_known(self) -> bool:
        """Whether pi writes records of this type, and messages of this role."""
        return self.type in TYPES and (self.type != MESSAGE or self.role in ROLES)

    @property
    def is_first_version(self) -> bool:
        """Whether a release wrote it that gave entries no id; a later one may have added it.

        An upgrade puts the id behind what was there. Spec: pi 1, 2.
        """
        for name in self.value:
            if name == "id":
                return False
            if name == "timestamp":
                break
        return "timestamp" in self.value


def read(path: str) -> Iterator[Record]:
    """Yield the records of a file in order; blank lines are none.

    Raises:
        OSError: when the file cannot be read.
    """
    with open_regular(path) as file:
        for number, line in lines_of(file):
            yield record_of(number, line)


def record_of(number: int, line: bytes) -> Record:
    """Return the record of a line."""
    given = line.removeprefix(MARK) if number == 1 else line
    try:
        value = _slowly(given) if may_be_too_deep(given) else _decode(given)
        # What this decoder takes has no number beyond any double but an integer.
        huge = _ZEROS in line.translate(_AS_ZEROS)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        value = _slowly(given)
        huge = _HUGE.search(line) is not None
    if not isinstance(value, dict):
        return Record(number, len(line), readable=False)
    if huge or line.count(b"[") + line.count(b"{") > _DEEP:
        value, changed = held(value)
        return Record(number, len(line), value, changed=changed)
    return Record(number, len(line), value)


def _slowly(line: bytes) -> Any:
    try:
        return text.parse(line)
    except NotJSON:
        return None


# Values of any type, read as the kind that is wanted.


def string(value: object) -> str:
    """Return a string, else the empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Return an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of an array, else none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
