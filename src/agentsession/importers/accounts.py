"""Accounts: what became of each native record, each exactly once.

Spec: decision D11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from agentsession.findings import Finding
from agentsession.importers.base import Disposition, Outcome

_SEVERAL: Final = 2


class Accounts:
    """The records of one session and what became of them, and what is worth telling.

    A record is opened when it is read; whatever is said of it later, it stands in the
    account once, and becoming an entry outweighs being folded into one.

    Args:
        codes: the sentence of each code of the importer.
    """

    def __init__(self, codes: Mapping[str, str]) -> None:
        self._codes = codes
        # A column for each thing that is said of a record.
        self._kinds: list[str] = []
        self._names: list[str] = []
        self._outcomes: list[Outcome | None] = []
        self._entries: list[tuple[str, ...]] = []
        self._said: list[str] = []
        self._found: dict[str, list[Finding]] = {}

    def open(self, kind: str, native_id: str) -> int:
        """Return the number of a record just read."""
        self._kinds.append(kind)
        self._names.append(native_id)
        self._outcomes.append(None)
        self._entries.append(())
        self._said.append("")
        return len(self._kinds) - 1

    def open_all(self, kind: str, native_ids: Sequence[str]) -> range:
        """Return the numbers of records of one kind just read."""
        return self.open_each([kind] * len(native_ids), native_ids)

    def open_each(self, kinds: Sequence[str], native_ids: Sequence[str]) -> range:
        """Return the numbers of records just read."""
        first, count = len(self._kinds), len(native_ids)
        self._kinds += kinds
        self._names += native_ids
        self._outcomes += [None] * count
        self._entries += [()] * count
        self._said += [""] * count
        return range(first, first + count)

    def entry(self, number: int, *entries: str, code: str = "") -> None:
        """Say that a record became entries of its own."""
        self._outcomes[number] = Outcome.ENTRY
        if code or self._entries[number] or len(entries) >= _SEVERAL:
            self._say(number, entries, code)
        else:
            self._entries[number] = entries

    def folded(self, number: int, *entries: str, code: str = "") -> None:
        """Say that a record is part of an entry that stands for more."""
        if self._outcomes[number] is not Outcome.ENTRY:
            self._outcomes[number] = Outcome.FOLDED
        self._say(number, entries, code)

    def left_out(self, number: int, code: str) -> None:
        """Say that a record is in no entry, and why; what became an entry stays one."""
        if self._outcomes[number] is None:
            self._outcomes[number] = Outcome.LEFT_OUT
            self._say(number, (), code)

    def _say(self, number: int, entries: tuple[str, ...], code: str) -> None:
        if code:
            self._said[number] = code
        known = self._entries[number]
        if not known and len(entries) < _SEVERAL:
            self._entries[number] = entries
        elif len(entries) == 1:
            if entries[0] not in known:
                self._entries[number] = known + entries
        elif entries != known:
            self._entries[number] = tuple(dict.fromkeys((*known, *entries)))

    def find(self, code: str, where: str = "", count: int = 1, *, named: str = "") -> None:
        """Note a difference of meaning; of one code the first place is kept.

        Args:
            code: the code.
            where: the place, for people.
            count: how many times it is so.
            named: what it is so of, where one code is told of several things by name.
        """
        known = self._found.setdefault(f"{code}: {named}" if named else code, [])
        if known:
            first = known[0]
            known[0] = Finding(code, first.sentence, first.where, first.count + count)
        else:
            sentence = self._codes[code]
            sentence = f"{sentence}: {named}" if named else sentence
            known.append(Finding(code, sentence, where, count))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, one finding for each code."""
        return tuple(known[0] for known in self._found.values())

    def is_open(self, number: int) -> bool:
        """Return whether nothing was said of a record yet."""
        return self._outcomes[number] is None

    def is_entry(self, number: int) -> bool:
        """Return whether a record became an entry of its own."""
        return self._outcomes[number] is Outcome.ENTRY

    def is_left_out(self, number: int) -> bool:
        """Return whether a record is in no entry."""
        return self._outcomes[number] is Outcome.LEFT_OUT

    def code_of(self, number: int) -> str:
        """Return what was said of a record; empty for nothing."""
        return self._said[number]

    @property
    def unsettled(self) -> list[int]:
        """The records nothing was said of yet."""
        return [number for number, outcome in enumerate(self._outcomes) if outcome is None]

    def dispositions(self) -> tuple[Disposition, ...]:
        """Return what became of each record, in the order they were read."""
        sentence = self._codes.get
        columns = (self._kinds, self._names, self._outcomes, self._entries, self._said)
        return tuple(
            [
                Disposition(
                    kind, name, outcome or Outcome.LEFT_OUT, entries, code, sentence(code, "")
                )
                for kind, name, outcome, entries, code in zip(*columns, strict=True)
            ]
        )

    def counted(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many records there are of each kind, and how many became what."""
        outcomes = Counter(outcome or Outcome.LEFT_OUT for outcome in self._outcomes)
        return dict(Counter(self._kinds)), {str(one): outcomes[one] for one in Outcome}
