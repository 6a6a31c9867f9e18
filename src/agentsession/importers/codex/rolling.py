"""Rollbacks: the history without its last turns, as the release that goes on makes it out.

Up to 0.150 a rollback is a line, and what is left of the history is worked out from the file:
at once from 0.113 on, and whenever a process reads the thread again. Spec: codex 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentsession.importers.codex.calls import Ending
from agentsession.importers.codex.lines import Line, integer
from agentsession.importers.codex.releases import version_of
from agentsession.importers.codex.units import Unit, rolled_back

if TYPE_CHECKING:
    from agentsession.importers.codex.reading import Reading
    from agentsession.importers.codex.state import State

_FROM_FILE: Final = (0, 113)
"""Releases from here on work out from the file what a rollback leaves."""

_WITH_CONTEXT: Final = (0, 117)
"""Releases from here on drop the context messages before a dropped turn too."""

_MENDED: Final = (0, 160)
"""Releases from here on drop a compaction with its turn, and no history that was before it."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn begins here."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A compaction: what the history was afterwards, and whether the file holds that."""

    history: tuple[Unit, ...]
    held: bool


@dataclass(frozen=True, slots=True)
class Back:
    """A rollback, and how many turns it dropped."""

    turns: int


Step = Unit | Begun | Folded | Back


def back(reading: Reading, line: Line, number: int) -> None:
    """Go back by the turns that a line says were dropped."""
    state = reading.state
    reading.calling.settle(Ending(), certain=False)
    turns = integer(line.payload.get("num_turns")) or 0
    state.steps.append(Back(turns))
    version = version_of(state.release)
    if version >= _FROM_FILE and _lost_base(state.steps):
        kept = _made_out(state.steps, version)
        state.lost_base, state.anew = True, 0
    else:
        kept = rolled_back(state.history, turns, with_context=version >= _WITH_CONTEXT)
    if _go_back(reading, kept):
        reading.accounts.find("rolled-back")
    state.asked = ""
    tip = reading.writer.node.entry_id
    reading.accounts.folded(number, *([tip] if tip else []))


def read_again(reading: Reading, before: str, release: str) -> None:
    """Make out the history as a newer release does that goes on with the thread.

    Args:
        reading: the thread.
        before: the release that wrote it so far.
        release: the oldest one that could have written the line that was read last.
    """
    state = reading.state
    old, new = version_of(before), version_of(release)
    told = old < _WITH_CONTEXT <= new and any(isinstance(s, Back) for s in state.steps)
    if not told and not (state.lost_base and old < _MENDED <= new):
        return
    if new >= _MENDED:
        state.lost_base = False
    state.anew = 0
    _go_back(reading, _made_out(state.steps, new))


def _go_back(reading: Reading, kept: list[Unit]) -> bool:
    """Take it that the history is what is kept; return whether that changes it."""
    state = reading.state
    if len(kept) == len(state.history) and all(
        mine is theirs for mine, theirs in zip(kept, state.history, strict=True)
    ):
        return False
    reading.go_back(kept)
    return True


def _lost_base(steps: Sequence[Step]) -> bool:
    """Whether a rollback drops a compaction, and none is left before it."""
    base, start = _base(steps)
    return base is None and start > 0


def _base(steps: Sequence[Step]) -> tuple[int | None, int]:
    """The newest compaction that is left, and what the history is read from.

    From the newest turn back, each rollback drops as many turns of the user's as it says, and
    with them the turns between that are none. A release before 0.160 reads on behind the
    oldest compaction it has passed, whether its turn was dropped or not.
    """
    dropping = start = 0
    folded: int | None = None
    is_users = False
    for at in range(len(steps) - 1, -2, -1):
        step = steps[at] if at >= 0 else Begun()
        if isinstance(step, Back):
            dropping += step.turns
        elif isinstance(step, Folded):
            if step.held and folded is None:
                folded, start = at, at + 1
        elif isinstance(step, Unit):
            is_users = is_users or step.turn or step.is_action
        elif dropping:
            dropping -= is_users
            folded, is_users = None, False
        elif folded is not None:
            return folded, start
        else:
            is_users = False
    return None, start


def _made_out(steps: Sequence[Step], version: tuple[int, ...]) -> list[Unit]:
    """The history as a release reads it out of a file."""
    base, start = _base(steps)
    if base is None and version >= _MENDED:
        start = 0
    history: list[Unit] = []
    if base is not None and isinstance(folded := steps[base], Folded):
        history = list(folded.history)
    for step in steps[start:]:
        if isinstance(step, Unit):
            history.append(step)
        elif isinstance(step, Folded):
            if not step.held or version < _MENDED:
                history = list(step.history)
        elif isinstance(step, Back):
            history = rolled_back(history, step.turns, with_context=version >= _WITH_CONTEXT)
    return history


def begun(state: State) -> None:
    """Take it that a turn begins."""
    state.steps.append(Begun())
