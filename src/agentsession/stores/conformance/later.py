"""Sessions of the drafts in which an entry's id is the hash of its line.

Spec: stores 6, lines 43 to 45.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsession import versions
from agentsession.entries import ConfigEntry, ItemEntry
from agentsession.errors import BadConvergence, BadID, InvalidEntry, NoEntry, NoSession
from agentsession.forks import fork
from agentsession.header import Header
from agentsession.parts import Reference
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores.base import Store
from agentsession.stores.conformance.base import Requirements, listed, said

_NEWEST = versions.format_name(versions.NEWEST_HASHED)


class LaterDrafts(Requirements):
    """Hashed ids, convergence and forks."""

    @pytest.fixture
    def hashed(self, store: Store) -> Session:
        """A session whose ids are hashes, with two entries."""
        if not self.later_drafts:
            pytest.skip("this store makes no sessions of later drafts")
        session = store.create(Header(format=_NEWEST, cwd="/srv/app"))
        store.append(session.id, ConfigEntry(model="m-1", replace=True))
        store.append(session.id, ItemEntry(said("user", "one")))
        return session

    def test_convergence(self, store: Store, hashed: Session, tmp_path: Path) -> None:
        """43."""
        first, second = (entry.id for entry in hashed)
        merged = ItemEntry(said("user", "two")).converging(
            Reference("x", session="s-2"), Reference("x", session="s-1"), Reference(first)
        )
        with pytest.raises(BadConvergence):
            hashed.append(merged.converging(Reference(second)))
        added = hashed.append(merged)
        wanted = [("", first), ("s-1", "x"), ("s-2", "x")]
        assert [(r.session, r.entry) for r in hashed[added].parents] == wanted
        assert [entry.id for entry in hashed.path()] == [first, second, added]
        assert len(hashed.context().items) == 2
        with self.reopen(store, tmp_path) as again:
            opened = again.open(hashed.id)
            assert opened.entries == hashed.entries
            assert [(r.session, r.entry) for r in opened[added].parents] == wanted

    def test_held_append(self, store: Store, hashed: Session, tmp_path: Path) -> None:
        """44, and 13: an id that is not the hash."""
        entry = InfoEntry("a name", ts="2026-03-01T08:15:30Z", parent=hashed.leaf)
        first = store.append(hashed.id, entry)
        assert store.append(hashed.id, entry) == first
        assert len(hashed) == 3
        with pytest.raises(BadID):
            store.append(hashed.id, InfoEntry("another", id=first))
        with self.reopen(store, tmp_path) as again:
            assert [e.id for e in again.open(hashed.id)] == [e.id for e in hashed]

    def test_branches_leave_the_leaf(self, store: Store, hashed: Session) -> None:
        """Later drafts 7: an append elsewhere is a branch and does not move the leaf."""
        first, second = (entry.id for entry in hashed)
        store.append(hashed.id, InfoEntry("aside", parent=first))
        assert hashed.leaf == second

    def test_fork(self, store: Store, hashed: Session, tmp_path: Path) -> None:
        """45."""
        before = [entry.line for entry in hashed]
        base = hashed.leaf or ""
        forked = fork(hashed, base, store=store)
        assert [entry.id for entry in forked] == [entry.id for entry in hashed.path(base)]
        assert (forked.header.base, forked.header.parent_session) == (base, hashed.id)
        assert (forked.header.cwd, forked.leaf) == ("/srv/app", base)
        own = store.append(forked.id, InfoEntry("of its own"))
        assert forked[own].parent == base
        assert [entry.line for entry in hashed] == before
        with self.reopen(store, tmp_path) as again:
            opened = again.open(forked.id)
            assert [entry.line for entry in opened] == [entry.line for entry in forked]
            assert opened.leaf == own

    def test_fork_refusals(self, store: Store, hashed: Session) -> None:
        """45: they come from create and leave no session behind."""
        label = store.append(hashed.id, hashed.mark_leaf())
        base = hashed.leaf or ""
        for error, members in (
            (NoEntry, {"base": "sha256:" + "0" * 64, "parent_session": hashed.id}),
            (NoEntry, {"base": base}),
            (NoSession, {"base": base, "parent_session": "nothing-here"}),
            (InvalidEntry, {"base": label, "parent_session": hashed.id}),
            (InvalidEntry, {"base": base, "parent_session": hashed.id, "media": "sidecar"}),
        ):
            with pytest.raises(error):
                store.create(Header(id="fork", format=_NEWEST, **members))  # type: ignore[arg-type]
            with pytest.raises(NoSession):
                store.open("fork")
        assert listed(store) == [hashed.id]
