"""Every store of the package runs the public suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsession.stores import JSONLStore, MemoryStore, SQLiteStore, Store, SyncPolicy
from agentsession.stores.conformance import StoreConformance
from agentsession.stores.conformance.base import Requirements


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


class TestSuite:
    def test_every_requirement_is_in_it(self) -> None:
        kinds = {kind for kind in Requirements.__subclasses__() if kind is not StoreConformance}
        assert kinds == set(StoreConformance.__bases__)

    def test_no_requirement_hides_another(self) -> None:
        names = [
            name
            for kind in StoreConformance.__bases__
            for name in vars(kind)
            if not name.startswith("__")
        ]
        assert len(names) == len(set(names))
