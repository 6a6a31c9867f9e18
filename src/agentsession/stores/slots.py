"""The sessions open in a file store: one thread at a time works on one of them.

Spec: stores 1 and 4.6.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from agentsession.errors import ConcurrentWriter, ReadOnly, StoreFailed
from agentsession.session import Session
from agentsession.stores.sessionfile import SessionFile


class _MakesError(Protocol):
    def __call__(self) -> Exception: ...


class Slot:
    """The place of one session id in a store, for the thread that has it.

    Attributes:
        file: the session when it is open for writing.
        reader: the session when it is open for reading only.
        refusal: what opening raises until the session is released, or ``None``.
    """

    __slots__ = ("_lock", "_users", "file", "reader", "refusal")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self.file: SessionFile | None = None
        self.reader: Session | None = None
        self.refusal: _MakesError | None = None

    @property
    def _is_empty(self) -> bool:
        held = (self.file, self.reader, self.refusal)
        return not self._users and held == (None, None, None)

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

    @contextlib.contextmanager
    def dropping(self) -> Iterator[None]:
        """Drop the session when a write in the block fails: memory and disk may differ."""
        try:
            yield
        except BaseException as error:
            file, self.file = self.file, None
            if file is not None:
                again = _again(error, file.session.id)
                if isinstance(error, ConcurrentWriter):
                    self.refusal = again
                _refuse_appends(file.session, again)
                file.drop()
            raise


class Slots:
    """The slots of a store, by session id; a forked child starts without any."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._slots: dict[str, Slot] = {}

    @contextlib.contextmanager
    def use(self, session_id: str) -> Iterator[Slot]:
        """Give the slot of a session to this thread for the time of the block."""
        if os.getpid() != self._pid:
            self._forget_inherited()
        with self._lock:
            slot = self._slots.setdefault(session_id, Slot())
            slot._users += 1
        try:
            with slot._lock:
                yield slot
        finally:
            with self._lock:
                slot._users -= 1
                if slot._is_empty:
                    self._slots.pop(session_id, None)

    def ids(self) -> tuple[str, ...]:
        """Return the ids that have a slot now."""
        return tuple(self._slots)

    def _forget_inherited(self) -> None:
        # Files and locks are the parent's, and the parent's threads may hold ours here.
        inherited = self._slots
        self._start()
        for slot in inherited.values():
            slot._lock = threading.RLock()
            with contextlib.suppress(OSError):
                slot.let_go("was opened before a fork; open it again in this process")


def _refuse_appends(session: Session, make_error: _MakesError) -> None:
    def refuse(_: object) -> str:
        raise make_error()

    session.bind(refuse)


def _again(error: BaseException, session_id: str) -> Callable[[], Exception]:
    """What a dropped session raises on the next append: the reason it was dropped for."""
    reason = str(error)
    if isinstance(error, ConcurrentWriter):
        return lambda: ConcurrentWriter(reason, session_id=session_id)
    message = f"session {session_id} was dropped when a write failed ({reason}); open it again"
    return lambda: StoreFailed(message, session_id=session_id)
