"""The codes and their page say the same."""

from __future__ import annotations

import re
from pathlib import Path

from agentsession.importers.opencode import convert

DOCS = Path(__file__).parents[3] / "docs" / "formats"


def test_every_code_is_explained_once() -> None:
    page = (DOCS / "opencode-codes.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert sorted(explained) == sorted(convert.CODES)
    assert len(set(explained)) == len(explained)


def test_every_code_is_used() -> None:
    package = Path(convert.__file__).parent
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in [*package.glob("*.py"), package.parent / "importer.py"]
        if path.name != "codes.py" and path.exists()
    )
    assert [code for code in convert.CODES if f'"{code}"' not in text] == []


def test_sentences_are_lower_case_and_short() -> None:
    for sentence in convert.CODES.values():
        assert sentence[0].islower()
        assert not sentence.endswith(".")
