"""Copies: logs that stand in several places, in a copied home or a folder that was renamed.

Of the copies of one log the one that says most is read; folders that have copies of each other
are looked at as one, so that what belongs together is found whichever copy it is in.

Spec: decision D11.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agentsession.importers.claude_code.looking import Log


@dataclass(slots=True)
class Folder:
    """The logs of a folder, and of those that have copies of them.

    Attributes:
        logs: one copy of each log, in the order of the folders.
        copies: the other copies of a log, by its path.
    """

    logs: list[Log] = field(default_factory=list)
    copies: dict[str, list[Log]] = field(default_factory=dict)


def folders_of(found: Sequence[Sequence[Log]]) -> list[Folder]:
    """Return the logs of some folders without copies, those with copies of each other together.

    Args:
        found: the logs of each folder.
    """
    same: dict[tuple[str, str], list[list[tuple[int, Log]]]] = {}
    for place, logs in enumerate(found):
        for log in logs:
            _add(same.setdefault((log.name, log.session if log.is_agent else ""), []), place, log)
    leader = list(range(len(found)))
    best: set[int] = set()
    lesser: dict[int, list[Log]] = {}
    for copies in (one for those in same.values() for one in those):
        first = max(copies, key=lambda copy: (copy[1].tree, copy[1].records))[1]
        best.add(id(first))
        lesser[id(first)] = [log for _, log in copies if log is not first]
        for place, _ in copies[1:]:
            _join(leader, copies[0][0], place)
    folders: dict[int, Folder] = {}
    for place, logs in enumerate(found):
        folder = folders.setdefault(_found(leader, place), Folder())
        for log in logs:
            if id(log) in best:
                folder.logs.append(log)
                if lesser[id(log)]:
                    folder.copies[str(log.path)] = lesser[id(log)]
    return list(folders.values())


def _add(copies: list[list[tuple[int, Log]]], place: int, log: Log) -> None:
    """Put a log to those that it is a copy of: they have records of the beginning in common."""
    for those in copies:
        if log.tree and any(not log.head.isdisjoint(other.head) for _, other in those):
            those.append((place, log))
            return
    copies.append([(place, log)])


def _join(leader: list[int], one: int, other: int) -> None:
    first, last = sorted((_found(leader, one), _found(leader, other)))
    leader[last] = first


def _found(leader: Sequence[int], place: int) -> int:
    while leader[place] != place:
        place = leader[place]
    return place


def paths_of(logs: Iterable[Log]) -> tuple[str, ...]:
    """Return the paths of some logs."""
    return tuple(str(log.path) for log in logs)
