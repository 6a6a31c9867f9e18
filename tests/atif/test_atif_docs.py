"""What the page and the docstrings say is so."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import agentsession.atif

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "atif.md").read_text("utf-8")
SOURCES = Path(agentsession.atif.__file__).parent


def test_examples_run() -> None:
    assert doctest.testmod(agentsession.atif).failed == 0
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/atif.md", "exec"), {})


def test_every_rule_is_documented_and_every_documented_rule_exists() -> None:
    first_cells = re.findall(r"^\| (`[^|]*) \|", PAGE, re.MULTILINE)
    documented = {
        name
        for cell in first_cells
        for name in re.findall(r"`([a-z0-9-]+)`", cell)
        if cell.count("`") % 2 == 0
    } - {"unknown", "nulls", "missing"}
    written = "\n".join(path.read_text("utf-8") for path in SOURCES.glob("*.py"))
    known = set(re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)*)"', written))
    assert documented <= known
    codes = set(re.findall(r'(?:report|problem|expected)\(\s*[^"]*?"([a-z]+-[a-z-]+)"', written))
    assert codes
    assert codes <= documented


def test_public_names_are_documented() -> None:
    for name in agentsession.atif.__all__:
        assert getattr(agentsession.atif, name) is not None
    classes = [n for n in agentsession.atif.__all__ if n[0].isupper() and not n.isupper()]
    assert all(f"`{name}`" in PAGE for name in classes)
