"""The canonical request of settings and input, and its hash.

A request has one text per form (:class:`~agentsession.normalise.Form`). What this library
builds and records is the normalised form with unlisted members kept: it says what was sent,
whichever equivalent spelling the sender used, and is the form other implementations rebuild.

Spec: context 4 and 5, decisions A8 and A10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentsession import normalise, payload
from agentsession import text as json_text
from agentsession.canonical import canonical_json, canonical_text, sha256
from agentsession.errors import InvalidEntry
from agentsession.items import Item
from agentsession.normalise import Form
from agentsession.settings import Settings

CALL_MEMBERS = frozenset(
    {"input", "previous_response_id", "store", "stream", "stream_options", "background"}
)
"""Request members that are about one call and no setting (context 7.1)."""

NAMED_MEMBERS = frozenset({"model", "instructions", "reasoning", "text", "tools"})
"""Request members that settings name (context 7.1)."""

_OPTIONAL_MEMBERS = frozenset(
    {
        "background",
        "frequency_penalty",
        "include",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "parallel_tool_calls",
        "presence_penalty",
        "previous_response_id",
        "prompt_cache_key",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "top_logprobs",
        "top_p",
        "truncation",
    }
)
"""The profile's other members; it does not encode them when they are empty."""

_EMPTY = frozenset({b"null", b'""', b"[]", b"{}"})


def build_request(
    settings: Settings, items: Iterable[object], form: Form = Form.NORMALISED
) -> dict[str, Any]:
    """Return the canonical request as plain values, free to be changed.

    Args:
        settings: the settings in force.
        items: the input: items, mappings, JSON text or SDK models.
        form: the spelling of items, tools, text and reasoning.

    Spec: context 4.

    Raises:
        InvalidEntry: when an item is none.
    """
    found = [
        item_value(item.json_text if isinstance(item, Item) else Item(item).json_text, form)
        for item in items
    ]
    settings_part = dict(setting_values(settings, form))
    if not found:
        return settings_part
    model = {name: value for name, value in settings_part.items() if name == "model"}
    return {**model, **settings_part, "input": found}


def setting_values(settings: Settings, form: Form) -> Iterator[tuple[str, Any]]:
    """Yield the members of a canonical request beside its items, as plain values.

    A member of ``extra`` called ``input`` is among them; it gives way to items.

    Spec: context 4.1.
    """
    keep = form is not Form.NORMALISED_DROPPED
    named = _named_texts(settings, keep=keep)
    for name, member_text in setting_texts(settings, keep=keep).items():
        value = json_text.parse(member_text)
        if form is not Form.AS_WRITTEN and name in named:
            value = _normal_setting(name, value, keep=keep)
        yield name, value


def setting_texts(settings: Settings, *, keep: bool = True) -> dict[str, bytes]:
    """Return the members of a canonical request beside its items, as the settings spell them.

    Args:
        settings: the settings.
        keep: whether members the profile does not list make ``text`` and ``reasoning`` count.

    Spec: context 4.1.
    """
    named = _named_texts(settings, keep=keep)
    # What the settings name, and store, win over an extra member of the same name.
    extra = {name: value for name, value in settings.extra_texts().items() if name not in named}
    return {**named, **extra, "store": b"false"}


def _named_texts(settings: Settings, *, keep: bool) -> dict[str, bytes]:
    present = {
        "model": bool(settings.model),
        "tools": bool(settings.tools),
        "text": not normalise.text_is_empty(settings.text, keep=keep),
        "reasoning": not normalise.reasoning_is_empty(settings.reasoning, keep=keep),
        "instructions": bool(settings.instructions),
    }
    return {name: settings.text_of(name) or b"null" for name in present if present[name]}


def _normal_setting(name: str, value: Any, *, keep: bool = True) -> Any:
    """A named member of a request in normal form; any other as it is."""
    if name == "tools" and isinstance(value, list):
        return [normalise.tool(tool, keep=keep) for tool in value]
    if name == "text":
        return normalise.text(value, keep=keep)
    if name == "reasoning":
        return normalise.reasoning(value, keep=keep)
    return value


def item_value(item_text: bytes, form: Form) -> Any:
    """Return an item of a canonical request as plain values (context 4.3)."""
    value = json_text.parse(item_text)
    if form is Form.AS_WRITTEN:
        return value
    return normalise.item(value, keep=form is Form.NORMALISED)


def item_bytes(item_text: bytes, form: Form) -> bytes:
    """Return the canonical JSON of an item of a request.

    Raises:
        CannotHash: when it holds a number beyond any double.
    """
    if form is Form.AS_WRITTEN:
        return canonical_text(item_text)
    return canonical_json(item_value(item_text, form))


def normal_input(value: Any) -> list[Any]:
    """Return a request's input as a list of items in normal form.

    A string is one user message (decision A10).

    Raises:
        InvalidEntry: when it is neither a string nor a list of objects.
    """
    if value is None:
        return []
    if isinstance(value, str):
        value = [{"type": "message", "role": "user", "content": value}]
    if not isinstance(value, list):
        raise InvalidEntry("a request's input must be a string or a list of items")
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            raise InvalidEntry(f"input[{position}] of a request must be an object, an item")
    return [normalise.item(item) for item in value]


def is_left_out(name: str, member_text: bytes) -> bool:
    """Return whether the profile does not encode a request member with this compact JSON text.

    These are the named settings when they say nothing, and the profile's optional members
    that are ``null``, ``""``, ``[]`` or ``{}``. Passthrough members stay, whatever they hold.

    Spec: context 7.1.
    """
    if name == "text":
        return normalise.text_is_empty(json_text.parse(member_text))
    if name == "reasoning":
        return normalise.reasoning_is_empty(json_text.parse(member_text))
    if name in NAMED_MEMBERS or name in _OPTIONAL_MEMBERS:
        return member_text in _EMPTY
    return False


def request_hash(request: object) -> str:
    """Return the hash of a request as sent, in its normal form.

    Items, tools, text and reasoning are normalised with unlisted members kept, a string
    input is one user message, empty members are left out. Nothing else is added or removed:
    ``store`` and the members about one call count as they stand. To hash a text as it
    stands use :func:`hash_request_json`; what :func:`agentsession.record_response` writes
    leaves the members about one call out.

    Args:
        request: a mapping, JSON text, or an SDK's request model.

    Spec: context 5.

    Raises:
        InvalidEntry: when the request is no JSON object, or its input no list.
        CannotHash: when it holds a number beyond any double.
    """
    texts = json_text.split_members(payload.encoded_object(request, "a request"))
    normal = {}
    for name, member_text in texts.items():
        value = json_text.parse(member_text)
        if name == "input":
            items = normal_input(value)
            if items:
                normal[name] = items
        elif not is_left_out(name, member_text):
            normal[name] = _normal_setting(name, value)
    return sha256(canonical_json(normal))


def hash_request_json(request_text: bytes | str) -> str:
    """Return the hash of a request's JSON text as it stands; nothing is normalised.

    Member order and white space do not matter.

    Spec: context 5.

    Raises:
        NotJSON: when the text is not one JSON document.
        CannotHash: when it holds a number beyond any double.
    """
    return sha256(canonical_text(request_text))


def hash_of(settings: Settings, items: Iterable[Item], form: Form) -> str:
    """Return the hash of the canonical request of settings and items in one form.

    Raises:
        CannotHash: when it holds a number beyond any double.
    """
    return sha256(canonical_json(build_request(settings, items, form)))
