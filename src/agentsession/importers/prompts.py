"""Prompts: the parts of a system prompt that an agent sends as a list of texts.

Spec: format 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsession.canonical import sha256
from agentsession.parts import InstructionsPart


def prompt_parts(texts: Sequence[str], in_force: Sequence[str]) -> list[InstructionsPart]:
    """Return a system prompt's parts; one that stays is named by its hash, none for no change.

    Args:
        texts: the system prompt.
        in_force: the one before.
    """
    if list(texts) == list(in_force):
        return []
    return [
        part_of(
            f"system.{place}",
            words,
            stays=bool(words) and place < len(in_force) and in_force[place] == words,
        )
        for place, words in enumerate(texts)
    ]


def part_of(name: str, words: str, *, stays: bool) -> InstructionsPart:
    """Return a part of a system prompt: its text, or the hash of a text that stays."""
    if stays:
        return InstructionsPart(name, hash=sha256(words.encode("utf-8", "replace")))
    return InstructionsPart(name, words)
