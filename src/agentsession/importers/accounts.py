"""Accounts: what became of each native record, each exactly once.

Spec: decision D11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentsession.findings import Finding
from agentsession.importers.base import Disposition, Outcome


@dataclass(slots=True)
class _Line:
    kind: str
    native_id: str
    outcome: Outcome | None = None
    entries: dict[str, None] = field(default_factory=dict)
    code: str = ""


class Accounts:
    """The records of one session and what became of them, and what is worth telling.

    A record is opened when it is read; whatever is said of it later, it stands in the
    account once, and becoming an entry outweighs being folded into one.

    Args:
        codes: the sentence of each code of the importer.
    """

    def __init__(self, codes: Mapping[str, str]) -> None:
        self._codes = codes
        self._lines: list[_Line] = []
        self._found: dict[str, list[Finding]] = {}

    def open(self, kind: str, native_id: str) -> int:
        """Return the number of a record just read."""
        self._lines.append(_Line(kind, native_id))
        return len(self._lines) - 1

    def entry(self, number: int, *entries: str, code: str = "") -> None:
        """Say that a record became entries of its own."""
        self._say(number, Outcome.ENTRY, entries, code)

    def folded(self, number: int, *entries: str, code: str = "") -> None:
        """Say that a record is part of an entry that stands for more."""
        line = self._lines[number]
        outcome = Outcome.ENTRY if line.outcome is Outcome.ENTRY else Outcome.FOLDED
        self._say(number, outcome, entries, code)

    def left_out(self, number: int, code: str) -> None:
        """Say that a record is in no entry, and why; what became an entry stays one."""
        if self._lines[number].outcome is None:
            self._say(number, Outcome.LEFT_OUT, (), code)

    def _say(self, number: int, outcome: Outcome, entries: Iterable[str], code: str) -> None:
        line = self._lines[number]
        line.outcome = outcome
        line.code = code or line.code
        line.entries.update(dict.fromkeys(entries))

    def find(self, code: str, where: str = "", count: int = 1) -> None:
        """Note a difference of meaning; of one code the first place is kept."""
        known = self._found.setdefault(code, [])
        if known:
            first = known[0]
            known[0] = Finding(code, first.sentence, first.where, first.count + count)
        else:
            known.append(Finding(code, self._codes[code], where, count))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, one finding for each code."""
        return tuple(known[0] for known in self._found.values())

    def is_open(self, number: int) -> bool:
        """Return whether nothing was said of a record yet."""
        return self._lines[number].outcome is None

    @property
    def unsettled(self) -> list[int]:
        """The records nothing was said of yet."""
        return [number for number, line in enumerate(self._lines) if line.outcome is None]

    def dispositions(self) -> tuple[Disposition, ...]:
        """Return what became of each record, in the order they were read."""
        return tuple(
            Disposition(
                line.kind,
                line.native_id,
                line.outcome or Outcome.LEFT_OUT,
                tuple(line.entries),
                line.code,
                self._codes.get(line.code, ""),
            )
            for line in self._lines
        )
