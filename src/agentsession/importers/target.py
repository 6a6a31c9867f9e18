"""The store that an import writes to.

Spec: decision B.
"""

from __future__ import annotations

import os

from agentsession.stores import JSONLStore, Store, SyncPolicy, open_store
from agentsession.stores.opening import StoreKind, store_kind


def open_target(place: str | os.PathLike[str], *, read_only: bool = False) -> Store:
    """Return the store at a place, as :func:`agentsession.stores.open_store` finds it.

    In a file store an entry is durable when its session is let go of, not before: an import
    that is cut short is simply run again.

    Args:
        place: the directory of a file store, or a database; either may not exist yet.
        read_only: make nothing, and refuse every write.

    Raises:
        AgentSessionError: when it is another kind of file, or a store cannot be made.
    """
    try:
        is_files = store_kind(place) is StoreKind.FILES
    except (OSError, ValueError):
        is_files = False
    if is_files:
        return JSONLStore(place, sync=SyncPolicy.NEVER, read_only=read_only)
    return open_store(place, read_only=read_only)
