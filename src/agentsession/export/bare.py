"""Items without their media, for documents that must be text alone.

Spec: decision E6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession.atif.values import rebuilt
from agentsession.export.content import Reader

_MEDIA: Final = frozenset(
    {"input_image", "input_file", "input_video", "input_audio", "output_audio", "image", "audio"}
)
_DATA: Final = "data:"


def without_media(value: Any) -> Any:
    """Return a copy in which media parts are placeholders and data URLs only their type.

    Works on any nesting.
    """
    return rebuilt(value, _without_part, _without_data)


def _without_part(found: Mapping[str, Any]) -> dict[str, Any]:
    return _replaced(found) if found.get("type") in _MEDIA else dict(found)


def _without_data(found: Any) -> Any:
    if isinstance(found, str) and found[:5].lower() == _DATA and "," in found:
        return f"[data URL {found[5:].partition(',')[0].partition(';')[0]}]"
    return found


def _replaced(part: Mapping[str, Any]) -> dict[str, Any]:
    quiet = Reader(text_only=True)
    shown = quiet.part(dict(part))
    if quiet.degraded:
        return {"type": "input_text", "text": shown["text"]}
    kind = str(part["type"]).removeprefix("input_").removeprefix("output_")
    return {"type": "input_text", "text": f"[{kind}]"}
