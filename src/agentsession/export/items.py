"""The way back: items from documents.

Spec: export 12, decisions E2 and E3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentsession import text
from agentsession.atif import ContentPart, ObservationResult, Step, Trajectory
from agentsession.atif.values import rebuilt
from agentsession.export.errors import CannotExport, NoRawItems
from agentsession.export.media import restored
from agentsession.items import Item


def items(document: Trajectory, *, media: str | Path | None = None) -> tuple[Item, ...]:
    """Return the items a document was made from, as the JSON values they were, in context order.

    They are read from ``extra.openresponses``; steps without it are skipped. Embedded documents
    are not looked into. Of a document with ``history="path"`` these are all items of the path.

    Args:
        document: a document this package wrote, or another one with raw items.
        media: the directory it was written to, to get media back that went into files.

    Spec: export 12, decision E2.

    Raises:
        NoRawItems: when there is not a single one.
        CannotExport: when something there is no item; the message names the step.
    """
    found: list[Any] = []
    passed = False
    for step in document.steps:
        raw = _passed(step.extra)
        if raw is None:
            continue
        passed = True
        found += _step_items(step, raw)
    if not passed:
        raise NoRawItems(
            "the document carries no raw items; items_from reads one from its own members"
        )
    found = _in_context_order(found, document.extra)
    if media is not None:
        found = restored(found, Path(media))
    return tuple(Item(value) for value in found)


def _passed(extra: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    raw = (extra or {}).get("openresponses")
    return raw if isinstance(raw, Mapping) else None


def _step_items(step: Step, raw: Mapping[str, Any]) -> Iterator[Any]:
    if "item" in raw:
        yield _item(raw["item"], step)
    for name in ("pinned", "items"):
        listed = raw.get(name)
        if listed is not None and not isinstance(listed, list):
            raise CannotExport(f"step {step.step_id}: {name} of its raw items is no list")
        for one in listed or ():
            yield _item(one, step)
    for result in step.observation.results if step.observation else ():
        inner = _passed(result.extra)
        if inner is not None and "item" in inner:
            yield _item(inner["item"], step)


def _item(value: Any, step: Step) -> Any:
    if not isinstance(value, Mapping):
        raise CannotExport(f"step {step.step_id}: a raw item is no object")
    return value


def _in_context_order(found: list[Any], extra: Mapping[str, Any] | None) -> list[Any]:
    own = (extra or {}).get("agentsession")
    order = own.get("item_order") if isinstance(own, Mapping) else None
    if not isinstance(order, list) or not all(_is_place(place, len(found)) for place in order):
        return found
    return [found[place] for place in order]


def _is_place(value: object, end: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end


def items_from(document: Trajectory) -> tuple[Item, ...]:
    """Return a conversation from a document's own members, whoever wrote it.

    Lost are ids, statuses, phases, encrypted reasoning, content as opposed to summary, the
    developer role, visibility, the spelling of arguments, media in outputs and the mark of
    copied context. Use :func:`items` where the raw items are there.

    Spec: export 12.
    """
    found: list[Item] = []
    for step in document.steps:
        found += _declared(step)
    return tuple(found)


def _declared(step: Step) -> Iterator[Item]:
    results = step.observation.results if step.observation else ()
    if step.source == "agent":
        yield from _agent(step)
    elif step.source == "user":
        yield _message("user", step.message)
    elif step.message or not step.observation:
        yield _message("system", step.message)
    for result in results:
        if result.source_call_id is not None:
            yield _output(result.source_call_id, result)


def _agent(step: Step) -> Iterator[Item]:
    if step.reasoning_content:
        summary = [{"type": "summary_text", "text": step.reasoning_content}]
        yield Item({"type": "reasoning", "summary": summary})
    said = _text(step.message)
    if said:
        content = [{"type": "output_text", "text": said, "annotations": []}]
        yield Item({"type": "message", "role": "assistant", "content": content})
    for call in step.tool_calls or ():
        yield Item(
            {
                "type": "function_call",
                "call_id": call.tool_call_id,
                "name": call.function_name,
                "arguments": _arguments(call.arguments),
            }
        )


def _output(call_id: str, result: ObservationResult) -> Item:
    output = _text(result.content or "")
    return Item({"type": "function_call_output", "call_id": call_id, "output": output})


def _message(role: str, content: str | Sequence[ContentPart]) -> Item:
    if isinstance(content, str):
        parts = [{"type": "input_text", "text": content}]
    else:
        parts = [_part(part) for part in content]
    return Item({"type": "message", "role": role, "content": parts})


def _part(part: ContentPart) -> dict[str, Any]:
    path = part.source.path if part.source else ""
    if part.type == "image":
        return {"type": "input_image", "image_url": path}
    if part.type == "audio":
        return {"type": "input_text", "text": f"[audio: {path}]"}
    return {"type": "input_text", "text": part.text or ""}


def _text(content: str | Sequence[ContentPart]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.text or "" for part in content if part.type == "text")


def _arguments(value: Mapping[str, Any]) -> str:
    written = value.get("_arguments")
    if isinstance(written, str) and len(value) == 1:
        return written
    return text.encode(_sorted(value)).decode()


def _sorted(value: Any) -> Any:
    """The value with the names of every object in order, on any nesting."""
    return rebuilt(value, lambda found: {name: found[name] for name in sorted(found)})
