"""Where tools ran, and where on a path that was exchanged for another place.

Spec: later drafts 8, substitution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentsession import text
from agentsession._undoing import Journal
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
    workspaces = Workspaces()
    return tuple(
        entry for entry in path if workspaces.exchanged_by(entry) and isinstance(entry, EnvEntry)
    )


@dataclass(slots=True)
class Workspaces:
    """The workspace in force on a path fed entry by entry.

    Attributes:
        journal: what changes it.
        in_force: the text that it is compared by; empty for none.
        answered: whether a response stands on the path.
    """

    journal: Journal = field(default_factory=Journal, repr=False)
    in_force: bytes = b""
    answered: bool = False

    def exchanged_by(self, entry: Entry) -> bool:
        """Take the next entry; return whether tools ran elsewhere from it on."""
        if isinstance(entry, ResponseEntry):
            if not self.answered:
                self.journal.let(self, "answered", value=True)
        elif isinstance(entry, EnvEntry):
            workspace = _compared(entry.text_of("workspace"))
            before = self.in_force
            self.journal.let(self, "in_force", workspace)
            return self.answered and workspace != before
        return False


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
