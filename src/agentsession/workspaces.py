"""Where tools ran, and where on a path that was exchanged for another place.

Spec: later drafts 8, substitution.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsession import text
from agentsession.canonical import canonical_text
from agentsession.entries import Entry, ResponseEntry
from agentsession.errors import CannotHash
from agentsession.members import join_members
from agentsession.record_entries import EnvEntry

_EMPTY = (b'""', b"null")


def substitutions(path: Sequence[Entry]) -> tuple[EnvEntry, ...]:
    """Return the env entries after a response whose workspace is not the one in force.

    Workspaces are compared member by member, unknown members included.

    Spec: later drafts 8.
    """
    found = []
    in_force = b""
    answered = False
    for entry in path:
        if isinstance(entry, ResponseEntry):
            answered = True
        elif isinstance(entry, EnvEntry):
            workspace = _compared(entry.text_of("workspace"))
            if answered and workspace != in_force:
                found.append(entry)
            in_force = workspace
    return tuple(found)


def _compared(member_text: bytes | None) -> bytes:
    """The text two workspaces are compared by; empty for none."""
    if member_text is None or not member_text.startswith(b"{"):
        return b""
    members = {
        name: value
        for name, value in text.split_members(member_text).items()
        if not (name in ("kind", "ref") and value in _EMPTY)
    }
    try:
        return canonical_text(join_members(members))
    except CannotHash:
        return member_text
