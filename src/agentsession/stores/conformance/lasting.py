"""What a store keeps: for whoever opens it next, from other writers, and when its process dies.

Spec: stores 1 and 6, lines 35 to 42.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsession.entries import BranchSummaryEntry, ConfigEntry, ItemEntry, ResponseEntry
from agentsession.errors import (
    AgentSessionError,
    NoSession,
    SessionExists,
    SessionLocked,
)
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LabelEntry, UnknownEntry
from agentsession.stores.base import Store
from agentsession.stores.conformance.base import Requirements, listed, said, summaries

_USAGE = {
    "input_tokens": 12,
    "output_tokens": 3,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 0},
}


class Persist(Requirements):
    """What was written is there when the storage is opened again."""

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


class Refuse(Requirements):
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


class Endure(Requirements):
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
