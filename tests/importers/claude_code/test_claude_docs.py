"""The codes of Claude Code and their page say the same."""

from __future__ import annotations

import re
from pathlib import Path

from agentsession.importers import claude_code
from agentsession.importers.base import UNKNOWN_CONTENT
from agentsession.importers.claude_code.codes import CODES
from agentsession.importers.numbers import ODD
from agentsession.importers.unknown import SENTENCES
from agentsession.importers.unread import SENTENCES as FILES

DOCS = Path(__file__).parents[3] / "docs" / "formats"


def test_every_code_is_explained_once() -> None:
    page = (DOCS / "claude-code-codes.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert sorted(explained) == sorted(CODES)


def test_every_code_is_used() -> None:
    package = Path(claude_code.__file__).parent
    text = "".join(
        path.read_text(encoding="utf-8") for path in package.glob("*.py") if path.name != "codes.py"
    ).replace("find(ODD,", f'find("{ODD}",')
    own = CODES.keys() - SENTENCES.keys() - FILES.keys() - {UNKNOWN_CONTENT}
    assert [code for code in own if f'"{code}"' not in text] == []


def test_sentences_are_lower_case_and_short() -> None:
    for sentence in CODES.values():
        assert sentence[0].islower()
        assert not sentence.endswith(".")
