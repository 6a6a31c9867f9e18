"""The power fails at any moment: each sync policy keeps what it promised. Spec: stores 4.5."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agentsession.stores import SyncPolicy, files

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "powercut.py"

pytestmark = [
    pytest.mark.skipif(not SCRIPT.exists(), reason="the benchmarks are not here"),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc"),
]


@pytest.fixture(scope="module")
def powercut() -> ModuleType:
    spec = importlib.util.spec_from_file_location("powercut", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["powercut"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("policy", list(SyncPolicy))
def test_files(powercut: ModuleType, tmp_path: Path, policy: SyncPolicy) -> None:
    assert powercut.run_files(tmp_path, policy, seed=1, count=4, share=0.06) > 20


@pytest.mark.parametrize("full_sync", [True, False])
def test_sqlite(powercut: ModuleType, tmp_path: Path, full_sync: bool) -> None:
    n = powercut.run_sqlite(tmp_path, full_sync=full_sync, count=3, share=0.0002, seed=1)
    assert n >= 6


@pytest.mark.parametrize("forgotten", ["sync", "sync_directory"])
def test_a_sync_that_is_forgotten_is_found(
    powercut: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    monkeypatch.setattr(files, forgotten, lambda _: None)
    with pytest.raises(powercut.Broken):
        powercut.run_files(tmp_path, SyncPolicy.EVERY_APPEND, seed=1, count=4, share=1.0)
