"""Plain JSON values from whatever a caller holds: mappings, JSON text, SDK objects.

Payloads are Open Responses JSON. Callers have them as dictionaries, as text, or as
the models of an SDK; this module turns all of them into plain Python values, without
depending on any SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentsession import text
from agentsession.errors import InvalidEntry, NotJSON

_SCALARS = (str, int, float, bool, type(None))


def plain(value: object) -> Any:
    """Return ``value`` as plain Python JSON values, SDK objects at any depth included.

    JSON text given as ``bytes``, and values of this package that hold their text, come back
    as raw text, so that their spelling survives.

    An object with ``to_dict`` (the ``openai`` models) is asked for it in JSON mode,
    one with ``model_dump`` for the members that were set, so that members never sent
    do not appear.

    Spec: decision A14.

    Raises:
        InvalidEntry: when the value is none of these.
    """
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, (bytes, bytearray)) or isinstance(
        getattr(value, "json_text", None), bytes
    ):
        return msgspec.Raw(encoded(value))
    if isinstance(value, Mapping):
        if all(isinstance(member, _SCALARS) for member in value.values()):
            return dict(value)
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    dumped = _dump(value)
    if dumped is value:
        raise InvalidEntry(
            f"{type(value).__name__} is not a JSON value: give a mapping, JSON text or a model "
            "with to_dict or model_dump"
        )
    return plain(dumped)


def _dump(value: Any) -> object:
    if isinstance(value, type):
        return value
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):
        try:
            return to_dict(mode="json")
        except TypeError:
            return to_dict()
    model_dump = getattr(value, "model_dump", None)
    if callable(model_dump):
        return model_dump(mode="json", exclude_unset=True)
    return value


def encoded(value: object) -> bytes:
    """Return the JSON text of a payload: text as it is given, anything else encoded.

    Raises:
        InvalidEntry: when text is not JSON, or a value has no JSON form.
    """
    json_text = getattr(value, "json_text", None)
    if isinstance(json_text, bytes):
        return json_text
    if isinstance(value, (bytes, bytearray)):
        return _compacted(bytes(value))
    if isinstance(value, str):
        return _compacted(value.encode("utf-8", "surrogatepass"))
    if type(value) is dict:
        # Plain values need no look at each of them; what is none is refused, and looked at.
        try:
            return text.encode(value)
        except InvalidEntry:
            pass
    try:
        return text.encode(plain(value))
    except RecursionError:
        return text.encode(value)


def encoded_value(value: object) -> bytes:
    """Return the JSON text of any value; a ``str`` is a JSON string, ``bytes`` are JSON text.

    Raises:
        InvalidEntry: when text is not JSON, or a value has no JSON form.
    """
    if isinstance(value, str):
        return text.encode(value)
    return encoded(value)


def _compacted(json_text: bytes) -> bytes:
    try:
        return text.compact(json_text)
    except NotJSON as error:
        raise InvalidEntry(f"the text given is not JSON: {error}") from error


def encoded_object(value: object, what: str) -> bytes:
    """Return the JSON text of a payload that has to be an object.

    Raises:
        InvalidEntry: when it is something else; the message names ``what``.
    """
    json_text = encoded(value)
    if not json_text.startswith(b"{"):
        raise InvalidEntry(
            f"{what} must be a JSON object, not {json_text[:40].decode('utf-8', 'replace')}"
        )
    return json_text
