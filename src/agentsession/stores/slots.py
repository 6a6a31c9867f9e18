"""The sessions open in a store: one thread at a time works on one of them.

Spec: stores 1 and 4.6.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from agentsession.errors import ConcurrentWriter, ReadOnly, SessionLocked, StoreFailed
from agentsession.session import Session


class _MakesError(Protocol):
    def __call__(self) -> Exception: ...


class Opened(Protocol):
    """A session that is open for writing, and what its store keeps with it."""

    @property
    def session(self) -> Session:
        """The session in memory."""
        ...

    def close(self, *, keep_lock: bool = False) -> None:
        """Store what is left to store, and let others have the session."""
        ...

    def drop(self) -> None:
        """Let go of the session after a write failed; never raises."""
        ...


F = TypeVar("F", bound=Opened)


class Slot(Generic[F]):
    """The place of one session id in a store, for the thread that has it.

    Attributes:
        file: the session when it is open for writing.
        reader: the session when it is open for reading only.
        refusal: what opening raises until the session is released, or ``None``.
        lock: what the thread holds that has the slot.
    """

    __slots__ = ("_depth", "file", "lock", "reader", "refusal")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._depth = 0
        self.file: F | None = None
        self.reader: Session | None = None
        self.refusal: _MakesError | None = None

    @property
    def _is_empty(self) -> bool:
        return self.file is None and self.reader is None and self.refusal is None

    def let_go(self, reason: str, *, keep_lock: bool = False) -> None:
        """Close the session; its object refuses appends and gives the reason.

        Raises:
            OSError: when it cannot be synced; it is closed all the same.
        """
        file, self.file, self.reader = self.file, None, None
        if file is not None:
            message = f"session {file.session.id} {reason}"
            _refuse_appends(file.session, lambda: ReadOnly(message))
            file.close(keep_lock=keep_lock)

    def dropping(self) -> _Dropping[F]:
        """Drop the session when a write in the block fails: memory and disk may differ."""
        return _Dropping(self)

    def drop(self, error: BaseException) -> None:
        """Let go of the session after a write failed with an error; never raises."""
        file, self.file = self.file, None
        if file is not None:
            again = _again(error, file.session.id)
            if isinstance(error, (ConcurrentWriter, SessionLocked)):
                self.refusal = again
            _refuse_appends(file.session, again)
            file.drop()


class _Dropping(Generic[F]):
    __slots__ = ("_slot",)

    def __init__(self, slot: Slot[F]) -> None:
        self._slot = slot

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            self._slot.drop(error)


class Slots(Generic[F]):
    """The slots of a store, by session id; a forked child starts without any."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._slots: dict[str, Slot[F]] = {}

    @contextlib.contextmanager
    def use(self, session_id: str, check: Callable[[], None] = lambda: None) -> Iterator[Slot[F]]:
        """Give the slot of a session to this thread for the time of the block.

        ``check`` is asked before and after the slot was waited for, and may raise. A signal
        that raises leaves no slot taken, wherever it comes: the lock is taken and given back
        by its own block, which none can come between, and a block that a signal kept from
        starting or ending is closed with the generator that is lost then.
        """
        check()
        while True:
            slot = self.find(session_id) or self._slots.setdefault(session_id, Slot())
            with slot.lock:
                # A slot that was emptied while this thread waited is no longer the id's.
                if self._slots.get(session_id) is not slot:
                    continue
                slot._depth += 1
                try:
                    check()
                    yield slot
                finally:
                    slot._depth -= 1
                    self._tidy(session_id, slot)
                return

    def find(self, session_id: str) -> Slot[F] | None:
        """Return the slot of a session, if it has one, without waiting for it.

        Whoever holds its ``lock`` and finds a ``file`` in it may use that, as in a block of
        :meth:`use`, and calls :meth:`drop` when a write fails.
        """
        if os.getpid() != self._pid:
            self._forget_inherited()
        return self._slots.get(session_id)

    def drop(self, session_id: str, slot: Slot[F], error: BaseException) -> None:
        """Let go of a session whose lock this thread holds, after a write failed."""
        try:
            slot.drop(error)
        finally:
            self._tidy(session_id, slot)

    def _tidy(self, session_id: str, slot: Slot[F]) -> None:
        """Forget a slot, which this thread holds, if it is empty and in no other block."""
        if not slot._depth and slot._is_empty and self._slots.get(session_id) is slot:
            del self._slots[session_id]

    def ids(self) -> tuple[str, ...]:
        """Return the ids that have a slot now."""
        return tuple(self._slots)

    def _forget_inherited(self) -> None:
        # Files and locks are the parent's, and the parent's threads may hold ours here.
        inherited = self._slots
        self._start()
        for slot in inherited.values():
            slot.lock = threading.RLock()
            with contextlib.suppress(OSError):
                slot.let_go("was opened before a fork; open it again in this process")


def _refuse_appends(session: Session, make_error: _MakesError) -> None:
    def refuse(_: object) -> str:
        raise make_error()

    session.bind(refuse)


def _again(error: BaseException, session_id: str) -> Callable[[], Exception]:
    """What a dropped session raises on the next append: the reason it was dropped for."""
    reason = str(error) or type(error).__name__
    if isinstance(error, ConcurrentWriter):
        return lambda: ConcurrentWriter(reason, session_id=session_id)
    if isinstance(error, SessionLocked):
        return functools.partial(
            SessionLocked,
            reason,
            session_id=session_id,
            pid=error.pid,
            host=error.host,
            since=error.since,
            path=error.path,
        )
    message = f"session {session_id} was dropped when a write failed ({reason}); open it again"
    return lambda: StoreFailed(message, session_id=session_id)
