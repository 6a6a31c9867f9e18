"""The async facade seen as an ordinary store, so that it can run what stores run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.session import Session
from agentsession.stores import ListFilter, Store, Summary
from agentsession.stores.aio import AsyncStore

T = TypeVar("T")


class Blocking:
    """Each call is one of the facade's, run in an event loop of its own thread."""

    def __init__(self, store: Store) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._store = AsyncStore(store)
        self._ended = False

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        if self._ended:
            with asyncio.Runner() as runner:
                return runner.run(call)
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def create(self, header: Header | None = None) -> Session:
        return self._wait(self._store.create(header))

    def open(self, session_id: str) -> Session:
        return self._wait(self._store.open(session_id))

    def append(self, session_id: str, entry: Entry) -> str:
        return self._wait(self._store.append(session_id, entry))

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        async def all_of_it() -> list[Summary | AgentSessionError]:
            return [item async for item in self._store.list(filter)]

        return iter(self._wait(all_of_it()))

    def delete(self, session_id: str) -> None:
        self._wait(self._store.delete(session_id))

    def close(self) -> None:
        if self._ended:
            return
        self._wait(self._store.close())
        self._ended = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
