"""pi's messages as items: what each record of a session adds to a context.

Spec: pi 4, 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentsession import text
from agentsession.importers.drafting import Unit
from agentsession.importers.holding import holdable
from agentsession.importers.pi.records import (
    ASSISTANT,
    BASH,
    BRANCH_SUMMARY,
    COMPACTION,
    CUSTOM_MESSAGE,
    CUSTOM_ROLE,
    HOOK_ROLE,
    RESULT,
    USER,
    mapping,
    objects,
    string,
)
from agentsession.importers.pi.transcript import Native
from agentsession.importers.script import stringify
from agentsession.items import Item
from agentsession.wire import Origin
from agentsession.wire import _pi_messages as wire
from agentsession.wire.origin import Piece
from agentsession.wire.turns import is_text, reasoning_text

NOTICE: Final = "No result provided"
"""What a call without a result was sent with. Spec: pi 6."""

_COMPACTED: Final = (
    "The conversation history before this point was compacted into the following summary:"
    "\n\n<summary>\n{}\n</summary>"
)
_CAME_BACK: Final = (
    "The following is a summary of a branch that this conversation came back from:"
    "\n\n<summary>\n{}</summary>"
)
_SENT: Final = {
    USER: {"role", "content"},
    ASSISTANT: {"role", "content", "provider", "model"},
    RESULT: {"role", "content", "toolCallId", "isError"},
}
_ENDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "error": {"error": True},
    "aborted": {"unfinished": True},
}
_BLOCK: Final = {
    "text": {"type", "text", "textSignature"},
    "thinking": {"type", "thinking", "thinkingSignature", "redacted"},
    "toolCall": {"type", "id", "name", "arguments", "thoughtSignature"},
}


def units(entry: Native, ts: str, edited: Mapping[str, Any] | None = None) -> list[Unit]:
    """Return what an entry adds to a context: nothing for most that are no message.

    Args:
        entry: the entry.
        ts: when it was written, as the format writes it.
        edited: the replacement that a context edit gave it, with its own name in ``by``.
    """
    return list(_units(_Frame(entry, ts, string(mapping(edited).get("by"))), edited))


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the items of one entry have in common.

    Attributes:
        entry: the entry.
        ts: when it was written.
        variant: the name of the context edit that changed it; empty for none.
    """

    entry: Native
    ts: str
    variant: str = ""

    def unit(
        self,
        name: str,
        item: Mapping[str, Any],
        origin: Mapping[str, Any],
        native: Mapping[str, Any],
        role: str = "item",
        *,
        hidden: bool = False,
    ) -> Unit:
        """Return an item of the entry as a unit."""
        variant = self.variant
        return Unit(
            (name, variant),
            item,
            self.entry.name,
            f"{role}:{variant}" if variant else role,
            self.ts,
            origin=origin,
            native=b"" if variant else kept(native),
            hidden=hidden,
            record=self.entry.place,
        )


def _units(frame: _Frame, edited: Mapping[str, Any] | None) -> Iterator[Unit]:
    record = frame.entry.record
    message = record.message if record.role else record.value
    if edited is not None:
        message = {**message, "content": edited.get("content")}
    role = record.role
    if role == USER:
        native = _native(message, _SENT[USER])
        yield from _said(frame, message.get("content"), native=native)
    elif role == ASSISTANT:
        if edited is not None and isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        yield from _answered(frame, message)
    elif role == RESULT:
        yield _returned(frame, message)
    elif role == BASH:
        if message.get("excludeFromContext") is not True:
            parts = [_text(bash_text(message))]
            yield from _said(frame, parts, native=_native(message, {"role", "output"}))
    elif role in {CUSTOM_ROLE, HOOK_ROLE} or record.type == CUSTOM_MESSAGE:
        yield from _injected(frame, message)
    elif record.type == COMPACTION and edited is None:
        words = _COMPACTED.format(string(message.get("summary")))
        yield from _said(frame, [_text(words)], kind=wire.COMPACTION)
    elif record.type == BRANCH_SUMMARY and edited is None:
        words = _CAME_BACK.format(string(message.get("summary")))
        yield from _said(frame, [_text(words)], kind="branch_summary")


def _injected(frame: _Frame, message: Mapping[str, Any]) -> Iterator[Unit]:
    """Yield what an extension said in the user's name."""
    record = frame.entry.record
    content = message.get("content")
    if isinstance(content, str):
        content = [_text(content)]
    told = {"role", "content", "type", "id", "parentId", "timestamp"}
    native = {**_native(message, told), "role": record.role or CUSTOM_MESSAGE}
    hidden = message.get("display") is False
    yield from _said(frame, content, native=native, hidden=hidden)


def _said(
    frame: _Frame,
    content: object,
    *,
    native: Mapping[str, Any] | None = None,
    kind: str = "",
    hidden: bool = False,
) -> Iterator[Unit]:
    said: Any = content if isinstance(content, str) else [_part(part) for part in objects(content)]
    if not said and not isinstance(content, str):
        return
    name = frame.entry.name
    item = {"type": "message", "id": name, "role": "user", "content": said}
    origin = Origin(metadata={wire.KIND: kind}).to_dict() if kind else {}
    yield frame.unit(name, item, origin, native or {}, hidden=hidden)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content part of an input; one of a kind pi never wrote stays as it is."""
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return _text(part["text"])
    if kind == "image":
        url = f"data:{string(part.get('mimeType'))};base64,{string(part.get('data'))}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return dict(part)


def _text(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


def bash_text(message: Mapping[str, Any]) -> str:
    """Return what a model is told of a command that the user ran. Spec: pi 6."""
    output = string(message.get("output"))
    told = f"Ran `{string(message.get('command'))}`\n"
    told += f"```\n{output}\n```" if output else "(no output)"
    code = message.get("exitCode")
    if message.get("cancelled"):
        told += "\n\n(command cancelled)"
    elif code is not None and code != 0:
        told += f"\n\nCommand exited with code {stringify(code)}"
    path = string(message.get("fullOutputPath"))
    if message.get("truncated") and path:
        told += f"\n\n[Output truncated. Full output: {path}]"
    return told


# An assistant's message.


def _answered(frame: _Frame, message: Mapping[str, Any]) -> Iterator[Unit]:
    name = frame.entry.name
    blocks = objects(message.get("content"))
    calls = [string(block.get("id")) for block in blocks if block.get("type") == "toolCall"]
    shared = shared_calls(calls)
    api = {wire.API: message["api"]} if string(message.get("api")) else {}
    # An origin's members, in its order; what is empty is left out. See :class:`Origin`.
    said = {n: string(message.get(n)) for n in ("provider", "model") if string(message.get(n))}
    ended = _ENDED.get(string(message.get("stopReason")), {})
    for place, block in enumerate(blocks):
        item, metadata, secret = _block(f"{name}.{place}", block, shared)
        origin: dict[str, Any] = {"message": name, **said}
        if api or metadata:
            origin["metadata"] = {**api, **metadata}
        if secret:
            origin["encrypted"] = secret
        origin |= ended
        native = _native(block, _BLOCK.get(string(block.get("type"))) or set(block))
        yield frame.unit(f"{name}.{place}", item, origin, native, f"item.{place}")


def _block(
    name: str, block: Mapping[str, Any], shared: frozenset[str]
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return a block as an item, what only pi says of it, and what its secret is."""
    kind = block.get("type")
    if kind == "text":
        return _spoken(name, block)
    if kind == "thinking":
        return _reasoned(name, block)
    if kind == "toolCall":
        return _called(name, block, shared)
    return {**block, "type": f"pi:{string(kind) or 'block'}", "id": name}, {}, ""


def _spoken(name: str, block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    signature = string(block.get("textSignature"))
    signed = mapping(wire.parsed(signature)) if signature.startswith("{") else {}
    given = string(signed.get("id")) if signed.get("v") == 1 else ""
    phase = {"phase": signed["phase"]} if given and isinstance(signed.get("phase"), str) else {}
    said = [{"type": "output_text", "text": string(block.get("text")), "annotations": []}]
    item = {"type": "message", "id": given or name, "role": "assistant", "content": said, **phase}
    return item, {wire.SIGNATURE: signature} if signature else {}, ""


def _reasoned(name: str, block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    words, signature = string(block.get("thinking")), string(block.get("thinkingSignature"))
    recorded = holdable(mapping(wire.parsed(signature))) if signature.startswith("{") else {}
    if recorded.get("type") == "reasoning":
        item = dict(recorded)
        spelled = reasoning_text(Piece(Item(item), Origin()))
        return item, {wire.WORDS: words} if spelled != words else {}, wire.RECORDED
    summary = [{"type": "summary_text", "text": words}] if words else []
    item = {"type": "reasoning", "id": name, "summary": summary}
    if block.get("redacted") is True:
        return {**item, "encrypted_content": signature}, {}, wire.REDACTED
    if not signature or signature in wire.FIELDS or signature.startswith("["):
        return item, {wire.SIGNATURE: signature} if signature else {}, ""
    return {**item, "encrypted_content": signature}, {}, wire.SIGNATURE


def _called(
    name: str, block: Mapping[str, Any], shared: frozenset[str]
) -> tuple[dict[str, Any], dict[str, Any], str]:
    given = string(block.get("id"))
    _, bar, rest = given.partition("|")
    arguments = block.get("arguments")
    item = {
        "type": "function_call",
        "id": rest if bar and rest else name,
        "call_id": call_id(given, shared),
        "name": string(block.get("name")),
        "arguments": _arguments({} if arguments is None else arguments),
    }
    metadata: dict[str, Any] = {wire.CALL_ID: given} if bar else {}
    signature = string(block.get("thoughtSignature"))
    if signature:
        metadata[wire.SIGNATURE] = signature
    return item, metadata, ""


def _arguments(given: object) -> str:
    """A call's arguments as text; most are an object of nothing but strings."""
    plain = isinstance(given, dict) and all(isinstance(value, str) for value in given.values())
    return stringify(given, plain=plain)


def call_id(given: str, shared: frozenset[str] = frozenset()) -> str:
    """Return a call's id without the item id pi joins to it, unless calls share it.

    Spec: pi 4.
    """
    call, bar, _ = given.partition("|")
    return call if bar and call and call not in shared else given


def shared_calls(calls: list[str]) -> frozenset[str]:
    """Return the call ids that several calls of one message have, told apart by item ids."""
    seen: set[str] = set()
    twice: set[str] = set()
    for given in calls:
        call = given.partition("|")[0]
        (twice if call in seen else seen).add(call)
    return frozenset(twice)


# What a call returned.


def _returned(frame: _Frame, message: Mapping[str, Any]) -> Unit:
    content = message.get("content")
    parts = [_text(content)] if isinstance(content, str) else [_part(p) for p in objects(content)]
    output: Any = parts
    if not parts:
        output = ""
    elif len(parts) == 1 and parts[0].get("type") == "input_text" and is_text(parts[0]):
        output = parts[0]["text"]
    name = frame.entry.name
    call = call_id(string(message.get("toolCallId")))
    origin = Origin(message=name, error=message.get("isError") is True).to_dict()
    native = _native(message, _SENT[RESULT])
    return frame.unit(name, _output(name, call, output), origin, native)


def notice(call: Unit, name: str) -> Unit:
    """Return the output a call without a result was sent with.

    Args:
        call: the call.
        name: the name of the message that holds it.
    """
    made = f"{name}.notice.{call.role}"
    return Unit(
        ("notice", call.key),
        _output(made, string(call.item["call_id"]), NOTICE),
        name,
        f"notice:{call.role}",
        call.ts,
        origin=Origin(message=made, error=True).to_dict(),
        hidden=True,
    )


def _output(name: str, call: str, output: object) -> dict[str, Any]:
    return {"type": "function_call_output", "id": name, "call_id": call, "output": output}


def _native(value: Mapping[str, Any], told: set[str]) -> dict[str, Any]:
    """Return what of an object stands in no item."""
    return {name: member for name, member in value.items() if name not in told}


def kept(value: Mapping[str, Any]) -> bytes:
    """Return native values as JSON text; nothing for none."""
    return text.encode(value) if value else b""
