"""Copies: logs that stand in several places, in a copied home or a folder that was renamed.

Of the copies of one log the one that says most is read, and those that went on in another way;
folders that have copies of each other are looked at as one, so that what belongs together is
found whichever copy it is in.

Spec: decision D11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.lines import (
    REFUSALS,
    members_of,
    raw_lines,
    split_tail,
    text_of,
)
from agentsession.importers.claude_code.looking import Log
from agentsession.importers.diverging import diverged

_SAID: Final = names.TREE - {names.PROGRESS}


@dataclass(slots=True)
class Folder:
    """The logs of a folder, and of those that have copies of them.

    Attributes:
        logs: one copy of each log, in the order of the folders.
        copies: the other copies of a log, by its path.
        diverged: the copies that say what no other does, by the same path.
    """

    logs: list[Log] = field(default_factory=list)
    copies: dict[str, list[Log]] = field(default_factory=dict)
    diverged: dict[str, list[Log]] = field(default_factory=dict)

    def told_by(self, log: Log) -> list[Log]:
        """Return the files to read for a log: itself and its diverged copies, oldest first."""
        every = [log, *self.diverged.get(str(log.path), ())]
        return sorted(every, key=lambda one: (one.last, one is log, one.end))


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
        first = max((copy for _, copy in copies), key=_most)
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
                    _part(folder, log, lesser[id(log)])
    return list(folders.values())


def _part(folder: Folder, log: Log, copies: Sequence[Log]) -> None:
    """Part the other copies of a log into those that say nothing more, and those that do."""
    apart = diverged(log, sorted(copies, key=_most, reverse=True), _path, said_in)
    parted = {id(copy) for copy in apart}
    for copy in copies:
        found = folder.diverged if id(copy) in parted else folder.copies
        found.setdefault(str(log.path), []).append(copy)


def _most(log: Log) -> tuple[int, int, str, str]:
    """Sorts copies of a log by how much they say, wherever they stand."""
    return (log.tree, log.records, log.last, log.end)


def _path(log: Log) -> str:
    return str(log.path)


class _Said(msgspec.Struct, gc=False):
    type: Any = None
    uuid: Any = None


_decode: Final = msgspec.json.Decoder(_Said).decode


def said_in(log: Log) -> Iterator[str]:
    """Yield the ids of what was said in a file."""
    try:
        for line in raw_lines(log.path):
            try:
                every = [_decode(line)]
            except REFUSALS:
                parts = [members_of(part) or {} for part in split_tail(line)]
                every = [_Said(text_of(m.get("type")), text_of(m.get("uuid"))) for m in parts]
            for said in every:
                kind, uuid = said.type, said.uuid
                if isinstance(kind, str) and kind in _SAID and isinstance(uuid, str) and uuid:
                    yield uuid
    except OSError:
        return


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
