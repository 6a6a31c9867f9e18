"""Where the sessions of an export come from: a file and those beside it, or a store.

Spec: command A.4, decision B4.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agentsession import export
from agentsession.cli import sources
from agentsession.cli.output import complain, note
from agentsession.errors import NoSession
from agentsession.recovery import Salvaged, salvage
from agentsession.stores import layout

if TYPE_CHECKING:
    from agentsession.stores import JSONLStore, SQLiteStore


class Loader:
    """Opens sessions of a source; it can be sent to another process.

    A store is opened once in each process, so that it need not look through all its names for
    each session.

    Attributes:
        damaged: whether the store has something that is no session.
    """

    def __init__(
        self, source: str, *, salvaging: bool, allow_newer: bool, main_id: str = ""
    ) -> None:
        self.source = source
        self.salvaging = salvaging
        self.allow_newer = allow_newer
        self.damaged = False
        self._main_id = main_id
        self._opened: JSONLStore | SQLiteStore | None = None
        self.is_store = sources.is_store(source)

    def __reduce__(self) -> tuple[Callable[..., Loader], tuple[Any, ...]]:
        return _loader, (self.source, self.salvaging, self.allow_newer, self._main_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    @property
    def _store(self) -> JSONLStore | SQLiteStore:
        if self._opened is None:
            self._opened = sources.open_store(self.source, allow_newer=self.allow_newer)
        return self._opened

    def ids(self, session_id: str) -> list[str]:
        """The sessions that are meant: one, or all of a store."""
        if not self.is_store:
            self._main_id = self._file(session_id).session.id
            return [self._main_id]
        if session_id:
            return sources.chosen(self._store, self.source, [session_id])
        ids = []
        for item in self._store.list():
            if isinstance(item, Exception):
                self.damaged = True
                complain(str(item))
            else:
                ids.append(item.id)
        if not ids:
            note(f"{self.source} holds no sessions")
        return ids

    def __call__(self, session_id: str) -> export.Opened:
        """Return a session, one that is linked included.

        Raises:
            NoSession: when it is not there.
        """
        if self.is_store:
            return self._stored(session_id)
        if session_id == self._main_id:
            return self._file("")
        beside = _beside(Path(self.source), session_id)
        if beside is None:
            raise NoSession(f"no file of session {session_id} is beside {self.source}")
        return export.Opened(sources.open_session(str(beside), allow_newer=self.allow_newer))

    def _stored(self, session_id: str) -> export.Opened:
        store = self._store
        if self.salvaging:
            return _salvaged(salvage(store.content(session_id)))
        session = store.open(session_id)
        # One session at a time is in memory.
        store.release(session_id)
        return export.Opened(session)

    def _file(self, session_id: str) -> export.Opened:
        if self.salvaging:
            return _salvaged(sources.salvage_session(self.source, session_id))
        return export.Opened(
            sources.open_session(self.source, session_id, allow_newer=self.allow_newer)
        )


def _loader(source: str, salvaging: bool, allow_newer: bool, main_id: str) -> Loader:
    return Loader(source, salvaging=salvaging, allow_newer=allow_newer, main_id=main_id)


def _salvaged(found: Salvaged) -> export.Opened:
    return export.Opened(found.session, tuple(damage.finding for damage in found.damages))


def _beside(path: Path, session_id: str) -> Path | None:
    """The file of a linked session in the same directory, or elsewhere in the same store."""
    if layout.id_problem(session_id):
        return None
    for directory, pattern in ((path.parent, "*_{}.jsonl"), (path.parent.parent, "*/*_{}.jsonl")):
        found = sorted(directory.glob(pattern.format(_literal(session_id))))
        if found:
            return found[0]
    return None


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
