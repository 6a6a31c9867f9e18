"""Every name of the reference has a home here, and every home is there."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAP = ROOT / "docs" / "reference-map.md"
SHARED = Path(os.environ.get("AGENTSESSION_SHARED", ROOT.parent / "shared"))
NAMES = 225
"""How many names the reference package exports."""


def rows() -> list[tuple[str, str, str]]:
    found = []
    for line in MAP.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            found.append((cells[0].strip("`"), cells[1].strip("`"), cells[2]))
    return found


def resolve(home: str) -> object:
    package, *names = home.split(".")
    found: object = importlib.import_module(package)
    for position, name in enumerate(names):
        if hasattr(found, name):
            found = getattr(found, name)
        elif is_documented_attribute(found, name):
            return found
        else:
            found = importlib.import_module(".".join([package, *names[: position + 1]]))
    return found


def is_documented_attribute(owner: object, name: str) -> bool:
    """Instance attributes are found where a class, or a base of it, says that it has them."""
    bases = owner.__mro__ if isinstance(owner, type) else ()
    documented = ((base.__doc__ or "").partition("Attributes:")[2] for base in bases)
    return any(re.search(rf"^\s*{name}\b.*:", text, re.MULTILINE) for text in documented)


@pytest.mark.parametrize(("name", "home", "how"), rows(), ids=lambda value: value[:40])
def test_every_home_is_there(name: str, home: str, how: str) -> None:
    if home == "not needed in Python":
        assert how.startswith("because ")
    else:
        assert resolve(home) is not None


def test_the_table_is_whole_and_sorted() -> None:
    names = [name for name, _, _ in rows()]
    assert len(names) == NAMES
    assert names == sorted(set(names))
    assert all(home for _, home, _ in rows())


@pytest.mark.skipif(
    not (SHARED / "reference" / "symbols.txt").exists(),
    reason="no reference lists beside the clone",
)
def test_the_table_names_what_the_reference_exports() -> None:
    lines = (SHARED / "reference" / "symbols.txt").read_text(encoding="utf-8").splitlines()
    exported = [
        name
        for package, _, name in (line.partition("\t") for line in lines)
        if package == "agentsession"
    ]
    assert [name for name, _, _ in rows()] == exported
