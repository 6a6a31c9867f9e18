"""Segments: what the run that is open holds, and what that says of its end.

How a run ends follows from its entries. Reading them again for each run would cost as much as
all the rest, so what is written is watched. A run that is not simple is looked at closely: its
own entries, and the path before them only where they leave the end open.

Spec: context 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentsession import normalise
from agentsession.calls import CALL_TYPE, OUTPUT_TYPE
from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.record_entries import DecisionEntry
from agentsession.runs import DONE, ERROR, Run, open_run
from agentsession.session import Session

_PLAIN: Final = (str, type(None))


@dataclass(slots=True)
class Segment:
    """What was written since a run began, on one branch.

    Attributes:
        run: the run's id.
        last: its last response's id; ``None`` before there is one.
        tip: what was written last, for an importer whose sessions branch.
        simple: whether each was written below the one before it.
    """

    run: str
    last: str | None = None
    tip: object = None
    simple: bool = True
    _whole: bool = False
    _open: set[str] = field(default_factory=set)

    def copy(self) -> Segment:
        """Return a segment that goes on from here by itself."""
        return replace(self, _open=set(self._open))

    def follow(self, above: object, tip: object) -> None:
        """Take note of where something was written."""
        self.simple = self.simple and above is self.tip
        self.tip = tip

    def item(self, item: Mapping[str, Any]) -> None:
        """Take in an item that was written."""
        kind = item.get("type")
        if kind == CALL_TYPE:
            self._open.add(str(item.get("call_id")))
        elif kind == OUTPUT_TYPE and (_is_plain(item) or normalise.decodes(item)):
            self._open.discard(str(item.get("call_id")))

    def responded(self, response: str, *, whole: bool) -> None:
        """Take in a response that was written."""
        self.last, self._whole = response, whole

    def is_settled(self) -> bool:
        """Return whether no call lacks its output, beyond doubt."""
        return self.simple and not self._open

    def is_done(self) -> bool:
        """Return whether it ends with a whole answer, and no call lacks its output."""
        return self.last is not None and self._whole and self.is_settled()


def run_at(session: Session, start: str, tip: str) -> Run | None:
    """Return the run that is open at an entry; ``None`` when there is none.

    Args:
        session: the session.
        start: the entry that began the run, which the run's path then begins with; when it is
            not on the way to ``tip``, the path is the whole one.
        tip: the entry.
    """
    found: list[Entry] = []
    at: str | None = tip
    while start and at:
        entry = session[at]
        found.append(entry)
        if at == start:
            return open_run(found[::-1])
        at = entry.parent
    return open_run(session.path(tip)) if tip else None


def borne_out(run: Run, has_called: Callable[[str], bool], whole: Callable[[], Run | None]) -> str:
    """Return why a run ended by what it holds.

    Args:
        run: the run, by its own entries.
        has_called: whether any call of the session may be of a response, by its id.
        whole: gives the run with all of its path; asked only where what came before matters.

    Spec: context 9.3.
    """
    reason = run.reason()
    last = next((e for e in reversed(run.segment) if isinstance(e, ResponseEntry)), None)
    if reason == ERROR or run.pending() or (last is not None and last.incomplete is not None):
        return reason
    if last is None and not any(map(_settles, run.segment)):
        return reason
    if last is not None and last.response_id and not has_called(last.response_id):
        return DONE
    with_path = whole()
    return reason if with_path is None else with_path.reason()


def _settles(entry: Entry) -> bool:
    """Whether an entry may be what a call was answered with."""
    if isinstance(entry, ItemEntry):
        return entry.item.type == OUTPUT_TYPE
    return isinstance(entry, DecisionEntry)


def _is_plain(output: Mapping[str, Any]) -> bool:
    """Whether an item is an output in the format's eyes too, as nearly every one is."""
    told = (output.get("id"), output.get("status"))
    return isinstance(output.get("output"), str) and all(isinstance(one, _PLAIN) for one in told)
