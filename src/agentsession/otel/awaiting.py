"""A traced store for ``asyncio`` code.

Spec: otel B, stores 1.
"""

from __future__ import annotations

from agentsession.otel.wrapping import TracedStore
from agentsession.stores.aio import AsyncStore


class AsyncTracedStore(AsyncStore[TracedStore]):
    """An asynchronous store that emits spans of what it recorded.

    Its calls are those of :class:`agentsession.stores.aio.AsyncStore`, and its ``store`` is a
    :class:`TracedStore`. :func:`agentsession.otel.wrap` makes one of an ``AsyncStore``.

    Spec: otel B.
    """

    @property
    def failures(self) -> int:
        """How often a tracer failed."""
        return self.store.failures

    async def close(self, session_id: str | None = None) -> None:
        """End the spans of one session; without an id, of all, and then close the store."""
        if session_id is None:
            await super().close()
        else:
            await self.run(session_id, lambda store: store.close(session_id))

    async def close_all(self) -> None:
        """End the spans of all sessions; the store stays open."""
        await self.run("", lambda store: store.close_all())

    async def flush(self) -> bool:
        """Return whether the tracer took everything recorded so far, waiting for the timeout."""
        return await self.run("", lambda store: store.flush())
