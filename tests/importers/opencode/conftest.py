from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[2] / "data" / "opencode"


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a recorded data directory and gives its path."""

    def copy(name: str) -> Path:
        target = tmp_path / name
        shutil.copytree(DATA / name, target)
        return target

    return copy
