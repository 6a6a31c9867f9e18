"""Codex on the chat wire: what each item of a request becomes there.

Spec: codex 8.1; what no page says was read off requests that releases of 0.45 to 0.90 sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsession.wire import media

Items = list[dict[str, Any]]


def chat_of(items: Sequence[dict[str, Any]], *, grouped: bool) -> Items:
    """Return the chat messages of a request's items; none of what that wire does not carry.

    Args:
        items: the items, as they would go to the Responses wire.
        grouped: calls that follow one another are one message.
    """
    thoughts = _thoughts(items)
    sent: Items = []
    said = None
    for at, item in enumerate(items):
        message = _message(item)
        if message is None:
            continue
        content = message.get("content")
        if message["role"] == "assistant" and isinstance(content, str):
            if content == said:
                # The same text again is taken for a copy of what was streamed.
                continue
            said = content
        thought = thoughts.get(at)
        before = sent[-1] if sent else {}
        if grouped and "tool_calls" in message and "tool_calls" in before:
            before["tool_calls"] += message["tool_calls"]
            if thought is not None:
                more = [before["reasoning"], thought] if "reasoning" in before else [thought]
                before["reasoning"] = "\n".join(more)
            continue
        if thought is not None:
            message["reasoning"] = thought
        sent.append(message)
    return sent


def _thoughts(items: Sequence[dict[str, Any]]) -> dict[int, str]:
    """By the place of a model's item the raw reasoning that is sent with it.

    That is what came since the user's last message, as long as the model has said something
    after it: with the text it follows, or else with the text or call it stands before.
    """
    spoken = [at for at, item in enumerate(items) if _message(item) is not None]
    users = [at for at in spoken if _is(items[at], "user")]
    last = users[-1] if users else -1
    found: dict[int, str] = {}
    if not spoken or spoken[-1] == last:
        return found
    for at, item in enumerate(items):
        words = _raw(item)
        if at <= last or not words.strip():
            continue
        if at > 0 and _is(items[at - 1], "assistant"):
            anchor = at - 1
        elif at + 1 < len(items) and _is_made(items[at + 1]):
            anchor = at + 1
        else:
            continue
        found[anchor] = found.get(anchor, "") + words
    return found


def _raw(item: dict[str, Any]) -> str:
    content = item.get("content")
    if item.get("type") != "reasoning" or not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(words for words in texts if isinstance(words, str))


def _is(item: dict[str, Any], role: str) -> bool:
    return item.get("type") == "message" and item.get("role") == role


def _is_made(item: dict[str, Any]) -> bool:
    return _is(item, "assistant") or item.get("type") in {"function_call", "local_shell_call"}


def _message(item: dict[str, Any]) -> dict[str, Any] | None:
    kind = item.get("type")
    if kind == "message":
        return {"role": item.get("role"), "content": _content(item.get("content"))}
    if kind in {"function_call", "custom_tool_call"}:
        return _call(item)
    if isinstance(kind, str) and kind.endswith("_output"):
        output = item.get("output")
        content = output if isinstance(output, str) else _content(output)
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
    return None


def _call(item: dict[str, Any]) -> dict[str, Any]:
    name = item.get("name")
    call = {"type": "function", "function": {"name": name, "arguments": item.get("arguments")}}
    if item.get("type") == "custom_tool_call":
        call = {"type": "custom", "custom": {"name": name, "input": item.get("input")}}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": item.get("call_id"), **call}],
    }


def _content(content: object) -> Any:
    if not isinstance(content, list):
        return content
    parts = [part for part in content if isinstance(part, dict)]
    if all(isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts)
    return [
        {"type": "text", "text": part["text"]}
        if isinstance(part.get("text"), str)
        else media.chat_part(part)
        for part in parts
    ]
