"""Attachments: texts that the program put into a request, as far as the files have them.

Spec: claude-code 2.2, 5.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentsession import text as json_text
from agentsession.importers.claude_code.blocks import Block, content_blocks
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.rules import UNKNOWN, Rules

_TAGGED: Final = re.compile(r"(?s)\s*<system-reminder>\n?(.*?)\n?</system-reminder>\s*")

SNAPSHOT: Final = "prompt_snapshot"
QUEUED: Final = "queued_command"
UNSENT: Final = frozenset(
    {SNAPSHOT, "command_permissions", "deferred_tools_record", "ultrathink_effort"}
)
"""Attachments that are no text on the wire."""

_NEW: Final = {
    "task_reminder": (2, 1, 5),
    "skill_listing": (2, 1, 23),
    "deferred_tools_delta": (2, 1, 70),
    "mcp_instructions_delta": (2, 1, 70),
    "agent_listing_delta": (2, 1, 86),
    "total_tokens_reminder": (2, 1, 176),
    "environment": (2, 1, 252),
    "model": (2, 1, 252),
    "date": (2, 1, 252),
    "session_context": (2, 1, 252),
    "instructions": (2, 1, 252),
    "remote_session_change": (2, 1, 252),
}
"""From which release on a kind of attachment is sent: older ones pass it over."""

MEDIA: Final = frozenset({"image", "document"})


@dataclass(frozen=True, slots=True)
class Injected:
    """What an attachment put into a request.

    Attributes:
        blocks: its content blocks.
        role: ``user``, or ``system`` for a message of its own.
        derived: the file has the ingredients; the words around them are one release's.
    """

    blocks: tuple[Block, ...]
    role: str = "user"
    derived: bool = False


def is_whole_snapshot(value: Mapping[str, Any]) -> bool:
    """Return whether a prompt snapshot has all of a request's prompt, and its tools."""
    return "cliPrefix" in value


def kind_of(record: Record) -> str:
    """Return the type of a record's attachment; empty when it has none."""
    value = record.value("attachment")
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def is_known(kind: str, rules: Rules) -> bool:
    """Return whether a release sends attachments of a kind that another one wrote."""
    return rules.version >= _NEW.get(kind, UNKNOWN)


def injected(record: Record) -> Injected | None:
    """Return what an attachment put into a request; ``None`` when the file does not say."""
    value = record.value("attachment")
    if not isinstance(value, dict):
        return None
    rendered = record.value("rendered")
    if isinstance(rendered, list):
        blocks = [
            block
            for part in rendered
            if isinstance(part, dict)
            for block in content_blocks(part.get("content"))
        ]
        role = "system" if record.text("renderedRole") == "system" else "user"
        if any(block.get("type") != "text" for block in blocks):
            role = "user"
        return Injected(tuple(blocks), role) if blocks else None
    blocks = [_block(part) for part in _derived(value)]
    return Injected(tuple(blocks), derived=True) if blocks else None


def bare(block: Block) -> str:
    """Return a rendered text without its tags, as models with system turns are sent it."""
    words = str(block.get("text", ""))
    found = _TAGGED.fullmatch(words)
    return found[1] if found else words


def tagged(block: Block) -> Block:
    """Return a text as the program sends what it says by itself."""
    words = block.get("text")
    return {**block, "text": _reminder(words)} if isinstance(words, str) else block


def _block(part: str | Block) -> Block:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def _reminder(words: str) -> str:
    return f"<system-reminder>\n{words}\n</system-reminder>"


def _derived(value: dict[str, Any]) -> Iterator[str | Block]:
    kind = value.get("type")
    if kind == QUEUED:
        # The user said it; the words around it are reported, not entered.
        yield from content_blocks(value.get("prompt"))
    elif kind == "file":
        yield from _file(value)
    else:
        words = _HOOKS[kind](value) if isinstance(kind, str) and kind in _HOOKS else ""
        if words:
            yield _reminder(words)


def _success(value: dict[str, Any]) -> str:
    content = value.get("content")
    told = isinstance(content, str) and content
    return f"{value.get('hookName', '')} hook success: {content}" if told else ""


def _additional(value: dict[str, Any]) -> str:
    content = value.get("content")
    parts = content if isinstance(content, list) else [content]
    words = "\n".join(part for part in parts if isinstance(part, str))
    return f"{value.get('hookName', '')} hook additional context: {words}" if words else ""


def _blocking(value: dict[str, Any]) -> str:
    error = value.get("blockingError")
    told = error.get("blockingError") if isinstance(error, dict) else error
    name = value.get("hookName", "")
    return f"{name} hook blocking error: {told}" if isinstance(told, str) else ""


def _memory(value: dict[str, Any]) -> str:
    content = value.get("content")
    if not isinstance(content, dict) or not isinstance(content.get("content"), str):
        return ""
    path = content.get("path", value.get("path", ""))
    return f"Contents of {path}:\n\n{content['content']}"


def _edited(value: dict[str, Any]) -> str:
    snippet, name = value.get("snippet"), value.get("filename", "")
    if not isinstance(snippet, str):
        return ""
    return f"Note: {name} was modified. Here are the relevant changes:\n{snippet}"


_HOOKS: Final = {
    "hook_success": _success,
    "hook_additional_context": _additional,
    "hook_blocking_error": _blocking,
    "nested_memory": _memory,
    "edited_text_file": _edited,
}


def _file(value: dict[str, Any]) -> Iterator[str | Block]:
    content = value.get("content")
    if not isinstance(content, dict) or not isinstance(content.get("file"), dict):
        return
    file = content["file"]
    path = file.get("filePath", value.get("filename", ""))
    called = json_text.encode({"file_path": path}).decode("utf-8", "replace")
    yield _reminder(f"Called the Read tool with the following input: {called}")
    if content.get("type") == "image" and isinstance(file.get("base64"), str):
        source = {"type": "base64", "media_type": file.get("type", ""), "data": file["base64"]}
        yield {"type": "image", "source": source}
        return
    words = file.get("content")
    if isinstance(words, str):
        start = file.get("startLine")
        first = start if isinstance(start, int) else 1
        lines = enumerate(words.split("\n"), first)
        numbered = "\n".join(f"{number}\t{line}" for number, line in lines)
        yield _reminder(f"Result of calling the Read tool:\n{numbered}")
