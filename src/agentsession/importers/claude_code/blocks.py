"""Content blocks of Anthropic messages as items, and nothing of a block lost.

Spec: claude-code 2.1, 5.1; decision D1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession import text as json_text
from agentsession.importers.claude_code.names import PROVIDER
from agentsession.wire import Origin
from agentsession.wire.profiles_claude_code import (
    EXTENSION,
    NATIVE,
    REDACTED,
    SIGNATURE,
    blocks_of,
)

Block = dict[str, Any]

STORAGE_ONLY: Final = frozenset({"caller", "cache_control"})
"""Members of blocks that storage adds, or that mark a request for a cache."""


_PLAIN: Final[dict[Any, set[str]]] = {
    "text": {"type", "text"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input"},
    "tool_result": {"type", "tool_use_id", "content"},
}
"""The members of blocks that their items say in full."""


@dataclass(frozen=True, slots=True)
class Made:
    """An item made of one block, or of several of one message.

    Attributes:
        item: the item.
        origin: where it comes from, as plain values.
        blocks: the blocks it stands for, as the wire has them.
        kind: the type of its first block.
        call_id: of a call or its result, the call's id; empty for others.
    """

    item: dict[str, Any]
    origin: dict[str, Any]
    blocks: tuple[Block, ...]
    kind: str
    call_id: str = ""


def content_blocks(content: object) -> list[Block]:
    """Return a message's content as blocks, without members that only storage has."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    found = []
    for block in content:
        if isinstance(block, str):
            found.append({"type": "text", "text": block})
        elif isinstance(block, dict):
            bare = {name: value for name, value in block.items() if name not in STORAGE_ONLY}
            found.append(bare)
    return found


def user_items(name: str, blocks: Sequence[Block], role: str = "user") -> Iterator[Made]:
    """Yield the items of a user's message: its results first, then what was said.

    Args:
        name: the id of the record; items of one record get it with a number.
        blocks: its blocks.
        role: ``user``, or ``system`` for a message of the program's own.
    """
    said = [block for block in blocks if block.get("type") != "tool_result"]
    place = 0
    for block in blocks:
        if block.get("type") == "tool_result":
            yield _result(_numbered(name, place), block)
            place += 1
    if said:
        yield _said(_numbered(name, place), said, role)


def _numbered(name: str, place: int) -> str:
    return f"{name}.{place}" if place else name


def _said(name: str, blocks: Sequence[Block], role: str) -> Made:
    content = [_part(block) for block in blocks]
    item = {"type": "message", "id": name, "role": role, "content": content}
    return _checked(item, Origin(), tuple(blocks))


def _part(block: Block) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "input_text", "text": block["text"]}
    if kind in ("image", "document"):
        return _media(block) or block
    return block


def _media(block: Block) -> dict[str, Any] | None:
    source = block.get("source")
    if not isinstance(source, dict):
        return None
    url = source.get("url")
    mime, data = source.get("media_type"), source.get("data")
    if source.get("type") == "base64" and isinstance(mime, str) and isinstance(data, str):
        url = f"data:{mime};base64,{data}"
    if not isinstance(url, str):
        return None
    if block.get("type") == "image":
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    title = block.get("title")
    named = {"filename": title} if isinstance(title, str) else {}
    member = "file_data" if url.startswith("data:") else "file_url"
    return {"type": "input_file", **named, member: url}


def _result(name: str, block: Block) -> Made:
    call_id = block.get("tool_use_id")
    call_id = call_id if isinstance(call_id, str) else ""
    content = block.get("content")
    output: Any = ""
    if isinstance(content, str):
        output = content
    elif isinstance(content, list):
        output = [_part(part) for part in content if isinstance(part, dict)]
    item = {"type": "function_call_output", "id": name, "call_id": call_id, "output": output}
    origin = Origin(error=block.get("is_error") is True)
    return _checked(item, origin, (block,), call_id)


def assistant_item(name: str, block: Block, message: str, model: str) -> Made:
    """Return the item of one block of an answer.

    Args:
        name: the id of its record.
        block: the block.
        message: the id of the answer, which its items have in common.
        model: the model that answered.
    """
    kind = block.get("type")
    told: dict[str, Any] = {"message": message, "provider": PROVIDER, "model": model}
    if not model:
        told.pop("provider")
    encrypted, call_id = "", ""
    item: dict[str, Any]
    if kind == "text" and isinstance(block.get("text"), str):
        said = {"type": "output_text", "text": block["text"], "annotations": []}
        item = {"type": "message", "id": name, "role": "assistant", "content": [said]}
    elif kind == "thinking":
        words, secret = block.get("thinking"), block.get("signature")
        summary = [{"type": "summary_text", "text": words}] if isinstance(words, str) else []
        item = {"type": "reasoning", "id": name, "summary": summary}
        if isinstance(secret, str) and secret:
            item["encrypted_content"] = secret
            encrypted = f"{NATIVE}.{SIGNATURE}"
    elif kind == "redacted_thinking" and isinstance(block.get("data"), str):
        item = {"type": "reasoning", "id": name, "summary": []}
        item["encrypted_content"] = block["data"]
        encrypted = f"{NATIVE}.{REDACTED}"
    elif kind == "tool_use" and isinstance(block.get("id"), str):
        call_id = block["id"]
        tool = block.get("name")
        item = {
            "type": "function_call",
            "id": name,
            "call_id": call_id,
            "name": tool if isinstance(tool, str) else "",
            "arguments": json_text.encode(block.get("input")).decode("utf-8", "replace"),
        }
    else:
        item = {"type": f"{EXTENSION}{kind}", "id": name, "block": block}
    return _checked(item, Origin(**told, encrypted=encrypted), (block,), call_id)


def _checked(
    item: dict[str, Any], origin: Origin, blocks: tuple[Block, ...], call_id: str = ""
) -> Made:
    """The item with what its blocks have beyond it noted in its origin."""
    told = origin.to_dict()
    kind = blocks[0].get("type")
    if len(blocks) == 1 and isinstance(kind, str) and blocks[0].keys() == _PLAIN.get(kind):
        values = blocks[0].items()
        if all(isinstance(value, str) or name == "input" for name, value in values):
            return Made(item, told, blocks, kind, call_id)
    lowered = blocks_of(item, origin)
    if lowered != list(blocks):
        native: dict[str, Any] = {"blocks": list(blocks)}
        if len(lowered) == 1 == len(blocks) and lowered[0].keys() <= blocks[0].keys():
            native = {n: v for n, v in blocks[0].items() if lowered[0].get(n, native) != v}
        told["metadata"] = {NATIVE: native}
    return Made(item, told, blocks, kind if isinstance(kind, str) else "", call_id)


def hidden_item(name: str, block: Block, role: str) -> Made:
    """Return the item of a block that the program put into a request by itself."""
    if role == "assistant":
        return assistant_item(name, block, "", "")
    if block.get("type") == "tool_result":
        return _result(name, block)
    return _said(name, [block], role)
