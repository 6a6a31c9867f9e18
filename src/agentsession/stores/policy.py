"""When an append is durable, and what a failing system is called.

Spec: stores 4.5.
"""

from __future__ import annotations

import enum
from pathlib import Path

from agentsession.entries import Entry, ItemEntry
from agentsession.errors import AgentSessionError, StoreFailed
from agentsession.header import Header
from agentsession.stores.layout import shown


class SyncPolicy(enum.Enum):
    """When an append returns only after its entry is on the device.

    Under every policy the header is synced on create, and everything on ``sync``,
    ``release`` and ``close``.

    Spec: stores 4.5.
    """

    EVERY_APPEND = "every append"
    """After every entry."""
    ON_RESPONSE = "on response"
    """After what must not be lost: responses, summaries, call outputs, promised records."""
    NEVER = "never"
    """Only when asked."""

    def wants(self, entry: Entry, header: Header) -> bool:
        """Return whether an entry is synced before its append returns."""
        if self is not SyncPolicy.ON_RESPONSE:
            return self is SyncPolicy.EVERY_APPEND
        if entry.type in {"response", "compaction", "branch_summary"}:
            return True
        if header.has_record(entry.type):
            return True
        return isinstance(entry, ItemEntry) and entry.item.type == "function_call_output"


class failing:  # noqa: N801
    """Turns what the system refuses in the block into an error that says what it was for.

    Raises:
        StoreFailed: for an ``OSError`` that is not one of ours.
    """

    # A class, because a generator would take longer than what an append does.
    __slots__ = ("_path", "_session_id", "_what")

    def __init__(self, what: str, session_id: str = "", path: Path | None = None) -> None:
        self._what = what
        self._session_id = session_id
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        failed = failure(error, self._what, self._session_id, self._path)
        if failed is not None:
            raise failed from error


def failure(
    error: BaseException | None, what: str, session_id: str = "", path: Path | None = None
) -> StoreFailed | None:
    """Return the error that says what an ``OSError`` was for; ``None`` for one of ours."""
    if not isinstance(error, OSError) or isinstance(error, AgentSessionError):
        return None
    reason = error.strerror or str(error)
    which = f" session {shown(session_id)}" if session_id else ""
    place = f" ({path})" if path else ""
    return StoreFailed(
        f"cannot {what}{which}{place}: {reason[:1].lower()}{reason[1:]}",
        session_id=session_id,
        path=path,
        errno=error.errno,
    )
