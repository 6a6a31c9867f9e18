"""Ancestry: which entries of a session stand above which others, asked many times.

A walk up for each question would take time by the length of the session. The tree is cut into
lines instead, each going on to the child with the most below it; a way to the root changes
lines no more often than the logarithm of the number of entries.
"""

from __future__ import annotations

from agentsession.entries import Entry
from agentsession.session import Session


class Ancestry:
    """Tells whether entries of a session stand above others.

    Args:
        session: the session; what is appended to it later is not known.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._places: dict[str, tuple[int, int]] = {}
        self._starts: list[str | None] = []

    def is_above(self, old: Entry, entry: Entry) -> bool:
        """Return whether an entry stands on the path to another one, and is not that."""
        if not self._places:
            self._lay_out()
        line, place = self._places[old.id]
        at = entry.parent
        while at is not None:
            here, depth = self._places[at]
            if here == line:
                return place <= depth
            at = self._starts[here]
        return False

    def _lay_out(self) -> None:
        """Give each entry its line and its place on it."""
        entries = self._session.entries
        below = dict.fromkeys((entry.id for entry in entries), 1)
        heaviest: dict[str, str] = {}
        # A parent stands before its children, so that their numbers are whole before its own.
        for entry in reversed(entries):
            parent = entry.parent
            if parent is not None:
                below[parent] += below[entry.id]
                known = heaviest.get(parent)
                if known is None or below[entry.id] > below[known]:
                    heaviest[parent] = entry.id
        for entry in entries:
            parent = entry.parent
            if parent is not None and heaviest[parent] == entry.id:
                line, place = self._places[parent]
                self._places[entry.id] = line, place + 1
            else:
                self._places[entry.id] = len(self._starts), 0
                self._starts.append(parent)
