"""A store that emits spans while a harness appends.

Recording comes first: spans are made on a thread of their own, from what the store has
taken. Nothing a tracer does, raising or not answering, reaches the harness.

Spec: otel B.2, B.5 and B.7.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from opentelemetry import context
from opentelemetry.context import Context
from opentelemetry.trace import Tracer

from agentsession.entries import Entry
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.otel.emitter import Emitter, Redactor
from agentsession.otel.projection import Projection
from agentsession.otel.replay import created
from agentsession.otel.worker import Worker
from agentsession.session import Session

if TYPE_CHECKING:
    from agentsession.otel.awaiting import AsyncTracedStore
    from agentsession.stores.aio import AsyncStore
    from agentsession.stores.base import ListFilter, Store, Summary

_log = logging.getLogger("agentsession.otel")


@dataclass(slots=True)
class _Traced:
    """A session that is being traced.

    The lock keeps the order of spans that of the entries; the projection belongs to the
    worker's thread alone.
    """

    session: Session
    lock: threading.RLock = field(default_factory=threading.RLock)
    projection: Projection | None = None


class TracedStore:
    """A store that forwards every call to another one and emits spans of what it recorded.

    What the other store has beyond the contract is there too. :func:`wrap` makes one.

    Attributes:
        failures: how often a tracer failed; the first failure is logged.

    Spec: otel B.
    """

    def __init__(
        self,
        store: Store,
        tracer: Tracer,
        *,
        content: bool = False,
        redact: Redactor | None = None,
        timeout: float = 5.0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._content = content
        self._timeout = timeout
        self._clock = clock
        self._emitter = Emitter(tracer, redact=redact, on_failure=self._failed)
        self._worker = Worker()
        self._start()
        self.failures = 0

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._traced: dict[str, _Traced] = {}

    def __repr__(self) -> str:
        return f"<TracedStore over {self._store!r}>"

    def __getattr__(self, name: str) -> Any:
        if name == "_store":  # not there yet: nothing to forward to
            raise AttributeError(name)
        return getattr(self._store, name)

    # The contract of every store.

    def create(self, header: Header | None = None) -> Session:
        """Return a new session; its span starts when it was created.

        Raises:
            AgentSessionError: as the store's own.
        """
        session = self._store.create(header)
        self._trace(session, created(session.header), resumed=False)
        return session

    def open(self, session_id: str) -> Session:
        """Return a session; if it is not traced yet, its span starts now, as resumed.

        Raises:
            AgentSessionError: as the store's own.
        """
        session = self._store.open(session_id)
        self._trace(session, self._clock(), resumed=True)
        return session

    def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry and return its id; its spans follow.

        Raises:
            AgentSessionError: as the store's own.
        """
        traced = self._sessions().get(session_id)
        if traced is None:
            session = self._store.open(session_id)
            traced = self._trace(session, self._clock(), resumed=True)
        with traced.lock:
            entry_id = self._store.append(session_id, entry)
            with self._beside():
                self._hand_over(traced, entry_id)
        return entry_id

    def list(self, filter: ListFilter | None = None) -> Iterator[Summary | AgentSessionError]:  # noqa: A002
        """Yield what the store lists."""
        return self._store.list(filter)

    def delete(self, session_id: str) -> None:
        """Remove a session and end its spans now.

        Raises:
            AgentSessionError: as the store's own.
        """
        self._store.delete(session_id)
        self._finish(session_id)

    def close(self, session_id: str | None = None) -> None:
        """End the spans of one session; without an id, of all, and then close the store.

        Waits for the tracer, but never longer than the timeout. A session that is appended
        to afterwards is traced as one that was resumed.
        """
        if session_id is not None:
            self._finish(session_id)
            self._drain()
            return
        try:
            self.close_all()
        finally:
            self._store.close()

    def close_all(self) -> None:
        """End the spans of all sessions; the store stays open."""
        for session_id in tuple(self._sessions()):
            self._finish(session_id)
        self._drain()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Spans.

    def flush(self) -> bool:
        """Return whether the tracer took everything recorded so far, waiting for the timeout."""
        return self._worker.drain(self._timeout)

    def _sessions(self) -> dict[str, _Traced]:
        if os.getpid() != self._pid:
            # A forked child has no spans: those that are open are its parent's.
            self._start()
        return self._traced

    def _trace(self, session: Session, start: int, *, resumed: bool) -> _Traced:
        """Return the trace of a session, begun here when there is none."""
        sessions = self._sessions()
        with self._lock:
            traced = sessions.get(session.id) if resumed else None
            if traced is None:
                traced = sessions[session.id] = _Traced(session)
                with self._beside():
                    self._begin(traced, start, resumed=resumed)
            else:
                traced.session = session
        self._bind(session)
        return traced

    def _begin(self, traced: _Traced, start: int, *, resumed: bool) -> None:
        session, parent = traced.session, context.get_current()
        leaf, name = session.leaf, session.name

        def begin() -> None:
            traced.projection = self._project(session.header, parent, start, name, resumed=resumed)
            if leaf is not None:
                traced.projection.prime(session.path(leaf))

        self._put(begin)

    def _project(
        self, header: Header, parent: Context, start: int, name: str, *, resumed: bool
    ) -> Projection:
        return Projection(
            self._emitter,
            header,
            parent,
            start,
            name=name,
            resumed=resumed,
            content=self._content,
        )

    def _bind(self, session: Session) -> None:
        """Make ``session.append`` come through here, so that it is traced like ``append``."""
        if getattr(self._store, "read_only", False):
            return
        session_id = session.id
        session.bind(lambda entry: self.append(session_id, entry))

    def _hand_over(self, traced: _Traced, entry_id: str) -> None:
        if entry_id not in traced.session:
            # The store let go of the session in between and read it again.
            traced.session = self._store.open(traced.session.id)
            self._bind(traced.session)
        session = traced.session
        entry = session[entry_id]

        def feed() -> None:
            if traced.projection is not None:
                traced.projection.feed(entry, session.path)

        self._put(feed)

    def _finish(self, session_id: str) -> None:
        with self._lock:
            traced = self._sessions().pop(session_id, None)
        if traced is None:
            return
        at = self._clock()

        def finish() -> None:
            if traced.projection is not None:
                traced.projection.finish(at)

        self._put(finish)

    @contextlib.contextmanager
    def _beside(self) -> Iterator[None]:
        """What a block raises is no matter of the harness, unless it is meant for that."""
        try:
            yield
        except Exception as error:
            self._failed(error)

    def _put(self, job: Callable[[], None]) -> None:
        def guarded() -> None:
            # On the worker's thread nothing is meant for the harness, whatever it is.
            with self._emitter.guarded():
                job()

        self._worker.put(guarded)

    def _drain(self) -> None:
        if not self._worker.drain(self._timeout):
            _log.warning(
                "spans were not all handed over within %g s, the tracer does not answer; "
                "what was recorded is not affected",
                self._timeout,
            )
            # One wait is enough: a tracer that does not answer must not be paid for twice.
            self._timeout = 0.0

    def _failed(self, error: BaseException) -> None:
        self.failures += 1
        if self.failures == 1:
            _log.warning(
                "a span could not be emitted, what was recorded is not affected: %s: %s",
                type(error).__name__,
                error,
            )


@overload
def wrap(
    store: AsyncStore[Any],
    tracer: Tracer,
    *,
    content: bool = False,
    redact: Redactor | None = None,
    timeout: float = 5.0,
    clock: Callable[[], int] = time.time_ns,
) -> AsyncTracedStore: ...


@overload
def wrap(
    store: Store,
    tracer: Tracer,
    *,
    content: bool = False,
    redact: Redactor | None = None,
    timeout: float = 5.0,
    clock: Callable[[], int] = time.time_ns,
) -> TracedStore: ...


def wrap(
    store: Store | AsyncStore[Any],
    tracer: Tracer,
    *,
    content: bool = False,
    redact: Redactor | None = None,
    timeout: float = 5.0,
    clock: Callable[[], int] = time.time_ns,
) -> TracedStore | AsyncTracedStore:
    """Return a store that forwards every call and emits spans while a harness appends.

    The spans are those :func:`export` makes of the same session later. They are made on a
    thread of their own, so an append never waits for a tracer, and a tracer that raises is
    logged once and counted.

    Args:
        store: the store that keeps the sessions. For an asynchronous one the result is
            asynchronous as well, and to be used in its place.
        tracer: where the spans go.
        content: whether spans carry what was said.
        redact: what every text passes before it leaves.
        timeout: how many seconds closing waits for a tracer that does not answer.
        clock: the time in nanoseconds since the epoch.

    Spec: otel B.
    """
    from agentsession.otel.awaiting import AsyncTracedStore  # noqa: PLC0415 - brings asyncio
    from agentsession.stores.aio import AsyncStore  # noqa: PLC0415

    inner = store.store if isinstance(store, AsyncStore) else store
    traced = TracedStore(
        inner, tracer, content=content, redact=redact, timeout=timeout, clock=clock
    )
    return AsyncTracedStore(traced) if isinstance(store, AsyncStore) else traced
