"""Many lines at once: the fast way to read, for lines that are as a writer writes them.

:func:`envelopes` reads a block of lines in one pass and says whether every rule of
format 7.2 holds for each of them. Where it cannot say so for certain it gives ``None``,
and the caller reads the block line by line, which is exact and says what is wrong. So
the two ways never differ in what they accept.

Spec: format 7, decision A2.
"""

from __future__ import annotations

import re
from sys import intern
from typing import Any

import msgspec

from agentsession import id_blocks, text, versions
from agentsession.codec import ENTRY_TYPES, Undecodable, decode_entry
from agentsession.members import Version
from agentsession.record_entries import UnknownEntry


class _Object(msgspec.Struct, gc=False):
    """Any JSON object; what is inside is skipped."""


class _Line(msgspec.Struct, gc=False):
    """The envelope, and every member of the types that are checked here."""

    type: str
    id: str
    ts: str
    parent: str | None = None
    item: _Object | None = None
    response: str | None = None
    visible: bool | None = None
    queued_from: str | None = None
    response_id: str | None = None
    model: str | None = None
    status: str | None = None
    usage: _Object | None = None
    incomplete: _Object | None = None
    error: _Object | None = None
    request_hash: str | None = None
    latency_ms: int | None = None
    attempts: int | None = None
    ns: str | None = None
    name: str | None = None
    target: str | None = None
    label: str | None = None
    synthetic: bool | None = None
    rel: str | None = None
    session: str | None = None
    call_id: str | None = None
    legacy_id: str | None = None
    # Present only where the exact way has to look.
    source: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    parents: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    normalised: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Values(_Line, gc=False):
    """The same, of lines that are decoded already."""

    source: Any = msgspec.UNSET
    parents: Any = msgspec.UNSET
    normalised: Any = msgspec.UNSET


_CHECKED_HERE = frozenset({"item", "response", "custom", "info", "label", "link"})
_CHECKED_EXACTLY = frozenset(
    {
        "run",
        "dispatch",
        "decision",
        "queued",
        "config",
        "compaction",
        "branch_summary",
        "env",
        "outcome",
    }
)
_NAMES = {name: intern(name) for name in _CHECKED_HERE | _CHECKED_EXACTLY}
_DECODER = msgspec.json.Decoder(_Line)

# The 29th of February and the years below 1000 are left to the exact way.
_PLAIN_CLOCK = (
    r"[1-9][0-9]{3}-"
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_PLAIN_TIMES = re.compile(
    rf"(?:{_PLAIN_CLOCK}(?:\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])\n)*"
)
_TIMES_OF_IDS = re.compile(rf"(?:{_PLAIN_CLOCK}(?:\.[0-9]{{0,8}}[1-9])?Z\n)*")
_UTF8_STEP = 1 << 15

Envelopes = tuple[list[str], list[str | None], list[str]]


def envelopes(block: bytes, version: Version) -> Envelopes | None:
    """Return the ids, parents and types of a block of lines, or ``None`` to read it exactly.

    Args:
        block: whole lines, a line feed after each.
        version: the format version of the file.
    """
    count = _lines_of_objects(block)
    if not count or not _is_utf8(block):
        return None
    try:
        rows = _DECODER.decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return None
    return _of_rows(rows, block, version, _PLAIN_TIMES) if len(rows) == count else None


def verified(block: bytes, version: Version) -> Envelopes | None:
    """Return what :func:`envelopes` does, where every id is certainly its line's hash.

    Spec: later drafts 3.
    """
    lines = id_blocks.decoded(block)
    if lines is None:
        return None
    try:
        rows = msgspec.convert(lines, list[_Values])
    except (msgspec.ValidationError, RecursionError):
        return None
    found = _of_rows(rows, block, version, _TIMES_OF_IDS)
    return found if found is not None and id_blocks.hold(block, found[0], lines) else None


def _of_rows(
    rows: list[Any], block: bytes, version: Version, times: re.Pattern[str]
) -> Envelopes | None:
    types = [_NAMES.get(row.type) or intern(row.type) for row in rows]
    ids = [row.id for row in rows]
    if "" in ids or "" in types or not _match(times, [row.ts for row in rows]):
        return None
    if not _members_hold(rows, types, block, version):
        return None
    parents = [row.parent for row in rows]
    if "" in parents:
        parents = [parent or None for parent in parents]
    return ids, parents, types


def _lines_of_objects(block: bytes) -> int:
    """How many lines the block has when each starts with { and ends with }, else 0.

    Inside JSON an opening brace never follows a closing one, so every line feed between
    the two parts documents; with as many documents as lines, each line holds one.
    """
    if not block.startswith(b"{") or not block.endswith(b"}\n"):
        return 0
    count = block.count(b"\n")
    return count if block.count(b"}\n{") == count - 1 else 0


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    # Small pieces decode in the cache; each ends where a line does.
    start = 0
    while start < len(block):
        stop = block.find(b"\n", start + _UTF8_STEP) + 1 or len(block)
        if not text.is_utf8(block[start:stop]):
            return False
        start = stop
    return True


def _match(pattern: re.Pattern[str], times: list[str]) -> bool:
    times.append("")
    return pattern.fullmatch("\n".join(times)) is not None


def _members_hold(rows: list[Any], types: list[str], block: bytes, version: Version) -> bool:
    found = set(types)
    if "item" in found and any(row.item is None for row in rows if row.type == "item"):
        return False
    exact = found & _CHECKED_EXACTLY
    unset = msgspec.UNSET
    if versions.has_convergence(version) and any(row.parents is not unset for row in rows):
        return False  # what they name has to stand before them
    if versions.has_content_ids(version) and any(row.normalised is not unset for row in rows):
        return False  # what it says has rules of its own
    places = [
        at
        for at, row in enumerate(rows)
        if row.type in exact
        or row.source is not unset
        or row.parents is not unset
        or row.normalised is not unset
    ]
    if not places:
        return True
    lines = block.split(b"\n")
    try:
        for at in places:
            entry = decode_entry(lines[at], version)
            # A type of a later version that has not its form is unknown to this file.
            if type(entry) is UnknownEntry and entry.type in ENTRY_TYPES:
                return False
    except Undecodable:
        return False
    return True
