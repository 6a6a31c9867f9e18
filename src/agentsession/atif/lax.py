"""What a lax reader makes of a JSON value: numbers in text, whole floats, words for booleans.

Harbor's models read this way. A writer must not rely on it, so a strict check refuses every
value that only reads so. Each function returns ``None`` for what even a lax reader refuses.
Spec: atif 3 and 4.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Final

LARGEST_INTEGER: Final = 2**63 - 1
"""The largest whole number that fits 64 bits; the smallest is one below its negative."""

_BLANKS: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_MOST_DIGITS: Final = 4300
_LEADING_ZEROS: Final = re.compile(r"^([+-]?)0[0_]*(?=[1-9])")
_INTEGER: Final = re.compile(r"([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?")
_NUMBER: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)",
    re.IGNORECASE | re.ASCII,
)
_TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})
# Interpreters differ on midnight written as hour 24; the spec's does not take it.
_HOUR_24: Final = re.compile(r"\d{4}-?(?:\d\d-?\d\d|W\d\d(?:-?\d)?).24", re.DOTALL | re.ASCII)
_PORTABLE_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:T\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:[0-5]\d)?| \d\d:\d\d:\d\d(?:[.,]\d+)?)?",
    re.ASCII,
)


def integer(value: object) -> int | None:
    """The whole number a value reads as: an integer, ``1.0``, ``true``, ``"1"``."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        fits = value.is_integer() and abs(value) < LARGEST_INTEGER
        return int(value) if fits else None
    return _integer_in(value) if isinstance(value, str) else None


def _integer_in(text: str) -> int | None:
    found = _INTEGER.fullmatch(_LEADING_ZEROS.sub(r"\1", text.strip(_BLANKS)))
    if found is None:
        return None
    digits = found[1].replace("_", "")
    if len(digits.lstrip("+-")) > _MOST_DIGITS:
        return None
    try:
        return int(digits)
    except ValueError:  # the interpreter may be set to take fewer digits
        return None


def number(value: object) -> float | None:
    """The number a value reads as: a number, ``true``, ``"1.5"``, ``"nan"``."""
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return None
    return _number_in(value) if isinstance(value, str) else None


def _number_in(text: str) -> float | None:
    trimmed = text.strip(_BLANKS)
    if "_" in text:
        if trimmed != text or text[0] == "_" or text[-1] == "_" or "__" in text:
            return None
        trimmed = text.replace("_", "")
    return float(trimmed) if _NUMBER.fullmatch(trimmed) else None


def boolean(value: object) -> bool | None:
    """The boolean a value reads as: ``true``, ``1``, ``0.0``, ``"yes"``, ``"OFF"``."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in {0, 1} else None
    if isinstance(value, str):
        word = value.lower() if value.isascii() else value
        return True if word in _TRUE else False if word in _FALSE else None
    return None


def is_time(text: str) -> bool:
    """Whether text is an ISO 8601 time as Python 3.12 reads it, ``Z`` taken for ``+00:00``.

    Spec: atif 3, the left column.
    """
    try:
        # Every Z counts, not only a last one: "ZZ" is no offset.
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))  # noqa: FURB162
    except ValueError:
        return False
    return moment.hour != 0 or not _HOUR_24.match(text)


def is_portable_time(text: str) -> bool:
    """Whether text is a time in one of the forms that every known reader takes.

    RFC 3339; the same without an offset, ``T`` or a blank between; a bare date.
    Spec: atif 3, the last paragraph.
    """
    return _PORTABLE_TIME.fullmatch(text) is not None and is_time(text)


def is_finite(value: object) -> bool:
    """Whether a number fits a double; what is no number does."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return number(value) is not None
    return True
