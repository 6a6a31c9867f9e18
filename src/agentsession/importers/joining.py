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
from agentsession.importers.plans import Action
from agentsession.session import Session
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
    done = merge(store, other.session, _FORMAT)
    records = tuple(
        msgspec.structs.replace(one, entry_ids=done.written(one.entry_ids)) for one in other.records
    )
    session = store.open(first.session.id)
    return replace(
        first,
        session=_after(other, first) if done.action is Action.OLDER else session,
        records=(*first.records, *records),
        findings=(*first.findings, *other.findings),
        totals=_added(first.totals, other.totals),
    )


def _after(older: Converted, newer: Converted) -> Session:
    """A copy behind an older one that said no more, but may have a name or a note of its own."""
    store = MemoryStore()
    store.create(newer.session.header)
    merge(store, older.session, _FORMAT)
    merge(store, newer.session, _FORMAT)
    return store.open(newer.session.id)


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Sums of sums, by name."""
    found = dict(one)
    for name, value in other.items():
        known = found.get(name)
        if isinstance(value, Mapping):
            found[name] = _added(known if isinstance(known, Mapping) else {}, value)
        else:
            found[name] = value if known is None else known + value
    return found
