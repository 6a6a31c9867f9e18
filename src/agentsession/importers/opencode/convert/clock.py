"""Times: milliseconds as OpenCode keeps them, and what stands in for a missing one.

Spec: opencode 2, decision D7.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

_ID: Final = re.compile(r"[a-z]{2,5}_([0-9a-f]{12})[0-9A-Za-z]*", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - all times here are UTC
_WRAP: Final = 1 << 36
_COUNTER_BITS: Final = 12
_FIRST: Final = 1_577_836_800_000  # 2020: OpenCode did not exist before 2024
_LAST: Final = 4_102_444_800_000  # 2100

FALLBACK: Final = 1_735_689_600_000
"""Stands in where nothing at all has a time: 2025-01-01."""


def is_plausible(millis: int | None) -> bool:
    """Return whether a time can be one OpenCode wrote."""
    return millis is not None and _FIRST <= millis < _LAST


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
    seconds, rest = divmod(millis, 1000)
    moment = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    return f"{moment}.{rest:03d}".rstrip("0") + "Z" if rest else f"{moment}Z"
