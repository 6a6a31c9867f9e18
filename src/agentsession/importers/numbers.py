"""Numbers that an agent recorded, and that need not be what they should be."""

from __future__ import annotations

import math
from typing import Final

_BEYOND: Final = 1 << 63

ODD: Final = "counts-unreadable"
"""The code of calls with counts that are no numbers of tokens."""

ODD_SENTENCE: Final = "calls have counts that are no numbers of tokens; these count as 0"
"""What the code means."""


def number(value: object) -> float | None:
    """Return a JSON number as a finite float, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: object) -> int:
    """Return a number of tokens, an integer below 2^63; 0 for anything else.

    A number such as ``12.0`` is the integer it equals.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _BEYOND:
        return value
    return 0
