"""Stores for asyncio code: the same contract, in order, and cancelled for good or not at all."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from async_adapter import Blocking

from agentsession.errors import NoSession, SessionLocked, StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import (
    JSONLStore,
    ListFilter,
    MemoryStore,
    Put,
    SQLiteStore,
    Store,
    Summary,
    SyncPolicy,
)
from agentsession.stores.aio import AsyncStore, open_store
from agentsession.stores.conformance import StoreConformance

MAKERS: list[Callable[[Path], Store]] = [
    lambda _: MemoryStore(),
    lambda place: JSONLStore(place / "sessions", sync=SyncPolicy.NEVER),
    lambda place: SQLiteStore(place / "sessions.db"),
]


class TestAsyncMemoryStore(StoreConformance):
    persistent = False

    def make_store(self, place: Path) -> Store:
        return Blocking(MemoryStore())


class TestAsyncJSONLStore(StoreConformance):
    def make_store(self, place: Path) -> Store:
        return Blocking(JSONLStore(place / "sessions", sync=SyncPolicy.NEVER))


class TestAsyncSQLiteStore(StoreConformance):
    def make_store(self, place: Path) -> Store:
        return Blocking(SQLiteStore(place / "sessions.db"))


def names(session: Session) -> list[str]:
    return [entry.to_dict()["name"] for entry in session]


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


class Slow(MemoryStore):
    """A store that appends when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.failure: OSError | None = None

    def append(self, session_id: str, entry: Any) -> str:
        self.begun.release()
        self.go_on.acquire()
        if self.failure is not None:
            raise self.failure
        return super().append(session_id, entry)

    async def has_begun(self) -> None:
        await asyncio.to_thread(self.begun.acquire)


@pytest.mark.parametrize("make", MAKERS)
def test_calls_for_a_session_keep_their_order(
    make: Callable[[Path], Store], tmp_path: Path
) -> None:
    async def test() -> None:
        async with AsyncStore(make(tmp_path)) as store:
            sessions = await asyncio.gather(*(store.create() for _ in range(4)))
            expected = [f"n{n}" for n in range(25)]
            await asyncio.gather(
                *(
                    store.append(session.id, InfoEntry(name))
                    for name in expected
                    for session in sessions
                )
            )
            assert [names(session) for session in sessions] == [expected] * 4
            assert all(len(session.path()) == 25 for session in sessions)
            assert store._turns == {}

    run(test)


def test_sessions_do_not_wait_for_each_other() -> None:
    async def test() -> None:
        slow = Slow()
        async with AsyncStore(slow) as store:
            one, two = await store.create(), await store.create()
            first = asyncio.create_task(store.append(one.id, InfoEntry("one")))
            second = asyncio.create_task(store.append(two.id, InfoEntry("two")))
            await slow.has_begun()
            await slow.has_begun()
            slow.go_on.release(2)
            await asyncio.gather(first, second)

    run(test)


def test_cancelled_at_work_it_ends_first() -> None:
    async def test() -> None:
        slow = Slow()
        async with AsyncStore(slow) as store:
            session = await store.create()
            task = asyncio.create_task(store.append(session.id, InfoEntry("one")))
            await slow.has_begun()
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0.01)
                assert not task.done()
            slow.go_on.release()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert names(session) == ["one"]
            assert store._turns == {}

    run(test)


def test_cancelled_in_the_queue_it_never_happens() -> None:
    async def test() -> None:
        slow = Slow()
        async with AsyncStore(slow) as store:
            session = await store.create()
            first, second, third = (
                asyncio.create_task(store.append(session.id, InfoEntry(name)))
                for name in ("one", "two", "three")
            )
            await slow.has_begun()
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert not first.done()
            slow.go_on.release(2)
            await asyncio.gather(first, third)
            assert names(session) == ["one", "three"]

    run(test)


def test_cancelled_before_a_worker_was_free_it_never_happens() -> None:
    async def test() -> None:
        slow = Slow()
        async with AsyncStore(slow, workers=1) as store:
            one, two = Session(), Session()
            for session in (one, two):
                slow._sessions[session.id] = session
            first = asyncio.create_task(store.append(one.id, InfoEntry("one")))
            second = asyncio.create_task(store.append(two.id, InfoEntry("two")))
            await slow.has_begun()
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            slow.go_on.release()
            await first
            assert (names(one), names(two)) == (["one"], [])

    run(test)


def test_cancelled_and_failed_it_says_both() -> None:
    async def test() -> None:
        slow = Slow()
        slow.failure = OSError(errno.EIO, "broken")
        async with AsyncStore(slow) as store:
            session = await store.create()
            task = asyncio.create_task(store.append(session.id, InfoEntry("one")))
            await slow.has_begun()
            task.cancel()
            await asyncio.sleep(0.01)
            slow.go_on.release()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert caught.value.__cause__ is slow.failure
            assert len(session) == 0

    run(test)


def test_a_timeout_waits_for_the_write() -> None:
    async def test() -> None:
        slow = Slow()
        loop = asyncio.get_running_loop()
        async with AsyncStore(slow) as store:
            session = await store.create()

            async def run_out(limit: asyncio.Timeout) -> None:
                await slow.has_begun()
                limit.reschedule(loop.time())
                await asyncio.sleep(0.02)
                slow.go_on.release()

            with pytest.raises(TimeoutError):  # noqa: PT012 - the limit is set from within
                async with asyncio.timeout(None) as limit:
                    running_out = asyncio.create_task(run_out(limit))
                    await store.append(session.id, InfoEntry("one"))
            await running_out
            assert names(session) == ["one"]

    run(test)


@pytest.mark.parametrize("make", MAKERS[1:])
def test_cancelled_at_random_memory_and_disk_agree(
    make: Callable[[Path], Store], tmp_path: Path
) -> None:
    """Whatever was cancelled: the session in memory and what is stored are the same."""

    async def test() -> None:
        async with AsyncStore(make(tmp_path)) as store:
            session = await store.create(Header(id="s"))
            said: list[str] = []
            cancelled = 0
            for n in range(60):
                task = asyncio.create_task(store.append("s", InfoEntry(f"n{n}")))
                for _ in range(n % 6):
                    await asyncio.sleep(0)
                if n % 2:
                    await asyncio.sleep((n % 5) / 2000)
                task.cancel()
                before = set(said)
                try:
                    said.append(await task)
                except asyncio.CancelledError:
                    cancelled += 1
                    said += [entry.id for entry in session if entry.id not in before]
            assert cancelled
            assert [entry.id for entry in session] == said
            lines = [entry.line for entry in session]
        async with AsyncStore(make(tmp_path)) as store:
            assert [entry.line for entry in await store.open("s")] == lines

    run(test)


def test_a_device_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    async def test() -> None:
        async with AsyncStore(JSONLStore(tmp_path)) as store:
            session = await store.create(Header(id="s"))
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", fsync)
                with pytest.raises(StoreFailed):
                    await store.append("s", InfoEntry("one"))
            assert len(session) == 0
            await store.append("s", InfoEntry("two"))
            assert names(await store.open("s")) == ["two"]

    run(test)


@pytest.mark.parametrize("make", MAKERS)
def test_a_closed_store(make: Callable[[Path], Store], tmp_path: Path) -> None:
    async def test() -> None:
        store = AsyncStore(make(tmp_path))
        session = await store.create(Header(id="s"))
        waiting = [asyncio.create_task(store.append("s", InfoEntry(f"n{n}"))) for n in range(5)]
        await asyncio.sleep(0)
        await asyncio.gather(store.close(), store.close())
        await store.close()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        done = [end for end in ended if isinstance(end, str)]
        assert [entry.id for entry in session] == done
        assert all(isinstance(end, StoreFailed) for end in ended[len(done) :])
        with pytest.raises(StoreFailed, match="closed"):
            await store.open("s")
        with pytest.raises(StoreFailed, match="closed"):
            [item async for item in store.list()]

    run(test)


def test_closing_is_not_cancelled(tmp_path: Path) -> None:
    async def test() -> None:
        entered = threading.Event()

        class Closing(MemoryStore):
            closed = False

            def close(self) -> None:
                entered.set()
                time.sleep(0.05)
                self.closed = True

        inner = Closing()
        task = asyncio.create_task(AsyncStore(inner).close())
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert inner.closed

    run(test)


def test_a_loop_that_ends_waits_for_what_is_at_work(tmp_path: Path) -> None:
    """``asyncio.run`` cancels what is left: nothing is torn."""
    store = JSONLStore(tmp_path)
    session = store.create(Header(id="s"))

    async def test() -> None:
        facade = AsyncStore(store)
        calls = [facade.append("s", InfoEntry(f"n{n}")) for n in range(20)]
        left = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(0.005)
        assert left

    asyncio.run(test())
    done = names(session)
    assert done == [f"n{n}" for n in range(len(done))]
    store.close()
    with JSONLStore(tmp_path) as again:
        assert names(again.open("s")) == done


def test_listing_in_pieces_and_stopping_early() -> None:
    async def test() -> None:
        async with AsyncStore(MemoryStore()) as store:
            for n in range(600):
                store.store.create(Header(id=f"s{n}", cwd="/a" if n % 2 else "/b"))
            found = [item async for item in store.list(ListFilter(cwd="/a"))]
            assert len(found) == 300
            assert all(isinstance(item, Summary) for item in found)
            listing = store.list()
            async for _ in listing:
                break
            await listing.aclose()  # type: ignore[attr-defined]

    run(test)


def test_stores_by_path(tmp_path: Path) -> None:
    async def test() -> None:
        async with await open_store(tmp_path / "root") as files:
            assert isinstance(files.store, JSONLStore)
            session = await files.create(Header(id="s"))
            await files.append("s", InfoEntry("one"))
            async with await open_store(tmp_path / "root") as other:
                with pytest.raises(SessionLocked):
                    await other.open("s")
                await files.release("s")
                assert names(await other.open("s")) == ["one"]
                with pytest.raises(NoSession):
                    await other.delete("t")
            async with await open_store(tmp_path / "copy.db") as database:
                assert await database.put(session) is Put.CREATED
                assert await database.holds(session)
        with pytest.raises(StoreFailed):
            await open_store(tmp_path / "nowhere" / "x.db")

    run(test)


def test_whatever_takes_a_store_is_one_step() -> None:
    from agentsession.recording import continue_session

    async def test() -> None:
        async with AsyncStore(MemoryStore()) as store:
            old = await store.create()
            summary = {"type": "message", "role": "user", "content": "before"}
            new = await store.run(old.id, lambda inner: continue_session(inner, old.id, summary))
            assert old.superseded_by == new.id

    run(test)
