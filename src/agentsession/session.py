"""The session: a tree of entries with a leaf, and what can be asked of it.

The tree supplies paths; context, calls, runs and checks are functions over a path that
live in their own modules.

Spec: format 8, context.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from agentsession import calls as call_functions
from agentsession import context as context_functions
from agentsession import runs as run_functions
from agentsession import verification, versions
from agentsession.calls import Call
from agentsession.codec import check_appendable
from agentsession.context import Context
from agentsession.entries import (
    LEAF_LABEL,
    BranchSummaryEntry,
    CompactionEntry,
    Entry,
)
from agentsession.errors import (
    AgentSessionError,
    CallRejected,
    DamagedFile,
    DuplicateEntry,
    InvalidEntry,
    NoEntry,
    ReadOnly,
)
from agentsession.header import Header
from agentsession.ids import new_entry_id
from agentsession.record_entries import (
    DecisionEntry,
    DispatchEntry,
    InfoEntry,
    LabelEntry,
    LinkEntry,
    RunEntry,
)
from agentsession.runs import Run
from agentsession.timestamp import Timestamp

_NOTED = (LabelEntry, InfoEntry, LinkEntry)


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


class Session:
    """One session in memory.

    ``Session(header)`` starts a new one; :func:`agentsession.read` and the stores give
    stored ones. All methods may be called from several threads.

    Attributes:
        header: the header, as the file has it.
        truncated: the last line when it could not be read, else ``None``.
        source: the bytes that were read, kept only where they are not simply the lines
            of the entries with a line feed each.

    Spec: format 8.
    """

    def __init__(self, header: Header | None = None) -> None:
        self.header = (header or Header()).filled()
        self.truncated: TruncatedLine | None = None
        self.source: bytes | None = None
        self._reset()

    def _reset(self) -> None:
        self._entries: list[Entry] = []
        self._index: dict[str, int] = {}
        self._children: dict[str | None, list[str]] | None = None
        self._noted: list[Entry] = []
        self._leaf: str | None = None
        self._notes: list[str] = []
        self._read_count = 0
        self._append: Callable[[Entry], str] | None = None
        self._read_only = ""
        self._lock = threading.RLock()

    @classmethod
    def _loaded(
        cls,
        header: Header,
        entries: list[Entry],
        index: dict[str, int],
        *,
        truncated: TruncatedLine | None,
        notes: list[str],
        source: bytes | None,
    ) -> Session:
        session = cls.__new__(cls)
        session.header = header
        session.truncated = truncated
        session.source = source
        session._reset()
        session._entries = entries
        session._index = index
        session._notes = notes
        session._read_count = len(entries)
        session._noted = [entry for entry in entries if isinstance(entry, _NOTED)]
        session._leaf = session._resumed_leaf()
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
            return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._index

    def __getitem__(self, entry_id: str) -> Entry:
        try:
            return self._entries[self._index[entry_id]]
        except (KeyError, TypeError):
            raise self._no_entry(entry_id) from None

    def __repr__(self) -> str:
        return f"<Session {self.id} with {len(self)} entries, leaf {self._leaf or '-'}>"

    def _no_entry(self, entry_id: object) -> NoEntry:
        return NoEntry(f'session {self.id} has no entry "{entry_id}"', entry_id=str(entry_id))

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry with an id, or ``None``."""
        return self[entry_id] if entry_id in self._index else None

    def children(self, entry_id: str | None) -> tuple[Entry, ...]:
        """Return the entries directly below one, in file order; the roots for ``None``.

        Raises:
            NoEntry: when the id is unknown.
        """
        with self._lock:
            if entry_id and entry_id not in self._index:
                raise self._no_entry(entry_id)
            return tuple(self[child] for child in self._child_ids().get(entry_id or None, ()))

    def _child_ids(self) -> dict[str | None, list[str]]:
        if self._children is None:
            self._children = {}
            for entry in self._entries:
                self._children.setdefault(entry.parent, []).append(entry.id)
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
            return tuple(entry for entry in self._entries if entry.id not in children)

    def path(self, entry_id: str | None = None) -> list[Entry]:
        """Return the entries from a root to one entry, or to the leaf; empty without a leaf.

        Raises:
            NoEntry: when the id is unknown.
        """
        with self._lock:
            if entry_id is None:
                entry_id = self._leaf
            elif entry_id not in self._index:
                raise self._no_entry(entry_id)
            path = []
            while entry_id is not None:
                entry = self._entries[self._index[entry_id]]
                path.append(entry)
                entry_id = entry.parent
            path.reverse()
            return path

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels in force, by target: the last one wins, ``null`` removes (format 8.1)."""
        found: dict[str, str] = {}
        for entry in self._noted:
            if isinstance(entry, LabelEntry):
                if entry.label is None:
                    found.pop(entry.target, None)
                else:
                    found[entry.target] = entry.label
        return found

    @property
    def name(self) -> str:
        """The display name: the last non-empty one; empty when there is none."""
        names = (entry.name for entry in reversed(self._noted) if isinstance(entry, InfoEntry))
        return next(filter(None, names), "")

    @property
    def superseded_by(self) -> str:
        """The id of the session this one was continued in; empty when it was not."""
        links = (
            entry.session
            for entry in reversed(self._noted)
            if isinstance(entry, LinkEntry) and entry.rel == "continued_in"
        )
        return next(filter(None, links), "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: repairs, and what this release does not judge."""
        return (*self._notes, *versions.not_judged(self.header.version))

    # Where the next entry goes.

    def branch(self, entry_id: str) -> None:
        """Move the leaf to an entry: the next append forks there.

        Raises:
            NoEntry: when the id is unknown.
        """
        with self._lock:
            self._leaf = self[entry_id].id

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

    def _resumed_leaf(self) -> str | None:
        marked_at = marked = None
        for entry in self._noted:
            if not isinstance(entry, LabelEntry):
                continue
            if entry.label == LEAF_LABEL and entry.target in self._index:
                marked_at, marked = entry.id, entry.target
            elif entry.label is None and entry.target == marked:
                marked_at = marked = None
        if marked is None or marked_at is None:
            return self._entries[-1].id if self._entries else None
        below = {marked}
        leaf = marked
        written_at = self._index[marked_at]
        for position in range(self._index[marked] + 1, len(self._entries)):
            entry = self._entries[position]
            if entry.parent in below:
                below.add(entry.id)
                if position > written_at:
                    leaf = entry.id
        return leaf

    # Appending.

    def append(self, entry: Entry) -> str:
        """Append an entry below the leaf, or below the parent it names; return its id.

        In a session opened from a store this writes to the store (decision A5).

        Spec: format 8.3.

        Raises:
            InvalidEntry: when the format forbids the entry; ``CallRejected`` for a dispatch
                of a rejected call.
            NoEntry: when its parent is unknown.
            DuplicateEntry: when its id is taken.
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
        that memory never holds what the storage refused.

        Raises:
            AgentSessionError: as :meth:`append`.
        """
        with self._lock:
            version = versions.check_writable(self.header.format)
            if self._read_only:
                raise ReadOnly(self._read_only)
            self._refuse_after_refused_tail()
            if not isinstance(entry, Entry):
                raise InvalidEntry(f"a {type(entry).__name__} is not an entry")
            check_appendable(entry, version)
            parent = entry.parent or self._leaf
            if parent is not None and parent not in self._index:
                raise NoEntry(
                    f'{entry.type} entry: its parent "{parent}" is not in session {self.id}',
                    entry_id=parent,
                )
            if entry.id in self._index:
                raise DuplicateEntry(
                    f'session {self.id} already has an entry "{entry.id}"', entry_id=entry.id
                )
            if isinstance(entry, DispatchEntry):
                self._refuse_rejected(entry, parent)
            ts = entry.ts or Timestamp.now()
            return entry.sealed(entry.id or self._new_id(), parent, ts.text)

    def commit(self, sealed: Entry) -> None:
        """Take an entry that :meth:`prepare` returned into the tree. For stores."""
        with self._lock:
            if self.source is not None and len(self._entries) == self._read_count:
                self._mend_tail()
            self._index[sealed.id] = len(self._entries)
            self._entries.append(sealed)
            if self._children is not None:
                self._children.setdefault(sealed.parent, []).append(sealed.id)
            if isinstance(sealed, _NOTED):
                self._noted.append(sealed)
            self._leaf = sealed.id
            if isinstance(sealed, LabelEntry) and sealed.label == LEAF_LABEL:
                self._leaf = sealed.target if sealed.target in self._index else sealed.id

    def bind(self, append: Callable[[Entry], str] | None, *, read_only: str = "") -> None:
        """Make :meth:`append` go through a store, or refuse with a sentence. For stores."""
        self._append = append
        self._read_only = read_only

    def _new_id(self) -> str:
        for _ in range(8):
            entry_id = new_entry_id()
            if entry_id not in self._index:
                return entry_id
        return "".join(new_entry_id() for _ in range(4))

    def _refuse_rejected(self, entry: DispatchEntry, parent: str | None) -> None:
        if parent is None:
            return
        for earlier in self.path(parent):
            if (
                isinstance(earlier, DecisionEntry)
                and earlier.verdict == "reject"
                and earlier.call_id == entry.call_id
            ):
                raise CallRejected(
                    f"call {entry.call_id} was rejected by {earlier.id} and must not be dispatched",
                    call_id=entry.call_id,
                )

    def _refuse_after_refused_tail(self) -> None:
        tail = self.truncated
        if tail is not None and tail.is_json and len(self._entries) == self._read_count:
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

    def lines(self) -> Iterator[bytes]:
        """Yield what :func:`agentsession.write` writes, piece by piece, line ends included."""
        with self._lock:
            if self.source is not None:
                yield self.source
                appended = self._entries[self._read_count :]
            else:
                yield self.header.line + b"\n"
                appended = self._entries
            for entry in appended:
                yield entry.line + b"\n"

    # What the model was sent.

    def context(self) -> Context:
        """Return the context at the leaf; empty without one (context 1).

        Raises:
            NoContext: when it cannot be built.
        """
        return context_functions.build_context(self.path())

    def context_at(self, entry_id: str) -> Context:
        """Return the context at an entry; the empty context for ``""``.

        Raises:
            NoEntry: when the id is unknown.
            NoContext: when it cannot be built.
        """
        return context_functions.build_context(self.path(entry_id) if entry_id else [])

    def request_context(self, response_entry_id: str) -> Context:
        """Return the context of the request a response answered (context 3).

        Raises:
            NoEntry: when the id is unknown.
            InvalidEntry: when it names no response.
            NoContext: when the context cannot be built.
        """
        return context_functions.request_context(self.path(response_entry_id))

    def verify(self, response_entry_id: str) -> verification.Form:
        """Return the form in which a recorded request hash matches (context 6, decision A8).

        Raises:
            NoEntry: when the id is unknown. InvalidEntry: when it names no response.
            NoHash: when the response records no hash.
            HashMismatch: when no form matches.
            NoContext, CannotHash: when the request cannot be rebuilt or hashed.
        """
        return verification.verify(self.path(response_entry_id))

    def verify_all(self) -> verification.Verification:
        """Return the result of every response in file order; one pass per path."""
        return verification.verify_all(self)

    # What happened around it.

    def calls(self, leaf: str | None = None) -> list[Call]:
        """Return the function calls on the path to a leaf (context 8).

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return call_functions.calls(self._path_to(leaf))

    def pending_calls(self, leaf: str | None = None) -> list[Call]:
        """Return the calls on the path to a leaf that have no output.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return [call for call in self.calls(leaf) if call.pending]

    def runs(self, leaf: str | None = None) -> list[Run]:
        """Return the runs on the path to a leaf (context 9).

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return run_functions.runs(self._path_to(leaf))

    def open_run(self, leaf: str | None = None) -> Run | None:
        """Return the run that is open at a leaf, or ``None``.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return run_functions.open_run(self._path_to(leaf))

    def end_run(self, reason: str, ref: str = "") -> RunEntry:
        """Return the entry that ends the run open at the leaf. It is not appended.

        Raises:
            NoEntry: when there is no leaf.
            InvalidEntry: when no run is open.
        """
        return run_functions.end_run(self._path_to(None), reason, ref)

    def verify_records(self, leaf: str | None = None) -> tuple[str, ...]:
        """Check the record entries on the path to a leaf; return notes that are no errors.

        Spec: context 10.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
            ReasonMismatch, CallRejected, RecordMissing: the first problem found.
        """
        return run_functions.verify_records(self._path_to(leaf), self.header)

    def _path_to(self, leaf: str | None) -> list[Entry]:
        return self.path(self._leaf_or_raise() if leaf is None else leaf)

    # Folding.

    def compact(self, first_kept: str, summary: object) -> CompactionEntry:
        """Return a compaction at the leaf that keeps the path from an entry on (context 11).

        Raises:
            NoEntry: when there is no leaf, or ``first_kept`` is not on its path.
            InvalidEntry: without a summary. NoContext: when the context cannot be built.
        """
        return context_functions.compact(self._path_to(None), first_kept, summary)

    def compact_from(self, index: int, summary: object) -> CompactionEntry:
        """Return a compaction at the leaf that keeps the context's items from an index on.

        Raises:
            InvalidEntry: when the index names no item, or one that cannot be kept.
            NoEntry, NoContext: as :meth:`compact`.
        """
        return context_functions.compact_from(self._path_to(None), index, summary)

    def compact_keeping(self, kept: int, summary: object) -> CompactionEntry:
        """Return a compaction at the leaf that keeps the context's last items.

        Raises:
            InvalidEntry: when there are not that many.
            NoEntry, NoContext: as :meth:`compact`.
        """
        return context_functions.compact_keeping(self._path_to(None), kept, summary)

    def summarize_branch(self, from_: str, summary: object) -> BranchSummaryEntry:
        """Return the summary of an abandoned branch; move the leaf first (context 11).

        Raises:
            NoEntry: when ``from_`` is unknown, or there is no leaf.
            InvalidEntry: without a summary.
        """
        self._leaf_or_raise()
        return BranchSummaryEntry(self[from_].id, summary)
