"""The check of every byte: what a reader forgives, because it decodes no body it need not.

A reader takes a line whose envelope and members are right. Inside a body it lets pass what
JSON readers take in different ways: a member name used twice, half of a surrogate pair, a
whole number that is no double, a number beyond any double, bytes that are not UTF-8 (up to
0.4). Here each line is decoded to its last byte and held against I-JSON.

Spec: format 3.4, 6 and 7, later drafts 3.3, decisions A2 and A6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentsession import id_blocks, ijson
from agentsession.errors import NotJSON

if TYPE_CHECKING:
    from agentsession.session import Session


def problem(line: bytes) -> str:
    """Return the first thing in a line that readers take in different ways, or nothing.

    Spec: later drafts 3.3.
    """
    if id_blocks.is_plain(line):
        return ""
    try:
        return ijson.problem(line)
    except NotJSON as error:
        return f"not JSON: {error}"


def findings(session: Session) -> Iterator[str]:
    """Yield a sentence for each line of a session that ``read(..., strict=True)`` refuses.

    A cut last line is none of them: ``session.truncated`` has it.
    """
    found = problem(session.header.line)
    if found:
        yield f"header: {found}"
    rows = session._rows
    for entry_id, line in zip(rows.ids, rows.lines(), strict=True):
        found = problem(line)
        if found:
            yield f"entry {entry_id}: {found}"
