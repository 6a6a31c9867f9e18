"""A source of pi: its files, the sessions in them, and where each comes from.

Spec: pi 1, 5, decision D7.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

from agentsession import text
from agentsession._regular import open_regular
from agentsession.errors import NoSession, NotJSON
from agentsession.findings import Finding
from agentsession.importers.base import Converted, NativeSession
from agentsession.importers.diverging import diverged
from agentsession.importers.joining import joined
from agentsession.importers.origin import Origin
from agentsession.importers.pi.codes import CODES
from agentsession.importers.pi.convert import Forked, convert
from agentsession.importers.pi.evidence import Sent
from agentsession.importers.pi.lines import MARK, lines_of
from agentsession.importers.pi.places import files_below, id_in_name, is_header, session_id_of
from agentsession.importers.pi.records import (
    CUSTOM_ROLE,
    HOOK_ROLE,
    SESSION_INFO,
    mapping,
    string,
)
from agentsession.importers.pi.times import of
from agentsession.importers.pi.transcript import Native, Transcript, load
from agentsession.timestamp import Timestamp

_INFO = SESSION_INFO.encode()
_DIVERGED: Final = "diverged-copy"

# What an upgrade in place adds to a record, or says in another way. Spec: pi 1.
_RENEWED: Final = frozenset({"id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex"})


@dataclass(frozen=True, slots=True)
class File:
    """One file, looked at.

    Attributes:
        path: where it is.
        header: its header; empty without one.
        records: how many records it has.
        title: the name the session was given last.
        updated: when its last record was written.
        unreadable: why it cannot be read; ``None`` when it can.
    """

    path: str
    header: dict[str, Any] = field(default_factory=dict)
    records: int = 0
    title: str = ""
    updated: Timestamp | None = None
    unreadable: OSError | None = None

    @property
    def is_session(self) -> bool:
        """Whether it can be read, and anything was written to it."""
        return self.unreadable is None and self.records > 0

    @property
    def session_id(self) -> str:
        """The session it holds."""
        return session_id_of(self.header, self.path)


class Sessions:
    """The sessions of a source.

    Args:
        places: the files and directories that hold them.
    """

    def __init__(self, *places: str) -> None:
        self.unreadable: dict[str, OSError] = {}
        paths = dict.fromkeys(
            path for place in places for path in files_below(place, self.unreadable)
        )
        self.files = [look(path) for path in paths]
        self._by_id: dict[str, list[File]] = {}
        self._by_name: dict[str, File] = {}
        for file in self.files:
            if file.is_session:
                self._by_id.setdefault(file.session_id, []).append(file)
                self._by_name.setdefault(os.path.basename(file.path), file)
        for copies in self._by_id.values():
            copies.sort(key=lambda file: (-file.records, file.path))

    def __iter__(self) -> Iterator[NativeSession]:
        for session_id, copies in sorted(self._by_id.items(), key=_age):
            best = copies[0]
            yield NativeSession(
                session_id,
                best.title,
                string(best.header.get("cwd")),
                best.updated,
                tuple(file.path for file in copies),
            )

    def convert(
        self,
        session_id: str,
        known: Mapping[str, Sent] | None = None,
        stored: Origin | None = None,
    ) -> Converted:
        """Return a session converted, from the copy with the most records.

        What only another copy holds, because it went on differently, is a branch.

        Args:
            session_id: the session.
            known: by the name of a message, the release that sent its request, as an earlier
                import found it.
            stored: where the session comes from, as an earlier import found it.

        Raises:
            NoSession: when there is none of that id.
            OSError: when its file cannot be read any more.
        """
        copies = self._by_id.get(session_id)
        if not copies:
            raise NoSession(f'no session in the source has the id "{session_id}"')
        first, others = copies[0], copies[1:]
        apart = diverged(first, others, _path, _marks)
        less = [(file.path, file.records) for file in others if file not in apart]
        known = known or {}
        converted = self._converted(first.path, first.path, known, stored, less)
        for file in apart:
            other = self._converted(file.path, first.path, known, stored)
            converted = joined(converted, other)
        told = [Finding(_DIVERGED, CODES[_DIVERGED], file.path) for file in apart]
        return replace(converted, findings=(*converted.findings, *told))

    def _converted(
        self,
        path: str,
        home: str,
        known: Mapping[str, Sent],
        stored: Origin | None,
        less: Sequence[tuple[str, int]] = (),
    ) -> Converted:
        transcript = load(path)
        transcript.home = home
        forked = self._forked(transcript)
        if stored is not None and forked.session and stored.session:
            forked = self._as_stored(transcript, stored)
        return convert(transcript, forked, less, known)

    def _as_stored(self, transcript: Transcript, stored: Origin) -> Forked:
        """Return where a session comes from, as it was known when it was stored."""
        entries = transcript.entries
        copies = {entry.place for entry in entries if entry.name in stored.copied}
        # What has no item, such as a change of the model, is told by its time alone.
        copies |= {place for place in _older(transcript) if entries[place].name not in stored.own}
        return Forked(stored.session, known=stored.session in self._by_id, copies=copies)

    def _forked(self, transcript: Transcript) -> Forked:
        """Find out where a session comes from, and which of its entries are copies.

        Spec: pi 5.
        """
        if not transcript.origin:
            return Forked()
        named = re.split(r"[/\\]", transcript.origin)[-1]
        origin = self._by_name.get(named)
        if origin is not None and origin.session_id != transcript.session_id:
            known = {one for file in self._by_id[origin.session_id] for one in _known(file.path)}
            copies = {
                entry.place
                for entry in transcript.entries
                if (entry.name, entry.record.timestamp) in known
            }
            return Forked(origin.session_id, known=True, copies=copies)
        return Forked(id_in_name(named), copies=_older(transcript))


def _older(transcript: Transcript) -> set[int]:
    """The places of the entries that are older than the session."""
    created = of(transcript.created)
    if created is None:
        return set()
    return {e.place for e in transcript.entries if _before(e.record.timestamp, created)}


def _known(path: str) -> set[tuple[str, str]]:
    try:
        return {(e.name, e.record.timestamp) for e in load(path).entries}
    except OSError:
        return set()


def _path(file: File) -> str:
    return file.path


def _marks(file: File) -> Iterator[bytes]:
    """Yield what tells each entry of a file from others, also after an upgrade of the file."""
    try:
        entries = load(file.path).entries
    except OSError:
        return
    yield from map(_mark, entries)


def _mark(entry: Native) -> bytes:
    said = {name: value for name, value in entry.record.value.items() if name not in _RENEWED}
    if entry.record.role == HOOK_ROLE:
        said["message"] = {**entry.record.message, "role": CUSTOM_ROLE}
    return blake2b(text.encode([entry.name, said]), digest_size=16).digest()


def _before(spelled: str, created: Timestamp) -> bool:
    time = of(spelled)
    return time is not None and time < created


def _age(found: tuple[str, Sequence[File]]) -> tuple[str, str]:
    session_id, copies = found
    return string(copies[0].header.get("timestamp")), session_id


def look(path: str) -> File:
    """Return what there is to say of a file without reading all of it as JSON."""
    header: dict[str, Any] = {}
    records, title, last = 0, "", b""
    try:
        with open_regular(path) as file:
            for _, line in lines_of(file):
                records += 1
                last = line
                if not header and b'"session"' in line:
                    value = _value(line)
                    header = value if is_header(value) else {}
                elif _INFO in line:
                    value = _value(line)
                    if value.get("type") == SESSION_INFO:
                        title = string(value.get("name"))
    except OSError as error:
        return File(path, unreadable=error)
    updated = of(string(_value(last).get("timestamp"))) if last else None
    return File(path, header, records, title, updated or of(string(header.get("timestamp"))))


def _value(line: bytes) -> dict[str, Any]:
    try:
        return mapping(text.parse(line.removeprefix(MARK)))
    except NotJSON:
        return {}
