"""JSON objects as a store holds them: read quickly where that is certain, else exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._scan import MAX_DEPTH, may_be_too_deep
from agentsession.errors import NotJSON

_FLOAT_FROM: Final = 1e-5
_FLOAT_BELOW: Final = 1e16


def plain_object(data: bytes) -> dict[str, Any] | None:
    """Return the object a text holds, if it is certain that every float in it is plain.

    A plain float is spelled one way everywhere. ``None`` says that the exact way has to read
    it, or that it holds no object.
    """
    if len(data) > MAX_DEPTH and may_be_too_deep(data):
        return None
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    return value if type(value) is dict else None


def plain_objects(texts: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Return the objects of several texts, each as :func:`plain_object` gives it.

    ``None`` says that one of them may be no plain object.
    """
    lines = b"\n".join(texts)
    # A text that begins an object is one value, or as many as it has lines: then there are
    # more values than texts.
    if {text[:1] for text in texts} != {b"{"} or may_be_too_deep(lines):
        return None
    try:
        values: list[Any] = _decode_lines(lines)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    return values if [*map(type, values)] == [dict] * len(texts) else None


def decode_object(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the object a text holds, or ``None`` and the reason there is none."""
    if not data.strip():
        return None, "it is empty"
    if not data.strip(b"\0"):
        return None, "it holds nothing but NUL bytes"
    try:
        value = text.parse(data)
    except NotJSON as error:
        return None, f"it is not JSON: {error}"
    if not isinstance(value, dict):
        return None, "it is not a JSON object"
    return value, ""


def _plain_float(token: str) -> float:
    value = float(token)
    if not _FLOAT_FROM <= value < _FLOAT_BELOW or value.is_integer():
        raise ValueError(token)
    return value


_DECODER: Final = msgspec.json.Decoder(float_hook=_plain_float)
_decode: Final = _DECODER.decode
_decode_lines: Final = _DECODER.decode_lines
