"""Values that an entry can hold: what JSON text can say and an entry cannot, replaced."""

from __future__ import annotations

import math
from typing import Any, Final

_DEEP: Final = 9_000


def holdable(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object that an entry can hold.

    A number beyond any double is its own text, and what is nested too deeply is ``null``.
    """
    return held(value)[0]


def held(value: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return an object as :func:`holdable` does, and whether anything was replaced."""
    changed = False
    top: dict[str, Any] = {}
    waiting: list[tuple[dict[str, Any] | list[Any], dict[str, Any] | list[Any], int]] = [
        (value, top, 1)
    ]
    while waiting:
        given, copy, depth = waiting.pop()
        names: list[Any] = list(given) if isinstance(given, dict) else list(range(len(given)))
        for name in names:
            member = given[name]
            kept: Any = member
            if isinstance(member, (dict, list)):
                kept = type(member)() if depth < _DEEP else None
                if kept is not None:
                    waiting.append((member, kept, depth + 1))
            elif isinstance(member, (int, float)) and not _is_double(member):
                kept = str(member)
            changed = changed or kept.__class__ is not member.__class__
            if isinstance(copy, dict):
                copy[name] = kept
            else:
                copy.append(kept)
    return top, changed


def _is_double(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False
