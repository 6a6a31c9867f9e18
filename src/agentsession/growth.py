"""How a session grows: an entry is prepared, stored where there is a store, and taken in.

Spec: format 8.3, later drafts 7 and 13, decisions A4 and A5.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from agentsession import appending, call_rules, leaves, versions
from agentsession.appendable import Judge, judge
from agentsession.codec import check_appendable
from agentsession.entries import Entry
from agentsession.errors import (
    CallRejected,
    DamagedFile,
    DuplicateEntry,
    InvalidEntry,
    NoEntry,
    ReadOnly,
)
from agentsession.header import Header, raised
from agentsession.ids import new_entry_id
from agentsession.members import Version
from agentsession.record_entries import DispatchEntry
from agentsession.timestamp import now_text
from agentsession.tree import NOTED, Tree


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a header says of the entries to come, worked out once for all of them.

    Attributes:
        header: the header.
        version: the version it has once an entry is appended.
        is_raised: whether that is another than it has.
        hashes: whether ids are hashes.
        moves_leaf: whether every append moves the leaf.
        judge: tells which entries need no closer look.
    """

    header: Header
    version: Version
    is_raised: bool
    hashes: bool
    moves_leaf: bool
    judge: Judge

    @classmethod
    def of(cls, header: Header) -> Self:
        version = versions.continued(header.format)
        return cls(
            header=header,
            version=version,
            is_raised=version != header.version,
            hashes=versions.has_content_ids(version),
            moves_leaf=versions.append_always_moves_leaf(version),
            judge=judge(version),
        )


class Growth(Tree):
    """A tree that takes entries; what :class:`~agentsession.Session` stands on.

    Spec: format 8.3.
    """

    _rules: _Rules | None = None

    def _current_rules(self) -> _Rules:
        rules = self._rules
        if rules is None or rules.header is not self.header:
            rules = self._rules = _Rules.of(self.header)
        return rules

    def append(self, entry: Entry) -> str:
        """Append an entry below the leaf, or below the parent it names; return its id.

        In a session opened from a store this writes to the store (decision A5).

        Where ids are hashes, an entry the session holds already is not added again, an entry
        under another parent than the leaf does not move the leaf, and what cannot be hashed
        is normalised.

        Spec: format 8.3, later drafts 7 and 13.

        Raises:
            InvalidEntry: when the format forbids the entry; ``CallRejected`` for a dispatch
                of a rejected call, and the other errors about calls.
            NoEntry: when its parent is unknown.
            DuplicateEntry: when its id is taken.
            BadID: when its id is not its hash, where ids are hashes.
            BadConvergence: when its ``parents`` break the rules.
            UnsupportedFormat: when sessions of this version are only read.
            ReadOnly: when the session was opened for reading.
        """
        if self._append is not None:
            return self._append(entry)
        with self._lock:
            sealed = self.prepare(entry)
            self.commit(sealed)
            return sealed.id

    def prepare(self, entry: Entry) -> Entry:
        """Return the entry as it would be appended now; nothing changes. For stores.

        A store writes the line of the entry returned and then calls :meth:`commit`, so
        that memory never holds what the storage refused. An entry the session holds
        already (:meth:`holds`) comes back as it is held, and nothing is to be written.

        Raises:
            AgentSessionError: as :meth:`append`.
        """
        with self._lock:
            rules = self._current_rules()
            if self._read_only:
                raise ReadOnly(self._read_only)
            if self.truncated is not None:
                self._refuse_after_refused_tail()
            if not isinstance(entry, Entry):
                raise InvalidEntry(f"a {type(entry).__name__} is not an entry")
            version, index = rules.version, self._rows.index
            if not rules.judge.is_certain(entry):
                check_appendable(entry, version)
            parent = entry.parent or self._leaf
            if parent is not None and parent not in index:
                raise NoEntry(
                    f'{entry.type} entry: its parent "{parent}" is not in session {self.id}',
                    entry_id=parent,
                )
            if rules.hashes:
                return self._prepare_hashed(entry, parent, version)
            if entry.id in index:
                raise DuplicateEntry(
                    f'session {self.id} already has an entry "{entry.id}"', entry_id=entry.id
                )
            if isinstance(entry, DispatchEntry):
                self._refuse_rejected(entry, parent)
            ts = entry.ts_text or now_text(time.time_ns())
            return entry.sealed(entry.id or new_entry_id(index), parent, ts, version)

    def _prepare_hashed(self, entry: Entry, parent: str | None, version: Version) -> Entry:
        """Return the entry under its hash, or the one that is held (later drafts 13)."""
        held = self.get(entry.id) if entry.is_sealed else None
        if held is not None and held.line == entry.line:
            return held
        base = leaves.base_row(self._rows, self.header)
        if self.header.base and (parent is None or self._rows.index[parent] < base):
            raise InvalidEntry(
                f"{entry.type} entry: a session with a base takes entries below it only; "
                f"go on from {self.header.base} or an entry after it",
                type=entry.type,
            )
        place = appending.Place(self.id, version, parent, self._rows.index)
        sealed = appending.sealed(entry, place)
        if sealed.id in self._rows.index:
            return self[sealed.id]
        call_rules.check(self, self._known, sealed)
        return sealed

    def holds(self, sealed: Entry) -> bool:
        """Return whether the session has a prepared entry already. For stores."""
        return sealed.id in self._rows.index

    def raised_header(self) -> Header | None:
        """Return the header to be written before the next entry, or ``None``. For stores.

        An append to a session of 0.5 to 0.10 raises it to the version written here.

        Spec: later drafts 13.

        Raises:
            UnsupportedFormat: when sessions of this version are only read.
        """
        rules = self._current_rules()
        return raised(self.header, rules.version) if rules.is_raised else None

    def commit(self, sealed: Entry) -> None:
        """Take an entry that :meth:`prepare` returned into the tree. For stores."""
        with self._lock:
            rows, entry_id = self._rows, sealed.id
            if entry_id in rows.index:
                return
            if self.source is not None and len(rows) == self._read_count:
                self._mend_tail()
            rules = self._current_rules()
            if rules.is_raised:
                self._raise_format()
            count, leaf = len(rows), self._leaf
            try:
                self._take(sealed, rules)
            except BaseException:
                # An interrupt may come between any two steps: none of them has happened.
                rows.take_back(count, sealed)
                self._children = None
                self._known = call_rules.Known()
                self._leaf = leaf
                raise

    def _take(self, sealed: Entry, rules: _Rules) -> None:
        rows, entry_id = self._rows, sealed.id
        rows.append(sealed)
        if self._children is not None:
            self._children.setdefault(sealed.parent, []).append(entry_id)
        self._known.take(sealed)
        if rules.moves_leaf and sealed.type not in NOTED:
            self._leaf = entry_id
        else:
            self._leaf = leaves.after(rows, self.header, self._leaf, sealed)

    def _raise_format(self) -> None:
        header = self.raised_header()
        if header is None:
            return
        if self.source is not None:
            self.source = self.source.replace(self.header.line, header.line, 1)
        self._notes.append(
            f"the format was raised from {self.header.format} to {header.format} before the "
            "first append"
        )
        self.header = header

    def bind(self, append: Callable[[Entry], str] | None, *, read_only: str = "") -> None:
        """Make :meth:`append` go through a store, or refuse with a sentence. For stores."""
        self._append = append
        self._read_only = read_only

    def _refuse_rejected(self, entry: DispatchEntry, parent: str | None) -> None:
        reject = self._known.reject(entry.call_id, self._rows, parent)
        if reject:
            raise CallRejected(
                f"call {entry.call_id} was rejected by {reject} and must not be dispatched",
                call_id=entry.call_id,
            )

    def _refuse_after_refused_tail(self) -> None:
        tail = self.truncated
        if tail is not None and tail.is_json and len(self._rows) == self._read_count:
            raise DamagedFile(
                f"the last line is JSON but was refused ({tail.error}); repair the file before "
                "appending to it",
                line=tail.line,
                start=tail.start,
                end=tail.start + len(tail.data),
            )

    def _mend_tail(self) -> None:
        source = self.source or b""
        if self.truncated is not None:
            source = source[: self.truncated.start]
            self._notes.append(
                f"line {self.truncated.line} was cut short and was removed before the first append"
            )
        if source and not source.endswith(b"\n"):
            source += b"\n"
            self._notes.append(
                "the last line had no line end; one was added before the first append"
            )
        self.source = source
