"""Text and parts: what the content of an item becomes in a document.

Spec: export 6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentsession import text

Part = dict[str, Any]
Content = str | list[Part]

IMAGE_EXTENSIONS: Final = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
}
_IMAGE_TYPES: Final = frozenset(IMAGE_EXTENSIONS.values())
_TEXTS: Final = frozenset({"input_text", "output_text", "text", "reasoning_text", "summary_text"})
_DATA: Final = re.compile(r"data:([^;,]*)", re.IGNORECASE)


class Reader:
    """Reads the content of items and counts what had to be degraded.

    Args:
        text_only: whether media become bracket placeholders.

    Attributes:
        degraded: how many media parts became text, by kind.

    Spec: export 6, decision E6.
    """

    def __init__(self, *, text_only: bool = False) -> None:
        self.text_only = text_only
        self.degraded: dict[str, int] = {}

    def content(self, value: object) -> Content:
        """Return plain text when nothing but text results, else a list of parts."""
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        if not isinstance(value, list):
            return json_of(value)
        parts = [self.part(part) for part in value]
        if any(part["type"] != "text" for part in parts):
            return parts
        return "".join([part["text"] for part in parts])

    def part(self, part: object) -> Part:
        """Return the document's part for one content part."""
        if isinstance(part, str):
            return text_part(part)
        if not isinstance(part, dict):
            return text_part(json_of(part))
        kind = part.get("type")
        if kind in _TEXTS and isinstance(part.get("text"), str):
            return text_part(part["text"])
        if kind == "refusal" and isinstance(part.get("refusal"), str):
            return text_part(f"[refusal] {part['refusal']}")
        if kind == "input_image":
            return self._image(part)
        if kind == "input_file":
            return self._degraded("file", _first(part, "filename", "file_id", "file_url"))
        if kind == "input_video":
            return self._degraded("video", shown(_first(part, "video_url", "url")))
        if kind in {"input_audio", "output_audio"} and self.text_only:
            return self._degraded("audio", "")
        return text_part(json_of(part))

    def _image(self, part: Mapping[str, Any]) -> Part:
        where = _first(part, "image_url", "file_id")
        media_type = image_type(where) if where else ""
        if not media_type or self.text_only:
            return self._degraded("image", shown(where))
        return {"type": "image", "source": {"media_type": media_type, "path": where}}

    def _degraded(self, kind: str, what: str) -> Part:
        self.degraded[kind] = self.degraded.get(kind, 0) + 1
        return text_part(f"[{kind}: {what}]" if what else f"[{kind}]")

    def item_text(self, item: Mapping[str, Any]) -> Content:
        """Return what an item says, whatever its type."""
        kind = item.get("type")
        if kind == "message":
            return self.content(item.get("content"))
        if kind == "reasoning":
            return reasoning_text(item)
        if kind == "function_call":
            return f"{_string(item.get('name'))}({_string(item.get('arguments'))})"
        if kind == "function_call_output":
            return self.content(item.get("output"))
        if kind in {"compaction", "item_reference"}:
            return ""
        return _string(item.get("text")) or _string(item.get("content"))


def reasoning_text(item: Mapping[str, Any]) -> str:
    """Return the text of a reasoning item: its content, or when that is empty its summary."""
    return _joined(item.get("content")) or _joined(item.get("summary"))


def _joined(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = [part.get("text") for part in value if isinstance(part, dict)]
    return "".join([found for found in texts if isinstance(found, str)])


def as_text(content: Content) -> str:
    """Return content as text alone: its text parts, joined by nothing."""
    if isinstance(content, str):
        return content
    return "".join([part["text"] for part in content if part["type"] == "text"])


def as_parts(content: Content) -> list[Part]:
    """Return content as parts."""
    return [text_part(content)] if isinstance(content, str) else content


def text_part(content: str) -> Part:
    """Return a text part."""
    return {"type": "text", "text": content}


def json_of(value: object) -> str:
    """Return a value as compact JSON text."""
    return text.encode(value).decode()


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _first(part: Mapping[str, Any], *names: str) -> str:
    return next(filter(None, (_string(part.get(name)) for name in names)), "")


def shown(where: str) -> str:
    """Return what a placeholder shows of a place: of a data URL only its media type."""
    found = _DATA.match(where)
    return f"data URL {found[1]}".rstrip() if found else where


def image_type(where: str) -> str:
    """Return the media type of an image's URL or file id; empty when ATIF lacks it.

    Spec: export 6.
    """
    found = _DATA.match(where)
    if found:
        written = found[1].strip().lower()
        written = "image/jpeg" if written == "image/jpg" else written
        return written if written in _IMAGE_TYPES else ""
    segment = re.split(r"[?#]", where, maxsplit=1)[0].rpartition("/")[2]
    if "." not in segment:
        return "image/png"
    return IMAGE_EXTENSIONS.get(segment.rpartition(".")[2].lower(), "")
