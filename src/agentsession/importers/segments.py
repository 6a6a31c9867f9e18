"""Segments: what the run that is open holds, as far as that is simple.

How a run ends follows from its entries. Reading them again for each run would cost as much as
all the rest, so what is written is watched; a run that is not simple is looked at closely.

Spec: context 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentsession.calls import CALL_TYPE, OUTPUT_TYPE

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
        elif kind == OUTPUT_TYPE and _is_plain(item):
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


def _is_plain(output: Mapping[str, Any]) -> bool:
    """Whether an item is an output in the format's eyes too, beyond doubt."""
    told = (output.get("id"), output.get("status"))
    return isinstance(output.get("output"), str) and all(isinstance(one, _PLAIN) for one in told)
