"""Names of records: what tells them apart in every copy of a session.

Spec: pi 1, 5, decision D5.
"""

from __future__ import annotations

from agentsession.importers.pi.records import Record


class Naming:
    """Names the records of one file in order.

    A record's name is its id. The records of the first version had none, and an upgrade
    gives them random ones: they are named by their time instead, which an upgrade keeps,
    so that a session is known again after it.
    """

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def name(self, record: Record) -> str:
        """Return the next record's name."""
        if record.is_first_version:
            wanted = record.timestamp or "entry"
        else:
            wanted = record.id or f"line.{record.line}"
        times = self._given.get(wanted, 0)
        self._given[wanted] = times + 1
        return f"{wanted}.{times + 1}" if times else wanted
