"""Showing: a thread whose files hold nothing but what a user interface showed.

Spec: codex 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from agentsession import text
from agentsession.importers.codex.lines import Line, mapping, sequence, string
from agentsession.importers.codex.units import unit_of

if TYPE_CHECKING:
    from agentsession.importers.codex.reading import Reading

DISPLAY: Final = frozenset(
    {
        # Events.
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "context_compacted",
        "entered_review_mode",
        "exited_review_mode",
        "error",
        "stream_error",
        "warning",
        "plan_update",
        "turn_diff",
        "background_event",
        "exec_command_begin",
        "exec_command_end",
        "patch_apply_begin",
        "patch_apply_end",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "web_search_begin",
        "web_search_end",
        "view_image_tool_call",
        "image_generation_end",
        "session_configured",
        "shutdown_complete",
        "thread_goal_updated",
        "collab_agent_spawn_begin",
        "collab_agent_spawn_end",
        "collab_agent_interaction_begin",
        "collab_agent_interaction_end",
        "collab_waiting_begin",
        "collab_waiting_end",
        "collab_close_begin",
        "collab_close_end",
        "collab_resume_begin",
        "collab_resume_end",
        "guardian_assessment",
        "model_reroute",
        "item_started",
        # Items.
        "UserMessage",
        "AgentMessage",
        "Reasoning",
        "Plan",
        "CommandExecution",
        "FileChange",
        "McpToolCall",
        "DynamicToolCall",
        "WebSearch",
        "ImageView",
        "ImageGeneration",
        "CollabAgentToolCall",
        "SubAgentActivity",
        "ContextCompaction",
        "EnteredReviewMode",
        "ExitedReviewMode",
        "HookPrompt",
        "Sleep",
    }
)
"""The events, and the items of completed ones, that show what others hold."""


class Showing:
    """Reads display items in place of a model's items.

    Args:
        reading: the reading of the thread.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._typed = False

    def item(self, line: Line, number: int) -> None:
        """Take a completed item."""
        item = mapping(line.payload.get("item"))
        made = _item(item)
        self._typed = self._typed or made is not None
        if made is not None:
            self._take(made, line, number)
            return
        reading = self._reading
        known = string(item.get("type")) in DISPLAY
        if not known:
            reading.unknown.size += line.size
            reading.unknown.name("unknown-item", string(item.get("type")), line.place)
        reading.calling.flush()
        name = string(item.get("id"))
        entry_id = reading.writer.note({"item": item}, name, "shown", line.time)
        reading.accounts.entry(number, entry_id, code="display-only" if known else "unknown-item")

    def event(self, line: Line, number: int) -> bool:
        """Take an event of a release that had no completed items; return whether it is one."""
        if self._typed:
            return False
        words = string(line.payload.get("message"))
        made: dict[str, Any] | None = None
        if line.name == "user_message" and words:
            made = _message("user", [words])
        elif line.name == "agent_message" and words:
            made = _message("assistant", [words])
        elif line.name == "agent_reasoning" and string(line.payload.get("text")):
            made = _reasoning([string(line.payload.get("text"))])
        if made is None:
            return False
        self._take(made, line, number)
        return True

    def _take(self, item: dict[str, Any], line: Line, number: int) -> None:
        unit = unit_of(item, text.encode(item))
        self._reading.accounts.find("display-only", line.place)
        self._reading.take(unit, number, line.time)


def _item(item: dict[str, Any]) -> dict[str, Any] | None:
    kind, name = string(item.get("type")), string(item.get("id"))
    named = {"id": name} if name else {}
    texts = list(_texts(item.get("content")))
    if kind == "UserMessage" and texts:
        return {**_message("user", texts), **named}
    if kind == "AgentMessage" and texts:
        return {**_message("assistant", texts), **named}
    if kind == "Reasoning":
        summary = [part for part in sequence(item.get("summary_text")) if isinstance(part, str)]
        return {**_reasoning(summary), **named}
    return None


def _texts(content: object) -> Iterator[str]:
    for part in sequence(content):
        words = mapping(part).get("text")
        if isinstance(words, str):
            yield words


def _message(role: str, texts: list[str]) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": words} for words in texts]
    return {"type": "message", "role": role, "content": content}


def _reasoning(texts: list[str]) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": words} for words in texts],
    }
