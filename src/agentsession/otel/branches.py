"""The branches of a session's tree: the one that grows, and those that were left.

Spec: otel B.7, decision F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from agentsession.entries import Entry
from agentsession.otel.branch import Branch, Said
from agentsession.otel.emitter import time_of
from agentsession.record_entries import RunEntry

Path = Sequence[Entry]


class Branches:
    """Gives each entry the state its parent left.

    The state below every entry is there, and shares with that of its parent what did not
    change; so wherever a branch forks, nothing is gone through again.

    Args:
        content: whether to keep what was said.

    Attributes:
        current: the state the next span comes from.
    """

    def __init__(self, *, content: bool) -> None:
        self._root = Branch(said=Said() if content else None)
        self._below: dict[str, Branch] = {}
        # The states nothing has grown from, with the time of the last entry of each.
        self._ends: dict[Branch, int] = {}
        self.current = self._root

    def prime(self, path: Path) -> None:
        """Go to the end of a path that was there before."""
        known = len(path)
        while known and path[known - 1].id not in self._below:
            known -= 1
        self.current = self._below[path[known - 1].id] if known else self._root
        for entry in path[known:]:
            self.current = self._below[entry.id] = _recalled(self.current, entry)
        if path[known:]:
            self._ends[self.current] = time_of(path[-1])

    def go_to(self, parent: str | None, path: Callable[[str], Path]) -> None:
        """Go below an entry; ``path`` gives the way to one that was there before."""
        if parent is None:
            self.current = self._root
        elif parent in self._below:
            self.current = self._below[parent]
        else:
            self.prime(path(parent))

    def grow(self, base: Branch, entry: Entry) -> None:
        """Take an entry: from the state above it, its spans having changed the current one."""
        grown = self._below[entry.id] = self.current = self.current.after(entry)
        if grown is base and base not in self._ends:
            return
        # In the order in which they were left.
        self._ends.pop(base, None)
        self._ends[grown] = time_of(entry)

    def leave(self, at: int) -> Iterator[tuple[Branch, int]]:
        """Go to each branch once more; yield it and when it ends, the current one at ``at``."""
        ends, self._ends = self._ends, {}
        ends.pop(self.current, None)
        yield self.current, at
        for branch, end in ends.items():
            self.current = branch
            yield branch, end


def _recalled(branch: Branch, entry: Entry) -> Branch:
    """The state below an entry no span tells of."""
    if isinstance(entry, RunEntry):
        if entry.is_start:
            branch = replace(branch, run_id=entry.run_id, run=None)
        elif entry.run_id == branch.run_id:
            branch = replace(branch, run_id="", run=None)
    return branch.after(entry)
