"""What stores that other processes share have in common: who opens a session holds it.

A session is open in a slot, one thread at a time works on it, and what is appended to it is
stored before the session takes it. How it is read, held and written is a store's own.

Spec: stores 1, decision A5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, NoSession, ReadOnly, StoreFailed
from agentsession.session import Session
from agentsession.stores.layout import shown
from agentsession.stores.slots import Opened, Slot, Slots

RELEASED = "was released by its store; open it again to append to it"
DELETED = "was deleted from its store"


class Held(Opened, Protocol):
    """A session that is open for writing, and held."""

    @property
    def is_unsure(self) -> bool:
        """Whether an append did not come to its end, so that more may be stored than it has."""
        ...


F = TypeVar("F", bound=Held)


class HoldingStore(ABC, Generic[F]):
    """A store at a place that other processes may use too.

    Args:
        place: where it is.
        read_only: hold nothing, and refuse every write.
        allow_newer: read minor versions this release does not know.

    Spec: stores 1.
    """

    def __init__(self, place: Path, *, read_only: bool, allow_newer: bool) -> None:
        self._place = place
        self._read_only = read_only
        self._allow_newer = allow_newer
        self._closed = False
        self._slots: Slots[F] = Slots()

    def __repr__(self) -> str:
        mode = ", read_only=True" if self._read_only else ""
        return f"{type(self).__name__}({str(self._place)!r}{mode})"

    @property
    def read_only(self) -> bool:
        """Whether the store refuses every write."""
        return self._read_only

    # What a kind of store does in its own way.

    @abstractmethod
    def _hold(self, session_id: str) -> F:
        """Hold a session and read it; when it cannot be read it is not held."""

    @abstractmethod
    def _load(self, session_id: str) -> Session:
        """Read a session without holding it."""

    @abstractmethod
    def _store(self, held: F, sealed: Entry) -> None:
        """Store an entry that is sealed, then take it into the session."""

    @abstractmethod
    def _failing(self, what: str, session_id: str = "") -> AbstractContextManager[None]:
        """A block in which what the system refuses becomes an error that says what it was for."""

    @abstractmethod
    def _append_failure(self, error: BaseException, held: F) -> AgentSessionError | None:
        """The error that says why an append was refused; ``None`` for one that says so itself."""

    @abstractmethod
    def _is_id(self, session_id: object) -> bool:
        """Whether a value can be the id of a session here."""

    @abstractmethod
    def close(self) -> None:
        """Release every session; the store takes no more calls. Closing twice is fine."""

    # What all of them do.

    def open(self, session_id: str) -> Session:
        """Return a session; the same object as long as it is open here.

        A last line of a file that was cut short is reported in ``session.truncated`` and
        stays until the first append.

        Spec: stores 4.4 and 5.4.

        Raises:
            NoSession: when it is not there.
            SessionLocked: when another process, or another store object, holds it, or took
                it away and it was not released since.
            ConcurrentWriter: when another writer was noticed and it was not released since.
            DamagedFile, DuplicateEntry, NoEntry, UnsupportedFormat: when it cannot be read.
            StoreFailed: when the storage fails.
        """
        self._check_id(session_id)
        with self._slot(session_id) as slot:
            if self._read_only:
                return self._reader(slot, session_id)
            return self._opened(slot, session_id).session

    def append(self, session_id: str, entry: Entry) -> str:
        """Append an entry, opening the session when need be; return the entry's id.

        Spec: stores 4.5 and 5.4.

        Raises:
            NoSession, SessionLocked, ConcurrentWriter, StoreFailed: as :meth:`open`.
            InvalidEntry, DuplicateEntry, NoEntry: as :meth:`agentsession.Session.append`.
            ReadOnly: in a read-only store.
        """
        # What is no id at all has no slot, and is refused below.
        slot = self._slots.find(session_id) if isinstance(session_id, str) else None
        if slot is not None:
            # Of an open session the lock itself is all that an append has to hold.
            with slot.lock:
                held = self._ready(slot)
                if held is not None and slot.refusal is None:
                    return self._append(slot, held, entry)
        self._refuse_write("append", session_id)
        self._check_id(session_id)
        with self._slot(session_id) as slot:
            return self._append(slot, self._opened(slot, session_id), entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Opening and appending.

    def _slot(self, session_id: str) -> AbstractContextManager[Slot[F]]:
        return self._slots.use(session_id, self._check_open)

    def _opened(self, slot: Slot[F], session_id: str) -> F:
        _drop_unsure(slot)
        if slot.refusal is not None:
            raise slot.refusal()
        if slot.file is None:
            with self._failing("open", session_id):
                slot.file = self._hold(session_id)
            self._bind(slot.file.session)
        return slot.file

    def _reader(self, slot: Slot[F], session_id: str) -> Session:
        if slot.reader is None:
            with self._failing("open", session_id):
                slot.reader = self._load(session_id)
            slot.reader.bind(
                None, read_only=f"session {shown(session_id)} was opened by a read-only store"
            )
        return slot.reader

    def _origin(self, session_id: str) -> Session:
        """Return a session to fork from; it is read and not held."""
        self._check_id(session_id)
        with self._slot(session_id) as slot, self._failing("read", session_id):
            _drop_unsure(slot)
            return slot.file.session if slot.file is not None else self._load(session_id)

    def _bind(self, session: Session) -> None:
        """Make ``session.append`` this store's, for as long as it is the session open here."""
        session_id = session.id

        def append(entry: Entry) -> str:
            slot = self._slots.find(session_id)
            if slot is not None:
                with slot.lock:
                    held = self._ready(slot)
                    if held is not None and held.session is session:
                        return self._append(slot, held, entry)
            with self._slot(session_id) as slot:
                if slot.file is None or slot.file.session is not session:
                    raise ReadOnly(f"session {shown(session_id)} {RELEASED}")
                _drop_unsure(slot)
            # It was bound anew, to what says why it was dropped.
            return session.append(entry)

        session.bind(append)

    def _ready(self, slot: Slot[F]) -> F | None:
        """What is open in a slot that this thread has the lock of, if it takes entries as it is."""
        held = slot.file
        return None if held is None or held.is_unsure or self._closed else held

    def _append(self, slot: Slot[F], held: F, entry: Entry) -> str:
        session = held.session
        sealed = session.prepare(entry)
        if session.holds(sealed):
            return sealed.id
        try:
            self._store(held, sealed)
        except BaseException as error:
            failed = self._append_failure(error, held)
            # Memory and storage may differ.
            self._slots.drop(session.id, slot, failed or error)
            if failed is None:
                raise
            raise failed from error
        return sealed.id

    # Errors.

    def _check_id(self, session_id: str) -> None:
        if not self._is_id(session_id):
            raise self._none(session_id)

    def _none(self, session_id: str) -> NoSession:
        return NoSession(
            f'{self._place} has no session "{shown(session_id)}"', session_id=str(session_id)
        )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailed(
                f"the store at {self._place} is closed; make a new one", path=self._place
            )

    def _refuse_write(self, what: str, session_id: str = "") -> None:
        if self._read_only:
            which = f" {shown(session_id)}" if session_id else ""
            raise ReadOnly(f"cannot {what}{which}: the store at {self._place} was opened read-only")


def _drop_unsure(slot: Slot[F]) -> None:
    """Drop a session whose last append was interrupted where not even that was noted."""
    if slot.file is not None and slot.file.is_unsure:
        slot.drop(StoreFailed("it was interrupted", session_id=slot.file.session.id))
