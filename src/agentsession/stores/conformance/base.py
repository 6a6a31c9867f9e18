"""What the requirements of a store share: its fixtures, and what they say and ask.

Spec: stores 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from agentsession.stores.base import ListFilter, Store, Summary


def said(role: str, words: str) -> dict[str, object]:
    """Return a message item."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def listed(store: Store, asked: ListFilter | None = None) -> list[str]:
    """Return the ids a store lists; an error in the listing is raised."""
    return [summary.id for summary in summaries(store, asked)]


def summaries(store: Store, asked: ListFilter | None = None) -> list[Summary]:
    """Return what a store lists; an error in the listing is raised."""
    found = []
    for item in store.list(asked):
        if not isinstance(item, Summary):
            raise item
        found.append(item)
    return found


class Requirements:
    """The fixtures: a store, and the store again."""

    persistent: ClassVar[bool] = True
    """Whether sessions outlive the store object."""

    exclusive: ClassVar[bool] = True
    """Whether a session that one store holds is refused by another over the same storage."""

    later_drafts: ClassVar[bool] = True
    """Whether sessions whose ids are hashes can be made, and forks of them."""

    def make_store(self, place: Path) -> Store:
        """Return a store over the storage at a place."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """A fresh store."""
        with self.make_store(tmp_path) as store:
            yield store

    def reopen(self, store: Store, place: Path) -> Store:
        """Close a store and return a second one over the same storage."""
        if not self.persistent:
            pytest.skip("this store keeps nothing")
        store.close()
        return self.make_store(place)
