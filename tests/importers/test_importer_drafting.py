"""A draft: the file it becomes is what a reader finds, and contexts are found again in it."""

from __future__ import annotations

import agentsession as ags
from agentsession.entries import ConfigEntry
from agentsession.header import Header
from agentsession.importers.drafting import Node, TreeDraft, Unit
from agentsession.importers.plans import plan
from agentsession.record_entries import InfoEntry
from agentsession.settings import Settings

TS = "2026-03-01T10:00:00.000Z"


def unit(name: str, words: str = "x") -> Unit:
    item = {"type": "message", "id": name, "role": "user", "content": words}
    return Unit(name, item, name, ts=TS)


def draft(room: int = 0) -> TreeDraft:
    header = Header(format="agentsession/0.3", id="s", created_at=TS)
    made = TreeDraft(header, "agent", room)
    node = made.add(made.root, ConfigEntry(model="m"), "c", "config", TS)
    fork = made.put(node, unit("a"))
    node = made.put(fork, unit("b", "é\u2028" * 400_000))
    made.put(fork, unit("c", "y" * 900_000))
    node = made.fold(node, [unit("s"), unit("b", "é\u2028" * 400_000)], "fold", TS)
    node = made.put(node, unit("d"))
    made.add(node, InfoEntry("title"), "t", "title", TS)
    return made


def test_a_finished_draft_is_what_a_reader_finds() -> None:
    for room in (0, 100, 10_000_000):
        found = draft(room).finished()
        read = ags.read(ags.dump(found))
        assert [e.line for e in found.entries] == [e.line for e in read.entries]
        assert [(e.id, e.parent, e.type) for e in found.entries] == [
            (e.id, e.parent, e.type) for e in read.entries
        ]
        assert [type(e) for e in found.entries] == [type(e) for e in read.entries]
        assert (found.leaf, found.name, found.header) == (read.leaf, read.name, read.header)
        assert ags.dump(found) == ags.dump(read)


def test_the_session_so_far_is_the_beginning_of_the_finished_one() -> None:
    made = draft()
    lines = [entry.line for entry in made.session.entries]
    made.put(made.root, unit("late"))
    assert [entry.line for entry in made.session.entries][:-1] == lines
    assert [entry.line for entry in made.finished().entries][:-1] == lines


def test_the_plan_of_a_new_session_has_its_entries() -> None:
    session = draft().finished()
    done = plan(None, session)
    assert done.leaf == ags.read(ags.dump(session)).leaf
    assert len(done.entries) == len(session)
    assert list(done.entries) == list(session.entries)
    assert done.entries == session.entries
    assert done.entries[0] is session.entries[0]
    assert done.entries[1:3] == session.entries[1:3]


def test_of_two_nodes_that_add_the_same_the_first_counts() -> None:
    above = Node("x", None, 0, Settings())
    nodes = [Node(str(n), above, 1, Settings(), key=key) for n, key in enumerate("abab")]
    for node in nodes:
        above.followed(node)
    assert above.following("a") is nodes[0]
    assert above.following("b") is nodes[1]
    assert above.following("c") is None
