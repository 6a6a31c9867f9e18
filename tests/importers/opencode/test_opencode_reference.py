"""Every name of the reference has a home, and everything public is listed and there."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsession.importers import opencode as oc

MAP = Path(__file__).parents[3] / "docs" / "reference-map-opencode.md"
PACKAGE = "agentsession.importers.opencode."
NAMES = 139
"""How many names the reference package exports."""


def rows() -> list[tuple[str, str]]:
    found = []
    for line in MAP.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            name, home, _ = (cell.strip().strip("`") for cell in line.strip("|").split("|"))
            found.append((name, home))
    return found


@pytest.mark.parametrize(("name", "home"), rows(), ids=[name for name, _ in rows()])
def test_every_home_is_there(name: str, home: str) -> None:
    assert name
    assert home.startswith(PACKAGE)
    found: object = oc
    first, *rest = home.removeprefix(PACKAGE).split(".")
    assert first in oc.__all__
    for part in (first, *rest):
        found = getattr(found, part)
    assert found is not None


def test_the_table_is_whole_and_sorted() -> None:
    names = [name for name, _ in rows()]
    assert len(names) == NAMES
    assert names == sorted(set(names))


def test_everything_public_is_there() -> None:
    assert list(oc.__all__) == sorted(set(oc.__all__), key=lambda n: (not n.isupper(), n))
    for name in oc.__all__:
        assert getattr(oc, name) is not None
        assert getattr(oc, name).__doc__
