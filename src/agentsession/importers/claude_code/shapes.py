"""Shapes: the system prompt and the tools of requests, as settings say them.

Spec: format 4.3, claude-code 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentsession.canonical import sha256
from agentsession.parts import InstructionsPart


def system_texts(system: object) -> list[str]:
    """Return the texts of a system prompt, which may be one string."""
    if isinstance(system, str):
        return [system]
    if not isinstance(system, list):
        return []
    return [b["text"] for b in system if isinstance(b, dict) and isinstance(b.get("text"), str)]


def prompt_parts(texts: Sequence[str], in_force: Sequence[str]) -> list[InstructionsPart]:
    """Return the system prompt's parts; one that stays is named by its hash."""
    if list(texts) == list(in_force):
        return []
    parts = []
    for place, words in enumerate(texts):
        name = f"system.{place}"
        if place < len(in_force) and in_force[place] == words and words:
            parts.append(InstructionsPart(name, hash=sha256(words.encode("utf-8", "replace"))))
        else:
            parts.append(InstructionsPart(name, words))
    return parts


def tool_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as the payload has it; what it does not know of stays as it is."""
    schema = tool.get("input_schema", tool.get("schema"))
    rest = {
        name: value
        for name, value in tool.items()
        if name not in ("name", "description", "input_schema", "schema", "type")
    }
    if schema is None:
        return {**tool, "type": tool.get("type") or "function", "name": tool.get("name", "")}
    return {
        "type": "function",
        "name": tool.get("name", ""),
        "description": tool.get("description", ""),
        "parameters": schema,
        **rest,
    }
