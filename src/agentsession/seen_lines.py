"""What a follower has read of a session, and whether that is still what stands there.

Spec: stores 4.4.
"""

from __future__ import annotations

from array import array


class Seen:
    """What was read: enough to tell whether it is still there, and what is new.

    Attributes:
        hashes: of each line that is not blank, the header's first.
        ids: the entry of each of these lines; empty for a header or a repeated entry.
        index: the ids of all entries.
        at, number: position and number of the last of these lines.
    """

    def __init__(self) -> None:
        self.hashes = array("q")
        self.ids: list[str] = []
        self.index: dict[str, int] = {}
        self.at = 0
        self.number = 0

    def add(self, line: bytes, entry_id: str, at: int = 0, number: int = 0) -> None:
        """Add the next line."""
        self.hashes.append(hash(line))
        self.ids.append(entry_id)
        if entry_id:
            self.index[entry_id] = len(self.ids)
        self.at, self.number = at, number

    def keep(self, count: int) -> int:
        """Forget all but the first lines; return how many entries were forgotten."""
        lost = [entry_id for entry_id in self.ids[count:] if entry_id]
        for entry_id in lost:
            del self.index[entry_id]
        del self.hashes[count:]
        del self.ids[count:]
        if not count:
            self.at = self.number = 0
        return len(lost)
