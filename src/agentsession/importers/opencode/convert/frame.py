"""What the conversion of one V1 session shares: its messages, their account, their times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.draft import Draft
from agentsession.importers.opencode.convert.history import History
from agentsession.importers.opencode.convert.lowering import Lowered
from agentsession.importers.opencode.convert.ordinary import Ordinary
from agentsession.importers.opencode.convert.reads import twice_read
from agentsession.importers.opencode.convert.timeline import Timeline
from agentsession.importers.opencode.convert.units import without
from agentsession.importers.opencode.convert.usage import Sum
from agentsession.importers.opencode.records import MessageRecord
from agentsession.importers.opencode.v1 import Message

_KNOWN_PARTS: Final = frozenset(names.KNOWN_PARTS)

MESSAGE_IDS: Final = frozenset({"id", "sessionID", "role"})
"""The members of a message's info that an entry says in its own way."""


@dataclass(slots=True)
class Frame:
    """One V1 session on its way.

    Attributes:
        draft: the session being written.
        records: the messages in order, each with an id.
        timeline: when each message was made, and by which release.
        accounts: where records are accounted for.
        copies: how many messages at the beginning are copies from a fork's origin.
        history: what each request held.
        gone: the places of messages that were deleted from the copy that is taken.
        parts_lost: the store lost parts without a trace.
        ordinary: the places of the messages that are ordinary steps.
        twice_read: the places of the messages whose ``input`` holds what a cache gave.
        native, converted, copied: what steps used, as stored, as converted, and as copied.
    """

    draft: Draft
    records: tuple[MessageRecord, ...]
    timeline: Timeline
    accounts: Accounts
    copies: int
    history: History
    gone: frozenset[int] = frozenset()
    parts_lost: bool = False
    ordinary: set[int] = field(default_factory=set)
    native: Sum = field(default_factory=Sum)
    converted: Sum = field(default_factory=Sum)
    copied: Sum = field(default_factory=Sum)
    twice_read: frozenset[int] = field(init=False)
    _numbers: list[int] = field(default_factory=list)
    _parts: list[range] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.twice_read = twice_read(self.records, self.timeline.rules)

    def open(self, stored: Sequence[MessageRecord]) -> None:
        """Open the account of every message and part, by their ids as stored."""
        open_account = self.accounts.open
        for record in stored:
            number = open_account("message", record.id or record.unit)
            parts = self.accounts.open_all("part", [part.id or part.unit for part in record.parts])
            self._numbers.append(number)
            self._parts.append(parts)
            if record.info is None:
                self.accounts.left_out(number, "unreadable-record")
                for part, part_number in zip(record.parts, parts, strict=True):
                    code = "message-lost" if part.part is not None else "unreadable-record"
                    self.accounts.left_out(part_number, code)

    def lost(self, place: int) -> list[str] | None:
        """Return the ids of a message's parts that cannot be read, ``None`` when none is lost.

        Where a store lost parts without a trace, those of a message without any may be; a
        failed one often had none.
        """
        record = self.records[place]
        lost = [part.id for part in record.parts if part.part is None]
        if lost:
            return lost
        if not (self.parts_lost or record.parts_lost) or record.parts:
            return None
        failed = record.info is not None and values.truthy(record.info.value.get("error"))
        return None if failed else []

    def note_lost(self, place: int) -> bool:
        """Say so when parts of a message are lost; return whether some are."""
        found = self.lost(place)
        if found is None:
            return False
        for part, number in zip(self.records[place].parts, self._parts[place], strict=True):
            if part.part is None:
                self.accounts.left_out(number, "unreadable-record")
        self.accounts.find("parts-lost", self.records[place].id, max(1, len(found)))
        return True

    def at(self, place: int) -> int:
        """Return when a message was made."""
        return self.timeline.at(place)

    def info(self, place: int) -> Message:
        """Return the info of a readable message."""
        info = self.records[place].info
        assert info is not None
        return info

    def lowered(self, place: int) -> Lowered:
        """Return a readable message as units, under the rules of its own release."""
        return self.history.lowered(place, self.timeline.rules(place))

    def before(self, place: int) -> Message | None:
        """Return the info of the readable message before a place."""
        for earlier in range(place - 1, -1, -1):
            info = self.records[earlier].info
            if info is not None and (earlier not in self.gone or place in self.gone):
                return info
        return None

    def is_open(self, place: int) -> bool:
        """Return whether nothing was said of a message yet."""
        return self.accounts.is_open(self._numbers[place])

    def settle(self, place: int, beside: Iterable[int], entry_id: str, code: str = "") -> None:
        """Account for a message, and for its parts beside its items, given by their places."""
        self.accounts.entry(self._numbers[place], entry_id, code=code)
        parts, numbers = self.records[place].parts, self._parts[place]
        known: list[int] = []
        for part in beside:
            found = parts[part].part
            kind = found.value.get("type") if found is not None else None
            if type(kind) is str and kind in _KNOWN_PARTS:
                known.append(numbers[part])
            else:
                self.accounts.folded(numbers[part], entry_id, code="unknown-part")
                self.accounts.find("unknown-part", self.records[place].id)
        self.accounts.folded_all(known, entry_id)

    def settle_step(
        self, place: int, step: Ordinary, written: Sequence[str], entry_id: str
    ) -> None:
        """Account for an ordinary step: each of its items was written, the response as well."""
        numbers, accounts = self._parts[place], self.accounts
        accounts.entries([numbers[part] for part in step.parts], written)
        accounts.entry(self._numbers[place], entry_id)
        accounts.folded_all([numbers[part] for part in step.beside], entry_id)
        self.ordinary.add(place)

    def settle_part(self, place: int, part: int, entry_id: str) -> None:
        """Say that a part became an entry."""
        numbers = self._parts[place]
        if part < len(numbers):
            self.accounts.entry(numbers[part], entry_id)

    def fold_message(self, place: int, entry_id: str) -> None:
        """Say that a message and all its parts are part of an entry that stands for more."""
        self.accounts.folded(self._numbers[place], entry_id)
        for part, number in zip(self.records[place].parts, self._parts[place], strict=True):
            if part.part is not None:
                self.accounts.folded(number, entry_id)

    def told(self, place: int, lowered: Lowered) -> dict[str, Any]:
        """Return what of a message stands in no item, for the entry that keeps it."""
        info = without(lowered.info.value, MESSAGE_IDS)
        if lowered.is_user:
            info.pop("summary", None)
        parts = [*lowered.beside.values()]
        told = {"message": self.records[place].id, "info": info, "parts": parts}
        lost = self.lost(place)
        return told if lost is None else {**told, "lost_parts": lost}

    def note_unknown(self, place: int) -> None:
        """Keep a message of a role OpenCode never wrote."""
        record = self.records[place]
        parts = [part.part.value for part in record.parts if part.part is not None]
        data: Mapping[str, Any] = {
            "message": record.id,
            "info": self.info(place).value,
            "parts": parts,
        }
        entry_id = self.draft.note(data, record.id, "unknown", self.at(place))
        self.fold_message(place, entry_id)
        self.accounts.entry(self._numbers[place], entry_id, code="unknown-role")
        self.accounts.find("unknown-role", record.id)


def named(records: Sequence[MessageRecord]) -> tuple[MessageRecord, ...]:
    """Return messages that all have an id of their own, and whose parts do.

    What has none is named by its place; what repeats another's id gets a mark.
    """
    taken: set[str] = set()
    ids = [record.id for record in records]
    ids += [part.id for record in records for part in record.parts]
    if len(set(ids)) == len(ids) and "" not in ids:
        return tuple(records)
    found = []
    for place, record in enumerate(records):
        name = unique(record.id or record.unit or f"message.{place}", taken)
        parts = tuple(
            part if part.id == new else replace(part, id=new)
            for at, part in enumerate(record.parts)
            for new in [unique(part.id or f"{name}.{at}", taken)]
        )
        found.append(replace(record, id=name, parts=parts))
    return tuple(found)


def unique(name: str, taken: set[str]) -> str:
    """Return a name, marked when it is taken, and take it."""
    while name in taken:
        name += "+"
    taken.add(name)
    return name
