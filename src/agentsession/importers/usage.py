"""Usage of single model calls, from an agent's own files and from sessions of this format.

Spec: decision D12.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from agentsession.beside import value_of
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    ResponseEntry,
)
from agentsession.findings import Finding, merged
from agentsession.importers.base import UNREADABLE as ALARM
from agentsession.importers.numbers import number
from agentsession.importers.unread import NOTES, empty_file, unreadable
from agentsession.record_entries import CustomEntry, EnvEntry
from agentsession.timestamp import Timestamp

if TYPE_CHECKING:
    from agentsession.importers.base import Converted, Importer, Rest, Source
    from agentsession.session import Session

UNREADABLE: Final = "unreadable-source"
"""The code of what could not be read: calls may be missing."""

_LINES: Final = "lines that cannot be read: what they counted is missing"
_CALLS: Final = (ResponseEntry, CompactionEntry, BranchSummaryEntry)

Tell = Callable[[Finding], None]
"""What is called with what could not be read, and with empty files."""


class UsageRecord(msgspec.Struct, frozen=True, gc=False):
    """What one model call used; small, for there may be many.

    Attributes:
        session_id: the session it belongs to, as an import would name it.
        model: the model that answered; empty when that is not recorded.
        provider: who served it; empty when that is not recorded.
        ts: when; ``None`` when that is not recorded.
        cwd: the working directory; empty when that is not recorded.
        usage: tokens in the payload's form: ``input_tokens`` holds uncached input, cache
            reads and cache writes, ``output_tokens`` holds the reasoning tokens.
        cost: in USD, where the agent recorded it; else ``None``.
        key: names the call in every copy: of the records with one key the one with the most
            output tokens counts. Without one, records of one source are calls of their own,
            and those of another source with the same session and the same tokens their copies.
        complete: whether the counts are final; ``False`` for those of an answer's first event.
        odd: whether a count was none that can be, and stands as 0.
        copied: whether another session made the call, and this one has a copy of it.

    Spec: format 5.6, decision D12.
    """

    session_id: str
    model: str = ""
    provider: str = ""
    ts: Timestamp | None = None
    cwd: str = ""
    usage: Mapping[str, Any] = msgspec.field(default_factory=dict)
    cost: float | None = None
    key: str = ""
    complete: bool = True
    odd: bool = False
    copied: bool = False


class Told(NamedTuple):
    """What an importer says of a call that it left in an entry.

    Attributes:
        key, complete, odd, copied: see :class:`UsageRecord`.
        slot: names the call within the session; an entry that a later import wrote again, on
            a branch, has the slot of the first.
        names: further names of it there, where a damaged log may have hidden the first.
        reached: names what the session's calls had used in all when it ended.
        stands_in: whether it may be no call of its own where another one reached it.
        hidden: whether it was only inferred from that.
    """

    key: str = ""
    slot: str = ""
    complete: bool = True
    odd: bool = False
    copied: bool = False
    names: tuple[str, ...] = ()
    reached: str = ""
    stands_in: bool = False
    hidden: bool = False


def of_session(session: Session) -> Iterator[UsageRecord]:
    """Yield what each model call of a session used: responses, compactions, branch summaries.

    So do the notes of an import, where a call left no more; see :mod:`.noted`. Where an
    import wrote a call again, because its files had grown, the newest entry counts.

    What a fork took over from its origin has the origin's entry ids and times, and so the
    same keys; a call of an import has the key that it has in the agent's own files.
    """
    # It asks the importers, which themselves say here what their files hold.
    from agentsession.importers.stored import Calls  # noqa: PLC0415

    calls = Calls(session)
    model = provider = ""
    cwd = session.header.cwd
    for entry in session.entries:
        if isinstance(entry, EnvEntry):
            cwd = entry.cwd or cwd
        if isinstance(entry, ConfigEntry):
            model = entry.model or model
            provider = _string(value_of(entry, "provider")) or provider
        if isinstance(entry, CustomEntry):
            note = calls.noted(entry)
            if note is not None:
                who = (note.model or model, note.provider or provider)
                found = UsageRecord(session.id, *who, entry.ts, cwd, note.usage, note.cost)
                yield from calls.take(entry, _with(found, note.told), note.told)
            continue
        if not isinstance(entry, _CALLS):
            continue
        if isinstance(entry, ResponseEntry):
            model = entry.model or model
            provider = _string(value_of(entry, "provider")) or provider
        told, cost = calls.told(entry)
        if entry.usage is None and not cost and not told.odd:
            continue
        used = entry.usage if isinstance(entry.usage, Mapping) else {}
        found = UsageRecord(session.id, model, provider, entry.ts, cwd, used, cost)
        yield from calls.take(entry, _with(found, told), told)
    yield from calls.rest()


def _with(record: UsageRecord, told: Told) -> UsageRecord:
    return msgspec.structs.replace(
        record, key=told.key, complete=told.complete, odd=told.odd, copied=told.copied
    )


def of_source(
    importer: Importer, source: Source, tell: Tell | None = None
) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used.

    An importer that reads usage straight from its files says so by a method
    ``usage_records(source)``, or ``usage_records(source, tell)``; of another one each session
    is converted, one at a time.

    Args:
        importer: the importer.
        source: one of its sources.
        tell: called with a finding for what could not be read, ``unreadable-source``.
    """
    straight = getattr(importer, "usage_records", None)
    if straight is not None:
        telling = tell is not None and "tell" in inspect.signature(straight).parameters
        yield from straight(source, tell) if telling else straight(source)
        return
    for native in importer.sessions(source):
        converted = importer.convert(source, native.id)
        yield from of_session(converted.session)
        if tell is not None:
            _tell(converted, native.id, tell)
    if tell is not None:
        _tell(importer.report(source), str(source), tell)


def _tell(done: Converted | Rest, where: str, tell: Tell) -> None:
    """Tell what a conversion could not read, and what yields nothing."""
    found = [Finding(r.code, r.sentence, where) for r in done.records if r.code]
    # Places are told one by one: each may be mended by another hand.
    for one in (*merged(found), *done.findings):
        if one.code.startswith(ALARM):
            tell(Finding(UNREADABLE, one.sentence, one.where or where, one.count))
        elif one.code in NOTES:
            tell(one)


class Unread:
    """What of a file could not be read, told when it is known how much.

    Args:
        path: the file.
        tell: called with the finding; nothing is told without it.
    """

    def __init__(self, path: str, tell: Tell | None) -> None:
        self._path = path
        self._tell = tell
        self._first = self._count = 0

    def line(self, number: int) -> None:
        """Say that a line, counted from 1, or a part of it, cannot be read."""
        self._first = self._first or number
        self._count += 1

    def file(self, error: OSError) -> None:
        """Say that the rest of the file cannot be read, or the directory."""
        if self._tell is not None:
            self._tell(Finding(UNREADABLE, unreadable(self._path, error).sentence, self._path))

    def empty(self) -> None:
        """Say that nothing was written to the file."""
        if self._tell is not None:
            self._tell(empty_file(self._path))

    def done(self) -> None:
        """Say what there is to say of lines."""
        if self._count and self._tell is not None:
            place = f"{self._path}, line {self._first}"
            self._tell(Finding(UNREADABLE, _LINES, place, self._count))


def tokens_of(usage: Mapping[str, Any] | None) -> str:
    """Return the tokens of a call in a form that tells it from other calls."""
    used = usage or {}
    given, made = used.get("input_tokens_details"), used.get("output_tokens_details")
    given = given if isinstance(given, Mapping) else {}
    made = made if isinstance(made, Mapping) else {}
    found = (
        used.get("input_tokens"),
        given.get("cached_tokens"),
        given.get("cache_creation_tokens"),
        used.get("output_tokens"),
        made.get("reasoning_tokens"),
    )
    return "/".join(str(number or 0) for number in found)


def recorded_cost(native: Mapping[str, Any]) -> float | None:
    """Return what a call cost in USD by an agent's own record, ``None`` for none.

    Args:
        native: the record, which importers keep beside the response as the agent wrote it.
    """
    used = native.get("usage")
    inner = used.get("cost") if isinstance(used, dict) else None
    total = inner.get("total") if isinstance(inner, dict) else None
    for found in (native.get("cost"), native.get("costUSD"), total):
        cost = number(found)
        if cost is not None:
            return cost
    return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
