"""The branches of a session's tree: the one that grows, and those that were left.

Spec: otel B.7, decision F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from opentelemetry.trace import SpanContext

from agentsession.entries import Entry, ResponseEntry
from agentsession.otel.branch import Branch, Said
from agentsession.otel.emitter import Opened
from agentsession.record_entries import RunEntry

Path = Sequence[Entry]


class Branches:
    """Gives each entry the state its parent left.

    Args:
        spans: the span of each entry that has one, kept up to date by the owner.
        content: whether to keep what was said.

    Attributes:
        current: the branch the last entry was on.
        runs: open spans of runs, by start entry.
        tools: open spans of calls, by dispatch entry.
    """

    def __init__(self, spans: Mapping[str, SpanContext], *, content: bool) -> None:
        self._spans = spans
        self._content = content
        self._parked: list[Branch] = []
        self.current = self._new()
        self.runs: dict[str, Opened] = {}
        self.tools: dict[str, Opened] = {}

    def _new(self) -> Branch:
        return Branch(said=Said() if self._content else None)

    def prime(self, path: Path) -> None:
        """Go to the end of a path that was there before."""
        self.current = self._primed(path)

    def go_to(self, parent: str | None, path: Callable[[str], Path]) -> None:
        """Go below an entry; ``path`` is asked for the way there only where a branch forks."""
        if parent in self.current.tips:
            return
        if self.current.tips != {None}:
            self._parked.append(self.current)
        for position, branch in enumerate(self._parked):
            if parent in branch.tips:
                self.current = self._parked.pop(position)
                return
        self.current = self._primed(path(parent) if parent is not None else ())

    def leave(self, at: int) -> Iterator[tuple[Branch, int]]:
        """Go to each branch once more; yield it and when it ends, the current one at ``at``."""
        parked, self._parked = self._parked, []
        yield self.current, at
        for branch in parked:
            self.current = branch
            yield branch, branch.last

    def _primed(self, path: Path) -> Branch:
        branch = self._new()
        for entry in path:
            if isinstance(entry, RunEntry):
                self._recall_run(branch, entry)
            elif isinstance(entry, ResponseEntry):
                self._recall_inference(branch, entry)
            branch.move(entry)
        for call_id in branch.log.pending:
            dispatch = branch.log.call(call_id).dispatch
            opened = self.tools.get(dispatch.id) if dispatch else None
            if opened is not None and not opened.ended:
                branch.tools[call_id] = opened
        return branch

    def _recall_run(self, branch: Branch, entry: RunEntry) -> None:
        if entry.is_start:
            branch.run_id, branch.run = entry.run_id, self.runs.get(entry.id)
        elif entry.run_id == branch.run_id:
            branch.run_id, branch.run = "", None

    def _recall_inference(self, branch: Branch, entry: ResponseEntry) -> None:
        span = self._spans.get(entry.id)
        if span is not None:
            branch.previous = branch.inferences[entry.response_id] = span
