"""Numbers that an agent recorded, and that need not be what they should be."""

from __future__ import annotations

import math


def number(value: object) -> float | None:
    """Return a JSON number as a finite float, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
