"""A message's entries spelled together: each encoder is called for all of them at once.

What :mod:`agentsession.importers.opencode.spelling` says of one entry holds for each here;
where one of them might need the exact way, nothing is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from agentsession._emit import ENCODER_REFUSALS
from agentsession.importers.opencode.convert.draft import NAMESPACE
from agentsession.importers.opencode.convert.units import Unit
from agentsession.importers.opencode.spelling import (
    Spelling,
    escaped,
    given_beside,
    may_differ,
)

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode

_OUTPUT: Final = b',"output":'
_CALL: Final = b',"call_id":'
_BEFORE_ID: Final = len(b'{"type":"function_call_output","id":')


def spelled_together(
    own: Sequence[Unit], outputs: Sequence[Unit], response: str, members: Mapping[str, Any]
) -> tuple[list[Spelling], list[Spelling], Spelling] | None:
    """Return the spellings of a message's items, of its outputs, and of its response.

    Args:
        own: its items, none of them hidden, each with an origin; every float is plain.
        outputs: what its calls returned, likewise.
        response: the model call that produced the items; empty for none.
        members: the members of the response.
    """
    given = given_beside(response, hidden=False, queued_from="")
    # What stands beside an item is in the order of a line, and of names as well.
    rests: list[Mapping[str, Any]] = [
        {NAMESPACE: unit.native, "origin": unit.origin} if unit.native else {"origin": unit.origin}
        for units in (own, outputs)
        for unit in units
    ]
    rests.append(members)
    try:
        lines = [_encode(rest) for rest in rests]
        if given is None or may_differ(lines, rests):
            return None
        beside = iter(lines)
        sorted_beside = map(_encode_sorted, rests)
        before, behind = given[0] + b",", given[1] + b"}"
        mine = []
        for unit in own:
            item = unit.item
            line = b'{"item":' + _encode(item) + before + next(beside)[1:]
            sort = b'{"item":' + _encode_sorted(item) + b"," + next(sorted_beside)[1:-1] + behind
            mine.append((line if line.isascii() else escaped(line), sort))
        found = [_output(unit, next(beside), next(sorted_beside)) for unit in outputs]
        line = next(beside)
        said = line if line.isascii() else escaped(line)
        return mine, found, (said, next(sorted_beside))
    except ENCODER_REFUSALS:
        return None


def _output(unit: Unit, rest: bytes, sorted_rest: bytes) -> Spelling:
    """Return the spellings of an output; its text is often long, and encoded once."""
    item = unit.item
    line = _encode(item)
    if type(item["output"]) is str:
        # No quote stands in a string as itself: these are where the members begin.
        head, said = line.split(_OUTPUT, 1)
        name, call = head[_BEFORE_ID:].split(_CALL, 1)
        canonical = b'{"item":{"call_id":%b,"id":%b,"output":%b,"type":"function_call_output"},%b'
        sort = canonical % (call, name, said[:-1], sorted_rest[1:])
    else:
        sort = b'{"item":' + _encode_sorted(item) + b"," + sorted_rest[1:]
    line = b'{"item":' + line + b"," + rest[1:]
    return line if line.isascii() else escaped(line), sort
