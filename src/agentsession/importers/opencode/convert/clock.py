"""Times: milliseconds as OpenCode keeps them, and what stands in for a missing one.

Spec: opencode 2, decision D7.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

_ID: Final = re.compile(r"[a-z]{2,5}_([0-9a-f]{12})[0-9A-Za-z]*", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - all times here are UTC
_WRAP: Final = 1 << 36
_COUNTER_BITS: Final = 12

EARLIEST: Final = 1_577_836_800_000
"""The first plausible time, 2020: OpenCode did not exist before 2024."""

LATEST: Final = 4_102_444_800_000
"""Behind the last plausible time: 2100."""

FALLBACK: Final = 1_735_689_600_000
"""Stands in where nothing at all has a time: 2025-01-01."""


def is_plausible(millis: int | None) -> bool:
    """Return whether a time can be one OpenCode wrote."""
    return millis is not None and EARLIEST <= millis < LATEST


def id_time(name: str, near: int, *, descending: bool = False) -> int | None:
    """Return the time in an id, ``None`` when it holds none.

    An id holds a time modulo 2^36 milliseconds: of those it may mean, the one nearest to
    ``near`` is taken.

    Args:
        name: a message's, part's or session's id.
        near: a time nearby.
        descending: whether the id's bits are inverted, as a session's are.
    """
    found = _ID.fullmatch(name)
    if not found:
        return None
    bits = int(found[1], 16)
    if descending:
        bits ^= (1 << 48) - 1
    within = bits >> _COUNTER_BITS
    turns = round((near - within) / _WRAP)
    millis = within + turns * _WRAP
    return millis if is_plausible(millis) else None


def iso(millis: int) -> str:
    """Return a time as the format writes it, in UTC with milliseconds."""
    return _minute(millis // 60_000) + _WITHIN[millis // 1000 % 60] + _FRACTIONS[millis % 1000]


@lru_cache(maxsize=1024)
def _minute(minute: int) -> str:
    return (_EPOCH + timedelta(minutes=minute)).isoformat()[:-2]


_WITHIN: Final = tuple(f"{second:02d}" for second in range(60))
_FRACTIONS: Final = ("Z", *(f".{rest:03d}".rstrip("0") + "Z" for rest in range(1, 1000)))
