"""What every store must do, as a pytest class that any store can run.

Three lines are a whole test module::

    class TestMyStore(StoreConformance):
        def make_store(self, place):
            return MyStore(place / "sessions")

``make_store`` is called with a directory of the test; called again with the same one, after
the first store was closed, it opens the same storage; called before, it opens a second store
over it, which must not write to a session that the first one holds. A store that keeps nothing
beyond its object says ``persistent = False``; one that leaves it to its users that only one
store writes to a session says ``exclusive = False``.

The numbers in the docstrings are the lines of the list in stores 6. This module needs pytest;
``pytest.register_assert_rewrite("agentsession.stores.conformance")`` before the import makes
its failures show their values.

Spec: stores 6.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from agentsession import versions
from agentsession.entries import BranchSummaryEntry, ConfigEntry, ItemEntry, ResponseEntry
from agentsession.errors import (
    AgentSessionError,
    BadConvergence,
    BadID,
    DuplicateEntry,
    InvalidEntry,
    NoEntry,
    NoSession,
    SessionExists,
    SessionLocked,
    UnsupportedFormat,
)
from agentsession.forks import fork
from agentsession.header import ALL_RECORDS, Header
from agentsession.parts import Harness, Reference
from agentsession.record_entries import InfoEntry, LabelEntry, UnknownEntry
from agentsession.recording import continue_session
from agentsession.session import Session
from agentsession.stores.base import ListFilter, Store, Summary

_NEWEST = versions.format_name(versions.NEWEST_HASHED)
_USAGE = {
    "input_tokens": 12,
    "output_tokens": 3,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 0},
}
_HOURS = {
    "one": "2026-03-01T08:15:30.25Z",
    "two": "2026-03-01T10:15:30.25+01:00",
    "three": "2026-03-01T10:15:30.25Z",
}


def said(role: str, words: str) -> dict[str, object]:
    """Return a message item."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def listed(store: Store, asked: ListFilter | None = None) -> list[str]:
    """Return the ids a store lists; an error in the listing is raised."""
    return [summary.id for summary in summaries(store, asked)]


def summaries(store: Store, asked: ListFilter | None = None) -> list[Summary]:
    """Return what a store lists; an error in the listing is raised."""
    found = []
    for item in store.list(asked):
        if not isinstance(item, Summary):
            raise item
        found.append(item)
    return found


class _Base:
    """The fixtures: a store, and the store again."""

    persistent: ClassVar[bool] = True
    """Whether sessions outlive the store object."""

    exclusive: ClassVar[bool] = True
    """Whether a session that one store holds is refused by another over the same storage."""

    def make_store(self, place: Path) -> Store:
        """Return a store over the storage at a place."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """A fresh store."""
        with self.make_store(tmp_path) as store:
            yield store

    def reopen(self, store: Store, place: Path) -> Store:
        """Close a store and return a second one over the same storage."""
        if not self.persistent:
            pytest.skip("this store keeps nothing")
        store.close()
        return self.make_store(place)


class _CreateAndOpen(_Base):
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


class _Append(_Base):
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


class _List(_Base):
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


class _Continue(_Base):
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


class _Delete(_Base):
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


class _Persist(_Base):
    def test_entries_come_back(self, store: Store, tmp_path: Path) -> None:
        """35 to 41."""
        session = store.create(Header(cwd="/srv/app", unknown={"x_team": "blue"}))
        entries = [
            ConfigEntry(model="m-1", instructions="Be kind.", replace=True),
            ItemEntry(said("user", "Hello")),
            UnknownEntry({"type": "acme:note", "text": "<x>", "list": [1, 2.50, None]}),
            ItemEntry(said("assistant", "Hi"), response="resp_1"),
            ResponseEntry("resp_1", status="completed", usage=_USAGE),
        ]
        ids = [store.append(session.id, entry) for entry in entries]
        lines = [entry.line for entry in session]
        with self.reopen(store, tmp_path) as second:
            again = second.open(session.id)
            assert again is not session
            assert again.header == session.header
            assert again.header.unknown == {"x_team": "blue"}
            assert [entry.line for entry in again] == lines
            assert [entry.id for entry in again] == ids
            assert again.leaf == ids[-1]
            context = again.context_at(ids[1])
            assert (context.settings.model, len(context.items)) == ("m-1", 1)
            assert [type(entry) for entry in again.path(ids[1])] == [ConfigEntry, ItemEntry]
            response = again[ids[-1]]
            assert isinstance(response, ResponseEntry)
            assert response.usage == _USAGE
            more = second.append(session.id, ItemEntry(said("user", "Go on")))
            assert again[more].parent == ids[-1]
            assert [(s.id, s.header.cwd) for s in summaries(second)] == [(session.id, "/srv/app")]
            second.delete(session.id)
            with self.reopen(second, tmp_path) as third, pytest.raises(NoSession):
                third.open(session.id)

    def test_branches_and_roots_come_back(self, store: Store, tmp_path: Path) -> None:
        """Several roots, a branch and its summary are what they were."""
        session = store.create()
        first = session.append(ItemEntry(said("user", "one")))
        second = session.append(ItemEntry(said("user", "two")))
        session.branch(first)
        session.append(BranchSummaryEntry(second, said("developer", "tried two")))
        session.reset_leaf()
        session.append(ItemEntry(said("user", "new root")))
        with self.reopen(store, tmp_path) as again:
            opened = again.open(session.id)
            assert opened.entries == session.entries
            assert opened.roots == session.roots
            assert opened.leaf == session.leaf

    def test_durable_leaf(self, store: Store, tmp_path: Path) -> None:
        """42."""
        session = store.create()
        a = session.append(ItemEntry(said("user", "a")))
        session.append(ItemEntry(said("user", "b")))
        session.branch(a)
        label = session.append(session.mark_leaf())
        assert isinstance(session[label], LabelEntry)
        assert session.leaf == a
        session.append(ItemEntry(said("user", "c")))
        d = session.append(ItemEntry(said("user", "d")))
        with self.reopen(store, tmp_path) as again:
            opened = again.open(session.id)
            assert opened.leaf == d
            words = [item["content"][0]["text"] for item in opened.context().items]
            assert words == ["a", "c", "d"]


class _Refuse(_Base):
    """What a store holds, another one over the same storage does not write to."""

    @pytest.fixture
    def other(self, store: Store, tmp_path: Path) -> Iterator[Store]:
        """A second store over the storage of the first."""
        if not (self.persistent and self.exclusive):
            pytest.skip("this store does not keep others away")
        with self.make_store(tmp_path) as other:
            yield other

    def test_a_session_that_is_held(self, store: Store, other: Store) -> None:
        """Section 1: open, append and delete are refused, and change nothing."""
        session = store.create(Header(id="held", cwd="/a"))
        first = session.append(InfoEntry("one"))
        for call in (
            lambda: other.open("held"),
            lambda: other.append("held", InfoEntry("x")),
            lambda: other.delete("held"),
        ):
            with pytest.raises(SessionLocked) as caught:
                call()
            assert caught.value.session_id == "held"
            assert "held" in str(caught.value)
        with pytest.raises(SessionExists):
            other.create(Header(id="held"))
        assert [s.header.cwd for s in summaries(other)] == ["/a"]
        second = session.append(InfoEntry("two"))
        assert [entry.id for entry in session] == [first, second]

    def test_a_session_is_handed_over(self, store: Store, other: Store) -> None:
        """A closed store holds nothing."""
        first = store.create(Header(id="held")).append(InfoEntry("one"))
        with pytest.raises(SessionLocked):
            other.open("held")
        store.close()
        second = other.append("held", InfoEntry("two"))
        assert [entry.id for entry in other.open("held")] == [first, second]
        other.delete("held")
        assert listed(other) == []

    def test_different_sessions(self, store: Store, other: Store) -> None:
        """Two stores write to sessions of their own, and see each other's."""
        for n, writer in enumerate((store, other)):
            writer.create(Header(id=f"own{n}")).append(InfoEntry("x"))
        assert sorted(listed(store)) == sorted(listed(other)) == ["own0", "own1"]

    def test_a_race_has_one_winner(self, store: Store, other: Store, tmp_path: Path) -> None:
        """Of many stores that create, open or delete one session, one does."""
        store.close()
        stores = [other, *(self.make_store(tmp_path) for _ in range(3))]
        try:
            for act, losers in (
                (lambda store: store.create(Header(id="race")), (SessionExists, SessionLocked)),
                (lambda store: store.append("race", InfoEntry("x")), (SessionLocked,)),
                (lambda store: store.delete("race"), (NoSession, SessionLocked)),
            ):
                assert _winners(stores, act, losers) == 1
            assert listed(other) == []
        finally:
            for each in stores:
                each.close()


def _winners(
    stores: list[Store],
    act: Callable[[Store], object],
    losers: tuple[type[AgentSessionError], ...],
) -> int:
    """How many stores got through when all act at once; others must lose as they should."""
    outcomes: list[BaseException | None] = []
    barrier = threading.Barrier(len(stores))

    def work(store: Store) -> None:
        barrier.wait()
        try:
            act(store)
        except BaseException as error:
            outcomes.append(error)
        else:
            outcomes.append(None)

    threads = [threading.Thread(target=work, args=[store]) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if outcome is not None and not isinstance(outcome, losers):
            raise outcome
    return outcomes.count(None)


class _Endure(_Base):
    """What was acknowledged stays, also when the process does not end well."""

    def test_a_closed_store(self, store: Store) -> None:
        """Closing twice is fine; a session of a closed store takes nothing."""
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        store.close()
        store.close()
        if self.persistent:
            with pytest.raises(AgentSessionError):
                session.append(InfoEntry("two"))
            with pytest.raises(AgentSessionError):
                store.append("s", InfoEntry("two"))
            assert len(session) == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
    def test_a_process_that_is_killed(self, store: Store, tmp_path: Path) -> None:
        """All that append returned for is there, and the next writer goes on."""
        if not self.persistent:
            pytest.skip("this store keeps nothing")
        store.close()
        said = self._killed(tmp_path)
        with self.make_store(tmp_path) as again:
            session = again.open("killed")
            assert [entry.id for entry in session][: len(said)] == said
            assert len(said) == 20
            assert session.truncated is None
            more = again.append("killed", InfoEntry("goes on"))
            assert session.leaf == more
            assert listed(again) == ["killed"]

    def _killed(self, place: Path) -> list[str]:
        """The ids of the entries that a child appended before it was killed."""
        listen, tell = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                session = self.make_store(place).create(Header(id="killed"))
                for n in range(20):
                    os.write(tell, f"{session.append(InfoEntry(f'n{n}'))} ".encode())
                os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        os.close(tell)
        with open(listen, "rb") as pipe:
            said = pipe.read().decode()
        os.waitpid(pid, 0)
        return said.split()


class _LaterDrafts(_Base):
    @pytest.fixture
    def session(self, store: Store) -> Session:
        """A session whose ids are hashes, with two entries."""
        session = store.create(Header(format=_NEWEST, cwd="/srv/app"))
        store.append(session.id, ConfigEntry(model="m-1", replace=True))
        store.append(session.id, ItemEntry(said("user", "one")))
        return session

    def test_convergence(self, store: Store, session: Session, tmp_path: Path) -> None:
        """43."""
        first, second = (entry.id for entry in session)
        merged = ItemEntry(said("user", "two")).converging(
            Reference("x", session="s-2"), Reference("x", session="s-1"), Reference(first)
        )
        with pytest.raises(BadConvergence):
            session.append(merged.converging(Reference(second)))
        added = session.append(merged)
        wanted = [("", first), ("s-1", "x"), ("s-2", "x")]
        assert [(r.session, r.entry) for r in session[added].parents] == wanted
        assert [entry.id for entry in session.path()] == [first, second, added]
        assert len(session.context().items) == 2
        with self.reopen(store, tmp_path) as again:
            opened = again.open(session.id)
            assert opened.entries == session.entries
            assert [(r.session, r.entry) for r in opened[added].parents] == wanted

    def test_held_append(self, store: Store, session: Session, tmp_path: Path) -> None:
        """44, and 13: an id that is not the hash."""
        entry = InfoEntry("a name", ts="2026-03-01T08:15:30Z", parent=session.leaf)
        first = store.append(session.id, entry)
        assert store.append(session.id, entry) == first
        assert len(session) == 3
        with pytest.raises(BadID):
            store.append(session.id, InfoEntry("another", id=first))
        with self.reopen(store, tmp_path) as again:
            assert [e.id for e in again.open(session.id)] == [e.id for e in session]

    def test_branches_leave_the_leaf(self, store: Store, session: Session) -> None:
        """Later drafts 7: an append elsewhere is a branch and does not move the leaf."""
        first, second = (entry.id for entry in session)
        store.append(session.id, InfoEntry("aside", parent=first))
        assert session.leaf == second

    def test_fork(self, store: Store, session: Session, tmp_path: Path) -> None:
        """45."""
        before = [entry.line for entry in session]
        base = session.leaf or ""
        forked = fork(session, base, store=store)
        assert [entry.id for entry in forked] == [entry.id for entry in session.path(base)]
        assert (forked.header.base, forked.header.parent_session) == (base, session.id)
        assert (forked.header.cwd, forked.leaf) == ("/srv/app", base)
        own = store.append(forked.id, InfoEntry("of its own"))
        assert forked[own].parent == base
        assert [entry.line for entry in session] == before
        with self.reopen(store, tmp_path) as again:
            opened = again.open(forked.id)
            assert [entry.line for entry in opened] == [entry.line for entry in forked]
            assert opened.leaf == own

    def test_fork_refusals(self, store: Store, session: Session) -> None:
        """45: they come from create and leave no session behind."""
        label = store.append(session.id, session.mark_leaf())
        base = session.leaf or ""
        for error, members in (
            (NoEntry, {"base": "sha256:" + "0" * 64, "parent_session": session.id}),
            (NoEntry, {"base": base}),
            (NoSession, {"base": base, "parent_session": "nothing-here"}),
            (InvalidEntry, {"base": label, "parent_session": session.id}),
            (InvalidEntry, {"base": base, "parent_session": session.id, "media": "sidecar"}),
        ):
            with pytest.raises(error):
                store.create(Header(id="fork", format=_NEWEST, **members))  # type: ignore[arg-type]
            with pytest.raises(NoSession):
                store.open("fork")
        assert listed(store) == [session.id]


class StoreConformance(
    _CreateAndOpen, _Append, _List, _Continue, _Delete, _Persist, _Refuse, _Endure
):
    """Every requirement of stores 6 for all stores; see the module for how to run it."""
