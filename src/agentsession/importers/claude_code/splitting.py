"""Splitting: whose the records of a file are, where early releases kept agents in it.

Spec: claude-code 6.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.source import Conversation


def own_records(records: Sequence[Record], conversation: Conversation) -> list[Record]:
    """Return the records of a conversation, among those of its files."""
    if conversation.logs[0].is_agent:
        return list(records)
    file, known, roots = -1, set[str](), dict[str, str]()
    every: dict[int, dict[str, str]] = {}
    mine: list[Record] = []
    for record in records:
        if record.file != file:
            # A file alone says whose its records are: not all of them have the same agents.
            file, roots = record.file, every.setdefault(record.file, {})
            known = set(conversation.logs[file].sidechains)
        root = ""
        if record.is_tree and record.is_sidechain:
            root = roots.get(record.parent, "") if record.parent else record.uuid
            # A sub-agent whose beginning is lost stays with its parent.
            root = roots.setdefault(record.uuid, root if root in known else "")
        if root == conversation.chain:
            mine.append(record)
    return mine
