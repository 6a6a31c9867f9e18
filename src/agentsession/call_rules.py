"""What may be appended about a call, where the rules of later drafts hold.

A reject and an answer are final, a call that has its output is done, and a ``call_id`` names
one call of the whole session.

Spec: later drafts 8 and 10.3.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeGuard

from agentsession._undoing import Journal
from agentsession.calls import CALL_TYPE, CallLog, CallStanding, call_part
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry
from agentsession.errors import (
    AnswerNotDispatched,
    BadTarget,
    CallAnswered,
    CallCompleted,
    CallIDRepeated,
    CallRejected,
    InvalidEntry,
    RecordMissing,
    RejectDispatched,
)
from agentsession.path_states import PathStates
from agentsession.record_entries import DecisionEntry, DispatchEntry
from agentsession.settings import Settings

if TYPE_CHECKING:
    from agentsession.rows import Rows
    from agentsession.tree import Tree


def _is_reject(entry: Entry) -> TypeGuard[DecisionEntry]:
    return isinstance(entry, DecisionEntry) and entry.verdict == "reject"


class _SettingsAt:
    """The settings at the end of a path that is fed entry by entry, as ``settings_at``."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.settings = Settings()

    def feed(self, entry: Entry) -> None:
        if isinstance(entry, CompactionEntry):
            self._journal.let(self, "settings", entry.config)
        elif isinstance(entry, ConfigEntry):
            self._journal.let(self, "settings", self.settings.apply(entry))


class _Rejects:
    """The entry that rejects a call first on a path that is fed entry by entry, by its id."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.found: dict[str, str] = {}

    def feed(self, entry: Entry) -> None:
        if _is_reject(entry) and entry.call_id not in self.found:
            self._journal.put(self.found, entry.call_id, entry.id)


class Known:
    """What the rules ask about a session and its paths, collected when first asked for."""

    def __init__(self) -> None:
        self._found: dict[str, str] | None = None
        self._dispatched: set[str] | None = None
        self._rejected: set[str] | None = None
        self._logs = PathStates(
            lambda journal: CallLog(journal=journal),
            frozenset({ItemEntry.TYPE, DecisionEntry.TYPE, DispatchEntry.TYPE}),
        )
        self._settings = PathStates(
            _SettingsAt, frozenset({CompactionEntry.TYPE, ConfigEntry.TYPE})
        )
        self._rejects = PathStates(_Rejects, frozenset({DecisionEntry.TYPE}))

    def log(self, rows: Rows, entry_id: str | None) -> CallLog:
        """Return the calls on the path to an entry, good until the next question."""
        return self._logs.at(rows, entry_id)

    def settings(self, rows: Rows, entry_id: str) -> Settings:
        """Return the settings at the end of the path to an entry."""
        return self._settings.at(rows, entry_id).settings

    def reject(self, call_id: str, rows: Rows, entry_id: str | None) -> str:
        """Return the first entry on the path to one that rejects a call, or an empty string."""
        if self._rejected is None:
            found = map(rows.__getitem__, rows.of_types(frozenset({DecisionEntry.TYPE})))
            self._rejected = {entry.call_id for entry in filter(_is_reject, found)}
        if call_id not in self._rejected:
            return ""
        return self._rejects.at(rows, entry_id).found.get(call_id, "")

    def is_dispatched(self, entry_id: str, rows: Rows) -> bool:
        """Return whether any dispatch of the session names an item entry as its target."""
        if self._dispatched is None:
            self._dispatched = set(dispatched(rows))
        return entry_id in self._dispatched

    def owner(self, call_id: str, rows: Rows) -> str:
        """Return the entry that holds the call with an id, or an empty string."""
        if self._found is None:
            found: dict[str, str] = {}
            for row in rows.of_types(frozenset({ItemEntry.TYPE})):
                _own(found, rows[row])
            self._found = found
        return self._found.get(call_id, "")

    def take(self, entry: Entry) -> None:
        """Note what an entry that was added says of calls."""
        if self._dispatched is not None and isinstance(entry, DispatchEntry):
            self._dispatched.add(entry.target)
        if self._rejected is not None and _is_reject(entry):
            self._rejected.add(entry.call_id)
        if self._found is not None:
            _own(self._found, entry)


def _own(owners: dict[str, str], entry: Entry) -> None:
    """Note which call an entry holds, unless an earlier one holds one with its id."""
    if isinstance(entry, ItemEntry) and call_part(entry.item) == CALL_TYPE:
        owners.setdefault(entry.item.call_id, entry.id)


def dispatched(rows: Rows) -> frozenset[str]:
    """Return the item entries that any dispatch names as its target."""
    found = (rows[row] for row in rows.of_types(frozenset({DispatchEntry.TYPE})))
    return frozenset(entry.target for entry in found if isinstance(entry, DispatchEntry))


def repeated(rows: Rows) -> frozenset[str]:
    """Return the call ids that name more than one call."""
    entries = (rows[row] for row in rows.of_types(frozenset({ItemEntry.TYPE})))
    ids = Counter(
        entry.item.call_id
        for entry in entries
        if isinstance(entry, ItemEntry) and call_part(entry.item) == CALL_TYPE
    )
    return frozenset(call_id for call_id, count in ids.items() if count > 1)


def check(tree: Tree, known: Known, entry: Entry) -> None:
    """Return when an entry that has its place may be appended.

    Args:
        tree: the session.
        known: what is known of it.
        entry: the entry.

    Spec: later drafts 8 and 10.3.

    Raises:
        CallIDRepeated, BadTarget, CallRejected, CallAnswered, CallCompleted,
        RejectDispatched, AnswerNotDispatched: for the rules about calls.
        InvalidEntry: for parts kept by number that are not in force.
    """
    if isinstance(entry, ItemEntry):
        _check_call_id(tree, entry)
    elif isinstance(entry, DispatchEntry):
        _check_dispatch(_call(tree, known, entry))
    elif isinstance(entry, DecisionEntry):
        _check_decision(tree, known, entry)
    elif isinstance(entry, ConfigEntry):
        _check_kept(tree, known, entry)


def _check_call_id(tree: Tree, entry: ItemEntry) -> None:
    if call_part(entry.item) != CALL_TYPE:
        return
    call_id = entry.item.call_id
    if not call_id:
        raise CallIDRepeated("item entry: a function call needs a call_id of its own")
    owner = tree.call_owner(call_id)
    if owner:
        raise CallIDRepeated(
            f'item entry: call_id "{call_id}" already names the call in {owner}; mint another one, '
            "and send that to the provider",
            call_id=call_id,
        )


def _call(tree: Tree, known: Known, entry: DispatchEntry | DecisionEntry) -> CallStanding:
    """The call on the path that an entry names, by its target and by its id."""
    call = known.log(tree._rows, entry.parent).call_at(entry.target)
    if call is None or call.id != entry.call_id:
        other = f"holds call {call.id}" if call else "is no call on the path before it"
        raise BadTarget(
            f"{entry.type} entry: its target {entry.target} {other}, and call {entry.call_id} was "
            "named",
            type=entry.type,
            call_id=entry.call_id,
            entry_id=entry.target,
        )
    return call


def settled_problem(call: CallStanding, entry_type: str) -> InvalidEntry | None:
    """Return the error for an entry about a call that a decision settled, if one did."""
    if call.rejected:
        return CallRejected(
            f"call {call.id} was rejected, so a {entry_type} cannot follow",
            type=entry_type,
            call_id=call.id,
        )
    if call.answered:
        return CallAnswered(
            f"call {call.id} was answered, so a {entry_type} cannot follow",
            type=entry_type,
            call_id=call.id,
        )
    return None


def dispatch_problem(call: CallStanding) -> InvalidEntry | None:
    """Return the error for a dispatch of a call as it stands, or ``None`` (later drafts 10.3)."""
    settled = settled_problem(call, "dispatch")
    if settled is None and not call.pending:
        return CallCompleted(
            f"call {call.id} has its output, so a dispatch cannot follow",
            type="dispatch",
            call_id=call.id,
        )
    return settled


def missing_dispatch(call: CallStanding) -> RecordMissing:
    """Return the error for a call whose output has no dispatch though the header promises them."""
    return RecordMissing(
        f"the header promises dispatch entries, but call {call.id} of {call.entry.id} has an "
        "output and no dispatch",
        record="dispatch",
        call_id=call.id,
        entry_id=call.entry.id,
    )


def decision_problem(
    call: CallStanding, verdict: str, *, may_have_run: bool
) -> InvalidEntry | None:
    """Return the error for a decision about a call as it stands, or ``None``.

    Args:
        call: the call.
        verdict: what is decided.
        may_have_run: whether the call was dispatched somewhere in the session, or nothing
            promises that dispatches are recorded.

    Spec: later drafts 10.3.
    """
    settled = settled_problem(call, "decision")
    if settled is not None:
        return settled
    if verdict in ("reject", "answer") and not call.pending:
        return CallCompleted(
            f"call {call.id} has its output, so a decision cannot {verdict} it",
            type="decision",
            call_id=call.id,
        )
    if verdict == "reject" and call.dispatch is not None:
        return RejectDispatched(
            f"call {call.id} was handed to its tool by {call.dispatch.id}, so it cannot be "
            "rejected",
            call_id=call.id,
        )
    if verdict == "answer" and call.dispatch is None and not may_have_run:
        return AnswerNotDispatched(
            f"call {call.id} was never dispatched, so nothing can answer for its tool; reject it",
            call_id=call.id,
        )
    return None


def _check_dispatch(call: CallStanding) -> None:
    problem = dispatch_problem(call)
    if problem is not None:
        raise problem


def _check_decision(tree: Tree, known: Known, entry: DecisionEntry) -> None:
    call = _call(tree, known, entry)
    may_have_run = entry.verdict != "answer" or _may_have_run(tree, known, call)
    problem = decision_problem(call, entry.verdict, may_have_run=may_have_run)
    if problem is not None:
        raise problem


def _may_have_run(tree: Tree, known: Known, call: CallStanding) -> bool:
    promised = tree.header.has_record("dispatch") and not tree.is_inherited(call.entry.id)
    return not promised or known.is_dispatched(call.entry.id, tree._rows)


def _check_kept(tree: Tree, known: Known, entry: ConfigEntry) -> None:
    """Refuse a ``keep`` that runs past the parts in force or takes one that is named."""
    kept = [part for part in entry.instructions_parts if not part.id]
    if not kept or not entry.parent:
        if kept and not entry.replace:
            raise InvalidEntry("config entry: there are no parts in force to keep", type="config")
        return
    settings = known.settings(tree._rows, entry.parent).apply(entry)
    if any(not part.id for part in settings.instructions_parts) and entry.instructions is None:
        raise InvalidEntry(
            "config entry: keep takes more parts than are in force, or one that is named beside it",
            type="config",
            member="instructions_parts",
        )
