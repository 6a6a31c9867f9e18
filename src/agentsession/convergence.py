"""Entries that come from several others: the ``parents`` of the envelope.

They say where material came from. No path and no context ever follows them.

Spec: later drafts 6.
"""

from __future__ import annotations

from collections.abc import Container

from agentsession import text, versions
from agentsession.entries import Entry
from agentsession.errors import BadConvergence
from agentsession.members import Version
from agentsession.parts import Reference


def check(
    entry: Entry, parent: str | None, session_id: str, known: Container[str], version: Version
) -> None:
    """Return when the ``parents`` of an entry keep the rules.

    Args:
        entry: the entry.
        parent: its parent.
        session_id: the session it is in.
        known: the ids of the entries before it.
        version: the format version of the session.

    Raises:
        BadConvergence: naming the first reference that breaks one.
    """
    problem = list_problem(entry.text_of("parents"))
    if problem:
        raise BadConvergence(problem)
    seen = set()
    for reference in entry.parents:
        own = reference.session in ("", session_id)
        if reference.entry == parent and (own or versions.has_content_ids(version)):
            raise BadConvergence(
                f'parents names "{parent}", which is the parent itself', entry_id=reference.entry
            )
        place = ("" if own else reference.session, reference.entry)
        if place in seen:
            raise BadConvergence(
                f'parents names "{reference.entry}" twice', entry_id=reference.entry
            )
        seen.add(place)
        if own and reference.entry not in known:
            raise BadConvergence(
                f'parents names "{reference.entry}", which is not an earlier entry',
                entry_id=reference.entry,
            )


def list_problem(member_text: bytes | None) -> str:
    """Return what is wrong with the form of ``parents``, or an empty string."""
    if member_text is None or member_text == b"null":
        return ""
    found = Entry.parents.problem(member_text)
    if found or b"null" in text.split_elements(member_text):
        return "parents must be a list of references that each name an entry"
    return ""


def sorted_parents(member_text: bytes) -> bytes:
    """Return the text of ``parents`` in the order writers give it.

    That is by session, then by entry, those without a session first.
    """

    def place(element: bytes) -> tuple[str, str]:
        reference = Reference.from_json(element)
        return reference.session, reference.entry

    elements: list[bytes] = text.split_elements(member_text)
    elements.sort(key=place)
    return b"[" + b",".join(elements) + b"]"
