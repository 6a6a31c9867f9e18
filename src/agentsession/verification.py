"""Whether responses record the hash of the request their session rebuilds.

Spec: context 6, decisions A8 and A9.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentsession.entries import Entry

if TYPE_CHECKING:
    from agentsession.session import Session


class Form(enum.StrEnum):
    """The form of the request whose hash matched."""

    AS_WRITTEN = "as_written"
    NORMALISED = "normalised"
    NORMALISED_DROPPED = "normalised_dropped"


class Outcome(enum.StrEnum):
    """What became of one response."""

    OK = "ok"
    NO_HASH = "no_hash"
    MISMATCH = "mismatch"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Result:
    """The check of one response entry."""

    entry_id: str
    outcome: Outcome
    form: Form | None = None
    recorded: str = ""
    rebuilt: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """The results of every response, in file order."""

    results: tuple[Result, ...]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def ok(self) -> bool:
        return not (self.count(Outcome.MISMATCH) or self.count(Outcome.ERROR))

    def count(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)


def verify(path: Sequence[Entry]) -> Form:
    raise NotImplementedError


def verify_all(session: Session) -> Verification:
    raise NotImplementedError
