"""What is told of a directory, file or table that is, or holds, no record.

Spec: decision D11.
"""

from __future__ import annotations

from typing import Final

from agentsession.findings import Finding
from agentsession.importers.opencode.records import Stray
from agentsession.importers.unread import UNREADABLE_PLACE

FOREIGN_PLACE: Final = "foreign-place"
"""The code of a place among the records that holds none."""


def place_finding(stray: Stray) -> Finding:
    """Return what is told of a stray whose kind is one of a place."""
    code = UNREADABLE_PLACE if stray.malformed else FOREIGN_PLACE
    return Finding(code, stray.why, stray.where or stray.unit)
