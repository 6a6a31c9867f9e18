"""The codes of each agent and their page say the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest

from agentsession import importers
from agentsession.importers.base import UNKNOWN_CONTENT
from agentsession.importers.numbers import ODD
from agentsession.importers.unknown import SENTENCES
from agentsession.importers.unread import NOTES
from agentsession.importers.unread import SENTENCES as FILES

DOCS = Path(__file__).parents[2] / "docs" / "formats"
PLACES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "opencode": "opencode.convert",
    "pi": "pi",
}
SHARED = {*SENTENCES, *FILES, *NOTES, UNKNOWN_CONTENT}
"""Codes that several importers give in one place."""


def codes(agent: str) -> Mapping[str, str]:
    found: Mapping[str, str] = import_module(f"agentsession.importers.{PLACES[agent]}.codes").CODES
    return found


def sources(agent: str) -> str:
    package = Path(importers.__file__).parent / PLACES[agent].partition(".")[0]
    paths = [path for path in package.rglob("*.py") if path.name != "codes.py"]
    assert paths
    return "".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("agent", PLACES)
def test_every_code_is_explained_once(agent: str) -> None:
    page = (DOCS / f"{agent}-codes.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert sorted(explained) == sorted(codes(agent))


@pytest.mark.parametrize("agent", PLACES)
def test_every_code_is_used(agent: str) -> None:
    text = sources(agent).replace("find(ODD,", f'find("{ODD}",')
    own = codes(agent).keys() - SHARED
    assert [code for code in own if f'"{code}"' not in text] == []


@pytest.mark.parametrize("agent", PLACES)
def test_sentences_are_lower_case_and_short(agent: str) -> None:
    for sentence in codes(agent).values():
        assert sentence[0].islower() or sentence[0].isdigit()
        assert not sentence.endswith(".")
