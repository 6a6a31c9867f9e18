"""What was said, as the GenAI conventions spell messages. Used only where content is asked for.

The bytes of media never leave: a part that is no text is named by its type, and by its
address when it has one on the web.

Spec: decision F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from agentsession import text as json_text
from agentsession.calls import CALL_TYPE, OUTPUT_TYPE
from agentsession.entries import ResponseEntry
from agentsession.items import Item
from agentsession.otel import spelled

_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})

Redact = Callable[[str], str]


def instructions(text: str, redact: Redact) -> str:
    """Return instructions as ``gen_ai.system_instructions`` holds them."""
    return _encoded([_text_part(text)], redact)


def input_messages(items: Iterable[Item], redact: Redact) -> str:
    """Return items as ``gen_ai.input.messages`` holds them, a message each."""
    messages = [{"role": _role(item), "parts": _parts(item, redact)} for item in items]
    return _encoded(messages, redact)


def output_messages(items: Sequence[Item], response: ResponseEntry, redact: Redact) -> str:
    """Return the items of a response as ``gen_ai.output.messages`` holds them, one message."""
    parts = [part for item in items for part in _parts(item, redact)]
    message = {"role": "assistant", "parts": parts, "finish_reason": _finish(parts, response)}
    return _encoded([message], redact)


def arguments(text: str, redact: Redact) -> str:
    """Return the arguments of a call as ``gen_ai.tool.call.arguments`` holds them: as spelled."""
    return spelled.redacted(text, redact)


def result(item: Item, redact: Redact) -> str:
    """Return the output of a call as ``gen_ai.tool.call.result`` holds it."""
    value = _result(item)
    return redact(value) if isinstance(value, str) else _encoded(value, redact)


def _encoded(value: Any, redact: Redact) -> str:
    # Texts are redacted before they are escaped: an escape could hide what to look for.
    return json_text.encode(_redacted(value, redact)).decode("utf-8", "replace")


def _redacted(value: Any, redact: Redact) -> Any:
    """A value built here; JSON text spliced into it has been redacted already."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(element, redact) for element in value]
    if isinstance(value, dict):
        return {name: _redacted(member, redact) for name, member in value.items()}
    return value


def _role(item: Item) -> str:
    if item.type == OUTPUT_TYPE:
        return "tool"
    return item.role or ("user" if item.type == "message" else "assistant")


def _parts(item: Item, redact: Redact) -> list[dict[str, Any]]:
    if item.type == CALL_TYPE:
        spliced = _spliced(item.arguments, redact)
        return [{"type": "tool_call", "id": item.call_id, "name": item.name, "arguments": spliced}]
    if item.type == OUTPUT_TYPE:
        answered = {"id": item.call_id, "response": _result(item)}
        return [{"type": "tool_call_response", **answered}]
    if item.type == "reasoning":
        return [{"type": "reasoning", "content": item.text}]
    if item.type == "message":
        return _content_parts(item.get("content"))
    return [{"type": item.type or "unknown"}]


def _content_parts(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [_text_part(content)]
    if not isinstance(content, list):
        return []
    return [_part(part) for part in content if isinstance(part, Mapping)]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    found = part.get("text", part.get("refusal"))
    if isinstance(found, str) and (kind in _TEXTS or kind == "refusal"):
        return _text_part(found)
    named = {"type": kind if isinstance(kind, str) else "unknown"}
    address = next((part.get(name) for name in ("image_url", "file_url") if part.get(name)), None)
    if isinstance(address, str) and address.startswith(("http://", "https://")):
        return {"type": "uri", "modality": named["type"].removeprefix("input_"), "uri": address}
    return named


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _result(item: Item) -> Any:
    output = item.output
    return output if isinstance(output, str) else _content_parts(output)


def _spliced(arguments: str, redact: Redact) -> Raw:
    """The arguments as a value when they are a JSON object, else as a text."""
    told = spelled.redacted(arguments, redact)
    shown = told if spelled.can_be_part(told) else spelled.string(told)
    return Raw(shown.encode("utf-8", "replace"))


def _finish(parts: Sequence[Mapping[str, Any]], response: ResponseEntry) -> str:
    if response.error is not None:
        return "error"
    if response.incomplete is not None:
        reason = response.incomplete.get("reason")
        return reason if isinstance(reason, str) and reason else "length"
    called = any(part.get("type") == "tool_call" for part in parts)
    return "tool_call" if called else "stop"
