"""Joining: copies of a session that went on differently, as the branches of one session.

Spec: decisions D6 and D11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from agentsession.importers.base import Converted
from agentsession.importers.merge import merge
from agentsession.stores import MemoryStore

_FORMAT: Final = "agentsession/0.3"


def joined(first: Converted, other: Converted) -> Converted:
    """Return two copies of a session as one: what an import of each, one by one, leaves.

    Args:
        first: the copy whose past counts where they say different things.
        other: the copy that becomes a branch of it.
    """
    store = MemoryStore()
    merge(store, first.session, _FORMAT)
    ids = merge(store, other.session, _FORMAT).ids
    records = tuple(
        msgspec.structs.replace(one, entry_ids=tuple(ids.get(name, name) for name in one.entry_ids))
        for one in other.records
    )
    return replace(
        first,
        session=store.open(first.session.id),
        records=(*first.records, *records),
        findings=(*first.findings, *other.findings),
        totals=_added(first.totals, other.totals),
    )


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Sums of sums, by name."""
    return {
        name: _added(value, other[name]) if isinstance(value, Mapping) else value + other[name]
        for name, value in one.items()
    }
