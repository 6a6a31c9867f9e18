"""The tree: entries below a header, and the leaf.

Spec: format 8, later drafts 7.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from agentsession import call_rules, leaves, versions
from agentsession.entries import LEAF_LABEL, Entry
from agentsession.errors import (
    AgentSessionError,
    NoEntry,
)
from agentsession.header import Header
from agentsession.lineage import Lineage
from agentsession.record_entries import (
    InfoEntry,
    LabelEntry,
    LinkEntry,
)
from agentsession.rows import Rows

NOTED = frozenset({"label", "info", "link"})
"""Types whose entries say something about the session as a whole."""


@dataclass(frozen=True, slots=True)
class TruncatedLine:
    """A last line that could not be read, most often cut short by a crash.

    Attributes:
        line: 1-based line number, blank lines counted.
        data: its bytes without the line end.
        error: why it could not be read.
        start: byte offset of the line in the file.
        is_json: whether it is JSON and was refused for what it says.

    Spec: format 7.3.
    """

    line: int
    data: bytes
    error: AgentSessionError
    start: int
    is_json: bool

    def __str__(self) -> str:
        return f"line {self.line} was cut short: {self.error}"


class Tree:
    """Header and entries as a tree with a leaf; without what makes it grow.

    Attributes:
        header: the header, as the file has it.
        truncated: the last line when it could not be read, else ``None``.
        source: the bytes that were read, kept only where they are not simply the lines
            of the entries with a line feed each.

    Spec: format 8.
    """

    def __init__(self, header: Header | None = None) -> None:
        self.header = (header or Header()).filled()
        if self.header.base:
            raise NoEntry(
                f'a new session does not hold its base "{self.header.base}"; fork the session '
                "that does",
                entry_id=self.header.base,
            )
        self.truncated: TruncatedLine | None = None
        self.source: bytes | None = None
        self._reset()

    def _reset(self) -> None:
        self._rows = Rows()
        self._children: dict[str | None, list[str]] | None = None
        self._noted: list[int] = []
        self._noted_to = 0
        self._leaf: str | None = None
        self._notes: list[str] = []
        self._read_count = 0
        self._append: Callable[[Entry], str] | None = None
        self._read_only = ""
        self._known = call_rules.Known()
        self._unresolved: tuple[str, ...] = ()
        self._lock = threading.RLock()

    @classmethod
    def restored(
        cls,
        header: Header,
        rows: Rows,
        *,
        truncated: TruncatedLine | None,
        notes: list[str],
        source: bytes | None,
    ) -> Self:
        """Return the session a reader found; nothing is checked. For readers."""
        session = cls.__new__(cls)
        session.header = header
        session.truncated = truncated
        session.source = source
        session._reset()
        session._rows = rows
        session._notes = notes
        session._read_count = len(rows)
        session._leaf = leaves.resumed(rows, header)
        return session

    @classmethod
    def forked(cls, header: Header, prefix: Sequence[Entry]) -> Self:
        """Return a new session that starts with the path to its base. For forks."""
        filled = header.filled()
        rows = Rows(filled.version)
        for entry in prefix:
            rows.append(entry)
        session = cls.restored(filled, rows, truncated=None, notes=[], source=None)
        session._leaf = filled.base
        return session

    # What is there.

    @property
    def id(self) -> str:
        """The session id."""
        return self.header.id

    @property
    def leaf(self) -> str | None:
        """The id of the entry the next append goes under; ``None`` when there is none."""
        return self._leaf

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in file order."""
        with self._lock:
            return tuple(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __contains__(self, entry_id: object) -> bool:
        return isinstance(entry_id, str) and entry_id in self._rows.index

    def __getitem__(self, entry_id: str) -> Entry:
        try:
            return self._rows[self._rows.index[entry_id]]
        except (KeyError, TypeError):
            raise self._no_entry(entry_id) from None

    def __repr__(self) -> str:
        return f"<Session {self.id} with {len(self)} entries, leaf {self._leaf or '-'}>"

    def _no_entry(self, entry_id: object) -> NoEntry:
        return NoEntry(f'session {self.id} has no entry "{entry_id}"', entry_id=str(entry_id))

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry with an id, or ``None``."""
        return self[entry_id] if entry_id in self._rows.index else None

    def resolve(self, entry_id: str) -> str:
        """Return the id of the entry that a user names by its id, or by the one it used to have.

        Migrated entries keep their old id in ``legacy_id``.

        Spec: later drafts 12.

        Raises:
            NoEntry: when no entry has, or had, the id.
        """
        with self._lock:
            if entry_id in self._rows.index:
                return entry_id
            for entry in self._rows if versions.has_content_ids(self.header.version) else ():
                if b"legacy_id" in entry.line and entry.legacy_id == entry_id:
                    return entry.id
        raise self._no_entry(entry_id)

    def children(self, entry_id: str | None) -> tuple[Entry, ...]:
        """Return the entries directly below one, in file order; the roots for ``None``.

        Raises:
            NoEntry: when the id is unknown.
        """
        with self._lock:
            if entry_id and entry_id not in self._rows.index:
                raise self._no_entry(entry_id)
            return tuple(self[child] for child in self._child_ids().get(entry_id or None, ()))

    def _child_ids(self) -> dict[str | None, list[str]]:
        if self._children is None:
            found: dict[str | None, list[str]] = {}
            for entry_id, parent in zip(self._rows.ids, self._rows.parents, strict=True):
                found.setdefault(parent, []).append(entry_id)
            self._children = found
        return self._children

    @property
    def roots(self) -> tuple[Entry, ...]:
        """The entries without a parent, in file order."""
        return self.children(None)

    @property
    def leaves(self) -> tuple[Entry, ...]:
        """The entries without children, in file order."""
        with self._lock:
            children = self._child_ids()
            return tuple(self[entry_id] for entry_id in self._rows.ids if entry_id not in children)

    def path(self, entry_id: str | None = None) -> list[Entry]:
        """Return the entries from a root to one entry, or to the leaf; empty without a leaf.

        Raises:
            NoEntry: when the id is unknown.
        """
        with self._lock:
            if entry_id is None:
                entry_id = self._leaf
            elif entry_id not in self._rows.index:
                raise self._no_entry(entry_id)
            rows = self._rows
            return [rows[row] for row in rows.path(entry_id)]

    def _lineage(self, entry_id: str | None) -> Lineage:
        """The path to an entry that is there, its entries made when asked for."""
        with self._lock:
            return Lineage(self._rows, self._rows.path(entry_id))

    def _noted_rows(self) -> list[int]:
        """Where the entries stand that say something about the session as a whole."""
        with self._lock:
            if self._noted_to < len(self._rows):
                self._noted += self._rows.of_types(NOTED, self._noted_to)
                self._noted_to = len(self._rows)
            return self._noted

    def _noted_last_first(self, entry_type: str) -> Iterator[Entry]:
        """Those of one type, each made when it is asked for, the last one first."""
        types = self._rows.types
        for row in reversed(self._noted_rows()):
            if types[row] == entry_type:
                yield self._rows[row]

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels in force, by target: the last one wins, ``null`` removes (format 8.1)."""
        found: dict[str, str] = {}
        for entry in map(self._rows.__getitem__, self._noted_rows()):
            if isinstance(entry, LabelEntry):
                if entry.label is None:
                    found.pop(entry.target, None)
                else:
                    found[entry.target] = entry.label
        return found

    @property
    def name(self) -> str:
        """The display name: the last non-empty one; empty when there is none."""
        entries = self._noted_last_first(InfoEntry.TYPE)
        names = (entry.name for entry in entries if isinstance(entry, InfoEntry))
        return next(filter(None, names), "")

    @property
    def superseded_by(self) -> str:
        """The id of the session this one was continued in; empty when it was not."""
        links = (
            entry.session
            for entry in self._noted_last_first(LinkEntry.TYPE)
            if isinstance(entry, LinkEntry) and entry.rel == "continued_in"
        )
        return next(filter(None, links), "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: repairs, and what this release does not judge."""
        return (*self._notes, *_redaction(self.header), *versions.not_judged(self.header.version))

    # What is said about calls anywhere in the session (later drafts 10).

    def call_owner(self, call_id: str) -> str:
        """Return the entry of the first call with an id, on any branch; empty when none has it."""
        with self._lock:
            return self._known.owner(call_id, self._rows)

    def repeated_call_ids(self) -> frozenset[str]:
        """Return the call ids that name more than one call of the session."""
        with self._lock:
            return call_rules.repeated(self._rows)

    def dispatched(self) -> frozenset[str]:
        """Return the item entries that any dispatch of the session names as its target."""
        with self._lock:
            return call_rules.dispatched(self._rows)

    def is_inherited(self, entry_id: str) -> bool:
        """Return whether an entry stands in the prefix of a fork, its base included."""
        base = self._rows.index.get(self.header.base) if self.header.base else None
        return base is not None and self._rows.index.get(entry_id, base + 1) <= base

    # Where the next entry goes.

    def branch(self, entry_id: str) -> None:
        """Move the leaf to an entry: the next append forks there.

        Raises:
            NoEntry: when the id is unknown.
        """
        with self._lock:
            self._leaf = leaves.rested(self._rows, self.header, self[entry_id].id)

    def reset_leaf(self) -> None:
        """Leave no leaf: the next append starts a new root."""
        with self._lock:
            self._leaf = None

    def mark_leaf(self) -> LabelEntry:
        """Return the label that makes the leaf durable. It is not appended.

        After it was appended, an append elsewhere moves the live leaf all the same; which
        of the two a reopened session starts from is settled by the label (format 8.4).

        Raises:
            NoEntry: when there is no leaf.
        """
        return LabelEntry(self._leaf_or_raise(), LEAF_LABEL)

    def _leaf_or_raise(self) -> str:
        if self._leaf is None:
            raise NoEntry(f"session {self.id} has no leaf")
        return self._leaf

    def lines(self) -> Iterator[bytes]:
        """Yield what :func:`agentsession.write` writes, piece by piece, line ends included."""
        with self._lock:
            if self.source is not None:
                yield self.source
                lines = self._rows.lines(self._read_count)
            else:
                yield self.header.line + b"\n"
                lines = self._rows.lines()
            for line in lines:
                yield line + b"\n"


def _redaction(header: Header) -> tuple[str, ...]:
    if not (header.redacted and versions.has_base(header.version)):
        return ()
    note = (
        "the session was redacted after it was written: its ids were computed anew, and its "
        "request hashes are those of the original"
    )
    return (note,)
