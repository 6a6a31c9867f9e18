"""What all entries share: the envelope, the text behind it, and the line it is written as.

An entry is an immutable value over its JSON text. One built in Python has neither id nor
time until a session takes it; the session then holds a sealed copy with its line.

Spec: format 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Self, TypedDict

from agentsession import text, versions
from agentsession._held import held_text, may_differ
from agentsession.errors import InvalidEntry
from agentsession.header import refuse_broken_id, timestamp
from agentsession.kinds import OBJECTS, STRING, records
from agentsession.members import (
    Member,
    Record,
    Version,
    following_name,
    needs_no_escape,
    string_text,
)
from agentsession.parts import Reference, Unknown
from agentsession.timestamp import Timestamp

Time = Timestamp | datetime | str | None

ENVELOPE = ("type", "id", "parent", "parents", "ts")

LEAF_LABEL = "leaf"
"""The reserved label that makes a leaf durable (format 8.4)."""


class Envelope(TypedDict, total=False):
    """What the constructor of every entry takes by keyword, beside the members of its type.

    Attributes:
        id: the entry's id; a session gives it one when it has none.
        parent: the id of the entry it goes under; by default the session's leaf.
        ts: when it was written; by default when a session takes it.
        unknown: members no version declares, by name.

    Spec: format 3.
    """

    id: str
    parent: str | None
    ts: Time
    unknown: Unknown


class Entry(Record):
    """One entry. Use the class of its type; this one is what they share.

    The constructors take the members of :class:`Envelope` by keyword too.

    Attributes:
        type: the entry type.
        id: the id; empty before a session took the entry.
        parent: the parent's id; ``None`` for a root, and, before a session took the entry,
            for "below the current leaf".
        version: the format version of the session it was read from or appended to, by whose
            rules it is understood.

    Spec: format 3.
    """

    __slots__ = ("_held", "_line", "_ts", "id", "parent", "type", "version")

    TYPE: ClassVar[str] = ""
    SINCE: ClassVar[Version] = (0, 1)
    CONTEXT: ClassVar[bool] = False
    """Whether an entry of the type contributes an item to a context."""

    type: str
    id: str
    parent: str | None
    version: Version
    _ts: str | None
    _line: bytes | None
    _held: dict[str, tuple[bytes, bytes]] | None

    parents = Member(records(Reference), (), since=(0, 4))
    normalised = Member(OBJECTS, (), since=(0, 5))
    legacy_id = Member(STRING, "", since=(0, 5))

    def _init(
        self,
        members: Mapping[str, Any],
        /,
        *,
        id: str = "",  # noqa: A002
        parent: str | None = None,
        ts: Time = None,
        unknown: Unknown = None,
    ) -> None:
        if unknown:
            for name in ENVELOPE:
                if name in unknown:
                    message = f"{name} belongs to the envelope"
                    raise InvalidEntry(message, type=self.TYPE, member=name)
        if not isinstance(id, str) or not isinstance(parent, (str, type(None))):
            raise InvalidEntry("id and parent must be strings", type=self.TYPE, member="id")
        refuse_broken_id(id)
        self.type = self.TYPE
        self.id = id
        self.parent = parent or None
        self.version = versions.NEWEST_SHORT
        self._ts = timestamp(ts, "ts") or ""
        self._line = None
        self._held = None
        try:
            self._build(members, unknown)
        except InvalidEntry as error:
            raise InvalidEntry(
                f"{self.TYPE} entry: {error}", type=self.TYPE, member=error.member
            ) from error
        if any(map(may_differ, (self._texts or {}).values())):
            self._hold({wire: members.get(member.name) for wire, member in self.MEMBERS.items()})
            self._hold(unknown or {})

    def _hold(self, given: Mapping[str, Any]) -> None:
        """Remember the members whose strings the format's spelling does not hold."""
        for wire, encoded in (self._texts or {}).items():
            held = held_text(given[wire], encoded) if wire in given else None
            if held is not None:
                self._held = {**(self._held or {}), wire: (encoded, held)}

    def held_texts(self) -> dict[str, bytes]:
        """Return the members beside the envelope as their caller held them.

        That is their text, with an escape for each lone surrogate that it replaced.
        """
        texts = dict(self._loaded())
        for wire, (encoded, held) in (self._held or {}).items():
            if texts.get(wire) == encoded:
                texts[wire] = held
        return texts

    @classmethod
    def from_line(
        cls,
        line: bytes,
        entry_type: str,
        id: str,  # noqa: A002
        parent: str | None,
        ts: str | None = None,
        *,
        version: Version = versions.NEWEST_SHORT,
    ) -> Self:
        """Return the entry of a line whose envelope was read; the rest is decoded on demand."""
        entry = cls.__new__(cls)
        entry.type = entry_type
        entry.id = id
        entry.parent = parent
        entry.version = version
        entry._ts = ts
        entry._line = line
        entry._held = None
        entry._texts = None
        entry._values = None
        return entry

    def _load(self) -> dict[str, bytes]:
        members = text.split_members(self._line or b"{}")
        if self._ts is None:
            self._ts = str(text.parse(members["ts"]))
        return {name: value for name, value in members.items() if name not in _UNPARTED}

    @property
    def ts(self) -> Timestamp | None:
        """When the entry was written; ``None`` before a session took it."""
        written = self.ts_text
        return Timestamp.parse(written) if written else None

    @property
    def ts_text(self) -> str:
        """When the entry was written, in the spelling it has; empty before that."""
        if self._ts is None:
            self._loaded()
        return self._ts or ""

    @property
    def is_sealed(self) -> bool:
        """Whether the entry has its place: an id, a time and a line."""
        return self._line is not None

    @property
    def line(self) -> bytes:
        """The entry's line without a line end; for a read one the very bytes that were read."""
        return self._line if self._line is not None else self._encoded_line()

    def _encoded_line(self) -> bytes:
        texts = self._loaded()
        parents = b""
        if "parents" in texts and versions.has_convergence(self.version):
            parents = b',"parents":' + texts["parents"]
            texts = {wire: value for wire, value in texts.items() if wire != "parents"}
        # One join copies a long item once.
        pieces = [self._head(parents)]
        for wire, value in texts.items():
            pieces += (following_name(wire), value)
        pieces.append(b"}")
        return b"".join(pieces)

    def _head(self, parents: bytes) -> bytes:
        """The line up to the time; ``parents`` is the text of that member with its comma."""
        entry_type, entry_id, parent, ts = self.type, self.id, self.parent, self.ts_text
        if not parents and needs_no_escape(f"{entry_type}{entry_id}{parent}{ts}"):
            # So are the words of nearly every envelope, which are looked at together.
            above = "null" if parent is None else f'"{parent}"'
            return (
                f'{{"type":"{entry_type}","id":"{entry_id}","parent":{above},"ts":"{ts}"'.encode()
            )
        return b'{"type":%s,"id":%s,"parent":%s%s,"ts":%s' % (
            string_text(entry_type),
            string_text(entry_id),
            b"null" if parent is None else string_text(parent),
            parents,
            string_text(ts),
        )

    def sealed(
        self,
        id: str,  # noqa: A002
        parent: str | None,
        ts: str,
        version: Version = versions.NEWEST_SHORT,
        texts: Mapping[str, bytes] | None = None,
    ) -> Self:
        """Return the entry with its place in a session and its line encoded.

        The session calls this on append.

        Args:
            id: its id.
            parent: the entry it goes under.
            ts: a time as the format writes it.
            version: the session's format version.
            texts: its members beside the envelope, where they are not as they were.
        """
        entry = self.from_line(b"", self.type, id, parent, ts, version=version)
        entry._texts = self._loaded() if texts is None else dict(texts)
        entry._line = entry._encoded_line()
        return entry

    def converging(self, *parents: Reference) -> Self:
        """Return a copy that also comes from other entries, named by reference (0.4).

        Spec: later drafts 6.
        """
        entry = self.moved(parent=self.parent, id=self.id)
        texts = {wire: value for wire, value in entry._loaded().items() if wire != "parents"}
        if parents:
            texts = {"parents": Entry.parents.encode(parents) or b"[]", **texts}
        entry._texts = texts
        return entry

    def moved(
        self,
        *,
        parent: str | None = None,
        id: str = "",  # noqa: A002
        ts: Time = None,
    ) -> Self:
        """Return a copy that belongs to no session, with another parent, id and time.

        Without ``ts`` the copy keeps the entry's time.
        """
        entry = self.from_line(
            b"", self.type, id, parent or None, timestamp(ts, "ts") or self.ts_text
        )
        entry._texts = dict(self._loaded())
        entry._held = self._held
        entry._line = None
        return entry

    def _with(self, wire: str, member_text: bytes) -> Self:
        """Return a copy in its place, with another text of one declared member."""
        entry = self.moved(parent=self.parent, id=self.id)
        texts = {**entry._loaded(), wire: member_text}
        declared = {name: texts[name] for name in self.MEMBERS if name in texts}
        entry._texts = {**declared, **texts}
        return entry

    @property
    def json_text(self) -> bytes:
        """The entry as JSON text."""
        return self.line

    def to_dict(self) -> dict[str, Any]:
        """Return the whole line as new plain Python values."""
        value = text.parse(self.line)
        return value if isinstance(value, dict) else {}

    def contribution(self) -> Any:
        """Return the item the entry adds to a context, or ``None`` (context 1)."""
        return None

    def check(self) -> str:
        """Return what forbids this entry in any file, or an empty string.

        Covers what the member types alone do not say; applied on append and on read.
        """
        return ""

    def check_append(self) -> str:
        """Return what forbids appending this entry, beside :meth:`check`, or an empty string."""
        return ""


_UNPARTED = frozenset({"type", "id", "parent", "ts"})
