"""Times of records, as the format writes them.

Spec: claude-code 2.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final

from agentsession.timestamp import Timestamp

_FIRST: Final = "2020"
_LAST: Final = "2100"
_MINUTE: Final = re.compile(
    r"20[2-9]\d-(?:0[1-9]|1[0-2])-(?:[01][1-9]|10|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:", re.ASCII
)
_SECONDS: Final = re.compile(r"[0-5]\d\.\d{3}Z", re.ASCII)
_IN_MINUTE: Final = len("2025-01-01T00:00:")
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)


def time_of(written: str) -> str:
    """Return a time as the format writes it; empty for none that can be."""
    if _SECONDS.fullmatch(written, _IN_MINUTE) and _is_usual(written[:_IN_MINUTE]):
        return written
    if not _FIRST <= written[:4] < _LAST:
        return ""
    try:
        if _STAMP.fullmatch(written) is not None and datetime.fromisoformat(written):
            return written
        return Timestamp.parse(written).text
    except ValueError:
        return ""


@lru_cache(maxsize=64)
def _is_usual(minute: str) -> bool:
    """Whether the beginning of a time is spelled as usual; that of many is the same."""
    return _MINUTE.fullmatch(minute) is not None
