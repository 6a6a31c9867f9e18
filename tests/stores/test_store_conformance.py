"""Every store of the package runs the public suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsession.stores import JSONLStore, MemoryStore, SQLiteStore, Store, SyncPolicy
from agentsession.stores.conformance import StoreConformance


class TestMemoryStore(StoreConformance):
    persistent = False

    def make_store(self, place: Path) -> Store:
        return MemoryStore()


@pytest.mark.parametrize("policy", list(SyncPolicy), scope="class")
class TestJSONLStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _policy(self, policy: SyncPolicy) -> None:
        self.policy = policy

    def make_store(self, place: Path) -> Store:
        return JSONLStore(place / "sessions", sync=self.policy)


@pytest.mark.parametrize("full_sync", [False, True], scope="class")
class TestSQLiteStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _sync(self, full_sync: bool) -> None:
        self.full_sync = full_sync

    def make_store(self, place: Path) -> Store:
        return SQLiteStore(place / "sessions.db", full_sync=self.full_sync)
