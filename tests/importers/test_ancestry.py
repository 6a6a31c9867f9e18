"""Which entries stand above which others, against a walk up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsession.entries import Entry
from agentsession.header import Header
from agentsession.importers.ancestry import Ancestry
from agentsession.record_entries import CustomEntry
from agentsession.session import Session


def grown(parents: list[int]) -> Session:
    """A session of one entry for each number, below the entry of that number; a root for 0."""
    session = Session(Header(format="agentsession/0.3", id="s"))
    for number, parent in enumerate(parents, 1):
        above = f"{parent:08x}" if 0 < parent < number else None
        entry = CustomEntry("acme", {"n": number})
        session.commit(entry.sealed(f"{number:08x}", above, "2026-01-01T00:00:00Z"))
    return session


def walked(session: Session, old: Entry, entry: Entry) -> bool:
    at = entry.parent
    while at is not None:
        if at == old.id:
            return True
        at = session[at].parent
    return False


@given(st.lists(st.integers(0, 30), max_size=30))
def test_is_what_a_walk_up_finds(parents: list[int]) -> None:
    session = grown(parents)
    ancestry = Ancestry(session)
    for old in session:
        for entry in session:
            assert ancestry.is_above(old, entry) == walked(session, old, entry)


def test_a_way_to_the_root_changes_lines_seldom() -> None:
    """Also where each step of the main line was written after a side line."""
    parents = [0]
    tip = 1
    for _ in range(500):
        parents += [tip, tip]
        tip = len(parents)
    session = grown(parents)
    ancestry = Ancestry(session)
    entries = session.entries
    assert ancestry.is_above(entries[0], entries[-1])
    assert not ancestry.is_above(entries[-2], entries[-1])
    assert len(ancestry._starts) == 501
    assert len({ancestry._places[entry.id][0] for entry in session.path(entries[-1].id)}) == 1
