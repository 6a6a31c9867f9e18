"""The plan of a document: which entries each step is made of, and what is said beside them.

A plan holds entries, not their content, so that a long session can be written step by step
without standing in memory a second time.

Spec: export 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from agentsession.entries import Entry, ItemEntry, ResponseEntry

LISTED: Final = ("custom", "queued", "extensions")
"""Pending members that are lists of records rendered from their entries."""


class Kind(StrEnum):
    """What a step is made from."""

    USER = "user"
    SYSTEM = "system"
    AGENT = "agent"
    OTHER = "other"
    ORPHAN = "orphan"
    COMPACTION = "compaction"
    BRANCH_SUMMARY = "branch_summary"
    INSTRUCTIONS = "instructions"


@dataclass(slots=True)
class Result:
    """One result of a step's observation.

    Attributes:
        call_id: the call it answers.
        entry: the output's entry; ``None`` for a result that only carries references.
        refs: references to other documents.
    """

    call_id: str
    entry: ItemEntry | None = None
    refs: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Pending:
    """What waits for the next step.

    Attributes:
        members: finished members of ``extra``.
        listed: entries of the members in `LISTED`.
    """

    members: dict[str, Any] = field(default_factory=dict)
    listed: dict[str, list[Entry]] = field(default_factory=dict)

    def add(self, name: str, record: object) -> None:
        """Add a record to a member that is a list."""
        self.members.setdefault(name, []).append(record)

    def keep(self, name: str, entry: Entry) -> None:
        """Add an entry to a member that is rendered later."""
        self.listed.setdefault(name, []).append(entry)

    def absorb(self, earlier: Pending) -> None:
        """Take in what was pending before this: its lists come first, other members give way."""
        for name, value in earlier.members.items():
            if isinstance(value, list):
                self.members[name] = value + self.members.get(name, [])
            else:
                self.members.setdefault(name, value)
        for name, entries in earlier.listed.items():
            self.listed[name] = entries + self.listed.get(name, [])


@dataclass(slots=True)
class Step:
    """One step to be.

    Attributes:
        kind: what it is made from.
        entry: its item, compaction or branch summary; ``None`` for agent steps.
        items: the output items of an agent step.
        call_ids: the ids of the calls among them.
        response: the response of an agent step.
        response_id: the response its items belong to; empty when unknown.
        results: what its observation holds.
        model, effort: the settings when it was written.
        copied: whether it was carried over a compaction.
        boundary: whether a compaction is one for what follows here.
        pinned_shown: pinned items whose text stands in the observation, by position.
        failed: whether the model call failed.
        dropped: whether it is left out.
        pending: what entries without a step left here.
        calls, outcomes: what was decided about its calls, and how it was judged.
        instructions: the text of an instructions step.
    """

    kind: Kind
    entry: Entry | None = None
    items: list[ItemEntry] = field(default_factory=list)
    call_ids: list[str] = field(default_factory=list)
    response: ResponseEntry | None = None
    response_id: str = ""
    results: list[Result] = field(default_factory=list)
    model: str = ""
    effort: str = ""
    copied: bool = False
    boundary: bool = False
    pinned_shown: tuple[int, ...] = ()
    failed: bool = False
    dropped: bool = False
    pending: Pending = field(default_factory=Pending)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    instructions: str = ""

    def members(self) -> Iterator[Entry]:
        """Every entry the step is made from, its response last."""
        if self.entry is not None:
            yield self.entry
        yield from self.items
        for result in self.results:
            if result.entry is not None:
                yield result.entry
        if self.response is not None:
            yield self.response


@dataclass(slots=True)
class Plan:
    """The steps of a document and what its root says.

    Attributes:
        steps: the steps, dropped ones left out.
        dropped: failed model calls that were left out.
        root: members of the root's ``extra``.
        pending: what no step took.
        outcomes: all outcomes, in order.
        item_order: the places in reading order of the context's items in context order;
            ``None`` when they are simply all of them in reading order.
        omitted: the item entries that the settings leave out of requests, with the reason.
    """

    steps: list[Step] = field(default_factory=list)
    dropped: list[Step] = field(default_factory=list)
    root: dict[str, Any] = field(default_factory=dict)
    pending: Pending = field(default_factory=Pending)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    item_order: list[int] | None = None
    omitted: Mapping[str, str] = field(default_factory=dict)
