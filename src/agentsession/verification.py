"""Whether responses record the hash of the request their session rebuilds.

One response is checked by rebuilding its request. All of them are checked in one pass: a
SHA-256 state is carried along each path and copied where paths part, so that the input of a
long session is hashed once and not once per response (:mod:`agentsession.hashing`).

Spec: context 6, decisions A8 and A9.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentsession.context import request_context, response_of
from agentsession.entries import Entry, ResponseEntry
from agentsession.errors import AgentSessionError, CannotHash, HashMismatch, NoHash
from agentsession.hashing import Cost, RequestHasher
from agentsession.normalise import Form
from agentsession.request import hash_of

if TYPE_CHECKING:
    from agentsession.session import Session

__all__ = ["Cost", "Form", "Outcome", "Result", "Verification", "verify", "verify_all"]


class Outcome(enum.StrEnum):
    """What became of one response."""

    OK = "ok"
    """The recorded hash is the rebuilt one."""
    NO_HASH = "no_hash"
    """It records none."""
    MISMATCH = "mismatch"
    """No form of the rebuilt request has the recorded hash."""
    ERROR = "error"
    """The request could not be rebuilt or hashed."""


@dataclass(frozen=True, slots=True)
class Result:
    """The check of one response entry.

    Attributes:
        entry_id: the response entry.
        outcome: what became of it.
        form: the form that matched; ``None`` when none did.
        recorded: the hash it records; empty when it records none.
        rebuilt: the hash of the rebuilt request, in the form that matched, else as written;
            empty when there is none.
        message: one sentence; empty when all is well.
    """

    entry_id: str
    outcome: Outcome
    form: Form | None = None
    recorded: str = ""
    rebuilt: str = ""
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the recorded hash is the rebuilt one."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True, slots=True)
class Verification:
    """The results of every response of a session, in file order.

    Attributes:
        results: one for each response entry.
        cost: what the check had to do.
    """

    results: tuple[Result, ...]
    cost: Cost = field(default_factory=Cost, compare=False)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def ok(self) -> bool:
        """Whether no hash differs and nothing failed; a response without a hash is no failure."""
        return not (self.count(Outcome.MISMATCH) or self.count(Outcome.ERROR))

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """How many responses had each outcome, those with none among them."""
        return {outcome: self.count(outcome) for outcome in Outcome}

    def count(self, outcome: str) -> int:
        """Return how many responses had an outcome."""
        return sum(result.outcome == outcome for result in self.results)


def verify(path: Sequence[Entry]) -> Form:
    """Return the form in which the response at the end of a path records its request's hash.

    Spec: context 6, decision A8.

    Raises:
        InvalidEntry: when the path does not end in a response.
        NoContext: when the request's context cannot be built.
        NoHash: when the response records no hash.
        HashMismatch: when no form matches.
        CannotHash: when the request holds a number beyond any double.
    """
    response = response_of(path)
    context = request_context(path)
    if not response.request_hash:
        raise NoHash(_no_hash(response), entry_id=response.id)
    result = _judge(response, lambda form: hash_of(context.settings, context.items, form))
    if result.form is not None:
        return result.form
    raise HashMismatch(
        result.message,
        entry_id=response.id,
        recorded=result.recorded,
        rebuilt=result.rebuilt,
    )


def verify_all(session: Session) -> Verification:
    """Return the result of every response of a session, in file order.

    The results are those of :func:`verify`; nothing is raised for a single failure.

    Spec: decision A9.
    """
    entries = session.entries
    hasher = RequestHasher(entries)
    results = tuple(
        _result(hasher, index, entry)
        for index, entry in enumerate(entries)
        if isinstance(entry, ResponseEntry)
    )
    return Verification(results, hasher.cost)


def _result(hasher: RequestHasher, index: int, response: ResponseEntry) -> Result:
    try:
        hasher.check_context(index)
        if not response.request_hash:
            return Result(response.id, Outcome.NO_HASH, message=_no_hash(response))
        return _judge(response, lambda form: hasher.request_hash(index, form))
    except AgentSessionError as error:
        recorded = response.request_hash
        return Result(response.id, Outcome.ERROR, recorded=recorded, message=str(error))


def _judge(response: ResponseEntry, rebuild: Callable[[Form], str]) -> Result:
    """Compare a recorded hash with the rebuilt one, form by form.

    Raises:
        CannotHash: when the request as written cannot be hashed and no other form matches.
    """
    recorded = response.request_hash
    rebuilt: str | CannotHash = ""
    for form in Form:
        try:
            found = rebuild(form)
        except CannotHash as error:
            rebuilt = rebuilt or error
            continue
        if found == recorded:
            return Result(response.id, Outcome.OK, form, recorded, found)
        rebuilt = rebuilt or found
    if isinstance(rebuilt, CannotHash):
        raise rebuilt
    message = (
        f"response {response.id} records {recorded}, but the request rebuilt from its path "
        f"has {rebuilt}"
    )
    return Result(response.id, Outcome.MISMATCH, None, recorded, rebuilt, message)


def _no_hash(response: ResponseEntry) -> str:
    return f"response {response.id} records no request hash, so there is nothing to compare"
