"""What the tests of all importers use. The helper modules beside it are found by way of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentsession.stores import JSONLStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JSONLStore]:
    """A new store, and empty."""
    with JSONLStore(tmp_path / "store") as opened:
        yield opened
