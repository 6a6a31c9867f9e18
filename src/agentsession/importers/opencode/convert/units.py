"""Units: native pieces of a conversation as items, before they are entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from agentsession.importers.opencode import values

OUTPUT: Final = ".output"
"""What an output's item id has after the id of the tool part, or call, it belongs to."""

PLACEHOLDER: Final = "[Old tool result content cleared]"
"""What a pruned output was sent as. Spec: opencode 6.3."""

NOTICE: Final = "[Tool execution was interrupted]"
"""What a call without a result was sent with. Spec: opencode 6.3."""

FULL: Final = ""
PRUNED: Final = "pruned"
NOTICED: Final = "noticed"


class Unit(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One item, with what its entry has to say of it.

    Attributes:
        key: the item's id and its variant; tells the items of two lists apart.
        item: the item.
        origin: where it comes from, in the words of :class:`agentsession.wire.Origin`.
        time: when it began, in milliseconds, when that is known.
        native: what OpenCode recorded beside it, for the entry's ``opencode`` member.
        part: the place of its native part among its message's; ``None`` for a whole message.
        hidden: it is sent but was not said by anybody.
        plain: every float in its origin and native values is spelled one way everywhere.
    """

    key: tuple[str, str]
    item: Mapping[str, Any]
    origin: Mapping[str, Any] = {}
    time: int | None = None
    native: Mapping[str, Any] = {}
    part: int | None = None
    hidden: bool = False
    plain: bool = False

    @property
    def call_id(self) -> str:
        """The call's id; empty for what is neither a call nor its output."""
        return values.string(self.item.get("call_id"))


IDS: Final = frozenset({"id", "sessionID", "messageID"})
"""The members of a part that say where it belongs."""


def user_item(name: str, content: list[dict[str, Any]], role: str = "user") -> dict[str, Any]:
    """Return a message item of somebody other than the model."""
    return {"type": "message", "id": name, "role": role, "content": content}


def text_part(text: str) -> dict[str, Any]:
    """Return a content part of an input."""
    return {"type": "input_text", "text": text}


def assistant_item(name: str, text: str, *, cut: bool = False) -> dict[str, Any]:
    """Return a message item of the model; ``cut`` when the text never ended."""
    said = [{"type": "output_text", "text": text, "annotations": []}]
    status = {"status": "incomplete"} if cut else {}
    return {"type": "message", "id": name, **status, "role": "assistant", "content": said}


def reasoning_item(name: str, text: str, encrypted: str = "") -> dict[str, Any]:
    """Return a reasoning item."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    secret = {"encrypted_content": encrypted} if encrypted else {}
    return {"type": "reasoning", "id": name, "summary": summary, **secret}


def call_item(name: str, call_id: str, tool: str, arguments: str) -> dict[str, Any]:
    """Return a function call item."""
    called = {"call_id": call_id, "name": tool, "arguments": arguments}
    return {"type": "function_call", "id": name, **called}


def output_item(name: str, call_id: str, output: object) -> dict[str, Any]:
    """Return a function call's output item."""
    return {
        "type": "function_call_output",
        "id": name + OUTPUT,
        "call_id": call_id,
        "output": output,
    }


def media_part(mime: str, url: str, name: str = "") -> dict[str, Any]:
    """Return a content part that holds media by its URL, a data URL or another."""
    if mime.startswith("image/"):
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    named = {"filename": name} if name else {}
    if url.startswith("data:"):
        return {"type": "input_file", **named, "file_data": url}
    return {"type": "input_file", **named, "file_url": url}


def secret_of(metadata: object) -> tuple[Mapping[str, Any], str, str]:
    """Return provider metadata without its encrypted content, that content, and its place.

    The metadata is one object per provider name space, or one without name spaces.
    """
    if not isinstance(metadata, dict):
        return {}, "", ""
    for space, inner in [*metadata.items(), ("", metadata)]:
        if not isinstance(inner, dict):
            continue
        for member in ("signature", "redactedData", "reasoningEncryptedContent"):
            secret = inner.get(member)
            if isinstance(secret, str) and secret:
                rest = {name: value for name, value in inner.items() if name != member}
                place = f"{space}.{member}" if space else member
                return ({**metadata, space: rest} if space else rest), secret, place
    return metadata, "", ""


def without(value: dict[str, Any], left_out: set[str] | frozenset[str]) -> dict[str, Any]:
    """Return an object without some of its members."""
    rest = value.copy()
    for name in left_out.intersection(value):
        del rest[name]
    return rest
