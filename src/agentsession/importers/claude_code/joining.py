"""Joining: the logs of agents that go on from a session, as branches of it.

Some agents of the program's own are told all that was said so far, such as those of 2.1.x that
suggest the next prompt. What a screen had not written yet by then, mostly the last answer of
the turn, stands in their log alone, and the session's own goes on below it.

Spec: claude-code 3, 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.copying import said_in
from agentsession.importers.claude_code.looking import Log
from agentsession.importers.claude_code.records import Record


def gone_on_from(own: Iterable[Log], agents: Sequence[Log]) -> list[Log]:
    """Return the logs that go on from a record of a session, or from one of each other.

    Args:
        own: the logs of the session.
        agents: the logs of agents that begin below some record.
    """
    said = {uuid for log in own for uuid in said_in(log)}
    found: list[Log] = []
    left = sorted(agents, key=lambda log: (log.first, log.name))
    while True:
        fitting = [log for log in left if log.above in said]
        if not fitting:
            return found
        found += fitting
        left = [log for log in left if log.above not in said]
        said |= {uuid for log in fitting for uuid in said_in(log)}


def merged(records: Sequence[Record], joined: int) -> list[Record]:
    """Return records with those of joined logs right behind the ones that they hang below.

    Args:
        records: file by file.
        joined: how many of the files, the last ones, are joined.
    """
    files = [list(those) for _, those in groupby(records, key=lambda record: record.file)]
    first = max(0, len(files) - joined)
    below: dict[str, list[list[Record]]] = {}
    for those in files[first:]:
        parent = next((record.parent for record in those if record.is_tree), "")
        below.setdefault(parent, []).append(those)
    found: list[Record] = []
    waiting = [record for those in files[:first] for record in those][::-1]
    while waiting:
        record = waiting.pop()
        found.append(record)
        for those in below.pop(record.uuid, ()) if record.uuid else ():
            waiting += those[::-1]
    return [*found, *(record for group in below.values() for those in group for record in those)]


def asides(records: Sequence[Record], files: int, joined: int) -> set[Record]:
    """Return the records of joined logs that the session itself does not go on from.

    Args:
        records: those of the session.
        files: how many files they are of.
        joined: how many of these, the last ones, are joined.
    """
    asked: set[int] = set()
    found: set[Record] = set()
    for record in records if joined else ():
        if record.file < files - joined:
            continue
        if record.type == names.USER and not record.results:
            asked.add(record.file)
        if record.file in asked:
            found.add(record)
    return found
