"""All entries of a session, for those who may only want to know how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from agentsession.entries import Entry
from agentsession.session import Session


class AllEntries(Sequence[Entry]):
    """The entries of a session; none is made before it is asked for.

    Args:
        session: the session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __len__(self) -> int:
        return len(self._session)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._session.entries)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | Sequence[Entry]:
        return self._session.entries[place]

    def __eq__(self, other: object) -> bool:
        return self._session.entries == (tuple(other) if isinstance(other, Sequence) else other)

    __hash__ = None  # type: ignore[assignment]
