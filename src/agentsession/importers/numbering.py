"""Numbering: equal values share a number, so that lists of them compare as lists of numbers.

A recording's judge compares every logged request with every rebuilt one. Spec: decision D2.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

from agentsession.importers.replayed import CUT, same

_HASHED: Final = {"chars", "sha256"}

Found = frozenset[int]
"""The numbers a logged value may have: none, one as a rule, more where a log cut it."""


class Numbering:
    """Numbers for our values, and which of them a logged value is."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._values: list[Any] = []

    @property
    def count(self) -> int:
        """How many numbers there are; the next one."""
        return len(self._values)

    def number(self, value: Any) -> int:
        """Return the number of a value of ours, a new one when there is no equal."""
        number = self._numbers.setdefault(_frozen(value), len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def numbers(self, values: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of values of ours, in order."""
        return tuple(map(self.number, values))

    def find(self, logged: Any) -> Found:
        """Return the numbers of the values that a logged one is the same as.

        Only what a log cut is compared with each.
        """
        if _is_cut(logged):
            return frozenset(n for n, value in enumerate(self._values) if same(logged, value))
        number = self._numbers.get(_frozen(logged))
        return frozenset() if number is None else frozenset((number,))


def shared(logged: Sequence[Found], ours: Sequence[int]) -> int:
    """Return how many values at the beginning of a logged list and of one of ours agree."""
    count = 0
    for found, number in zip(logged, ours, strict=False):
        if number not in found:
            break
        count += 1
    return count


def _frozen(value: Any) -> Hashable:
    """Return a value that is equal, and has a hash, for equal values of JSON."""
    if isinstance(value, dict):
        return (dict, frozenset((name, _frozen(held)) for name, held in value.items()))
    if isinstance(value, list):
        return (list, tuple(map(_frozen, value)))
    frozen: Hashable = value
    return frozen


def _is_cut(value: Any) -> bool:
    """Return whether a logged value holds a string of which the log has only a part or the hash."""
    if isinstance(value, dict):
        return value.keys() == _HASHED or any(map(_is_cut, value.values()))
    if isinstance(value, list):
        return any(map(_is_cut, value))
    return isinstance(value, str) and CUT.fullmatch(value) is not None
