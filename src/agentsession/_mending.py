"""Records that a reader refuses, made readable without losing what they say.

A mended record keeps every member it had. What had to be replaced stands beside it under
the name of the member with ``salvaged_`` before it; what cannot be an entry stands whole
in a custom entry of the name space ``agentsession:salvage``.

Spec: design "Damage is data", format 2.1 and 7.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final, NamedTuple

from agentsession import damage, text, timestamp, versions
from agentsession.codec import ENTRY_TYPES, Undecodable, decode_entry, is_extension
from agentsession.entries import ENVELOPE
from agentsession.errors import UnsupportedFormat
from agentsession.header import Header
from agentsession.members import Version, join_members

NAMESPACE: Final = "agentsession:salvage"
"""The name space of the custom entries that hold what is no entry."""

MARK: Final = "salvaged_"
"""Stands before the name of a member that keeps what a file said."""

EPOCH: Final = "1970-01-01T00:00:00Z"
"""The time of what has none, where no time is known at all."""

_HEADER: Final = ("type", "format", "id", "created_at", "payload")
_LEAP_SECOND: Final = re.compile(r"(:[0-5][0-9]:)60")
_REPLACED: Final = re.compile("[\udc80-\udcff]")


def string(member_text: bytes | None) -> str:
    """Return the string a member's text holds; empty for any other type."""
    if member_text is None or not member_text.startswith(b'"'):
        return ""
    value = text.parse(member_text)
    return value if isinstance(value, str) else ""


def as_utf8(line: bytes) -> tuple[bytes, int]:
    """Return a line with U+FFFD for each byte that is not UTF-8, and how many there were."""
    decoded = line.decode("utf-8", "surrogateescape")
    replaced, count = _REPLACED.subn("\N{REPLACEMENT CHARACTER}", decoded)
    return replaced.encode(), count


def remade(line: bytes, changes: Mapping[str, bytes]) -> bytes:
    """Return an entry's line with other members, what they replace kept beside them."""
    return _joined(text.split_members(line), changes, ENVELOPE)


def _joined(
    members: Mapping[str, bytes], changes: Mapping[str, bytes], first: tuple[str, ...]
) -> bytes:
    merged = {**members, **changes}
    texts = {name: merged.pop(name) for name in first if name in merged}
    texts.update(merged)
    for name in changes:
        if name in members:
            # The first salvage of a file knew best what the file said.
            texts.setdefault(MARK + name, members[name])
    return join_members(texts)


def lost_references(
    line: bytes, version: Version, session_id: str, earlier: Container[str]
) -> tuple[bytes, tuple[str, ...]]:
    """Return an entry's ``parents`` without those that cannot stand, and the ids of these.

    Args:
        line: the entry's line.
        version: the format version of the file.
        session_id: the id of the session.
        earlier: the ids of the entries before it.

    Spec: later drafts 6.
    """
    entry = decode_entry(line, version)
    references = text.split_elements(entry.text_of("parents") or b"[]") if entry.parents else []
    kept: list[bytes] = []
    lost: list[str] = []
    seen = {("", entry.parent)}
    for spelled, reference in zip(references, entry.parents, strict=True):
        session = "" if reference.session == session_id else reference.session
        known = bool(session) or reference.entry in earlier
        if known and (session, reference.entry) not in seen:
            kept.append(spelled)
            seen.add((session, reference.entry))
        else:
            lost.append(reference.entry)
    return b"[" + b",".join(kept) + b"]", tuple(lost)


def mended_time(found: str) -> str:
    """Return a time the format reads for one it refuses; empty when none can be told.

    >>> mended_time("2016-12-31 23:59:60z")
    '2016-12-31T23:59:59Z'
    """
    upper = found.strip().upper().replace(",", ".")
    spelled = upper[:10] + upper[10:].replace(" ", "T", 1)
    for candidate in (found, spelled, _LEAP_SECOND.sub(r"\g<1>59", spelled)):
        if timestamp.valid(candidate):
            return candidate
    return ""


class Mended(NamedTuple):
    """An entry made readable.

    Attributes:
        line: its line.
        id, parent: as in the line.
        problems: the codes of what was wrong, with the middle of a sentence.
    """

    line: bytes
    id: str
    parent: str | None
    problems: tuple[tuple[str, str], ...]


class Mender:
    """Makes entries of objects that are none, or are refused.

    Args:
        version: the format version of the file.
        fresh_id: gives an unused id for a text, the same for the same file.
        time: the time of what has none and stands before every entry.

    Attributes:
        previous: the id of the entry before, which what has no parent goes under.
        time: the time of the entry before.
    """

    def __init__(self, version: Version, fresh_id: Callable[[bytes], str], time: str) -> None:
        self.version = version
        self.previous: str | None = None
        self.time = time
        self._fresh_id = fresh_id

    def mend(self, raw: bytes) -> Mended | None:
        """Return the entry for the text of an object; ``None`` when it has no members."""
        members = text.split_members(raw)
        if not members:
            return None
        if string(members.get("type")) == "session":
            header_id = string(members.get("id"))
            problem = f'a second header (session "{header_id}") starts here; split the file there'
            return self._wrapped(raw, {}, ((damage.SECOND_HEADER, problem),))
        if not self._is_entry(members):
            problem = "the object is no entry: " + self._refusal(raw)
            return self._wrapped(raw, members, ((damage.NOT_AN_ENTRY, problem),))
        changes, problems = self._envelope(raw, members)
        line = _joined(members, changes, ENVELOPE) if changes else raw
        try:
            entry = decode_entry(line, self.version)
        except Undecodable as refusal:
            found = (*problems, (damage.REFUSED_ENTRY, str(refusal)))
            return self._wrapped(raw, members, found)
        return Mended(line, entry.id, entry.parent, tuple(problems))

    def _refusal(self, raw: bytes) -> str:
        try:
            decode_entry(raw, self.version)
        except Undecodable as refusal:
            return str(refusal)
        return "it has no place"

    @staticmethod
    def _is_entry(members: Mapping[str, bytes]) -> bool:
        entry_type = string(members.get("type"))
        if entry_type in ENTRY_TYPES or is_extension(entry_type):
            return True
        has_time = bool(mended_time(string(members.get("ts"))))
        return bool(entry_type and string(members.get("id")) and has_time)

    def _envelope(
        self, raw: bytes, members: Mapping[str, bytes]
    ) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
        changes: dict[str, bytes] = {}
        problems: list[tuple[str, str]] = []
        entry_type = string(members["type"])
        if not string(members.get("id")):
            changes["id"] = text.encode(self._fresh_id(raw))
            problems.append((damage.NO_ID, f"the {entry_type} entry has no id"))
        found = string(members.get("ts"))
        if not timestamp.valid(found):
            changes["ts"] = text.encode(mended_time(found) or self.time)
            problems.append((damage.BAD_TIME, _time_problem(entry_type, found)))
        parent = members.get("parent", b"null")
        if parent != b"null" and not parent.startswith(b'"'):
            changes["parent"] = b"null"
            problems.append((damage.LOST_PARENT, f"the {entry_type} entry's parent is no id"))
        return changes, problems

    def _wrapped(
        self,
        raw: bytes,
        members: Mapping[str, bytes],
        problems: tuple[tuple[str, str], ...],
    ) -> Mended:
        """Return the custom entry that stands for an object, in its place where it has one."""
        entry_id = string(members.get("id")) or self._fresh_id(raw)
        parent = string(members.get("parent")) or self.previous
        if members.get("parent") in (b"null", b'""'):
            parent = None
        texts = {
            "type": b'"custom"',
            "id": text.encode(entry_id),
            "parent": text.encode(parent),
            "ts": text.encode(mended_time(string(members.get("ts"))) or self.time),
            "ns": text.encode(NAMESPACE),
        }
        line = join_members({**texts, "data": raw})
        try:
            decode_entry(line, self.version)
        except Undecodable:
            # One level deeper than may be read: its text is kept as a string.
            line = join_members({**texts, "data": text.encode(raw.decode("utf-8", "replace"))})
        return Mended(line, entry_id, parent, problems)


def _time_problem(entry_type: str, found: str) -> str:
    if not found:
        return f"the {entry_type} entry has no time"
    return f'the {entry_type} entry\'s time "{found[:40]}" cannot be read'


def mended_header(
    members: Mapping[str, bytes],
    *,
    id: str,  # noqa: A002
    created_at: str,
    allow_newer: bool,
) -> tuple[bytes, list[str]]:
    """Return the line of a header that reads, and what was mended beside its format.

    Args:
        members: what there is of the header.
        id: its id when it has none.
        created_at: its time when it has none.
        allow_newer: whether a minor version that is not known stays.
    """
    changes = {"type": b'"session"'} if string(members.get("type")) != "session" else {}
    problems: list[str] = []
    version, unsupported = header_version(members, allow_newer=allow_newer)
    if unsupported:
        changes["format"] = text.encode(versions.format_name(version))
    if not string(members.get("id")):
        changes["id"] = text.encode(id)
        problems.append("it has no id")
    found = string(members.get("created_at"))
    if not timestamp.valid(found):
        changes["created_at"] = text.encode(mended_time(found) or created_at)
        refused = f'its created_at "{found[:40]}" cannot be read'
        problems.append(refused if found else "it has no created_at")
    payload = string(members.get("payload"))
    if not payload.startswith(versions.PAYLOAD_PREFIX):
        changes["payload"] = text.encode(versions.PAYLOAD)
        refused = f'its payload "{payload[:40]}" is not known'
        problems.append(refused if payload else "it has no payload")
    for wire, problem in _wrong_types(members, version):
        if wire not in changes:
            changes[wire] = b"null"
            problems.append(problem)
    return _joined(members, changes, _HEADER), problems


def lowered_header(line: bytes, format_name: str) -> bytes:
    """Return a header's line under another format, its own kept beside it."""
    return _joined(text.split_members(line), {"format": text.encode(format_name)}, _HEADER)


def header_version(members: Mapping[str, bytes], *, allow_newer: bool) -> tuple[Version, str]:
    """Return the version to read a file as, and why its own is not read here."""
    try:
        found = string(members.get("format"))
        return versions.check_readable(found, allow_newer=allow_newer), ""
    except UnsupportedFormat as refusal:
        return versions.NEWEST_SHORT, str(refusal)


def _wrong_types(members: Mapping[str, bytes], version: Version) -> Iterator[tuple[str, str]]:
    for wire, member in Header.MEMBERS.items():
        problem = member.problem(members.get(wire))
        if problem and member.since <= version:
            yield wire, f"its {problem}"
