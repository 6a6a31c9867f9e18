"""Noted calls: what a model call used of which an import could keep nothing but a note.

A note is a custom entry. Codex leaves them for a call that is known by its counters alone, for
counts that came after their response, and for a summary that came to nothing; pi for what its
extensions used, and for an answer that a fork copied. Spec: codex 7, pi 3 and 5, decision D12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from agentsession.importers.codex import usage as codex
from agentsession.importers.pi.usage import cost_of, is_counted, told_of, told_of_import, usage_of
from agentsession.importers.usage import Told
from agentsession.record_entries import CustomEntry
from agentsession.session import Session

_OWNED: Final = (b'"usage"', b'"hidden_call"')


class Noted(NamedTuple):
    """What a call used.

    Attributes:
        usage: tokens, in the payload's form.
        cost: in USD; ``None`` where that is not recorded.
        model: who answered; empty where the note does not say.
        provider: who served it; likewise.
        told: what is to say of the call.
    """

    usage: Mapping[str, Any]
    cost: float | None = None
    model: str = ""
    provider: str = ""
    told: Told = Told()


def noted(session: Session, entry: CustomEntry) -> Noted | None:
    """Return what the call of a note used; ``None`` for a note of something else."""
    reader = _READERS.get(entry.ns)
    told = entry.text_of("data") if reader is not None else None
    if reader is None or told is None or not any(name in told for name in _OWNED):
        return None
    data = entry.data
    return reader(session, entry, data) if isinstance(data, Mapping) else None


def _codex(session: Session, entry: CustomEntry, data: Mapping[str, Any]) -> Noted | None:
    if "in_flight" in data and session.children(entry.parent)[-1] is not entry:
        # The files have grown: what was on its way then has its entries now.
        return None
    hidden = data.get("hidden_call")
    used = data.get("usage")
    if not isinstance(used, Mapping) and isinstance(hidden, Mapping):
        used = hidden.get("usage")
    if not isinstance(used, Mapping):
        return None
    return Noted(used, told=codex.told_of(session.id, entry, data, used))


def _pi(session: Session, entry: CustomEntry, data: Mapping[str, Any]) -> Noted | None:
    kind, inner = data.get("type"), data.get("message")
    copied = kind == "message" and isinstance(inner, Mapping) and inner.get("role") == "assistant"
    if kind != "usage" and not copied:
        return None
    call = inner if copied and isinstance(inner, Mapping) else data
    if not is_counted(call.get("usage")):
        return None
    used, cost = usage_of(call.get("usage")), cost_of(call.get("usage"))
    model, provider = call.get("model"), call.get("provider")
    told = told_of_import(session, entry, call) if copied else told_of(entry.ts, call, None)
    return Noted(
        used or {},
        cost,
        model if isinstance(model, str) else "",
        provider if isinstance(provider, str) else "",
        told._replace(copied=copied),
    )


_Reader = Callable[[Session, CustomEntry, Mapping[str, Any]], Noted | None]
_READERS: Final[Mapping[str, _Reader]] = MappingProxyType({"codex": _codex, "pi": _pi})
