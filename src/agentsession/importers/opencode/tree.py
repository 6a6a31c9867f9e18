"""The ``storage/`` tree of a data directory, one JSON file for each record.

Ids are taken from paths, as OpenCode's own migration does. Spec: opencode 3.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from agentsession.importers.opencode import files, names
from agentsession.importers.opencode.decode import (
    decode_message,
    decode_part,
    decode_project,
    decode_session_file,
)
from agentsession.importers.opencode.records import (
    DIRECTORY,
    FILE,
    MESSAGE,
    PART,
    SESSION,
    MessageRecord,
    PartRecord,
    Project,
    Session,
    Stray,
    sort_messages,
    with_parts,
)
from agentsession.importers.opencode.store import MessagesRead, RowsRead, SessionsRead

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

# Records longer than this are not kept with their session, but read again.
_KEEP = 16 * 1024
# What layouts before the MessageV2 model kept in the place of project ids.
_OLD_LAYOUT = frozenset({"info", "message", "part"})
_NO_FILE = "it is not a .json file"


class Tree:
    """The :class:`Store` of a data directory's ``storage/`` tree.

    Each call reads the directory as it then is; kept is only which message ids
    stand in the directories of several sessions, which do not name their parts.

    Args:
        root: the data directory that holds ``storage/``.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self._shared: dict[str, list[str]] | None = None

    def __repr__(self) -> str:
        return f"Tree({os.fspath(self.root)!r})"

    @property
    def name(self) -> str:
        """``storage``, the tree's name in reports."""
        return names.DIR_STORAGE

    @property
    def legacy(self) -> tuple[Path, ...]:
        """Directories of the layout before the MessageV2 model, which is not read.

        They are ``project/<dir>/storage/session``, and ``storage/session/info`` and
        its neighbours. Spec: opencode 1 (G0).
        """
        found = [
            entry.path / names.DIR_STORAGE / names.DIR_SESSION
            for entry in files.entries(self.root / names.DIR_PROJECT)
            if os.path.isdir(entry.path / names.DIR_STORAGE / names.DIR_SESSION)
        ]
        found += [
            e.path for e in self._entries(names.DIR_SESSION) if e.is_dir and e.name in _OLD_LAYOUT
        ]
        return tuple(found)

    def sessions(self) -> SessionsRead:
        """Return the sessions of every project directory, by id.

        Of two records of one session the one updated last counts; the other is
        a stray.
        """
        listing = _Listing(self.root)
        found: dict[str, Session] = {}
        for project in listing.directories(self._storage(names.DIR_SESSION), SESSION):
            if project.name in _OLD_LAYOUT:
                continue
            for entry in listing.records(project.path, SESSION):
                session = self._session(entry, project.name)
                other = found.get(session.id)
                if other is not None and _newer(other, session):
                    session, other = other, session
                found[session.id] = session
                if other is not None:
                    why = f"{session.unit} is a newer record of the same session"
                    listing.strays.append(replace(other.stray(), why=why))
        return SessionsRead(tuple(found[i] for i in sorted(found)), tuple(listing.strays))

    def messages(self, session: Session) -> MessagesRead:
        """Return a session's message files, and each one's part files, by name."""
        listing = _Listing(self.root, session.id)
        folder = self._folder(names.DIR_MESSAGE, session.id)
        messages = [
            self._message(entry, session.id, listing)
            for entry in (listing.records(folder, MESSAGE) if folder is not None else ())
        ]
        return MessagesRead(sort_messages(names.G1, messages), tuple(listing.strays))

    def rows(self, session: Session) -> RowsRead:
        """Return nothing: a tree holds no V2 rows."""
        del session
        return RowsRead(())

    def orphans(self, sessions: Collection[str]) -> tuple[Stray, ...]:
        """Return the message files of sessions not in the set, and the parts of no message.

        A part's directory names its message alone, so that the names of all
        messages of the set's sessions are held while this runs.
        """
        listing = _Listing(self.root)
        why = "its session has no record"
        messages = self._storage(names.DIR_MESSAGE)
        for folder in listing.directories(messages, MESSAGE, besides=sessions):
            for entry in listing.records(folder.path, MESSAGE):
                message = self._message_alone(entry, folder.name)
                listing.strays.append(message.stray(message.problem or why))
        parts = [*self._left_parts(sessions, listing)]
        lost = self._unlisted() if parts else frozenset()
        strays = [_left_part(part, lost) for part in parts]
        return (*listing.strays, *strays)

    def _unlisted(self) -> frozenset[str] | None:
        """Return the sessions whose messages cannot be listed; ``None`` for all."""
        if files.shut(self.root, self._storage(names.DIR_MESSAGE)) is not None:
            return None
        found = self._entries(names.DIR_MESSAGE)
        return frozenset(e.name for e in found if files.shut(self.root, e.path) is not None)

    def left_parts(self, sessions: Collection[str]) -> Iterator[PartRecord]:
        """Yield the parts that ``orphans`` tells as strays, with what they hold.

        A committed revert of a G1 release deletes messages and leaves their parts
        behind, so that these hold turns that are in no other place. A part's
        session is the one it names itself. Spec: opencode 8.
        """
        yield from self._left_parts(sessions, _Listing(self.root))

    def _left_parts(self, sessions: Collection[str], listing: _Listing) -> Iterator[PartRecord]:
        kept = {
            entry.name[:-5]
            for folder in self._entries(names.DIR_MESSAGE)
            if folder.name in sessions
            for entry in folder.records()
        }
        for folder in listing.directories(self._storage(names.DIR_PART), PART, known=kept):
            if folder.name in kept and folder.name not in self._shared_messages():
                continue
            mine = folder.name not in kept
            for entry in listing.records(folder.path, PART) if mine else folder.records():
                part = self._part(entry, folder.name, "")
                if mine or self._owner(part) not in sessions:
                    yield part

    def project(self, project_id: str) -> Project | None:
        """Return the project of ``storage/project/<id>.json``."""
        path = self._folder(names.DIR_PROJECT, f"{project_id}.json")
        if path is None:
            return None
        data, _ = files.read(path)
        return decode_project(files.unit(self.root, path), project_id, data)

    def migration_done(self) -> bool:
        """Return ``False``: a tree is never migrated in place."""
        return False

    def others(self) -> Mapping[str, int | None]:
        """Return the other directories of the tree with the number of their files."""
        known = {names.DIR_SESSION, names.DIR_MESSAGE, names.DIR_PART, names.DIR_PROJECT}
        return {
            e.name: files.count(e.path)
            for e in files.entries(self.root / names.DIR_STORAGE)
            if e.is_dir and e.name not in known
        }

    def units(self) -> int:
        """Return the number of session, message and part files."""
        return sum(
            len(folder.records())
            for kind in (names.DIR_SESSION, names.DIR_MESSAGE, names.DIR_PART)
            for folder in self._entries(kind)
            if folder.is_utf8 and not (kind == names.DIR_SESSION and folder.name in _OLD_LAYOUT)
        )

    def _storage(self, name: str) -> Path:
        return self.root / names.DIR_STORAGE / name

    def _entries(self, name: str) -> tuple[files.Entry, ...]:
        return files.entries(self._storage(name))

    def _folder(self, kind: str, name: str) -> Path | None:
        """Return a path inside one of the tree's directories, ``None`` for no file name."""
        return self._storage(kind) / name if files.is_name(name) else None

    def _session(self, entry: files.Entry, project_id: str) -> Session:
        data, problem = files.read(entry.path)
        unit = files.unit(self.root, entry.path)
        session = decode_session_file(unit, entry.name[:-5], project_id, data)
        if problem:
            return replace(session, problem=problem)
        if len(data) > _KEEP:
            return replace(session, source=partial(_again, entry.path))
        return session

    def _message(self, entry: files.Entry, session_id: str, listing: _Listing) -> MessageRecord:
        record = self._message_alone(entry, session_id)
        folder = self._storage(names.DIR_PART) / record.id
        found = listing.records(folder, PART)
        parts = [self._part(e, record.id, session_id) for e in found]
        if record.id in self._shared_messages():
            parts = [p for p in parts if self._owner(p) == session_id]
        if folder in listing.shut:
            record = structs.replace(record, parts_lost=True)
        return with_parts(record, parts)

    def _message_alone(self, entry: files.Entry, session_id: str) -> MessageRecord:
        data, problem = files.read(entry.path)
        unit = files.unit(self.root, entry.path)
        record = decode_message(unit, entry.name[:-5], session_id, None, data)
        return structs.replace(record, problem=problem) if problem else record

    def _shared_messages(self) -> dict[str, list[str]]:
        """Return the message ids that several sessions have, each with these sessions."""
        if self._shared is None:
            holders: dict[str, str] = {}
            shared: dict[str, list[str]] = {}
            for folder in self._entries(names.DIR_MESSAGE):
                for entry in folder.records():
                    first = holders.setdefault(entry.name[:-5], folder.name)
                    if first != folder.name:
                        shared.setdefault(entry.name[:-5], [first]).append(folder.name)
            self._shared = shared
        return self._shared

    def _owner(self, part: PartRecord) -> str:
        """Return the session that a part of a shared message belongs to: the one it names."""
        holders = self._shared_messages()[part.message_id]
        named = part.part.session_id if part.part is not None else ""
        return named if named in holders else holders[0]

    def _part(self, entry: files.Entry, message_id: str, session_id: str) -> PartRecord:
        """Return a part; without a session of its message, with the one it names itself."""
        data, problem = files.read(entry.path)
        unit = files.unit(self.root, entry.path)
        part = decode_part(unit, entry.name[:-5], message_id, session_id, data)
        if problem:
            return part.unread(problem)
        if part.part is not None and not session_id:
            return structs.replace(part, session_id=part.part.session_id)
        return part


def _again(path: Path) -> bytes:
    return files.read(path)[0]


def _left_part(part: PartRecord, lost: Collection[str] | None) -> Stray:
    """Return a part of no message that is known as a stray.

    Args:
        part: the part.
        lost: the sessions whose messages cannot be listed; ``None`` for all.
    """
    if lost is not None and part.session_id not in lost:
        return part.stray(part.problem or "its message has no record in a session")
    why = part.problem or "its session's messages cannot be listed"
    return replace(part.stray(why), message_lost=True)


class _Listing:
    """Walks directories, and collects what in them is no record.

    Args:
        root: the data directory.
        session: the session whose directories are walked; what is shut above these is told
            with the tree as a whole.
    """

    def __init__(self, root: Path, session: str = "") -> None:
        self.strays: list[Stray] = []
        self.shut: set[Path] = set()
        self._root = root
        self._session = session

    def directories(
        self,
        folder: Path,
        kind: str,
        *,
        besides: Collection[str] = (),
        known: Collection[str] = (),
    ) -> tuple[files.Entry, ...]:
        """Return the directories in a folder; what stands beside them is a stray.

        Args:
            folder: the folder.
            kind: the kind of record that the directories hold.
            besides: names that are passed over.
            known: names of directories that are listed elsewhere as well: what else stands
                in the place of one is told there.
        """
        if self._is_shut(folder):
            return ()
        found = [e for e in self._entries(folder) if e.name not in besides]
        for entry in found:
            if not entry.is_dir and entry.name not in known:
                unseen = files.shut(folder, entry.path)
                if unseen is not None and not unseen.is_file:
                    self._add(entry.path, DIRECTORY, unseen.why, bad=True)
                    continue
                why = f"it stands beside the directories that hold {kind} records"
                self._add(entry.path, FILE, why)
        return tuple(e for e in found if e.is_dir)

    def records(self, folder: Path, kind: str) -> tuple[files.Entry, ...]:
        """Return the record files in a folder; whatever else is there is a stray."""
        found = self._entries(folder)
        for entry in found:
            if entry.is_record:
                continue
            if entry.is_dir:
                self._add(entry.path, DIRECTORY, f"it stands among {kind} records")
            else:
                self._add(entry.path, FILE, _NO_FILE)
        return tuple(e for e in found if e.is_record)

    def _entries(self, folder: Path) -> tuple[files.Entry, ...]:
        try:
            found = files.listed(folder)
        except OSError:
            self._is_shut(folder)
            return ()
        for entry in found:
            if not entry.is_utf8:
                lost = entry.is_dir or entry.is_record
                kind = DIRECTORY if entry.is_dir else FILE
                self._add(entry.path, kind, "its name is not UTF-8, so it can be no id", bad=lost)
        return tuple(e for e in found if e.is_utf8)

    def _is_shut(self, folder: Path) -> bool:
        """Return whether something is there that cannot be read, and tell of it."""
        shut = files.shut(self._root, folder)
        if shut is None:
            return False
        self.shut.add(folder)
        if not self._session or shut.path == folder:
            self._add(shut.path, DIRECTORY, shut.why, bad=True)
        return True

    def _add(self, path: Path, kind: str, why: str, *, bad: bool = False) -> None:
        stray = Stray(
            files.unit(self._root, path),
            kind,
            why,
            self._session,
            malformed=bad,
            where=files.shown(path),
        )
        if stray not in self.strays:
            self.strays.append(stray)


def _newer(one: Session, other: Session) -> bool:
    """Return whether a session's record counts before another of the same id."""
    return (not one.problem, one.updated or 0) > (not other.problem, other.updated or 0)
