"""Sessions are made, opened, appended to, listed, continued and deleted.

Spec: stores 6, lines 1 to 34.
"""

from __future__ import annotations

import itertools
import threading

import pytest

from agentsession import versions
from agentsession.entries import ConfigEntry, ItemEntry
from agentsession.errors import (
    AgentSessionError,
    DuplicateEntry,
    InvalidEntry,
    NoEntry,
    NoSession,
    SessionExists,
    UnsupportedFormat,
)
from agentsession.header import ALL_RECORDS, Header
from agentsession.parts import Harness
from agentsession.record_entries import InfoEntry, UnknownEntry
from agentsession.recording import continue_session
from agentsession.session import Session
from agentsession.stores.base import ListFilter, Store, Summary
from agentsession.stores.conformance.base import Requirements, listed, said, summaries

_HOURS = {
    "one": "2026-03-01T08:15:30.25Z",
    "two": "2026-03-01T10:15:30.25+01:00",
    "three": "2026-03-01T10:15:30.25Z",
}


class CreateAndOpen(Requirements):
    """A session is made once, and found by its id."""

    def test_create_fills_the_header(self, store: Store) -> None:
        """1."""
        session = store.create(Header(cwd="/srv/app", harness=Harness("demo", "2.1")))
        header = session.header
        assert header.id == session.id
        assert header.id
        assert header.format == versions.FORMAT
        assert header.payload == versions.PAYLOAD
        assert header.created_at is not None
        assert (header.cwd, header.harness) == ("/srv/app", Harness("demo", "2.1"))
        assert session.leaf is None
        assert len(session) == 0

    def test_open_gives_the_header(self, store: Store) -> None:
        """2."""
        created = store.create(Header(cwd="/srv/app", records=ALL_RECORDS))
        opened = store.open(created.id)
        assert opened.header == created.header
        assert opened.header.created_at == created.header.created_at

    def test_open_gives_the_same_object(self, store: Store) -> None:
        """Section 1: a session is shared with its store."""
        created = store.create()
        assert store.open(created.id) is created

    @pytest.mark.parametrize(
        "unknown", ["nothing-here", "", "../etc", "a/b", "a\0b", "*", "x" * 300]
    )
    def test_unknown_session(self, store: Store, unknown: str) -> None:
        """3."""
        store.create()
        with pytest.raises(NoSession) as caught:
            store.open(unknown)
        assert caught.value.session_id == unknown

    def test_id_that_exists(self, store: Store) -> None:
        """4."""
        first = store.create(Header(id="twice", cwd="/a"))
        with pytest.raises(SessionExists) as caught:
            store.create(Header(id="twice", cwd="/b"))
        assert caught.value.session_id == "twice"
        assert store.open("twice") is first
        assert listed(store) == ["twice"]

    def test_given_id(self, store: Store) -> None:
        """5."""
        assert store.create(Header(id="mine")).id == "mine"

    @pytest.mark.parametrize("format_name", ["agentsession/0.5", "agentsession/1.0", "pi/0.1"])
    def test_format_that_is_not_written(self, store: Store, format_name: str) -> None:
        """A new session has a format this release writes; create refuses, nothing is left."""
        with pytest.raises(UnsupportedFormat):
            store.create(Header(id="later", format=format_name))
        assert listed(store) == []
        with pytest.raises(NoSession):
            store.open("later")


class Append(Requirements):
    """An entry goes to the leaf, or nothing changes at all."""

    @pytest.fixture
    def session(self, store: Store) -> Session:
        """A session with a config and a user item."""
        session = store.create(Header(cwd="/srv/app"))
        store.append(session.id, ConfigEntry(model="m-1", instructions="Be kind.", replace=True))
        store.append(session.id, ItemEntry(said("user", "Hello")))
        return session

    def test_append_shows_in_the_session(self, store: Store) -> None:
        """6, 7, 8."""
        session = store.create()
        first = store.append(session.id, ItemEntry(said("user", "one")))
        assert first
        assert (session.leaf, len(session)) == (first, 1)
        second = store.append(session.id, ItemEntry(said("assistant", "two")))
        assert session[second].parent == first
        assert session.leaf == second

    def test_append_on_the_session_is_append_on_the_store(self, store: Store) -> None:
        """Decision A5."""
        session = store.create()
        first = session.append(ItemEntry(said("user", "one")))
        assert store.open(session.id)[first].parent is None
        assert session.leaf == first

    def test_branch_steers_the_next_append(self, store: Store) -> None:
        """9."""
        session = store.create()
        first = store.append(session.id, ItemEntry(said("user", "one")))
        second = store.append(session.id, ItemEntry(said("user", "two")))
        session.branch(first)
        third = store.append(session.id, ItemEntry(said("user", "three")))
        assert [child.id for child in session.children(first)] == [second, third]

    def test_reset_leaf_starts_a_root(self, store: Store) -> None:
        """10."""
        session = store.create()
        first = store.append(session.id, ItemEntry(said("user", "one")))
        session.reset_leaf()
        second = store.append(session.id, ItemEntry(said("user", "two")))
        assert [root.id for root in session.roots] == [first, second]

    def test_extension_entry(self, store: Store, session: Session) -> None:
        """11."""
        note = store.append(session.id, UnknownEntry(b'{"type":"acme:note","text":"x"}'))
        entry = session[note]
        assert (entry.type, entry.id) == ("acme:note", note)
        assert entry.ts is not None
        assert entry.to_dict()["text"] == "x"

    def test_unknown_session_takes_nothing(self, store: Store) -> None:
        """12."""
        with pytest.raises(NoSession):
            store.append("nothing-here", ItemEntry(said("user", "one")))
        assert listed(store) == []

    def test_failed_appends_change_nothing(self, store: Store, session: Session) -> None:
        """13 to 16."""
        for words in ("two", "three"):
            store.append(session.id, ItemEntry(said("user", words)))
        last = store.append(session.id, InfoEntry("a name"))
        before = session.entries
        with pytest.raises(DuplicateEntry):
            store.append(session.id, InfoEntry("again", id=last))
        with pytest.raises(NoEntry):
            store.append(session.id, InfoEntry("lost", parent="nothing-here"))
        with pytest.raises(InvalidEntry):
            store.append(session.id, ItemEntry(None))
        with pytest.raises(InvalidEntry):
            store.append(session.id, UnknownEntry({"type": "item"}))
        with pytest.raises(AgentSessionError):
            store.append(session.id, {"type": "info"})  # type: ignore[arg-type]
        assert len(before) == 5
        assert session.entries == before
        assert session.leaf == last

    def test_context(self, store: Store, session: Session) -> None:
        """17."""
        context = store.open(session.id).context()
        assert context.settings.model == "m-1"
        assert [dict(item) for item in context.items] == [said("user", "Hello")]

    def test_threads(self, store: Store) -> None:
        """Appends of many threads to one session and to many: none is lost."""
        shared = store.create()
        own = [store.create() for _ in range(4)]

        def work(session: Session) -> None:
            for n in range(10):
                store.append(session.id, InfoEntry(f"n{n}"))
                store.append(shared.id, InfoEntry(f"{session.id} n{n}"))

        threads = [threading.Thread(target=work, args=[session]) for session in own]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len(session) for session in own] == [10] * 4
        assert len(shared) == 40
        assert len(shared.path()) == 40


class List(Requirements):
    """Sessions are listed newest first, filtered and with their names."""

    @pytest.fixture
    def three(self, store: Store) -> Store:
        """A store with three sessions, an hour apart."""
        store.create(Header(id="two", created_at=_HOURS["two"], cwd="/b"))
        store.create(Header(id="three", created_at=_HOURS["three"], cwd="/a", parent_session="one"))
        store.create(Header(id="one", created_at=_HOURS["one"], cwd="/a"))
        return store

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (None, ["three", "two", "one"]),
            (ListFilter(), ["three", "two", "one"]),
            (ListFilter(cwd="/a"), ["three", "one"]),
            (ListFilter(parent_session="one"), ["three"]),
            (ListFilter(after=_HOURS["one"]), ["three", "two"]),
            (ListFilter(before=_HOURS["three"]), ["two", "one"]),
            (ListFilter(after=_HOURS["one"], before=_HOURS["three"]), ["two"]),
            (ListFilter(limit=2), ["three", "two"]),
            (ListFilter(limit=1, cwd="/b"), ["two"]),
            (ListFilter(cwd="/nowhere"), []),
        ],
    )
    def test_filter(self, three: Store, asked: ListFilter | None, expected: list[str]) -> None:
        """18 to 23, 26."""
        assert listed(three, asked) == expected

    def test_names(self, three: Store) -> None:
        """24, 25."""
        for name in ("first name", "", "Two"):
            three.append("two", InfoEntry(name))
        three.append("one", InfoEntry("One"))
        named = ListFilter(with_names=True)
        assert [s.name for s in summaries(three, named)] == ["", "Two", "One"]
        named = ListFilter(with_names=True, cwd="/a")
        assert [(s.id, s.name) for s in summaries(three, named)] == [("three", ""), ("one", "One")]

    def test_stopping_early(self, three: Store) -> None:
        """27."""
        first = list(itertools.islice(three.list(), 1))
        assert [item.id for item in first if isinstance(item, Summary)] == ["three"]
        assert listed(three) == ["three", "two", "one"]

    def test_equal_times(self, store: Store) -> None:
        """Section 2: ties by id, descending."""
        for session_id in ("b", "c", "a"):
            store.create(Header(id=session_id, created_at=_HOURS["one"]))
        assert listed(store) == ["c", "b", "a"]


class Continue(Requirements):
    """A session goes on in another one that replaces it."""

    def test_continue(self, store: Store) -> None:
        """28 to 33."""
        old = store.create(Header(cwd="/srv/app", harness=Harness("demo", "2.1")))
        store.append(old.id, ConfigEntry(model="m-1", instructions="Be kind.", replace=True))
        store.append(old.id, InfoEntry("A long story"))
        store.append(old.id, ItemEntry(said("user", "Hello")))
        summary = said("developer", "Earlier: a greeting.")
        new = continue_session(store, old.id, summary)
        assert (new.header.parent_session, new.header.cwd) == (old.id, "/srv/app")
        assert new.name == "A long story"
        context = new.context()
        assert context.settings.model == "m-1"
        assert context.settings.instructions == "Be kind."
        assert [dict(item) for item in context.items] == [summary]
        assert isinstance(new.entries[0], ConfigEntry)
        assert old.superseded_by == new.id
        both = summaries(store, ListFilter(with_names=True))
        assert {s.id: s.superseded_by for s in both} == {old.id: new.id, new.id: ""}
        assert listed(store, ListFilter(current=True)) == [new.id]


class Delete(Requirements):
    """A deleted session is gone, and its id is free."""

    def test_delete(self, store: Store) -> None:
        """34."""
        session = store.create(Header(id="gone"))
        store.append("gone", InfoEntry("x"))
        store.delete("gone")
        with pytest.raises(NoSession):
            store.open("gone")
        with pytest.raises(NoSession):
            store.delete("gone")
        with pytest.raises(AgentSessionError):
            session.append(InfoEntry("y"))
        assert listed(store) == []
        again = store.create(Header(id="gone"))
        assert again is not session
        assert len(again) == 0
