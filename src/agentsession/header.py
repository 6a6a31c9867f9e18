"""The header: the first line of a session.

Spec: format 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agentsession import text, versions
from agentsession._scan import string, tokens
from agentsession.errors import InvalidEntry
from agentsession.ids import new_session_id
from agentsession.kinds import BOOLEAN, STRING, STRINGS, record
from agentsession.members import Member, Record, Version, Written, join_members
from agentsession.parts import Harness, Unknown
from agentsession.timestamp import Timestamp, valid

_LEAP_SECOND = re.compile(r"^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:)60")

MEDIA_INLINE = "inline"
MEDIA_SIDECAR = "sidecar"

ALL_RECORDS = ("run", "dispatch", "decision")
"""The record types a harness that runs the loop itself can promise (format 2.2)."""


class Header(Record):
    """The header of a session. Empty members are filled when a session is created.

    Attributes:
        format: the format version, as the file says it.
        id: the session id.
        payload: the payload profile.
        harness: the writer, or ``None``.
        records: the record entry types the writer promises to write.
        cwd: the working directory at creation.
        parent_session: the session this one was forked or spawned from.
        spawned_by: the parent's call that spawned this one (0.2).
        media: ``inline``, ``sidecar``, or empty for the default, inline.
        base: the entry of another session this one continues from; empty for none (0.5).
        redacted: whether bodies were changed afterwards and all hashes recomputed (0.5).

    Spec: format 2, later drafts 5.
    """

    __slots__ = ("_line",)
    _line: bytes
    type = Member(STRING, "session", written=Written.ALWAYS)
    format = Member(STRING, "")
    id = Member(STRING, "")
    created = Member(STRING, "", wire="created_at")
    payload = Member(STRING, "")
    harness = Member(record(Harness))
    records = Member(STRINGS, (), since=(0, 2))
    cwd = Member(STRING, "")
    parent_session = Member(STRING, "")
    spawned_by = Member(STRING, "", since=(0, 2))
    media = Member(STRING, "")
    base = Member(STRING, "", since=(0, 5))
    redacted = Member(BOOLEAN, default=False, since=(0, 5))

    def __init__(
        self,
        *,
        format: str = "",  # noqa: A002
        id: str = "",  # noqa: A002
        created_at: Timestamp | datetime | str | None = None,
        payload: str = "",
        harness: Harness | None = None,
        records: Sequence[str] = (),
        cwd: str = "",
        parent_session: str = "",
        spawned_by: str = "",
        media: str = "",
        base: str = "",
        redacted: bool = False,
        unknown: Unknown = None,
    ) -> None:
        refuse_broken_id(id)
        self._build(
            {
                "type": "session",
                "format": format,
                "id": id,
                "created": timestamp(created_at, "created_at"),
                "payload": payload,
                "harness": harness,
                "records": records,
                "cwd": cwd,
                "parent_session": parent_session,
                "spawned_by": spawned_by,
                "media": media,
                "base": base,
                "redacted": redacted,
            },
            unknown,
        )

    @classmethod
    def from_line(cls, line: bytes) -> Header:
        """Return the header of a line; nothing but its syntax is checked.

        Raises:
            NotJSON: when the line is not a JSON object.
        """
        header = cls.from_json(line)
        header._line = line
        return header

    @classmethod
    def of_values(cls, line: bytes, values: dict[str, Any]) -> Header:
        """Return the header of a line that was checked, with members that were decoded."""
        header = cls.__new__(cls)
        header._line = line
        header._texts = None
        header._values = values
        return header

    def _load(self) -> dict[str, bytes]:
        return text.split_members(self._line)

    @property
    def created_at(self) -> Timestamp | None:
        """When the session was created; ``None`` on a header that is not filled yet."""
        found = (self._values or {}).get("created_at")
        if isinstance(found, Timestamp):
            return found
        if not self.created:
            return None
        parsed = Timestamp.parse(self.created)
        if self._values is not None:
            self._values["created_at"] = parsed
        return parsed

    @property
    def version(self) -> Version:
        """The major and minor format version.

        Raises:
            UnsupportedFormat: when ``format`` has another form.
        """
        return versions.parse_format(self.format)

    def has_record(self, entry_type: str) -> bool:
        """Return whether the writer promises entries of a type (format 2.2)."""
        return entry_type in self.records

    def filled(self) -> Header:
        """Return the header of a new session: members left empty get their values.

        Spec: format 2.

        Raises:
            UnsupportedFormat: when it asks for a version that is not written here.
            InvalidEntry: when it has a member its version lacks.
        """
        texts = dict(self._loaded())
        given = {
            "type": "session",
            "format": self.format or versions.FORMAT,
            "id": self.id or new_session_id(),
            "created_at": self.created or Timestamp.now().text,
            "payload": self.payload or versions.PAYLOAD,
        }
        version = versions.check_writable(given["format"])
        filled = Header.from_texts({name: text.encode(value) for name, value in given.items()})
        ordered = {**filled._loaded(), **{k: v for k, v in texts.items() if k not in given}}
        refuse_later_members(self, version, "a header")
        header = Header.from_texts(ordered)
        problem = header.invalid()
        if problem:
            raise InvalidEntry(problem, type="session")
        return header

    def invalid(self) -> str:
        """Return what is wrong with the header beside its format, or an empty string.

        Spec: format 2.1, steps 4 to 7.
        """
        if not self.id:
            return "header has no id"
        if not self.created:
            return "header has no created_at"
        if not valid(self.created):
            try:
                Timestamp.parse(self.created)
            except ValueError as error:
                return f"header created_at: {error}"
            return "header has no created_at"
        if not self.payload:
            return "header has no payload"
        if not self.payload.startswith(versions.PAYLOAD_PREFIX):
            return (
                f'header payload "{self.payload}" is not supported: '
                f"expected {versions.PAYLOAD_PREFIX}<version>"
            )
        return ""

    @property
    def line(self) -> bytes:
        """The header's line without a line end; for a read one the very bytes that were read."""
        return getattr(self, "_line", b"") or join_members(self._loaded())


def refuse_broken_id(entry_or_session_id: object) -> None:
    """Refuse an id that JSON text cannot hold, because it would come back as another one.

    Raises:
        InvalidEntry: for an id with half of a surrogate pair.
    """
    if not isinstance(entry_or_session_id, str):
        return
    try:
        entry_or_session_id.encode()
    except UnicodeEncodeError as error:
        raise InvalidEntry(f"an id must be valid Unicode: {error.reason}", member="id") from error


def timestamp(value: Timestamp | datetime | str | None, member: str) -> str | None:
    """Return the text of a time a caller gave, or ``None``.

    Second 60, which the format does not have, becomes 59 (later drafts 3.4).

    Raises:
        InvalidEntry: when it is no time the format can write.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = _LEAP_SECOND.sub(r"\g<1>59", value)
    try:
        return Timestamp.of(value).text
    except ValueError as error:
        raise InvalidEntry(f"{member}: {error}", member=member) from error


def refuse_later_members(record: Record, version: Version, what: str) -> None:
    """Refuse members, at any depth, that a format version does not define.

    Raises:
        InvalidEntry: naming the member and the version that brought it.
    """
    for wire in record._loaded():
        member = record.MEMBERS.get(wire)
        if member is None:
            continue
        if member.since > version:
            raise InvalidEntry(
                f"{what} of {versions.format_name(version)} has no member {wire}; "
                f"it came with {versions.format_name(member.since)}",
                member=wire,
            )
        if not member.kind.nested:
            continue
        value = getattr(record, member.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Record):
                refuse_later_members(part, version, f"{wire} in {what}")


def raised(header: Header, version: Version) -> Header:
    """Return the header with a later version; every other byte of its line stays.

    Spec: later drafts 13.
    """
    line = header.line
    start = end = depth = 0
    name = ""
    for kind, first, last in tokens(line):
        depth += (kind in ("{", "[")) - (kind in ("}", "]"))
        if depth == 1 and kind == "name":
            name = string(line[first:last])
        elif depth == 1 and kind == "string" and name == "format":
            start, end = first, last
    written = text.encode(versions.format_name(version))
    return Header.from_line(line[:start] + written + line[end:])
