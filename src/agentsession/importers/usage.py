"""Usage of single model calls, from an agent's own files and from sessions of this format.

Spec: decision D12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agentsession import text
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ResponseEntry,
)
from agentsession.errors import NotJSON
from agentsession.record_entries import CustomEntry, EnvEntry
from agentsession.timestamp import Timestamp

if TYPE_CHECKING:
    from agentsession.importers.base import Importer, Source
    from agentsession.session import Session

_CALLS: Final = (ResponseEntry, CompactionEntry, BranchSummaryEntry)
_NATIVE: Final = ("pi", "opencode", "claude_code", "codex")


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one model call used.

    Attributes:
        session_id: the session it belongs to, as an import would name it.
        model: the model that answered; empty when that is not recorded.
        provider: who served it; empty when that is not recorded.
        ts: when; ``None`` when that is not recorded.
        cwd: the working directory; empty when that is not recorded.
        usage: tokens in the payload's form: ``input_tokens`` holds uncached input, cache
            reads and cache writes, ``output_tokens`` holds the reasoning tokens.
        cost: in USD, where the agent recorded it; else ``None``.
        key: tells model calls apart: records with one key are copies of one call, of which
            the one with the most output tokens counts. Empty for a call without copies.
        complete: whether the counts are final; ``False`` for those of an answer's first event.

    Spec: format 5.6, decision D12.
    """

    session_id: str
    model: str = ""
    provider: str = ""
    ts: Timestamp | None = None
    cwd: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    cost: float | None = None
    key: str = ""
    complete: bool = True


def of_session(session: Session) -> Iterator[UsageRecord]:
    """Yield what each model call of a session used: responses, compactions, branch summaries.

    So do the notes of an import, where a call left no more; see :mod:`.noted`.

    What a fork took over from its origin has the origin's entry ids and times, and so the
    same keys.
    """
    # It reads the notes of importers, which themselves say here what their files hold.
    from agentsession.importers.noted import noted  # noqa: PLC0415

    model = provider = ""
    cwd = session.header.cwd
    for entry in session.entries:
        if isinstance(entry, EnvEntry):
            cwd = entry.cwd or cwd
        if isinstance(entry, ConfigEntry):
            model = entry.model or model
            provider = _string(_decoded(entry, "provider")) or provider
        if isinstance(entry, CustomEntry):
            note = noted(session, entry)
            if note is not None:
                key = f"entry:{entry.id}:{entry.ts_text}:"
                who = (note.model or model, note.provider or provider)
                yield UsageRecord(session.id, *who, entry.ts, cwd, note.usage, note.cost, key)
            continue
        if not isinstance(entry, _CALLS):
            continue
        name = ""
        if isinstance(entry, ResponseEntry):
            name = entry.response_id
            model = entry.model or model
            provider = _string(_decoded(entry, "provider")) or provider
        cost = recorded_cost(entry)
        if entry.usage is None and not cost:
            continue
        yield UsageRecord(
            session.id,
            model,
            provider,
            entry.ts,
            cwd,
            entry.usage if isinstance(entry.usage, Mapping) else {},
            cost,
            f"entry:{entry.id}:{entry.ts_text}:{name}",
        )


def of_source(importer: Importer, source: Source) -> Iterator[UsageRecord]:
    """Yield what each model call of a source used.

    An importer that reads usage straight from its files says so by a method
    ``usage_records(source)``; of another one each session is converted, one at a time.
    """
    straight = getattr(importer, "usage_records", None)
    if straight is not None:
        yield from straight(source)
        return
    for native in importer.sessions(source):
        yield from of_session(importer.convert(source, native.id).session)


def recorded_cost(entry: Entry) -> float | None:
    """Return what a call cost in USD by an agent's own record, ``None`` for none.

    Importers keep it as the agent wrote it, beside the response.
    """
    for namespace in _NATIVE:
        native = _decoded(entry, namespace)
        if not isinstance(native, dict):
            continue
        used = native.get("usage")
        inner = used.get("cost") if isinstance(used, dict) else None
        total = inner.get("total") if isinstance(inner, dict) else None
        for found in (native.get("cost"), native.get("costUSD"), total):
            amount = _amount(found)
            if amount is not None:
                return amount
    return None


def _decoded(entry: Entry, member: str) -> Any:
    member_text = entry.text_of(member)
    if member_text is None:
        return None
    try:
        return text.parse(member_text)
    except NotJSON:
        return None


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
