"""Media parts: Open Responses spelling to what each wire calls them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_DATA = re.compile(r"data:([^;,]*)(?:;[^,]*?)?(;base64)?,(.*)", re.DOTALL)


class Media(NamedTuple):
    """A media part's url, its type and, for a data URL, its base64 data."""

    url: str
    mime: str
    data: str
    name: str


def media_of(part: dict[str, Any]) -> Media:
    """Return what a part says of its media; what it does not say is empty."""
    url = ""
    for member in ("image_url", "file_data", "file_url", "video_url"):
        value = part.get(member)
        if isinstance(value, str):
            url = value
            break
    found = _DATA.match(url)
    mime, data = (found[1], found[3]) if found else ("", "")
    if not mime:
        mime = "image/*" if part.get("type") == "input_image" else "application/octet-stream"
    name = part.get("filename")
    return Media(url, mime, data, name if isinstance(name, str) else "")


def chat_part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a media part as chat completions spells it."""
    media = media_of(part)
    if media.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": media.url}}
    if media.mime in {"audio/wav", "audio/mp3", "audio/mpeg"}:
        kind = "wav" if media.mime == "audio/wav" else "mp3"
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": kind}}
    file = {"filename": media.name or "document.pdf", "file_data": media.url}
    return {"type": "file", "file": file}


def anthropic_part(part: dict[str, Any], *, titled: bool = True) -> dict[str, Any]:
    """Return a media part as Anthropic Messages spells it, a document with its name."""
    media = media_of(part)
    source: dict[str, Any] = {"type": "url", "url": media.url}
    if media.data:
        source = {"type": "base64", "media_type": media.mime, "data": media.data}
    if media.mime.startswith("image/"):
        return {"type": "image", "source": source}
    named = {"title": media.name} if media.name and titled else {}
    return {"type": "document", "source": source, **named}


def responses_part(part: dict[str, Any], unnamed: str = "part-0.pdf") -> dict[str, Any]:
    """Return a media part as the Responses API spells it; a file needs a name there."""
    media = media_of(part)
    if media.mime.startswith("image/"):
        return {"type": "input_image", "image_url": media.url}
    if not media.data:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", "filename": media.name or unnamed, "file_data": media.url}
