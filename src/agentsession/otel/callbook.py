"""The calls on a path, as a value: what :class:`agentsession.calls.CallLog` knows, but shared.

Spec: context 8.1, later drafts 10.1; otel B.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from agentsession import versions
from agentsession.calls import CALL_TYPE, OUTPUT_TYPE, Call, CallLog, call_part
from agentsession.entries import Entry, ItemEntry
from agentsession.otel.kept import Kept
from agentsession.record_entries import DecisionEntry, DispatchEntry


@dataclass(frozen=True, slots=True)
class CallBook:
    """The calls of a path; each is named by the entry that holds it, its key.

    What becomes of a call is left to a :class:`CallLog` of its own entries; this says only
    which entries those are.
    """

    _latest: Kept[str] = Kept()  # noqa: RUF009 - a value
    _about: Kept[tuple[Entry, ...]] = Kept()  # noqa: RUF009 - a value
    _pending: Kept[int] = Kept()  # noqa: RUF009 - a value
    _count: int = 0

    def after(self, entry: Entry) -> CallBook:
        """Return what holds after the next entry of the path."""
        if isinstance(entry, ItemEntry):
            kind = call_part(entry.item)
            if kind == CALL_TYPE:
                return self._called(entry)
            return self._answered(entry) if kind == OUTPUT_TYPE else self
        if isinstance(entry, (DecisionEntry, DispatchEntry)):
            key = self.named(entry)
            return self if key is None else replace(self, _about=self._noted(key, entry))
        return self

    def _noted(self, key: str, entry: Entry) -> Kept[tuple[Entry, ...]]:
        return self._about.put(key, (*(self._about.get(key) or ()), entry))

    def _called(self, entry: ItemEntry) -> CallBook:
        call_id = entry.item.call_id
        if not versions.has_later_calls(entry.version) and call_id in self._latest:
            return self
        return CallBook(
            self._latest.put(call_id, entry.id),
            self._about.put(entry.id, (entry,)),
            self._pending.put(entry.id, self._count),
            self._count + 1,
        )

    def _answered(self, entry: ItemEntry) -> CallBook:
        key = self.waiting(entry.item.call_id)
        if key is None:
            return self
        return replace(self, _about=self._noted(key, entry), _pending=self._pending.drop(key))

    def named(self, entry: DecisionEntry | DispatchEntry) -> str | None:
        """Return the key of the call a decision or a dispatch is about."""
        if versions.has_later_calls(entry.version) and entry.target in self._about:
            return entry.target
        return self._latest.get(entry.call_id)

    def waiting(self, call_id: str) -> str | None:
        """Return the key of the latest call with an id, when it has no output."""
        key = self._latest.get(call_id)
        return key if key is not None and key in self._pending else None

    def is_pending(self, key: str) -> bool:
        """Return whether a call has no output."""
        return key in self._pending

    def pending_beside(self, met: set[int]) -> Iterator[str]:
        """Yield the keys of the calls without an output, but for those shared with others met.

        See :meth:`Kept.items_beside`.
        """
        return (key for key, _ in self._pending.items_beside(met))

    def in_order(self, keys: Iterable[str]) -> list[str]:
        """Return the keys of calls without an output in call order."""
        return sorted(keys, key=lambda key: self._pending.get(key) or 0)

    def call(self, key: str) -> Call:
        """Return a call as it stands now."""
        log = CallLog()
        for entry in self._about.get(key) or ():
            log.feed(entry)
        standing = log.call_at(key)
        if standing is None:
            raise KeyError(key)
        return standing.call()
