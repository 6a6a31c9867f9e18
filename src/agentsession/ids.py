"""Ids of entries, sessions and subsessions.

Ids are opaque strings (format 3.1); these are the forms a writer gives them.
"""

from __future__ import annotations

import os
import re
import secrets
import time
import uuid
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container

_CONTENT_ID: Final = re.compile(r"sha256:[0-9a-f]{64}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHORT_TRIES: Final = 8


def new_entry_id(taken: Container[str] = ()) -> str:
    """Eight random hex digits that are not in ``taken``.

    After eight collisions it is 32 hex digits.

    Spec: format 3.1.
    """
    entry_id = os.urandom(4).hex()
    tries = 1
    while entry_id in taken:
        if tries == _SHORT_TRIES:
            return os.urandom(16).hex()
        entry_id = os.urandom(4).hex()
        tries += 1
    return entry_id


def new_session_id() -> str:
    """A UUIDv7, lowercase with dashes; ids sort by creation time.

    The twelve bits after the milliseconds hold the fraction of the millisecond,
    as RFC 9562 6.2 allows, so ids made within one millisecond sort as well.

    Spec: format 3.1.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    value = milliseconds << 80
    value |= 7 << 76
    value |= ((rest << 12) // 1_000_000) << 64
    value |= 0b10 << 62
    value |= secrets.randbits(62)
    return str(uuid.UUID(int=value))


def subsession_id(parent_session_id: str, call_id: str, attempt: int = 0) -> str:
    """The id of the session a call spawned: a UUIDv5 both sides can compute.

    Args:
        parent_session_id: the session that holds the call.
        call_id: the call.
        attempt: 0 for the first child, n for the n-th attempt after it. Up to
            format 0.4 every child of a call shares attempt 0.

    Raises:
        ValueError: ``attempt`` is negative.

    Spec: context 13.1, later drafts 5.
    """
    if attempt < 0:
        raise ValueError(f"attempt {attempt}: it must be 0 for the first child, or more")
    name = f"{parent_session_id}/{call_id}"
    if attempt:
        name = f"{name}/{attempt}"
    # A lone surrogate has no UTF-8; readers take it for U+FFFD (format 6).
    return str(uuid.uuid5(uuid.UUID(int=0), _SURROGATE.sub("\ufffd", name)))


def is_content_id(text: str) -> bool:
    """True for ``sha256:`` and 64 lowercase hex digits, the ids of later drafts.

    Spec: later drafts 3.1.
    """
    return _CONTENT_ID.fullmatch(text) is not None
