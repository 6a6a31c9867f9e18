"""The store that an import writes to: where it may be, and how it is opened.

Spec: decision B.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from agentsession.errors import AgentSessionError
from agentsession.importers import registry
from agentsession.importers.base import Importer
from agentsession.stores import JSONLStore, Store, SyncPolicy, open_store
from agentsession.stores.opening import StoreKind, store_kind


def refusal(
    place: str | os.PathLike[str],
    importers: Sequence[Importer],
    sources: Iterable[str | os.PathLike[str]],
) -> str:
    """Return why an import makes no store at a place, in a sentence; empty when it may.

    It makes none at a source, and none among an agent's own data, whichever agent's, links
    followed or not. The user's home is nobody's, nor is what is above it.

    Args:
        place: where the store would be.
        importers: those of the import; the others that there are are asked as well.
        sources: what is to be imported, and the paths at which it was found.
    """
    store = os.fspath(place)
    real = os.path.realpath(store)
    if any(real == os.path.realpath(path) for path in sources):
        return f"the store cannot be {store}, which is to be imported; name another place for it"
    owners = {importer.name: importer.owns for importer in importers}
    owners |= _owners(name for name in registry.names() if name not in owners)
    for directory in _around(store):
        for name, owns in owners.items():
            if owns(directory):
                return (
                    f"the store cannot be {store}: {directory} is {name}'s own data, "
                    "which is never written to; name another place for it"
                )
    return ""


def _owners(names: Iterable[str]) -> dict[str, Callable[[Path], bool]]:
    found = {}
    for name in names:
        # One that cannot be loaded is not asked for, and what it is for cannot be said.
        with suppress(AgentSessionError):
            found[name] = registry.owner(name)
    return found


def _around(store: str) -> Iterator[Path]:
    """Yield a place and the directories above it, as it is named and as it really is."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    found: dict[Path, None] = {}
    for place in (Path(os.path.abspath(store)), Path(os.path.realpath(store))):
        found.update(dict.fromkeys((place, *place.parents)))
    for directory in found:
        if not home.is_relative_to(directory):
            yield directory


def open_target(place: str | os.PathLike[str], *, read_only: bool = False) -> Store:
    """Return the store at a place, as :func:`agentsession.stores.open_store` finds it.

    In a file store an entry is durable when its session is let go of, not before: an import
    that is cut short is simply run again.

    Args:
        place: the directory of a file store, or a database; either may not exist yet, and
            the directories above it are made.
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
    if not read_only:
        # As for a file store. What cannot be made, the store itself says it lacks.
        with suppress(OSError, ValueError):
            Path(place).parent.mkdir(parents=True, exist_ok=True)
    return open_store(place, read_only=read_only)
