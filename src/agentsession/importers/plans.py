"""Plans: what a merge does to a session that is in a store, and where it is opened then.

Entry ids follow from what entries say and where they stand, so what is stored already is
known by its id.

Spec: decisions D5 and D6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from agentsession import versions
from agentsession.calls import CALL_TYPE, call_part
from agentsession.entries import LEAF_LABEL, Entry, ItemEntry
from agentsession.findings import Finding
from agentsession.importers.all_entries import AllEntries
from agentsession.importers.grafting import grafted
from agentsession.importers.heading import late_ties
from agentsession.importers.identity import (
    FORMATS,
    entry_id,
    hashed,
    imported_id,
    is_imported,
    migrated,
)
from agentsession.importers.repeating import is_note, unrepeated
from agentsession.reading import load
from agentsession.record_entries import InfoEntry, LabelEntry, LinkEntry
from agentsession.session import Session
from agentsession.timestamp import Timestamp

REWRITTEN: Final = "rewritten-past"
OLDER_COPY: Final = "older-copy"
USER_LEAF: Final = "user-leaf-kept"
HEADER_DIFFERS: Final = "header-differs"
OTHER_FORMAT: Final = "format-kept"
NOT_REWRITTEN: Final = "not-rewritten"
REPEATED_CALLS: Final = "call-id-repeated"

SENTENCES: Final = {
    REWRITTEN: (
        "the source says something else than when it was imported before: both are kept, the "
        "new one as a branch"
    ),
    OLDER_COPY: "the store holds a later state of the session; nothing was written",
    USER_LEAF: "the session was continued, or its leaf set, after an import: the leaf stays there",
    HEADER_DIFFERS: "the session's header would differ now; the stored one stays",
    OTHER_FORMAT: "the store holds the session in another format than was asked for; it stays",
    NOT_REWRITTEN: "a reference could not be rewritten for ids that are hashes, and is as it was",
    REPEATED_CALLS: (
        "calls share an id or have none, which a session of later drafts should not have: they "
        "are as they were, and verify names them"
    ),
}
"""What the codes of a merge mean."""

# The conversation. What is written after the fact (titles, links, input that waits) hangs below
# its last entry, and so is new with each growth.
_CONVERSATION: Final = frozenset({"item", "response", "compaction", "branch_summary"})
# What a user adds to a session without going on in it.
_REMARKS: Final = frozenset({"info", "label", "link", "outcome"})


class Action(StrEnum):
    """What a merge does to a session of a store."""

    CREATED = "created"
    """It was not there."""
    GROWN = "grown"
    """What is new was appended."""
    BRANCHED = "branched"
    """The past was rewritten: the new one was appended as a branch."""
    UNCHANGED = "unchanged"
    """Nothing is new."""
    OLDER = "older"
    """The store knows more than the source."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a merge appends, and what it leads to.

    Attributes:
        action: what happens to the session.
        entries: what is appended, in order; each names its parent.
        leaf: the leaf of the session when it is opened afterwards.
        findings: what is worth telling.
        ids: the ids entries are written under, by those they were converted with, where
            these are others.
        held: by the id that a note was converted with, the entries that keep what it keeps,
            where the store has had that, or part of it, before.
        lacks: whether the source says less of the conversation than an import has stored.
    """

    action: Action
    entries: Sequence[Entry] = ()
    leaf: str | None = None
    findings: tuple[Finding, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacks: bool = False

    def written(self, entry_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the ids that entries have in the store, by those they were converted with."""
        return tuple(
            name for one in entry_ids for name in self.held.get(one) or (self.ids.get(one, one),)
        )


def plan(
    stored: Session | None,
    converted: Session,
    to: str = FORMATS[0],
    found: Session | None = None,
    *,
    later: bool = False,
) -> Plan:
    """Return what a merge would do. Nothing is written.

    Args:
        stored: the session as the store has it; ``None`` when it does not.
        converted: the session as it is merged.
        to: the format of a new session; see :func:`~agentsession.importers.merge.merge`.
        found: the session as the source has it now, where it is merged with what was known
            of it when it was stored: it tells of ties that are known by now.
        later: take over only what came later than all that is stored, because the rest is
            known better there.

    Spec: decision D6, later drafts 12.

    Raises:
        UnresolvedMigration: when an entry cannot be written in the format.
    """
    converted = in_format(stored, converted, to)
    found = None if found is None else in_format(stored, found, to)
    if stored is None:
        done = Plan(Action.CREATED, AllEntries(converted), reopened_leaf(converted))
    else:
        done = _Merging(stored, converted, found or converted, later=later).plan()
    has_hashes = versions.has_content_ids(converted.header.version)
    told = [Finding(NOT_REWRITTEN, SENTENCES[NOT_REWRITTEN], s) for s in converted.unresolved]
    if stored is not None and has_hashes != versions.has_content_ids(versions.parse_format(to)):
        told.append(_finding(OTHER_FORMAT, stored))
    if has_hashes:
        told += _repeated_calls(stored, converted, done.entries)
    ids = {imported_id(entry): entry.id for entry in converted.entries} if has_hashes else {}
    return replace(done, findings=(*done.findings, *told), ids=ids)


def in_format(stored: Session | None, converted: Session, to: str) -> Session:
    """Return the converted session in the stored one's format or, when it is new, in another."""
    version = versions.parse_format(to) if stored is None else stored.header.version
    if versions.has_content_ids(version) and not versions.has_content_ids(converted.header.version):
        return migrated(converted, stored)
    return converted


def _repeated_calls(
    stored: Session | None, converted: Session, new: Iterable[Entry]
) -> list[Finding]:
    """What to tell of calls that later drafts do not allow. Spec: later drafts 12.

    A past that was rewritten stands in the store twice, with its calls.
    """
    sessions = [converted] if stored is None else [converted, stored]
    ids: set[str] = set()
    for session in sessions:
        ids |= session.repeated_call_ids()
        ids |= {""} if session.call_owner("") else set()
    if stored is not None:
        calls = (e.item for e in new if isinstance(e, ItemEntry) and call_part(e.item) == CALL_TYPE)
        ids |= {call.call_id for call in calls if stored.call_owner(call.call_id)}
    if not ids:
        return []
    where = next(filter(None, (session.call_owner(min(ids)) for session in sessions)), "")
    return [Finding(REPEATED_CALLS, SENTENCES[REPEATED_CALLS], where, len(ids))]


class _Merging:
    """A session that is in the store, beside the same session as its source has it."""

    def __init__(self, stored: Session, converted: Session, found: Session, *, later: bool) -> None:
        self.stored = stored
        self.converted = converted
        self.found = found
        others = [entry for entry in stored.entries if entry.id not in converted]
        self.users = [entry for entry in others if not is_imported(entry)]
        self._taken: set[str] = set()
        if later:
            grafts = grafted(stored, converted, self._graft)
            self.gone: list[Entry] = []
            self.new, self._moved, self._held = grafts.entries, grafts.moved, grafts.held
            return
        new = [entry for entry in converted.entries if entry.id not in stored]
        self.gone = [entry for entry in others if is_imported(entry)]
        left = unrepeated(stored, new, self._rewritten)
        self.new, self._moved, self._held = left.entries, left.moved, left.held

    def plan(self) -> Plan:
        findings = []
        ties, differs = late_ties(self.stored, self.converted, self.found)
        if differs:
            findings.append(_finding(HEADER_DIFFERS, self.stored))
        if self._is_older():
            findings.append(_finding(OLDER_COPY, self.stored))
            return Plan(Action.OLDER, (), self.stored.leaf, tuple(findings))
        action = Action.GROWN if self.new else Action.UNCHANGED
        if self._is_rewritten():
            action = Action.BRANCHED
            findings.append(_finding(REWRITTEN, self.stored))
        leaf = self._leaf()
        if self._leaf_is_the_users():
            findings.append(_finding(USER_LEAF, self.stored))
        appended = [*self.new, *self._named(leaf)]
        appended += [self._own(tie.moved(ts=self._now()), leaf, "tie") for tie in ties]
        reached = _leaf_of(self.stored, appended)
        if reached != leaf and self._leaves_leaf():
            leaf = reached
        if reached != leaf and not self._is_remark_below(reached, leaf, appended):
            appended.append(self._marked(leaf))
            reached = leaf
        if appended and action is Action.UNCHANGED:
            action = Action.GROWN
        lacks = bool(self._said(self.gone))
        return Plan(action, tuple(appended), reached, tuple(findings), {}, self._held, lacks)

    @staticmethod
    def _said(entries: Iterable[Entry]) -> list[Entry]:
        """The entries of the conversation among some."""
        return [entry for entry in entries if entry.type in _CONVERSATION]

    def _is_rewritten(self) -> bool:
        """Whether the conversation goes on where the stored one went on in another way."""
        gone = _anchors(self.gone)
        new = _anchors(self.new)
        left = {gone[entry.id] for entry in self._said(self.gone)}
        return any(new[entry.id] in left for entry in self._said(self.new))

    def _is_older(self) -> bool:
        """Whether the store knows all the source says of the conversation, and later things."""
        lost = self._said(self.gone)
        if not lost or self._said(self.new):
            return False
        if not self.new and _leaf_of(self.stored, ()) == self._leaf():
            # Not a backup: the session was rewritten to be shorter, and that is stored.
            return False
        return _newest(self.converted.entries) < _newest(lost)

    def _leaves_leaf(self) -> bool:
        """Whether the session stays open where it is, whatever leaf the source has.

        So it does for a copy of which the store knows all, or copies imported by turns would
        move the leaf to and fro. But a merge that was cut short before it marked the leaf is
        completed: what the store has last is then of this copy. And a copy that is newer than
        the store decides, once: the mark has its time.
        """
        if self.new or not self.stored.entries:
            return False
        if self.stored.entries[-1].id in self.converted:
            return False
        return _newest(self.converted.entries) <= _newest(self.stored.entries)

    def _leaf_is_the_users(self) -> bool:
        return any(
            entry.type not in _REMARKS
            or (isinstance(entry, LabelEntry) and entry.label == LEAF_LABEL)
            for entry in self.users
        )

    def _leaf(self) -> str | None:
        """Where the session is to be opened after the merge.

        Where a user set it: what stands behind the user's last entry, imports wrote.
        """
        if not self._leaf_is_the_users():
            leaf = reopened_leaf(self.converted)
            return self._moved.get(leaf or "", leaf)
        entries = self.stored.entries
        last = entries.index(self.users[-1])
        return _leaf_among(self.stored, entries[: last + 1])

    def _named(self, leaf: str | None) -> list[Entry]:
        """The name a user gave, once more, when the new entries would hide it."""
        given = [e.name for e in self.users if isinstance(e, InfoEntry) and e.name]
        new = [e.name for e in self.new if isinstance(e, InfoEntry) and e.name]
        if not given or given[-1] == (new[-1] if new else self.stored.name):
            return []
        return [self._own(InfoEntry(given[-1], ts=self._now()), leaf, "name")]

    def _marked(self, leaf: str | None) -> Entry:
        label = LabelEntry(leaf or "", LEAF_LABEL, ts=self._now())
        return self._own(label, leaf, "leaf")

    def _rewritten(self, note: Entry, parent: str | None) -> Entry:
        return self._own(note, parent, "unknown")

    def _graft(self, entry: Entry, parent: str | None, role: str) -> Entry:
        return self._own(entry, parent, role, entry.ts)

    def _own(
        self, entry: Entry, parent: str | None, role: str, ts: Timestamp | None = None
    ) -> Entry:
        """An entry of the merge's own, under an id that is free."""
        if not self._taken:
            both = (*self.stored.entries, *self.converted.entries)
            self._taken = {imported_id(other) for other in both}
        new = entry_id(parent, "", role, entry)
        while new in self._taken:
            role += "+"
            new = entry_id(parent, "", role, entry)
        self._taken.add(new)
        if versions.has_content_ids(self.stored.header.version):
            return hashed(entry, parent, new, self.stored.id, ts or self._now())
        return entry.moved(parent=parent, id=new)

    def _now(self) -> Timestamp:
        """The time of the newest entry: a merge has no clock of its own."""
        return _newest((*self.stored.entries, *self.converted.entries))

    def _is_remark_below(
        self, reached: str | None, leaf: str | None, appended: Sequence[Entry]
    ) -> bool:
        """Whether what was reached is a merge's own remark, below the leaf wanted.

        That is a name it restored, a link that the header does not say, or what is left of a
        note that the store has had in part.
        """
        new = {entry.id: entry for entry in appended}
        at = reached
        while True:
            found = new.get(at or "") or self.stored.get(at or "")
            if found is None or found.id in self.converted or not is_imported(found):
                return False
            if not (isinstance(found, (InfoEntry, LinkEntry)) or is_note(found)):
                return False
            if found.parent == leaf:
                return True
            at = found.parent


def _anchors(entries: Iterable[Entry]) -> dict[str, str | None]:
    """For each of some entries, in file order, its nearest ancestor that is none of them."""
    anchors: dict[str, str | None] = {}
    for entry in entries:
        anchors[entry.id] = anchors.get(entry.parent or "", entry.parent)
    return anchors


def reopened_leaf(session: Session) -> str | None:
    """Return the leaf a session has once it is written and read again. Spec: format 8.4."""
    if session.source is not None:
        # It was read, or drafted as what a reader finds, and nobody went on in it since.
        return session.leaf
    return _leaf_among(session, session.entries)


def _leaf_of(stored: Session, appended: Sequence[Entry]) -> str | None:
    return _leaf_among(stored, (*stored.entries, *appended))


def _leaf_among(session: Session, entries: Sequence[Entry]) -> str | None:
    if not any(isinstance(e, LabelEntry) and e.label == LEAF_LABEL for e in entries):
        return entries[-1].id if entries else None
    lines = (session.header.line, *(entry.line for entry in entries))
    return load(b"\n".join(lines) + b"\n").leaf


def _newest(entries: Iterable[Entry]) -> Timestamp:
    times = (entry.ts for entry in entries)
    return max((time for time in times if time is not None), default=_EPOCH)


_EPOCH: Final = Timestamp.from_nanoseconds(0)


def _finding(code: str, session: Session) -> Finding:
    return Finding(code, SENTENCES[code], session.id)
