"""Windows: what a request of pi held, entry by entry.

Spec: pi 6, 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agentsession.importers.drafting import Unit
from agentsession.importers.numbers import count
from agentsession.importers.pi.evidence import PROMPTS_KEPT, Release
from agentsession.importers.pi.lowering import notice, units
from agentsession.importers.pi.records import (
    ASSISTANT,
    COMPACTION,
    CONTEXT_EDIT,
    RESULT,
    mapping,
    string,
)
from agentsession.importers.pi.transcript import Native

_LEAST_LIMIT: Final = 4096
"""Tokens that every model may answer with; what it may is not stored."""

_FAILED: Final = frozenset({"error", "aborted"})


def is_failed(entry: Native) -> bool:
    """Return whether an assistant's message ended in an error or was aborted."""
    return string(entry.record.message.get("stopReason")) in _FAILED


class Lowered:
    """The entries of a session as items, each lowered once.

    Args:
        entries: the session's entries.
        times: when each entry was written, by its place, as the format writes it.
    """

    def __init__(self, entries: Sequence[Native], times: Sequence[str]) -> None:
        self._times = times
        self._retried = frozenset(_retried(entries))
        self._known: dict[int, list[Unit]] = {}

    def units(self, entry: Native, edited: Mapping[str, Any] | None = None) -> list[Unit]:
        """Return what an entry adds to a context, as a context edit left it if one did."""
        if edited is not None:
            return units(entry, self._times[entry.place], edited)
        found = self._known.get(entry.place)
        if found is None:
            found = self._known[entry.place] = units(entry, self._times[entry.place])
        return found

    def is_left_out(self, entry: Native, release: Release) -> bool:
        """Return whether requests hold nothing of an answer, as it failed. Spec: pi 6, 7.

        The releases that keep what failed take it out of their memory before they try again;
        those from 0.84 to 0.86 do so with what was cut short of a model's limit. Later ones
        write a context edit.
        """
        if release < (0, 49):
            return entry.place in self._retried
        return is_failed(entry) or ((0, 84) <= release < (0, 87) and _is_cut_short(entry))


def _is_cut_short(entry: Native) -> bool:
    """Return whether an answer's length ended it below any model's limit."""
    message = entry.record.message
    used = mapping(message.get("usage"))
    short = count(used.get("output")) < _LEAST_LIMIT
    return string(message.get("stopReason")) == "length" and short


def _retried(entries: Sequence[Native]) -> Iterator[int]:
    """Yield the places of the answers that failed and were tried again by themselves."""
    for entry in entries:
        above = entry.parent
        if entry.record.role != ASSISTANT or above is None or above.record.role != ASSISTANT:
            continue
        if string(above.record.message.get("stopReason")) == "error":
            yield above.place


class Window:
    """What is sent at a place of a session, as one release sends it.

    Args:
        release: the release.
        lowered: the session's entries as items.
    """

    def __init__(self, release: Release, lowered: Lowered) -> None:
        self.release = release
        self.units: list[Unit] = []
        self._lowered = lowered
        self._caller = ""
        self._pending: dict[str, Unit] = {}

    def push(self, entry: Native, edited: Mapping[str, Any] | None = None) -> None:
        """Add an entry that a request holds."""
        role = entry.record.role
        found = self._lowered.units(entry, edited)
        if role == RESULT:
            self.units += [self._returned(entry, unit) for unit in found]
            return
        if not found and role != ASSISTANT:
            return
        self.close()
        if role == ASSISTANT:
            if self._lowered.is_left_out(entry, self.release):
                return
            calls = [unit for unit in found if unit.item["type"] == "function_call"]
            self._caller = entry.name
            self._pending = {_given(unit): unit for unit in calls}
        self.units += found

    def _returned(self, entry: Native, unit: Unit) -> Unit:
        call = self._pending.pop(string(entry.record.message.get("toolCallId")), None)
        if call is None or call.item["call_id"] == unit.item["call_id"]:
            return unit
        return replace(unit, item={**unit.item, "call_id": call.item["call_id"]})

    @property
    def waits(self) -> bool:
        """Whether a call has no result yet."""
        return bool(self._pending)

    def close(self) -> None:
        """Answer the calls that have no result. Spec: pi 6."""
        self.units += [notice(call, self._caller) for call in self._pending.values()]
        self._pending = {}


def _given(call: Unit) -> str:
    metadata = mapping(call.origin.get("metadata"))
    return string(metadata.get("id")) or string(call.item["call_id"])


def build(path: Sequence[Native], release: Release, lowered: Lowered) -> Window:
    """Return the window at the end of a path."""
    window = Window(release, lowered)
    chosen = selected(path, release)
    # Older releases pass over what they do not know.
    edits = _edits(chosen) if release >= PROMPTS_KEPT else {}
    for entry in chosen:
        edited = edits.get(entry.record.id) if entry.record.id else None
        if edited is None:
            window.push(entry)
        elif edited:
            window.push(entry, edited)
    return window


def _edits(chosen: Sequence[Native]) -> dict[str, dict[str, Any]]:
    """Return the last edit of each target: its replacement; empty for an omission."""
    found: dict[str, dict[str, Any]] = {}
    for entry in chosen:
        if entry.record.type == CONTEXT_EDIT:
            replacement = entry.record.value.get("replacement")
            edited = {**replacement, "by": entry.name} if isinstance(replacement, dict) else {}
            found[string(entry.record.value.get("targetId"))] = edited
    return found


def selected(path: Sequence[Native], release: Release) -> list[Native]:
    """Return the entries of a path that its context is made of, a summary first.

    From 0.80 to 0.86 an older summary among what is kept was sent where it stands.
    Spec: pi 6.

    Args:
        path: the path.
        release: who sends it.
    """
    last = next(
        (at for at in range(len(path) - 1, -1, -1) if path[at].record.type == COMPACTION), None
    )
    if last is None:
        return list(path)
    first = first_kept(path, last)
    kept = [] if first is None else path[first:last]
    again = (0, 80) <= release < (0, 87)
    own = [entry for entry in kept if again or entry.record.type != COMPACTION]
    return [path[last], *own, *path[last + 1 :]]


def first_kept(path: Sequence[Native], compaction: int) -> int | None:
    """Return the place on a path of the first entry a compaction keeps, ``None`` for none."""
    value = path[compaction].record.value
    index = value.get("firstKeptEntryIndex")
    if isinstance(index, int) and not isinstance(index, bool):
        # The header is the first entry that is counted.
        return max(index - 1, 0) if index - 1 < compaction else None
    named = string(value.get("firstKeptEntryId"))
    for at in range(compaction):
        if named and path[at].record.id == named:
            return at
    return None
