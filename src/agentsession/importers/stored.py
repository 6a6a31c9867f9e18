"""Stored calls: which call of an agent an entry of an import stands for.

A store keeps what an import ever wrote. A call whose answer was half written when it was
imported first has an entry from then and one from later, and the same call may stand in the
agent's own files, which are counted beside the store. So a call has the name here that it has
there, and an entry that a later import wrote again yields to it.

Spec: decisions D6 and D12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec

from agentsession.beside import value_of
from agentsession.entries import CompactionEntry, Entry, ItemEntry, ResponseEntry
from agentsession.importers.ancestry import Ancestry
from agentsession.importers.claude_code import usage as claude_code
from agentsession.importers.codex import usage as codex
from agentsession.importers.identity import imported_id
from agentsession.importers.noted import Noted, noted
from agentsession.importers.numbers import count
from agentsession.importers.pi import usage as pi
from agentsession.importers.usage import Told, UsageRecord, recorded_cost, tokens_of
from agentsession.record_entries import CustomEntry
from agentsession.session import Session

_ENTRY: Final = "entry"
_INFERRED: Final = "inferred"


@dataclass(slots=True)
class _Held:
    """A call that a later entry may stand for as well; whether it still counts."""

    entry: Entry
    record: UsageRecord
    told: Told
    counts: bool = True


class Calls:
    """Tells what calls the entries of one session stand for.

    Args:
        session: the session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        harness = session.header.harness
        self._harness = harness.name if harness is not None else ""
        self._held: dict[str, list[_Held]] = {}
        self._named: dict[str, Entry] = {}
        self._reached: dict[str, list[Entry]] = {}
        self._by_entry: dict[str, _Held] = {}
        self._doubted: list[_Held] = []
        self._totals: list[_Held] = []
        # Of two entries on one path both were calls.
        self._is_above = Ancestry(session).is_above

    def told(self, entry: Entry) -> tuple[Told, float | None]:
        """Return what is to say of a call that an entry stands for, and its recorded cost."""
        cost: float | None = None
        found: Told | None = None
        for namespace, reader in _READERS.items():
            native = value_of(entry, namespace)
            if not isinstance(native, dict):
                # A summary of which its agent recorded nothing else is its agent's all the same.
                if self._harness != namespace or not _is_summary(entry):
                    continue
                native = {}
            cost = _cost(entry, native) if cost is None else cost
            found = found or reader(self._session, entry, native)
        return found or Told(_own(entry)), cost

    def noted(self, entry: CustomEntry) -> Noted | None:
        """Return what the call of a note used; ``None`` for a note of something else."""
        return noted(self._session, entry)

    def take(self, entry: Entry, record: UsageRecord, told: Told) -> Iterator[UsageRecord]:
        """Yield a record, unless the call of its slot may yet be written again.

        A log that was damaged at an earlier import may have given a call another name, or
        none: then it has the same time and the same counts, or what the thread had used in all
        is the same behind it.
        """
        taken = _Held(entry, record, told)
        if (
            told.hidden
            and told.reached
            and any(not other.told.hidden for other in self._within(taken))
        ):
            self._doubted.append(taken)
            return
        if told.reached:
            self._totals.append(taken)
        if told.reached and not told.hidden:
            self._reached.setdefault(told.reached, []).append(entry)
            self._drop(f"{_INFERRED}:{told.reached}", entry)
        if not told.slot:
            for name in told.names:
                self._drop(name, entry)
                self._named[name] = entry
            yield record
            return
        if any(self._is_elsewhere(self._named.get(name), entry) for name in told.names):
            return
        # Calls that were numbered anew have other totals behind them.
        names = [f"{told.slot}:{told.reached}", *told.names]
        if told.stands_in:
            names.append(f"{_INFERRED}:{told.reached}")
        for name in names:
            self._drop(name, entry)
        if isinstance(entry, CompactionEntry):
            self._take_back(entry, record)
        self._by_entry[entry.id] = taken
        for name in names:
            self._held.setdefault(name, []).append(taken)

    def _is_reached(self, total: str, entry: Entry, *, above: bool = False) -> bool:
        """Whether a call that stands elsewhere, or above an entry, used so much in all."""
        return any(self._is_above(other, entry) == above for other in self._reached.get(total, ()))

    def _is_elsewhere(self, old: Entry | None, entry: Entry) -> bool:
        """Whether an older entry stands on another branch than an entry."""
        return old is not None and not self._is_above(old, entry)

    def _drop(self, name: str, entry: Entry) -> None:
        """Drop what has a name and stands on other branches than an entry."""
        for held in self._held.get(name, ()):
            if not self._is_above(held.entry, entry):
                # What led to it may be known by now, also where it was dropped before.
                held.counts = False
                self._drop_before(held, entry)

    def _drop_before(self, held: _Held, entry: Entry) -> None:
        """Drop what led to something that is dropped, where what led to its successor says so.

        What was inferred from a line is what the newest import infers from it. What repeats a
        line that was lost then yields to the call of that line.
        """
        at: str | None = held.entry.parent
        while at is not None:
            before = self._by_entry.get(at)
            if before is not None:
                told = before.told
                known = told.hidden or self._is_reached(told.reached, entry, above=True)
                if not before.counts or not known or self._is_above(before.entry, entry):
                    return
                before.counts = False
            above = self._session.get(at)
            at = above.parent if above is not None else None

    def _take_back(self, entry: CompactionEntry, record: UsageRecord) -> None:
        """Drop what an earlier import took for an answer, before the compaction was recorded.

        It stands where the compaction stands, and used the same.
        """
        used = tokens_of(record.usage)
        for held in self._all():
            if (
                isinstance(held.entry, ResponseEntry)
                and tokens_of(held.record.usage) == used
                and self._asked_at(held.entry) == entry.parent
            ):
                held.counts = False

    def _asked_at(self, response: ResponseEntry) -> str | None:
        """The entry below which an answer begins."""
        at = response.parent
        while at is not None:
            above = self._session.get(at)
            if not isinstance(above, ItemEntry) or above.response != response.response_id:
                break
            at = above.parent
        return at

    def rest(self) -> Iterator[UsageRecord]:
        """Yield the records that were held."""
        yield from (held.record for held in self._all() if held.counts)
        found: set[str] = set()
        for held in self._doubted:
            # A call that it was taken for may have turned out to be another one.
            total, left = held.told.reached, held.record.usage
            for other in self._within(held):
                if other.counts:
                    left = _less(left, other.record.usage)
            if total not in found and count(left.get("total_tokens")):
                found.add(total)
                yield msgspec.structs.replace(held.record, usage=left)

    def _within(self, note: _Held) -> list[_Held]:
        """What stands elsewhere and used some of what a note says was used.

        A note stands for all that was used since the last line that can be read, and may so
        stand for several calls.
        """
        end = int(note.told.reached)
        began = min(end - count(note.record.usage.get("total_tokens")), end - 1)
        return [
            other
            for other in self._totals
            if began < int(other.told.reached) <= end
            and not self._is_above(other.entry, note.entry)
        ]

    def _all(self) -> Iterator[_Held]:
        found = {id(held): held for several in self._held.values() for held in several}
        yield from found.values()


def _less(used: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of counts when others are taken away, by name."""
    left: dict[str, Any] = {}
    for name, value in used.items():
        other = known.get(name)
        if isinstance(value, Mapping):
            left[name] = _less(value, other if isinstance(other, Mapping) else {})
        else:
            left[name] = max(count(value) - count(other), 0)
    return left


def _is_summary(entry: Entry) -> bool:
    return not isinstance(entry, ResponseEntry) and bool(imported_id(entry))


def _own(entry: Entry) -> str:
    """The name of a call that is known by its entry: of one that was migrated by its first id."""
    name = entry.response_id if isinstance(entry, ResponseEntry) else ""
    ts = entry.ts.nanoseconds if entry.ts is not None else ""
    return f"{_ENTRY}:{entry.legacy_id or entry.id}:{ts}:{name}"


def _cost(entry: Entry, native: Mapping[str, Any]) -> float | None:
    """Return what a call cost by its agent's record.

    OpenCode's record of a summary stands with its question's; a fork's copy has no usage.
    """
    cost = recorded_cost(native)
    if cost is None and _is_summary(entry) and getattr(entry, "usage", None) is not None:
        told = native.get("summary")
        info = told.get("info") if isinstance(told, Mapping) else None
        cost = recorded_cost(info) if isinstance(info, Mapping) else None
    return cost


def _opencode(session: Session, entry: Entry, _native: Mapping[str, Any]) -> Told:
    if isinstance(entry, ResponseEntry) and entry.response_id:
        return Told(f"opencode:{session.id}:{entry.response_id}")
    return Told(_own(entry))


def _claude_code(_session: Session, entry: Entry, native: Mapping[str, Any]) -> Told:
    if isinstance(entry, ResponseEntry) and entry.response_id:
        return claude_code.told_of(entry.response_id, native)
    return Told(_own(entry))


def _codex(session: Session, entry: Entry, native: Mapping[str, Any]) -> Told:
    return codex.told_of(session.id, entry, native, getattr(entry, "usage", None))


def _pi(session: Session, entry: Entry, native: Mapping[str, Any]) -> Told:
    if isinstance(entry, ResponseEntry):
        return pi.told_of_import(session, entry, native)
    return pi.told_of(entry.ts, native, None)


_Reader = Callable[[Session, Entry, Mapping[str, Any]], Told]
_READERS: Final[Mapping[str, _Reader]] = MappingProxyType(
    {"pi": _pi, "opencode": _opencode, "claude_code": _claude_code, "codex": _codex}
)
