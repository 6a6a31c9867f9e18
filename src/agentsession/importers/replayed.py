"""Replayed recordings: what a model server logged, and how verdicts on it are spelled.

A server cuts long strings and keeps the hash of the whole; such a string is compared by it.
Spec: decision D2.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from agentsession.importers.base import Importer
from agentsession.session import Session

LOG: Final = "requests.jsonl"
CUT: Final = re.compile(r"(?s)(.*)…\[cut; chars=\d+; sha256=([0-9a-f]{64})\](.*)")
"""A string that was cut: what it begins with, the hash of the whole, and what is put behind."""

TAG: Final = "<system-reminder>\n"
"""What a log may leave out of the hash: of a reminder some cut only the words inside."""


def logged_requests(recording: Path) -> Iterator[Any]:
    """Yield what a recording's server logged, in order."""
    with (recording / LOG).open("rb") as log:
        for line in log:
            yield json.loads(line)


def converted_sessions(importer: Importer, place: Path) -> Iterator[Session]:
    """Yield the converted sessions at a place."""
    for source in importer.find([place]):
        for native in importer.sessions(source):
            yield importer.convert(source, native.id).session


def same(logged: Any, ours: Any) -> bool:
    """Return whether a logged value is ours; a string the log cut is compared by its hash.

    So is one of which the log has nothing but its length and its hash.
    """
    if isinstance(logged, dict) and isinstance(ours, str):
        hashed = {"chars": len(ours), "sha256": hash_of(ours)}
        return bool(logged == hashed)
    if isinstance(logged, dict):
        return (
            isinstance(ours, dict)
            and logged.keys() == ours.keys()
            and all(same(value, ours[name]) for name, value in logged.items())
        )
    if isinstance(logged, list):
        return (
            isinstance(ours, list)
            and len(logged) == len(ours)
            and all(same(one, other) for one, other in zip(logged, ours, strict=True))
        )
    if isinstance(logged, str) and isinstance(ours, str):
        return is_same_text(logged, ours)
    return bool(logged == ours)


def is_same_text(logged: str, ours: str) -> bool:
    """Return whether a logged string is ours, by the hash where it was cut."""
    if logged == ours:
        return True
    cut = CUT.fullmatch(logged)
    if cut is None or not ours.startswith(cut[1]) or not ours.endswith(cut[3]):
        return False
    whole = ours[: len(ours) - len(cut[3])]
    return cut[2] in (hash_of(whole), hash_of(whole.removeprefix(TAG)))


def hash_of(words: str) -> str:
    """Return the hash that a log keeps of a string."""
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def response_verdict(
    session: str, response: str, requests: Sequence[int], note: str = ""
) -> dict[str, Any]:
    """Return the verdict on a converted response.

    Args:
        session: its session's id.
        response: its native id.
        requests: the numbers of the logged requests that it answers.
        note: what there is to say of it; empty for nothing.
    """
    return {
        "session": session,
        "response": response,
        "backed": bool(requests),
        "requests": sorted(requests),
        **({"note": note} if note else {}),
    }
