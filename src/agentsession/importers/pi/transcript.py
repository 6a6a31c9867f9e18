"""One file of pi as a tree of records: which entry stands below which.

Spec: pi 2, 3, 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agentsession.importers.pi.names import Naming
from agentsession.importers.pi.places import is_header, session_id_of
from agentsession.importers.pi.records import HEADER, Record, read, string


@dataclass(eq=False, slots=True)
class Native:
    """One entry of a session.

    Attributes:
        record: its record.
        place: its place among the entries of the file, from 0.
        name: what it is called; see :class:`Naming`.
        parent: the entry above; ``None`` for a root.
        lost: it names a parent that is not in the file: what was above is out of context.
    """

    record: Record
    place: int
    name: str
    parent: Native | None = None
    lost: bool = False

    def path(self) -> list[Native]:
        """Return the entries from its root to itself."""
        found: list[Native] = []
        at: Native | None = self
        while at is not None:
            found.append(at)
            at = at.parent
        return found[::-1]


@dataclass(slots=True)
class Transcript:
    """One file, read.

    Attributes:
        path: the file.
        home: the file whose place says which release ran; itself, unless it is a copy.
        header: its header; empty without one.
        header_record: the record of it, ``None`` when there is none.
        entries: its entries in file order.
        order: the same, each behind the one above it.
        unreadable: the lines that are no object.
        headers: headers behind the first.
        repeated: lines that stand in the file already.
        size: its bytes, and ``unknown`` those of them that pi never wrote.
    """

    path: str
    header: dict[str, object] = field(default_factory=dict)
    header_record: Record | None = None
    entries: list[Native] = field(default_factory=list)
    order: list[Native] = field(default_factory=list)
    unreadable: list[Record] = field(default_factory=list)
    headers: list[Record] = field(default_factory=list)
    repeated: list[Record] = field(default_factory=list)
    size: int = 0
    unknown: int = 0
    home: str = ""

    @property
    def session_id(self) -> str:
        """The session's id: the header's, or the one in the file's name."""
        return session_id_of(self.header, self.path)

    @property
    def refused_id(self) -> str:
        """The id that the header gives, and that no store can hold; empty for none."""
        given = string(self.header.get("id"))
        return given if given != self.session_id else ""

    @property
    def created(self) -> str:
        """When the session was made, as its header spells it."""
        return string(self.header.get("timestamp"))

    @property
    def origin(self) -> str:
        """The path of the file it was forked from; empty for none."""
        named = self.header.get("parentSession") or self.header.get("branchedFrom")
        return string(named)

    @property
    def version(self) -> int:
        """The file's version, 1 when it has none."""
        version = self.header.get("version")
        return version if isinstance(version, int) and not isinstance(version, bool) else 1

    @property
    def records(self) -> int:
        """How many records the file has."""
        others = len(self.unreadable) + len(self.headers) + len(self.repeated)
        return len(self.entries) + others + (self.header_record is not None)

    def by_id(self) -> dict[str, Native]:
        """Return the entries by the id that pi gave them; the last of one id, as pi does."""
        return {entry.record.id: entry for entry in self.entries if entry.record.id}


def load(path: str) -> Transcript:
    """Return a file read.

    Raises:
        OSError: when it cannot be read.
    """
    transcript = Transcript(path)
    naming = Naming()
    seen: dict[str, Record] = {}
    for record in read(path):
        transcript.size += record.size
        if not record.is_known:
            transcript.unknown += record.size
        if not record.readable:
            transcript.unreadable.append(record)
        elif record.type == HEADER:
            if transcript.header_record is None and is_header(record.value):
                transcript.header, transcript.header_record = record.value, record
            else:
                transcript.headers.append(record)
        elif record.id and record.id in seen and seen[record.id].value == record.value:
            transcript.repeated.append(record)
        else:
            if record.id:
                seen[record.id] = record
            name = naming.name(record)
            transcript.entries.append(Native(record, len(transcript.entries), name))
    _link(transcript.entries, transcript.by_id())
    transcript.order = list(_ordered(transcript.entries))
    return transcript


def _link(entries: Iterable[Native], last: dict[str, Native]) -> None:
    """Find the parent of each entry: the nearest one before it that has the id named."""
    known: dict[str, Native] = {}
    before: Native | None = None
    for entry in entries:
        named = entry.record.parent
        if named is None and not entry.record.id:
            entry.parent = before
        elif named:
            found = known.get(named) or last.get(named)
            entry.parent = found if found is not entry else None
            entry.lost = entry.parent is None
        if entry.record.id:
            known[entry.record.id] = entry
        before = entry


def _ordered(entries: Iterable[Native]) -> Iterator[Native]:
    """Yield entries in file order, each behind its parent; a circle is cut where it closes."""
    done: set[int] = set()
    for entry in entries:
        waiting: list[Native] = []
        upon: set[int] = set()
        at: Native | None = entry
        while at is not None and at.place not in done:
            if at.place in upon:
                waiting[-1].parent, waiting[-1].lost = None, True
                break
            waiting.append(at)
            upon.add(at.place)
            at = at.parent
        for one in reversed(waiting):
            done.add(one.place)
            yield one
