"""Placing: the name and the time of single records of a file, as a conversion has them.

A file is read line by line, and nothing of it is held but names.

Spec: pi 1, 5, decisions D5 and D12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from agentsession._regular import open_regular
from agentsession.importers.pi.lines import lines_of
from agentsession.importers.pi.names import Naming
from agentsession.importers.pi.places import is_header
from agentsession.importers.pi.records import HEADER, Record, record_of
from agentsession.importers.pi.times import EPOCH, of, of_record
from agentsession.timestamp import Timestamp


class Place(NamedTuple):
    """What tells a record from others.

    Attributes:
        name: its name; see :class:`Naming`.
        ts: when it was written; where it does not say, when the one before it was.
    """

    name: str
    ts: Timestamp


def places_of(path: str, wanted: Callable[[Record], bool]) -> Mapping[int, Place]:
    """Return the places of some records, by their number in the file, from 0.

    A record that stands in the file more than once has one place.

    Args:
        path: the file.
        wanted: says of a record whether its place is wanted.

    Raises:
        OSError: when it cannot be read.
    """
    naming = Naming()
    seen: dict[str, tuple[bytes, int]] = {}
    names: dict[int, str] = {}
    times: dict[int, Timestamp | None] = {}
    repeated: dict[int, int] = {}
    header: Record | None = None
    first = last = None
    with open_regular(path) as file:
        for at, (number, line) in enumerate(lines_of(file)):
            record = record_of(number, line)
            if not record.readable:
                continue
            if record.type == HEADER:
                if header is None and is_header(record.value):
                    header = record
                continue
            if record.id:
                mark = blake2b(line.strip(), digest_size=16).digest()
                known = seen.setdefault(record.id, (mark, at))
                if known[0] == mark and known[1] != at:
                    repeated[at] = known[1]
                    continue
                seen[record.id] = mark, at
            name = naming.name(record)
            last = of_record(record) or last
            first = first or last
            if wanted(record):
                names[at], times[at] = name, last
    created = of(header.timestamp) if header is not None else None
    base = created or first or Timestamp.parse(EPOCH)
    found = {at: Place(name, times[at] or base) for at, name in names.items()}
    return found | {at: found[earlier] for at, earlier in repeated.items() if earlier in found}
