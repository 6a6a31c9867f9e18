"""Every name of the reference's export package has a home here, and every home is there."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from agentsession import export

ROOT = Path(__file__).resolve().parents[2]
MAP = ROOT / "docs" / "reference-map-export.md"
SHARED = Path(os.environ.get("AGENTSESSION_SHARED") or ROOT.parent / "shared")


def rows() -> list[tuple[str, str]]:
    found = []
    for line in MAP.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            found.append((cells[0].strip("`"), cells[1].strip("`")))
    return found


@pytest.mark.parametrize(("name", "home"), rows())
def test_every_home_is_there(name: str, home: str) -> None:
    del name
    found: object = importlib.import_module("agentsession.export")
    for part in home.removeprefix("agentsession.export.").split("."):
        attributes = getattr(found, "__doc__", "") or ""
        documented = part == "change" and "change:" in attributes
        found = found if documented else getattr(found, part)
    assert found is not None


def test_the_table_is_sorted_and_whole() -> None:
    names = [name for name, _ in rows()]
    assert names == sorted(set(names))
    assert len(names) == 36
    symbols = SHARED / "reference" / "symbols.txt"
    if symbols.exists():
        lines = (line.split("\t") for line in symbols.read_text("utf-8").splitlines())
        assert names == [line[1] for line in lines if line[0] == "export"]


def test_public_names_are_sorted_and_there() -> None:
    names = export.__all__
    assert sorted(names, key=lambda n: (not n.isupper(), not n[0].isupper(), n)) == list(names)
    assert all(hasattr(export, name) for name in names)
