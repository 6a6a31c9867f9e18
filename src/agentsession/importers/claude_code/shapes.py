"""Shapes: the system prompt and the tools of requests, as settings say them.

Spec: format 4.3, claude-code 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def system_texts(system: object) -> list[str]:
    """Return the texts of a system prompt, which may be one string."""
    if isinstance(system, str):
        return [system]
    if not isinstance(system, list):
        return []
    return [b["text"] for b in system if isinstance(b, dict) and isinstance(b.get("text"), str)]


def tools_in(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools that a request, or what tells of one, names; what is none is passed over."""
    tools = told.get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


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
