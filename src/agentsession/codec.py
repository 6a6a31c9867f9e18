"""Lines to headers and entries, and back.

Spec: format 2.1, 3, 6 and 7.2.
"""

from __future__ import annotations

import msgspec

from agentsession import text, versions
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.errors import AgentSessionError, DamagedFile, InvalidEntry, NotJSON
from agentsession.header import Header, refuse_later_members
from agentsession.ids import is_content_id
from agentsession.members import Version
from agentsession.record_entries import (
    CustomEntry,
    DecisionEntry,
    DispatchEntry,
    EnvEntry,
    InfoEntry,
    LabelEntry,
    LinkEntry,
    OutcomeEntry,
    QueuedEntry,
    RunEntry,
    UnknownEntry,
)
from agentsession.timestamp import Timestamp, valid

ENTRY_TYPES: dict[str, type[Entry]] = {
    kind.TYPE: kind
    for kind in (
        ItemEntry,
        ResponseEntry,
        ConfigEntry,
        CompactionEntry,
        BranchSummaryEntry,
        RunEntry,
        DispatchEntry,
        DecisionEntry,
        QueuedEntry,
        LabelEntry,
        InfoEntry,
        EnvEntry,
        OutcomeEntry,
        LinkEntry,
        CustomEntry,
    )
}
"""The class of every entry type the format defines, by type."""

_BOM = b"\xef\xbb\xbf"


class Undecodable(AgentSessionError, ValueError):
    """A line that cannot be read; the caller knows where it stands.

    Attributes:
        is_json: whether the line is JSON at all.
    """

    def __init__(self, problem: str, *, is_json: bool = True) -> None:
        super().__init__(problem)
        self.is_json = is_json


class _NoPlace(Undecodable):
    """A line without the id or the time that give an entry its place."""


class WrongID(Undecodable):
    """A line whose id or time no id can commit to (later drafts 3.5).

    Attributes:
        entry_id: the id it has; empty when it has none.
    """

    def __init__(self, problem: str, *, entry_id: str = "") -> None:
        super().__init__(problem)
        self.entry_id = entry_id


class WrongParents(Undecodable):
    """A line whose ``parents`` is no list of references (later drafts 6)."""


def is_extension(entry_type: str) -> bool:
    """Return whether a type is a namespaced extension (format 3.5)."""
    return ":" in entry_type


def decode_header(line: bytes, *, allow_newer: bool = False) -> Header:
    """Return the header of a file's first line.

    Spec: format 2.1.

    Raises:
        UnsupportedFormat: for a format this release does not read.
        Undecodable: for everything else that is not a header.
    """
    quick = _plain_header(line)
    if quick is not None:
        versions.check_readable(quick.format, allow_newer=allow_newer)
        return quick
    try:
        header = Header.from_line(line)
    except NotJSON as error:
        if line.startswith(_BOM):
            raise Undecodable(
                "the file starts with a byte order mark; save it as UTF-8 without one",
                is_json=False,
            ) from error
        raise Undecodable(f"header is not a JSON object: {error}", is_json=False) from error
    texts = header._loaded()
    if header.type != "session" or not header.has("type"):
        found = texts.get("type", b"nothing")[:60].decode("utf-8", "replace")
        raise Undecodable(f'not a session: the first line must have type "session", not {found}')
    version = versions.check_readable(header.format, allow_newer=allow_newer)
    problem = Header.problem(texts, version) or header.invalid()
    if problem:
        raise Undecodable(problem)
    return header


class _PlainHarness(msgspec.Struct):
    name: str | None = None
    version: str | None = None


class _PlainHeader(msgspec.Struct):
    type: str
    format: str
    id: str
    created_at: str
    payload: str
    harness: _PlainHarness | None = None
    records: list[str | None] | None = None
    cwd: str | None = None
    parent_session: str | None = None
    spawned_by: str | None = None
    media: str | None = None
    base: str | None = None
    redacted: bool | None = None


_PLAIN_HEADER = msgspec.json.Decoder(_PlainHeader)


def _plain_header(line: bytes) -> Header | None:
    """The header of a line that certainly is one; None to look at it exactly."""
    try:
        found = _PLAIN_HEADER.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if found.type != "session" or not found.id:
        return None
    if not valid(found.created_at) or not found.payload.startswith(versions.PAYLOAD_PREFIX):
        return None
    return Header.of_values(
        line,
        {
            "type": "session",
            "format": found.format,
            "id": found.id,
            "created": found.created_at,
            "payload": found.payload,
            "cwd": found.cwd or "",
            "parent_session": found.parent_session or "",
        },
    )


def decode_entry(line: bytes, version: Version) -> Entry:
    """Return the entry of one line.

    What a version later than ``version`` defines, an entry type or a member, is read as
    such when it has that form, and is unknown otherwise.

    Spec: format 7.2.

    Raises:
        Undecodable: naming the first rule the line breaks; ``WrongID`` for a missing id, and
            for a time that is none, where ids are hashes.
    """
    try:
        texts = text.split_members(line)
    except NotJSON as error:
        raise _not_an_object(line, error) from error
    try:
        entry_type, entry_id, parent, ts = _envelope(texts)
    except _NoPlace as error:
        if versions.has_content_ids(version):
            raise WrongID(str(error), entry_id=_string(texts.get("id")) or "") from error
        raise
    kind = ENTRY_TYPES.get(entry_type, UnknownEntry)
    entry = kind.from_line(line, entry_type, entry_id, parent, ts, version=version)
    if "parents" in texts and versions.has_convergence(version):
        _check_parents(texts["parents"])
    problem = kind.problem(texts, version) or entry.check()
    if problem:
        if version >= kind.SINCE:
            raise Undecodable(f"{entry_type} entry {entry_id}: {problem}")
        entry = UnknownEntry.from_line(line, entry_type, entry_id, parent, ts, version=version)
    return entry


def _check_parents(member_text: bytes) -> None:
    problem = Entry.parents.problem(member_text)
    if not problem and member_text.startswith(b"[") and b"null" in text.split_elements(member_text):
        problem = "parents must be a list of references"
    if problem:
        raise WrongParents(problem)


def _not_an_object(line: bytes, error: NotJSON) -> Undecodable:
    try:
        text.check(line)
    except NotJSON as syntax:
        return Undecodable(f"not JSON: {syntax}", is_json=False)
    if line.lstrip(b" \t")[:1] != b"{":
        return Undecodable("entry is not a JSON object")
    return Undecodable(f"not JSON: {error}", is_json=False)


def _envelope(texts: dict[str, bytes]) -> tuple[str, str, str | None, str]:
    parent = _string(texts.get("parent"))
    if parent is None:
        raise Undecodable("entry parent must be a string or null")
    ts = _string(texts.get("ts"))
    if ts is None:
        raise _NoPlace("entry ts must be a time")
    instant = None
    if ts:
        try:
            instant = Timestamp.parse(ts)
        except ValueError as error:
            raise _NoPlace(f"entry ts: {error}") from error
    entry_type = _string(texts.get("type"))
    if not entry_type:
        raise Undecodable("entry has no type")
    entry_id = _string(texts.get("id"))
    if not entry_id:
        raise _NoPlace(f"{entry_type} entry has no id")
    if instant is None or instant.is_zero:
        raise _NoPlace(f"{entry_type} entry {entry_id} has no ts")
    return entry_type, entry_id, parent or None, ts


def _string(member_text: bytes | None) -> str | None:
    """The string a member's text holds, empty for null or absent; None for another type."""
    if member_text is None or member_text == b"null":
        return ""
    if not member_text.startswith(b'"'):
        return None
    value = text.parse(member_text)
    return value if isinstance(value, str) else None


def check_appendable(entry: Entry, version: Version) -> None:
    """Refuse an entry that a session of a version must not take.

    Spec: format 8.3 step 1, design decision 7.

    Raises:
        InvalidEntry: saying which rule it breaks.
    """
    if version < entry.SINCE:
        raise InvalidEntry(
            f"a session of {versions.format_name(version)} has no {entry.type} entries; "
            f"they came with {versions.format_name(entry.SINCE)}",
            type=entry.type,
        )
    if type(entry) is UnknownEntry:
        if entry.type in ENTRY_TYPES or entry.type == "session":
            raise InvalidEntry(
                f"{entry.type} is a type of the format; append its own class", type=entry.type
            )
        return
    refuse_later_members(entry, version, f"a {entry.type} entry")
    problem = entry.problem(entry._loaded(), version) or entry.check() or entry.check_append()
    if problem:
        raise InvalidEntry(f"{entry.type} entry: {problem}", type=entry.type)


def marshal_entry(entry: Entry) -> bytes:
    """Return the entry as one JSON line without a line end.

    Spec: format 3 and 6.
    """
    return entry.line


def unmarshal_entry(line: bytes | str) -> Entry:
    """Return the entry of one JSON line.

    A line whose id is a content hash is read as the newest version, any other as the newest
    with short ids. Only the reader of a whole file compares an id with its hash.

    Raises:
        DamagedFile: when the line is not an entry.
    """
    data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else bytes(line)
    try:
        entry = decode_entry(data.strip(b"\r\n"), versions.NEWEST_SHORT)
        if is_content_id(entry.id):
            entry = decode_entry(data.strip(b"\r\n"), versions.NEWEST_HASHED)
    except Undecodable as error:
        raise DamagedFile(str(error)) from error
    return entry
