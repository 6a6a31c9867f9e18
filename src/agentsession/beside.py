"""What stands in a record beside the members that the format declares."""

from __future__ import annotations

from typing import Any

from agentsession import text
from agentsession.errors import NotJSON
from agentsession.members import Record


def value_of(record: Record, name: str) -> Any:
    """Return a member of a record as a value; ``None`` when there is none that can be read."""
    member_text = record.text_of(name)
    if member_text is None:
        return None
    try:
        return text.parse(member_text)
    except NotJSON:
        return None
