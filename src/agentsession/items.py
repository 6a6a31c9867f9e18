"""Items: the Open Responses payloads of a session, kept as the text they arrived in.

Spec: format 5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import repeat
from typing import Any

import msgspec

from agentsession import payload, text

KNOWN_ITEM_TYPES = frozenset(
    {
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "compaction",
        "item_reference",
    }
)


class _TextInLine(msgspec.Struct, gc=False):
    item: msgspec.Raw


class _ValueInLine(msgspec.Struct, gc=False):
    item: Any


_decode_text = msgspec.json.Decoder(_TextInLine).decode
_decode_value = msgspec.json.Decoder(_ValueInLine).decode
_REFUSALS = (msgspec.DecodeError, RecursionError, ValueError)


def _text_in(line: bytes) -> bytes:
    """The text of the item in an entry's line."""
    try:
        return bytes(_decode_text(line).item)
    except _REFUSALS:
        return text.split_members(line).get("item", b"{}")


def _members_in(line: bytes) -> dict[str, Any] | None:
    """The members of the item in an entry's line; ``None`` to parse its text exactly."""
    if len(line) > text.MAX_DEPTH and text.may_be_too_deep(line):
        return None
    try:
        found = _decode_value(line).item
    except _REFUSALS:
        return None
    return found if isinstance(found, dict) else None


class Item(Mapping[str, Any]):
    """One item: a read-only mapping over its JSON text, decoded when first asked.

    ``Item(value)`` takes a mapping, JSON text (``str`` or ``bytes``), another item, or a
    model of an SDK. Two items are equal when they are the same JSON value.

    Example:
        >>> item = Item({"type": "message", "role": "user", "content": "Hi"})
        >>> item.type, item.role, item.text
        ('message', 'user', 'Hi')
    """

    __slots__ = ("_line", "_members", "_text")

    _line: bytes | None
    _members: dict[str, Any] | None
    _text: bytes | None

    def __init__(self, value: object) -> None:
        self._line = None
        self._members = None
        self._text = payload.encoded_object(value, "an item")

    @classmethod
    def from_text(cls, json_text: bytes) -> Item:
        """Return the item of JSON text known to be an object; nothing is checked or decoded."""
        item = cls.__new__(cls)
        item._line = None
        item._members = None
        item._text = json_text
        return item

    @classmethod
    def from_line(cls, line: bytes) -> Item:
        """Return the item of an item entry's line that was checked; nothing is decoded yet."""
        return cls.from_lines([line])[0]

    @classmethod
    def from_lines(cls, lines: Collection[bytes]) -> list[Item]:
        """Return the items of many lines, as :meth:`from_line`."""
        items = list(map(cls.__new__, repeat(cls, len(lines))))
        for item, line in zip(items, lines, strict=True):
            item._line = line
            item._members = item._text = None
        return items

    @property
    def json_text(self) -> bytes:
        """The item's JSON text, as it is spelled where it was read."""
        found = self._text
        if found is None:
            line = self._line
            # Another thread may have been here: it sets the text before it forgets the line.
            found = self._text if line is None else _text_in(line)
            self._text = found
            self._line = None
        return found or b"{}"

    def to_dict(self) -> dict[str, Any]:
        """Return the item as new plain Python values, free to be changed."""
        value = text.parse(self.json_text)
        return value if isinstance(value, dict) else {}

    def _decoded(self) -> dict[str, Any]:
        found = self._members
        if found is None:
            line = self._line
            found = None if line is None else _members_in(line)
            found = self._members = self.to_dict() if found is None else found
        return found

    def __getitem__(self, name: str) -> Any:
        return self._decoded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Item):
            return self.json_text == other.json_text or text.equal(self.json_text, other.json_text)
        if isinstance(other, Mapping):
            return self._decoded() == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.type, self.id, self.call_id))

    def __repr__(self) -> str:
        shown = (
            self.json_text if len(self.json_text) <= 80 else self.json_text[:79] + b"\xe2\x80\xa6"
        )
        return f"Item({shown.decode('utf-8', 'replace')})"

    def _string(self, name: str) -> str:
        value = self._decoded().get(name)
        return value if isinstance(value, str) else ""

    @property
    def type(self) -> str:
        """The item's type; empty when it has none."""
        members = self._members
        value = (self._decoded() if members is None else members).get("type")
        return value if isinstance(value, str) else ""

    @property
    def id(self) -> str:
        """The provider's id of the item; empty when it has none."""
        return self._string("id")

    @property
    def status(self) -> str:
        """The item's status; empty when it has none."""
        return self._string("status")

    @property
    def role(self) -> str:
        """The role of a message; empty for other items."""
        return self._string("role")

    @property
    def call_id(self) -> str:
        """The id that ties a function call to its output; empty for other items."""
        return self._string("call_id")

    @property
    def name(self) -> str:
        """The name of the function called; empty for other items."""
        return self._string("name")

    @property
    def arguments(self) -> str:
        """The arguments of a function call, the JSON string as the model wrote it."""
        return self._string("arguments")

    @property
    def output(self) -> Any:
        """What a function call returned: a string or a list of parts; ``None`` for other items."""
        return self._decoded().get("output")

    @property
    def text(self) -> str:
        """The text of the item: its parts' texts one after the other, or its string output."""
        members = self._decoded()
        for name in ("content", "output", "summary"):
            found = parts_text(members.get(name))
            if found:
                return found
        return ""

    @property
    def is_known(self) -> bool:
        """Whether the type is one of the payload profile's own."""
        return self.type in KNOWN_ITEM_TYPES


def parts_text(value: object) -> str:
    """Return the text in a content value: the string itself, or its parts' texts joined."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = []
    for part in value:
        if isinstance(part, dict):
            found = part.get("text", part.get("refusal"))
            if isinstance(found, str):
                texts.append(found)
    return "".join(texts)


def part_types(value: object) -> list[str]:
    """Return the types of the parts in a content value, in order."""
    if not isinstance(value, list):
        return []
    return [str(part.get("type", "")) for part in value if isinstance(part, dict)]


def tool_name(tool: object) -> str:
    """Return the name of a tool: its string member ``name``, else an empty string.

    Spec: format 5.2.
    """
    if not isinstance(tool, Mapping):
        return ""
    name = tool.get("name")
    return name if isinstance(name, str) else ""
