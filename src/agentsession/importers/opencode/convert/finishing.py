"""What was written, as the session it is: its entries are decoded when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from agentsession.header import Header
from agentsession.rows import Rows
from agentsession.session import Session


@dataclass(frozen=True, slots=True)
class Written:
    """Entries as columns.

    Attributes:
        ids, parents, types, lines: one element an entry.
    """

    ids: list[str] = field(default_factory=list)
    parents: list[str | None] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)

    def add(self, entry_id: str, parent: str | None, entry_type: str, line: bytes) -> None:
        """Add an entry."""
        self.ids.append(entry_id)
        self.parents.append(parent)
        self.types.append(entry_type)
        self.lines.append(line)

    def follow(self, parent: str | None, entry_ids: Sequence[str], types: Sequence[str]) -> None:
        """Add entries whose lines are there already, each below the one before."""
        self.ids.extend(entry_ids)
        self.parents.append(parent)
        self.parents.extend(entry_ids[:-1])
        self.types.extend(types)


def finished(header: Header, entries: Written) -> Session:
    """Return the session of these entries, as one that was read."""
    lines = entries.lines
    written = b"\n".join([header.line, *lines, b""])
    lengths = [len(line) + 1 for line in lines]
    ends = [*accumulate(lengths, initial=len(header.line) + 1)]
    columns = (entries.ids, entries.parents, entries.types)
    rows = Rows.written(header.version, columns, written, ends)
    return Session.restored(header, rows, truncated=None, notes=[], source=written)
