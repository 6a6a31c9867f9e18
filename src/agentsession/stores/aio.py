"""Stores for ``asyncio`` code: the same contract, awaited.

A thin facade. Every call runs in a worker thread of the facade, on the store it wraps;
nothing is done in a second way here. Sessions are the store's own objects: what is in
memory is asked of them directly, and what writes goes through the facade, so that the
event loop never waits for a disk.

    async with AsyncStore(JSONLStore(root)) as store:
        session = await store.create(Header(cwd="/srv/app"))
        await store.append(session.id, ItemEntry(message))
        print(session.leaf)

Calls that concern one session run one after the other, in the order they were made; those
that concern different sessions run side by side.

**Cancelling.** A call that waits for its turn is cancelled at once, and was never made. A
call that is at work ends first, which is a matter of one write, and is cancelled then. So
when ``CancelledError`` arrives an append either happened or did not, for good, and the
session says which: the entry is in it, or it is not.

Spec: stores 1, design decision 10.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, StoreFailed
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores.base import Keeper, ListFilter, Put, Store, Summary
from agentsession.stores.locks import StaleLockReport
from agentsession.stores.opening import open_store as open_sync_store

T = TypeVar("T")
S = TypeVar("S", bound=Store)
K = TypeVar("K", bound=Keeper)

WORKERS: Final = 8
"""How many calls of one facade are at work at the same time."""

_LISTED_AT_ONCE: Final = 256


class _Turn:
    """The queue of the calls that concern one session."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class AsyncStore(Generic[S]):
    """A store whose calls are awaited. It belongs to one event loop.

    Args:
        store: the store that does the work; closing the facade closes it.
        workers: how many calls may be at work at the same time.

    Attributes:
        store: that store. It may be used directly as well, from any thread.

    Spec: stores 1.
    """

    def __init__(self, store: S, *, workers: int = WORKERS) -> None:
        self.store = store
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="agentsession-store")
        self._turns: dict[str, _Turn] = {}
        self._closing: Future[None] | None = None

    def __repr__(self) -> str:
        return f"AsyncStore({self.store!r})"

    # The contract of every store.

    async def create(self, header: Header | None = None) -> Session:
        """Return a new session; see :meth:`agentsession.stores.Store.create`.

        Raises:
            asyncio.CancelledError: when it was cancelled; the session may have been made. Give
                the header an id to be able to open it then.
        """
        return await self.run(header.id if header else "", lambda store: store.create(header))

    async def open(self, session_id: str) -> Session:
        """Return a session of the store; see :meth:`agentsession.stores.Store.open`."""
        return await self.run(session_id, lambda store: store.open(session_id))

    async def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry and return its id; see :meth:`agentsession.stores.Store.append`.

        Raises:
            asyncio.CancelledError: when it was cancelled; the session says whether the entry
                was appended. An error it ended with is the cause.
        """
        return await self.run(session_id, lambda store: store.append(session_id, entry))

    async def list(
        self,
        filter: ListFilter | None = None,  # noqa: A002
    ) -> AsyncIterator[Summary | AgentSessionError]:
        """Yield the sessions, newest first; see :meth:`agentsession.stores.Store.list`."""
        found = await self._worked(lambda store: store.list(filter))
        try:
            while some := await self._worked(lambda _: _next(found)):
                for item in some:
                    yield item
        finally:
            if hasattr(found, "close"):
                found.close()

    async def delete(self, session_id: str) -> None:
        """Remove a session; see :meth:`agentsession.stores.Store.delete`."""
        await self.run(session_id, lambda store: store.delete(session_id))

    async def close(self) -> None:
        """Let go of every session and of the store, once the calls at work have ended.

        Calls that wait for their turn are refused. Closing twice is fine. It is done to its
        end also when it is cancelled.
        """
        if self._closing is None:
            self._closing = self._workers.submit(self.store.close)
            self._workers.shutdown(wait=False)
        done = asyncio.wrap_future(self._closing)
        cancelled = await _ended(done)
        if cancelled is not None:
            raise cancelled from done.exception()
        done.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # What stores on disk add to it.

    async def put(self: AsyncStore[K], session: Session, *, modified_ns: int | None = None) -> Put:
        """Store a session as it stands; see :meth:`agentsession.stores.Keeper.put`."""
        return await self.run(session.id, lambda store: store.put(session, modified_ns=modified_ns))

    async def holds(self: AsyncStore[K], session: Session) -> bool:
        """Return whether exactly this session is stored."""
        return await self.run(session.id, lambda store: store.holds(session))

    async def release(self: AsyncStore[K], session_id: str) -> None:
        """Let others have a session; see :meth:`agentsession.stores.Keeper.release`."""
        await self.run(session_id, lambda store: store.release(session_id))

    # Everything else.

    async def run(self, session_id: str, work: Callable[[S], T]) -> T:
        """Return what work gives for the store, done in a worker thread.

        It takes its turn among the calls that concern the session. Whatever takes a store
        is used this way, and is one step for the event loop::

            await store.run(id, lambda store: record_response(store, id, request, response))

        Args:
            session_id: the session it concerns; empty for none in particular.
            work: a function of the store; it must not call the facade.

        Raises:
            asyncio.CancelledError: when it was cancelled: before it began, or after it ended.
            StoreFailed: when the facade was closed.
            Exception: what work raises.
        """
        if not session_id:
            return await self._worked(work)
        turn = self._turns.get(session_id)
        if turn is None:
            turn = self._turns[session_id] = _Turn()
        turn.users += 1
        try:
            async with turn.lock:
                return await self._worked(work)
        finally:
            turn.users -= 1
            if not turn.users:
                self._turns.pop(session_id, None)

    async def _worked(self, work: Callable[[S], T]) -> T:
        if self._closing is not None:
            raise StoreFailed("the store is closed; make a new one")
        # What is current where the call was made is current where it is done.
        begun = self._workers.submit(contextvars.copy_context().run, work, self.store)
        done = asyncio.wrap_future(begun)
        cancelled = await _ended(done, begun.cancel)
        if cancelled is not None:
            was_at_work = done.done() and not done.cancelled()
            raise cancelled from (done.exception() if was_at_work else None)
        return done.result()


async def _ended(
    done: asyncio.Future[T], taken_back: Callable[[], bool] = lambda: False
) -> asyncio.CancelledError | None:
    """Wait until a future is done, whatever happens; return how this was cancelled meanwhile.

    When it is, ``taken_back`` is called, and says whether there is nothing to wait for.
    """
    cancelled = None
    while not done.done():
        try:
            # Unlike an await of the future itself, this does not cancel it.
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancelled = error
            if taken_back():
                break
    return cancelled


def _next(
    found: Iterator[Summary | AgentSessionError],
) -> tuple[Summary | AgentSessionError, ...]:
    return tuple(itertools.islice(found, _LISTED_AT_ONCE))


async def open_store(
    path: str | os.PathLike[str],
    *,
    read_only: bool = False,
    on_stale_lock: StaleLockReport | None = None,
    allow_newer: bool = False,
) -> AsyncStore[Keeper]:
    """Return the store at a path; see :func:`agentsession.stores.open_store`.

    ``on_stale_lock`` is called in a worker thread.
    """

    def work() -> Keeper:
        return open_sync_store(
            path, read_only=read_only, on_stale_lock=on_stale_lock, allow_newer=allow_newer
        )

    return AsyncStore(await asyncio.to_thread(work))
