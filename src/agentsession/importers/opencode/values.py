"""JSON values read the way OpenCode reads them: counts, times, truth, single members.

Every function takes any JSON value, ``None`` for absent or null, and never
raises: what is not the wanted kind gives the documented default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from agentsession.importers.opencode import names

# What a datetime holds: 0001-01-01 to 9999-12-31, in milliseconds.
_FIRST_MILLIS: Final = -62_135_596_800_000
_LAST_MILLIS: Final = 253_402_300_799_999
_INT64: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class FileAttachment:
    """A file part's own members: of a message, or of a tool state's attachments.

    Spec: opencode 4.2.
    """

    mime: str
    filename: str
    url: str


@dataclass(frozen=True, slots=True)
class File2:
    """A V2 user message's attachment: base64 data and where it came from.

    ``description`` and ``mention`` are ``None`` when absent. Spec: opencode 5.2.
    """

    data: str
    mime: str
    name: str
    description: str | None
    source_type: str
    source_uri: str
    mention: str | None


@dataclass(frozen=True, slots=True)
class ToolContent:
    """One item of a V2 tool's content: a text, or a file by its URI. Spec: opencode 5.2."""

    type: str
    text: str
    uri: str
    mime: str
    name: str


def is_null(value: object) -> bool:
    """Return whether a value is absent or null."""
    return value is None


def truthy(value: object) -> bool:
    """Return whether JavaScript takes a JSON value for true: not null, false, 0 or ``""``."""
    if value is None:
        return False
    if isinstance(value, (dict, list)):
        return True
    if isinstance(value, float) and math.isnan(value):
        return False
    return bool(value)


def integer(value: object) -> int | None:
    """Return a JSON number that is a 64-bit integer, else ``None``.

    A number such as ``3.0`` is the integer it equals.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


def count(value: object) -> int:
    """Return a token count: an integer of at least 0, else 0."""
    if type(value) is int:
        return value if 0 < value < _INT64 else 0
    found = integer(value)
    return found if found is not None and found > 0 else 0


def millis(value: object) -> int | None:
    """Return a time in milliseconds since 1970 that a datetime can hold, else ``None``."""
    if type(value) is int:
        return value if _FIRST_MILLIS <= value <= _LAST_MILLIS else None
    found = integer(value)
    if found is None or not _FIRST_MILLIS <= found <= _LAST_MILLIS:
        return None
    return found


def string(value: object) -> str:
    """Return a JSON string, else the empty string."""
    return value if isinstance(value, str) else ""


def member(value: object, name: str) -> Any:
    """Return an object's member; ``None`` when there is none or no object."""
    return value.get(name) if isinstance(value, dict) else None


def metadata_bool(metadata: object, name: str) -> bool:
    """Return whether a metadata object has a member that is ``true``."""
    return member(metadata, name) is True


def metadata_string(metadata: object, name: str) -> str:
    """Return a string member of a metadata object, else the empty string."""
    return string(member(metadata, name))


def location_directory(location: object) -> str:
    """Return the directory of a location-switched row's ``location``. Spec: opencode 5.2."""
    return metadata_string(location, "directory")


def shell_output(output: object) -> str:
    """Return the text of a shell row's ``output``.

    The preview engine wrote a plain string in its place. Spec: opencode 5.2, 5.4.
    """
    return output if isinstance(output, str) else metadata_string(output, "output")


def skill_text(skill: object) -> str | None:
    """Return the text a V2 user message's skill carries, ``None`` when it carries none."""
    text = member(skill, "text")
    return text if isinstance(text, str) else None


def attachment(value: object) -> FileAttachment | None:
    """Return a file part's members, ``None`` when the value is no file part."""
    if not isinstance(value, dict) or value.get("type", names.PART_FILE) != names.PART_FILE:
        return None
    return FileAttachment(
        mime=string(value.get("mime")),
        filename=string(value.get("filename")),
        url=string(value.get("url")),
    )


def decode_file2(value: object) -> File2 | None:
    """Return a V2 attachment, ``None`` when the value is no object."""
    if not isinstance(value, dict):
        return None
    description = value.get("description")
    source, mention = value.get("source"), value.get("mention")
    return File2(
        data=string(value.get("data")),
        mime=string(value.get("mime")),
        name=string(value.get("name")),
        description=description if isinstance(description, str) else None,
        source_type=metadata_string(source, "type"),
        source_uri=metadata_string(source, "uri"),
        mention=metadata_string(mention, "text") if isinstance(mention, dict) else None,
    )


def decode_tool_content(value: object) -> ToolContent | None:
    """Return one item of a V2 tool's content, ``None`` when the value is no object."""
    if not isinstance(value, dict):
        return None
    return ToolContent(
        type=string(value.get("type")),
        text=string(value.get("text")),
        uri=string(value.get("uri")),
        mime=string(value.get("mime")),
        name=string(value.get("name")),
    )
