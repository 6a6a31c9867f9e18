"""Accounts of an OpenCode import: every record once, differences by this importer's codes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from agentsession.importers import accounts
from agentsession.importers.base import Disposition, Outcome
from agentsession.importers.opencode.convert.codes import CODES


class Accounts(accounts.Accounts):
    """The accounts of one import, with the sentences of OpenCode's codes."""

    def __init__(self) -> None:
        super().__init__(CODES)

    def entries(self, numbers: Iterable[int], entry_ids: Iterable[str]) -> None:
        """Say of several records that each became an entry; of one it may be said twice."""
        outcomes, known = self._outcomes, self._entries
        for number, entry_id in zip(numbers, entry_ids, strict=True):
            before = known[number]
            if before and entry_id not in before:
                known[number] = (*before, entry_id)
            elif not before:
                known[number] = (entry_id,)
            outcomes[number] = Outcome.ENTRY

    def folded_all(self, numbers: Iterable[int], entry_id: str) -> None:
        """Say of several records that each is part of an entry that stands for more."""
        outcomes, known, entries = self._outcomes, self._entries, (entry_id,)
        for number in numbers:
            if known[number] or outcomes[number] is not None:
                self.folded(number, entry_id)
            else:
                outcomes[number] = Outcome.FOLDED
                known[number] = entries

    def dispositions(self) -> tuple[Disposition, ...]:
        """Return what became of each record, in the order they were read."""
        outcomes = [outcome or Outcome.LEFT_OUT for outcome in self._outcomes]
        sentences = map(defaultdict(str, self._codes).__getitem__, self._said)
        columns = (self._kinds, self._names, outcomes, self._entries, self._said, sentences)
        return tuple(map(Disposition, *columns))
