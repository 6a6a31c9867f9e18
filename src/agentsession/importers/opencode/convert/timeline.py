"""The timeline of a session: when each message was made, and by which release.

OpenCode stores the release that created a session, not the one that sent a request. What
is stored gives hints, and the other sessions of the source say what was in use when.
Spec: opencode 12.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from agentsession.beside import value_of
from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.clock import FALLBACK, id_time, is_plausible
from agentsession.importers.opencode.convert.rules import (
    LAST_TABLES,
    LAST_TREE,
    UNKNOWN,
    Rules,
    Version,
    rules_of,
    version_of,
)
from agentsession.importers.opencode.names import G1
from agentsession.importers.opencode.records import MessageRecord, Session
from agentsession.importers.opencode.v1 import Message
from agentsession.session import Session as StoredSession

Releases = Sequence[tuple[int, Version]]
"""When a session was created, and by which release, in order of time."""

_STAMPED: Final = frozenset({"config", "response"})
_MILLI: Final = 1_000_000


def releases_in(stored: StoredSession) -> Releases:
    """Return when which release ran, as an earlier import found it.

    Args:
        stored: the session, as a store has it.
    """
    found = set()
    for entry in stored.entries:
        if entry.type in _STAMPED and entry.ts is not None:
            version = version_of(values.metadata_string(value_of(entry, "opencode"), "release"))
            if version != UNKNOWN:
                found.add((entry.ts.nanoseconds // _MILLI, version))
    return sorted(found)


class Timeline:
    """When each message of a V1 session was made, and the rules of the release that made it.

    Args:
        session: the session.
        records: its messages in order.
        releases: the sessions of the whole source.
        accounts: where a missing time or a release that is a guess is noted.
        since_tables: the place of the first message that only a database holds.
    """

    def __init__(
        self,
        session: Session,
        records: Sequence[MessageRecord],
        releases: Releases,
        accounts: Accounts,
        since_tables: int | None = None,
    ) -> None:
        self._session = session
        self._records = records
        self._releases = releases
        self._accounts = accounts
        self._since_tables = since_tables

    def at(self, place: int) -> int:
        """Return when a message was made, in milliseconds."""
        times = self._times
        if place < len(times):
            return times[place]
        return times[-1] if times else self.start

    def within(self, place: int, millis: int) -> int:
        """Return a time of a message's part, or the message's own when it cannot be one."""
        return millis if is_plausible(millis) else self.at(place)

    def rules(self, place: int) -> Rules:
        """Return the rules of the release that made a message."""
        rules = self._rules
        if place < len(rules):
            return rules[place]
        return rules[-1] if rules else rules_of(self._first_version())

    @cached_property
    def start(self) -> int:
        """When the session was created, or what stands in for it."""
        if is_plausible(self._session.created):
            assert self._session.created is not None
            return self._session.created
        known = [r.created for r in self._records if r.created and is_plausible(r.created)]
        near = self._session.updated or 0
        if not is_plausible(near):
            near = known[0] if known else FALLBACK
        found = id_time(self._session.id, near, descending=True)
        return found if found is not None else near

    @cached_property
    def _times(self) -> list[int]:
        times: list[int] = []
        before = self.start
        for record in self._records:
            at = record.created
            if at is None or not is_plausible(at):
                self._accounts.find("time-missing", record.id)
                at = id_time(record.id, before)
            before = before if at is None else at
            times.append(before)
        return times

    def _first_version(self) -> Version:
        version = version_of(self._session.version)
        if version == UNKNOWN:
            self._accounts.find("release-unknown", self._session.id)
            if self._session.generation == G1:
                return LAST_TREE
            return _EARLY if self._order.early else LAST_TABLES
        return version

    @cached_property
    def _rules(self) -> list[Rules]:
        found: list[Rules] = []
        first = version = self._first_version()
        created = [at for at, _ in self._releases]
        order, inferred = self._order, False
        newest = LAST_TREE if self._session.generation == G1 else None
        for place, record in enumerate(self._records):
            in_use = bisect_right(created, self._times[place])
            ran = version
            if in_use:
                ran = max(ran, self._releases[in_use - 1][1])
            if self._since_tables is not None and place >= self._since_tables:
                ran = max(ran, (1, 2, 0))
            # No hint says more than that.
            known = hint(record) if ran < _FIRST_SHOWN else UNKNOWN
            if order.late_from is not None and place >= order.late_from:
                known = max(known, _LATE)
            known = self._late(known, in_use) if known > ran and known >= _LATE else known
            known = max(ran, known)
            if newest is not None:
                known = min(known, newest)
            if place in order.early:
                known = min(known, _EARLY)
            version = max(version, known)
            inferred = inferred or version != first
            found.append(rules_of(version))
        if inferred:
            self._accounts.find("release-inferred", self._session.id)
        return found

    def _late(self, known: Version, in_use: int) -> Version:
        """Return the release a message is taken to be of that one since 1.14 made.

        That is one of the last, but none newer than the one that created the next session.

        Args:
            known: the oldest release that it can be.
            in_use: how many sessions were created before it.
        """
        later = [version for _, version in self._releases[in_use:] if version >= known]
        likely = later[0] if later else _LIKELY
        return max(known, min(likely, _LIKELY))

    @cached_property
    def _order(self) -> _Order:
        """What the order of members says of each message's release.

        The order means nothing by itself: where a release stamped the session, it counts
        only as a change, once, from the order of old releases to that of new ones. A
        session that mixes them was written by something else. Spec: opencode 4, 12.
        """
        told = [
            (place, is_late(record.info))
            for place, record in enumerate(self._records)
            if record.info is not None and _shows_order(record.info)
        ]
        early = [place for place, late in told if not late]
        late_places = [place for place, late in told if late]
        if not late_places:
            return _Order(frozenset(early))
        begin = late_places[0]
        if not early or early[-1] > begin:
            return _Order()
        while begin > 0 and _is_late_user(self._records[begin - 1]):
            begin -= 1
        return _Order(frozenset(early), begin)


_EARLY: Final[Version] = (1, 3, 2)
_LATE: Final[Version] = (1, 14, 0)
_LIKELY: Final[Version] = (1, 18, 0)
"""The release that is taken where all since 1.14 can have made a message: most came later."""
_FIRST_SHOWN: Final[Version] = (1, 17, 0)
_READ: Final[tuple[tuple[str, Version], ...]] = (("display", _FIRST_SHOWN), ("loaded", (1, 1, 32)))
"""What is told of a file that was read, and about the first release that did, newest first."""
_MEASURED: Final = frozenset({"bash", "invalid", "read", "todowrite"})
"""Tools of which 1.1 began to tell whether their output was cut."""
_FIRST_AGENT: Final[Version] = (1, 0, 162)
"""The first release seen to write which agent an assistant's message is of."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What the order of members says.

    Attributes:
        early: the places of messages whose members stand as up to 1.3.2.
        late_from: the first place from which they stand as since 1.14.
    """

    early: frozenset[int] = frozenset()
    late_from: int | None = None


def hint(record: MessageRecord) -> Version:
    """Return the oldest release that can have written a message. Spec: opencode 12."""
    info = record.info
    if info is None:
        return UNKNOWN
    asked, known = False, UNKNOWN
    for found in record.parts:
        part = found.part
        if part is None:
            continue
        kind = part.value.get("type")
        if kind == names.PART_TOOL:
            state = _object(part.value.get("state"))
            known = max(known, _ran(part.value, state))
        elif kind == names.PART_COMPACTION:
            asked = True
            if part.tail_start_id != "":
                known = max(known, _LATE)
    if info.role == names.ROLE_ASSISTANT:
        members = info.value
        if "total" in _object(members.get("tokens")):
            return max(known, (1, 1, 0))
        return max(known, _FIRST_AGENT) if values.string(members.get("agent")) else known
    if info.model is not None and info.model.variant:
        return max(known, _LATE)
    return max(known, (1, 0, 98)) if asked else known


def _ran(part: Mapping[str, Any], state: Mapping[str, Any]) -> Version:
    """Return the oldest release that can have run a tool."""
    tool, told = values.string(part.get("tool")), _object(state.get("metadata"))
    if state.get("status") == names.TOOL_ERROR:
        unnamed = tool == "read" and values.string(state.get("error")).startswith("File not found")
        return _LATE if unnamed or "raw" in state else UNKNOWN
    if state.get("status") != names.TOOL_COMPLETED:
        return UNKNOWN
    if tool == "read":
        for name, version in _READ:
            if name in told:
                return version
    if tool == "bash" and "exit" in told and "description" not in told:
        return _FIRST_SHOWN
    return (1, 1, 0) if tool in _MEASURED and "truncated" in told else UNKNOWN


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shows_order(info: Message) -> bool:
    members = info.value
    return info.role == names.ROLE_ASSISTANT and "parentID" in members and "time" in members


def _is_late_user(record: MessageRecord) -> bool:
    info = record.info
    return info is not None and info.role == names.ROLE_USER and is_late(info)


def is_late(info: Message) -> bool:
    """Return whether a message's members stand in the order that 1.14 brought."""
    first, second = ("parentID", "time") if _shows_order(info) else ("agent", "summary")
    if first == "agent" and info.role != names.ROLE_USER:
        return False
    if second not in info.value:
        return False
    for name in info.value:
        if name in (first, second):
            return name == first
    return False
