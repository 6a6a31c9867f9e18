"""Older sessions in the newest draft: hashes as ids, old ids kept beside them.

Nothing is changed in place: :func:`migrate` returns another session, and
:func:`migrate_file` writes another file.

Spec: later drafts 12, decision A1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsession import text, versions
from agentsession.appending import Place, one_spelling, with_id
from agentsession.canonical import canonical_text
from agentsession.entries import Entry
from agentsession.entry_ids import RESERVED
from agentsession.errors import InvalidEntry, SessionExists, UnresolvedMigration
from agentsession.header import raised
from agentsession.parts import Reference
from agentsession.record_entries import UnknownEntry
from agentsession.rows import Rows
from agentsession.timestamp import Timestamp

if TYPE_CHECKING:
    from agentsession.session import Session

LEGACY_ID: Final = "legacy_id"

REFERENCES: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("queued_from",),
    "compaction": ("first_kept",),
    "branch_summary": ("from",),
    "label": ("target",),
    "outcome": ("target",),
    "dispatch": ("target",),
    "decision": ("target",),
}
"""The members of each type that name an entry of the file."""


@dataclass(slots=True)
class _Migration:
    """One pass over the entries of a session of short ids."""

    session: Session
    version: tuple[int, int]
    rows: Rows
    ids: dict[str, str] = field(default_factory=dict)
    unresolved: list[str] = field(default_factory=list)

    def take(self, entry: Entry) -> None:
        """Add an entry with its hash as its id."""
        texts = dict(entry._loaded())
        parents = texts.pop("parents", None)
        self._note_reserved(entry, texts, parents)
        if isinstance(entry, UnknownEntry):
            self._tell(entry, f"the members of a {entry.type} entry are not known here")
        for wire in REFERENCES.get(entry.type, ()):
            if texts.get(wire, b'""') not in (b'""', b"null"):
                texts[wire] = self._renamed(entry, wire, texts[wire])
        if parents is not None:
            texts = {"parents": self._renamed_parents(entry, parents), **texts}
        texts[LEGACY_ID] = text.encode(entry.id)
        parent = None if entry.parent is None else self.ids[entry.parent]
        place = Place(self.session.id, self.version, parent, self.rows.index)
        try:
            ts = one_spelling(entry.ts or Timestamp.now(), entry.type)
            found = with_id(entry.moved(), texts, place, ts)
        except InvalidEntry as error:
            raise UnresolvedMigration(
                f"entry {entry.id} cannot be migrated: {error}", unresolved=(str(error),)
            ) from error
        self.ids[entry.id] = found.id
        self.rows.append(found)

    def _note_reserved(
        self, entry: Entry, texts: Mapping[str, bytes], parents: bytes | None
    ) -> None:
        names = sorted(RESERVED & texts.keys())
        if parents is not None and not versions.has_convergence(entry.version):
            names.append("parents")
        for name in names:
            self._tell(entry, f"its member {name} has the name of a member of the envelope")

    def _renamed(self, entry: Entry, wire: str, member_text: bytes) -> bytes:
        named = text.parse(member_text) if member_text.startswith(b'"') else None
        found = self.ids.get(named) if isinstance(named, str) else None
        if found is None:
            shown = member_text[:60].decode("utf-8", "replace")
            self._tell(entry, f"its {wire} {shown} names no earlier entry")
            return member_text
        return text.encode(found)

    def _renamed_parents(self, entry: Entry, member_text: bytes) -> bytes:
        if not versions.has_convergence(entry.version) or not member_text.startswith(b"["):
            return member_text
        elements = []
        for element in text.split_elements(member_text):
            reference = Reference.from_json(element)
            texts = reference._loaded()
            if reference.session not in ("", self.session.id):
                self._tell(
                    entry,
                    f"its parents name {reference.entry} of session {reference.session}, "
                    "which may have another id now",
                )
            else:
                renamed = self._renamed(entry, "parents", texts.get("entry", b"null"))
                reference = Reference.from_texts({**texts, "entry": renamed})
            elements.append(reference.json_text)
        return b"[" + b",".join(elements) + b"]"

    def _tell(self, entry: Entry, sentence: str) -> None:
        self.unresolved.append(f"{entry.type} entry {entry.id}: {sentence}")


def migrate(session: Session, to: str = "0.11") -> Session:
    """Return a session in a later draft: new and read-only; the one given stays as it is.

    A session whose ids are hashes already only gets the later format.

    Spec: later drafts 12.

    Raises:
        UnsupportedFormat: for a version that is not migrated to here.
        UnresolvedMigration: when an entry has no hash.
    """
    from agentsession.session import Session  # noqa: PLC0415 - a session migrates by this module

    version = versions.migration_target(to)
    rows = Rows(version)
    unresolved: tuple[str, ...] = ()
    if versions.has_content_ids(session.header.version):
        versions.continued(session.header.format)
        for entry in session.entries:
            rows.append(entry)
    else:
        work = _Migration(session, version, rows)
        for entry in session.entries:
            work.take(entry)
        unresolved = tuple(work.unresolved)
    header = raised(session.header, version)
    notes = [f"migrated from {session.header.format}", *_lost_tail(session)]
    migrated = Session.restored(header, rows, truncated=None, notes=notes, source=None)
    migrated._unresolved = unresolved
    migrated.bind(None, read_only=f"session {session.id} was migrated in memory and is only read")
    return migrated


def _lost_tail(session: Session) -> Iterator[str]:
    if session.truncated is not None:
        yield f"left out: {session.truncated}"


@dataclass(frozen=True, slots=True)
class Migrated:
    """A file that was written by :func:`migrate_file`.

    Attributes:
        session: the session as it was read back from the new file.
        unresolved: what could not be rewritten or was left out, a sentence each.
        hashes: how many request hashes verify.
        lost: request hashes that verified before and do not now, by response entry.
    """

    session: Session
    unresolved: tuple[str, ...]
    hashes: int
    lost: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether everything was rewritten and verifies as it did."""
        return not (self.unresolved or self.lost)


def migrate_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    to: str = "0.11",
    force: bool = False,
    allow_newer: bool = False,
) -> Migrated:
    """Write a session file in a later draft, verify it, and return what was found.

    The file given is only read. What could not be rewritten is kept as it was and reported.

    Args:
        source: the file to read.
        out: the file to write.
        to: the version, as ``0.11`` or ``agentsession/0.11``.
        force: replace a file that is there.
        allow_newer: read a minor version this release does not know; it is not migrated.

    Spec: later drafts 12.

    Raises:
        SessionExists: when ``out`` is there already, or is the source.
        UnsupportedFormat, UnresolvedMigration: as :func:`migrate`; also when what would be
            written could not be read again.
        AgentSessionError: when the source cannot be read.
        OSError: when a file cannot be read or written.
    """
    from agentsession.reading import load, read  # noqa: PLC0415 - reading stands on sessions
    from agentsession.writing import write  # noqa: PLC0415

    target = Path(out)
    if os.path.lexists(target):
        if target.exists() and target.samefile(source):
            raise SessionExists(f"{target} is the file itself: name another file to write")
        if not force:
            raise SessionExists(f"{target} exists already: name another file to write")
    session = read(source, allow_newer=allow_newer)
    migrated = migrate(session, to)
    lines = (migrated.header.line, *(entry.line for entry in migrated.entries))
    data = b"".join(canonical_text(line) + b"\n" for line in lines)
    try:
        again = load(data, path=target)
    except (ValueError, KeyError) as error:
        raise UnresolvedMigration(
            f"{source} cannot be written as {migrated.header.format}: {error}",
            unresolved=migrated.unresolved,
        ) from error
    before = {found.entry_id for found in session.verify_all() if found.ok}
    after = [found for found in again.verify_all() if found.ok]
    entries = [again[found.entry_id] for found in after]
    kept = {entry.id for entry in entries} | {entry.legacy_id for entry in entries}
    write(target, again)
    left = (*migrated.unresolved, *_lost_tail(session))
    return Migrated(again, left, len(after), tuple(sorted(before - kept)))
