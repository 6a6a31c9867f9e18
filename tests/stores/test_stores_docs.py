"""``docs/stores.md``: its examples run, and its tables say what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentsession.stores import SyncPolicy
from agentsession.stores.sqlite_schema import COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_a_store_of_your_own_runs_the_suite(tmp_path: Path) -> None:
    [example] = [block for block in BLOCKS if "StoreConformance" in block]
    name = "test_my_store.py"
    assert example.startswith(f"# {name}\n")
    (tmp_path / name).write_text(example, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"[0-9]{2} passed", done.stdout)


@pytest.mark.parametrize("block", [b for b in BLOCKS if "StoreConformance" not in b])
def test_examples(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    from agentsession.stores import SQLiteStore

    if "copies" in block:
        SQLiteStore("sessions.db").close()
    exec(compile(block, "docs/stores.md", "exec"), {})


def test_tables_name_the_columns() -> None:
    for table, columns in COLUMNS.items():
        row = re.search(rf"^\| `{table}` \| (.*) \|$", PAGE, re.MULTILINE)
        assert row is not None
        assert re.findall(r"`([^`]+)`", row[1]) == list(columns)


def test_every_policy_has_its_promise() -> None:
    for policy in SyncPolicy:
        assert f"| files | `SyncPolicy.{policy.name}`" in PAGE
