"""Documents as they are written: a root, and its steps one after the other.

Spec: export 11 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from agentsession import atif
from agentsession.atif import InvalidDocument, Problem
from agentsession.export.adapter import Stepwise, Whole, Words, redacted, stepwise
from agentsession.export.detection import Detector
from agentsession.export.outline import Outline


class Source(Protocol):
    """A document that can be gone through more than once."""

    def head(self) -> dict[str, Any]:
        """Return the root without its embedded documents; its steps are empty."""
        ...

    def steps(self) -> Iterator[dict[str, Any]]:
        """Yield the steps in order."""
        ...

    @property
    def children(self) -> Sequence[Source]:
        """The embedded documents."""
        ...


class Value:
    """A document that is in memory as a JSON value."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.children: Sequence[Source] = [
            Value(child) for child in document.get("subagent_trajectories") or ()
        ]

    def head(self) -> dict[str, Any]:
        """Return the root."""
        head = {**self._document, "steps": []}
        head.pop("subagent_trajectories", None)
        return head

    def steps(self) -> Iterator[dict[str, Any]]:
        """Yield the steps."""
        yield from self._document["steps"]


Noticed = Callable[[str, str, int], None]
"""Is told what a detector took out: its kind, where, and how often."""


class Redacted:
    """A document with redactors applied as it is gone through."""

    def __init__(
        self, inner: Source, redactors: Sequence[Stepwise], noticed: Noticed | None = None
    ) -> None:
        self._inner = inner
        self._redactors = redactors
        self._noticed = noticed
        self.children: Sequence[Source] = [
            Redacted(child, redactors, noticed) for child in inner.children
        ]

    def head(self) -> dict[str, Any]:
        """Return the root, redacted."""
        head = self._inner.head()
        for redactor in self._redactors:
            head = self._applied(redactor, redactor.head, head, "root")
        return head

    def steps(self) -> Iterator[dict[str, Any]]:
        """Yield the steps, redacted."""
        for number, step in enumerate(self._inner.steps(), 1):
            changed = step
            for redactor in self._redactors:
                changed = self._applied(redactor, redactor.step, changed, f"step {number}")
            yield changed

    def _applied(
        self,
        redactor: Stepwise,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        value: dict[str, Any],
        where: str,
    ) -> dict[str, Any]:
        detector = redactor.redactor if isinstance(redactor, Words) else None
        if not isinstance(detector, Detector) or self._noticed is None:
            return change(value)
        before = dict(detector.found)
        changed = change(value)
        for kind, count in detector.found.items():
            if count > before.get(kind, 0):
                self._noticed(kind, where, count - before.get(kind, 0))
        return changed


def source_of(document: Outline | atif.Trajectory, noticed: Noticed | None = None) -> Source:
    """Return a document ready to be written; an outline with its redactors applied."""
    if isinstance(document, atif.Trajectory):
        return Value(document.to_dict(nulls=False))
    redactors = stepwise(document.options.redactors)
    if any(isinstance(redactor, Whole) for redactor in redactors):
        return Value(redacted(document.document(), redactors))
    own = [redactor for redactor in redactors if isinstance(redactor, Stepwise)]
    return Redacted(document, own, noticed) if own else document


def check_head(head: dict[str, Any]) -> None:
    """Return when a root is valid, whatever its steps are.

    Raises:
        InvalidDocument: when it is not.
    """
    blank = {"step_id": 1, "source": "user", "message": ""}
    _raise(atif.validate({**head, "steps": [blank]}, strict=True))


def check_step(step: dict[str, Any], number: int) -> None:
    """Return when a step is valid at its place.

    Raises:
        InvalidDocument: when it is not.
    """
    agent = {"name": "agent", "version": "1"}
    document = {
        "schema_version": atif.SCHEMA_VERSION,
        "agent": agent,
        "steps": [{**step, "step_id": step.get("step_id", 0) - number + 1}],
    }
    problems = atif.validate(document, strict=True)
    _raise(tuple(_moved(problem, number) for problem in problems))


def _moved(problem: Problem, number: int) -> Problem:
    path = problem.path.replace("$.steps[0]", f"$.steps[{number - 1}]", 1)
    return Problem(path, problem.rule, problem.message, problem.value)


def _raise(problems: tuple[Problem, ...]) -> None:
    if problems:
        raise InvalidDocument(problems)
