"""Names an export gives: members of ``extra``, and files.

Spec: export 8 and 12.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from agentsession.atif import Trajectory

EXTRA_OPENRESPONSES: Final = "openresponses"
EXTRA_AGENTSESSION: Final = "agentsession"
EXTRA_ENVIRONMENT: Final = "environment"
EXTRA_OUTCOME: Final = "outcome"
EXTRA_PREFERRED_OVER: Final = "preferred_over"
EXTRA_ABANDONED_AT: Final = "abandoned_at"
EXTRA_BRANCH_FROM: Final = "branch_from"
EXTRA_CONTEXT_MANAGEMENT: Final = "context_management"
EXTRA_RUN: Final = "run"
EXTRA_CALLS: Final = "calls"
EXTRA_QUEUED: Final = "queued"

REPLACEMENT: Final = "[REDACTED]"
"""What redacted text becomes."""

RESERVED: Final = frozenset(
    {
        EXTRA_OPENRESPONSES,
        EXTRA_AGENTSESSION,
        EXTRA_ENVIRONMENT,
        EXTRA_OUTCOME,
        EXTRA_PREFERRED_OVER,
        EXTRA_ABANDONED_AT,
        EXTRA_BRANCH_FROM,
        EXTRA_CONTEXT_MANAGEMENT,
        EXTRA_RUN,
        EXTRA_CALLS,
        EXTRA_QUEUED,
        "config_entries",
        "config_extensions",
        "cost_usd",
        "custom",
        "environment_at_end",
        "error",
        "extensions",
        "failed_call",
        "first_kept",
        "fork_of",
        "incomplete",
        "info",
        "item_entry_ids",
        "item_type",
        "labels",
        "latency_ms",
        "links",
        "omitted",
        "orphan_call_id",
        "phases",
        "queued_from",
        "response_id",
        "role",
        "source",
        "status",
        "tokens_before",
        "tool_changes",
        "unknown",
        "usage",
        "visible",
    }
)
"""The names the exporter uses itself in the ``extra`` of a step, a result or the root."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
# File systems end a name at 255 bytes; some room is left for temporary names.
_LONGEST: Final = 200
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)


def with_unknown(
    own: dict[str, Any], unknown: Mapping[str, Any], taken: AbstractSet[str] = frozenset()
) -> dict[str, Any]:
    """Return ``own`` with unknown members under their names.

    Those whose name is taken stand together under ``unknown`` instead of replacing anything.

    Spec: export 8 and 13.
    """
    for name, value in unknown.items():
        if name in own or name in taken or name == "unknown":
            own.setdefault("unknown", {})[name] = value
        else:
            own[name] = value
    return own


def safe(identifier: str) -> str:
    """Return an id as a part of a file name.

    Whatever is no letter, digit, ``.``, ``_`` or ``-`` becomes ``-``; overlong ids and device
    names get a hash or a dash at the end.

    Spec: export 12.
    """
    stem = _UNSAFE.sub("-", identifier)
    if len(stem) > _LONGEST:
        return f"{stem[: _LONGEST - 17]}-{digest(identifier, 16)}"
    if stem.partition(".")[0].lower() in _DEVICES:
        return f"{stem}-"
    return stem


def digest(identifier: str, digits: int = 8) -> str:
    """Return the first hex digits of an id's SHA-256, to keep equal names apart."""
    encoded = identifier.encode("utf-8", "surrogatepass")
    return hashlib.sha256(encoded).hexdigest()[:digits]


def main_document_name(session_id: str) -> str:
    """Return the file name of a session's main trajectory.

    It is also the path that a reference to a session that is not embedded carries.

    Spec: export 12.
    """
    return f"{safe(session_id)}.json"


def name_of(session_id: str, trajectory_id: str, *, main: bool) -> str:
    """Return the file name of a document with these ids.

    Spec: export 12.
    """
    if main and session_id:
        return main_document_name(session_id)
    leaf = trajectory_id or "trajectory"
    if not session_id:
        return f"{safe(leaf)}.json"
    stem = f"{safe(session_id)}_{safe(leaf)}"
    if len(stem) > _LONGEST:
        stem = f"{stem[: _LONGEST - 17]}-{digest(f'{session_id}/{leaf}', 16)}"
    return f"{stem}.json"


def document_name(document: Trajectory | Mapping[str, Any]) -> str:
    """Return the file name that `write_atif` gives a document.

    Spec: export 12.
    """
    if isinstance(document, Trajectory):
        session_id, trajectory_id, extra = (
            document.session_id,
            document.trajectory_id,
            document.extra,
        )
    else:
        session_id, trajectory_id = document.get("session_id"), document.get("trajectory_id")
        extra = document.get("extra")
    return name_of(session_id or "", trajectory_id or "", main=is_main(extra))


def is_main(extra: object) -> bool:
    """Return whether a root ``extra`` says that the document is its session's main one."""
    own = extra.get(EXTRA_AGENTSESSION) if isinstance(extra, Mapping) else None
    return isinstance(own, Mapping) and own.get("main") is True
