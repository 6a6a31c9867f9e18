"""Parting: which members of a record an entry tells, and which of them no known release writes.

Spec: claude-code 2, decision D11.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.known import NESTED
from agentsession.importers.claude_code.lines import value_of
from agentsession.importers.unknown import strange


@lru_cache(maxsize=256)
def parted(
    members: tuple[str, ...], left_out: frozenset[str]
) -> tuple[tuple[tuple[str, bytes], ...], tuple[str, ...]]:
    """Return the names of members that are told, each with what stands before its value.

    There are few kinds of lines, and the members of each are always the same.

    Args:
        members: the names of all.
        left_out: those that are not told.

    Returns:
        These, and the names of those among them that no known release writes, or that hold
        objects.
    """
    told = [name for name in members if name not in left_out]
    unknown = tuple([name for name in told if name not in names.MEMBERS or name in NESTED])
    heads = [b",%b:" % text.encode(name) for name in told]
    heads[:1] = [b"{" + head[1:] for head in heads[:1]]
    return tuple(zip(told, heads, strict=True)), unknown


def misfits(members: Mapping[str, msgspec.Raw], among: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of some members are not known, or hold what is not.

    Args:
        members: the members of a record.
        among: the names that :func:`parted` gives.
    """
    return tuple([name for name in among if not _fits(members[name], name)])


def _fits(raw: msgspec.Raw, name: str) -> bool:
    known = NESTED.get(name)
    if known is None:
        return False
    value = value_of(raw)
    return not isinstance(value, (dict, list)) or not strange(value, known)
