"""The normal forms of items, tools, text and reasoning settings.

A typed implementation re-encodes what it sends, so one request has several spellings. The
functions here give the spelling of the payload profile: defaults written out, empty members
left out. Members the profile does not list are kept or dropped, as asked. A value that is
not of the form the profile lists is returned as it is, for it goes through no typed fields.

Spec: format 5, decision A8.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

from agentsession.members import MISSING


class Form(enum.StrEnum):
    """A spelling of the request (decision A8)."""

    AS_WRITTEN = "as_written"
    """Items, tools, text and reasoning as the session holds them."""
    NORMALISED = "normalised"
    """In the payload profile's normal form, members it does not list kept."""
    NORMALISED_DROPPED = "normalised_dropped"
    """In that form, members it does not list dropped."""


class _NotTyped(Exception):
    """The value is not of the form the profile lists."""


_Rule = Callable[[Any, bool], Any]
"""A member's value in normal form, from the value found or MISSING; MISSING leaves it out."""

_Table = Mapping[str, _Rule]


def item(value: Any, *, keep: bool = True) -> Any:
    """Return an item in normal form; an item of no known type as it is.

    Args:
        value: the item as plain values; it is not changed.
        keep: whether members the profile does not list stay.

    Spec: format 5.
    """
    return _or_verbatim(_item, value, keep)


def tool(value: Any, *, keep: bool = True) -> Any:
    """Return a function tool in normal form; any other tool as it is.

    Spec: format 5.2.
    """
    return _or_verbatim(_tool, value, keep)


def reasoning(value: Any, *, keep: bool = True) -> Any:
    """Return a reasoning setting in normal form: both members, ``None`` when empty.

    Spec: format 5.3.
    """
    return _or_verbatim(_object_of(_REASONING), value, keep)


def text(value: Any, *, keep: bool = True) -> Any:
    """Return a text setting in normal form: ``format`` always inside.

    Spec: format 5.4.
    """
    return _or_verbatim(_object_of(_TEXT), value, keep)


def decodes(value: Any) -> bool:
    """Return whether an item is of a known type and of the form that type has.

    Spec: decision A2.
    """
    try:
        return _item_table(value) is not None and _item(value, False) is not None
    except _NotTyped:
        return False


def reasoning_is_empty(value: Any, *, keep: bool = True) -> bool:
    """Return whether a reasoning setting says nothing (format 5.3).

    Args:
        value: the setting as plain values.
        keep: whether members the profile does not list count.
    """
    return _says_nothing(value, ("effort", "summary"), keep)


def text_is_empty(value: Any, *, keep: bool = True) -> bool:
    """Return whether a text setting says nothing (format 5.4).

    Args:
        value: the setting as plain values.
        keep: whether members the profile does not list count.
    """
    return _says_nothing(value, ("format", "verbosity"), keep)


def _says_nothing(value: Any, listed: tuple[str, ...], keep: bool) -> bool:
    if not isinstance(value, Mapping):
        return value is None
    if keep and any(name not in listed for name in value):
        return False
    return not any(value.get(name) not in (None, "", {}) for name in listed)


def _or_verbatim(rule: _Rule, value: Any, keep: bool) -> Any:
    try:
        return rule(value, keep)
    except _NotTyped:
        return value


# Rules for one member. MISSING is an absent member; null reads as absent.


def _absent(value: Any) -> bool:
    return value is MISSING or value is None


def _string(value: Any, _keep: bool) -> Any:
    if _absent(value):
        return ""
    if not isinstance(value, str):
        raise _NotTyped
    return value


def _filled_string(value: Any, keep: bool) -> Any:
    return _string(value, keep) or MISSING


def _nullable_string(value: Any, keep: bool) -> Any:
    return _string(value, keep) or None


def _integer(value: Any, _keep: bool) -> Any:
    if _absent(value):
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise _NotTyped
    return value


def _number(value: Any, _keep: bool) -> Any:
    if _absent(value):
        return 0
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _NotTyped
    return value


def _given_boolean(value: Any, _keep: bool) -> Any:
    if _absent(value):
        return MISSING
    if not isinstance(value, bool):
        raise _NotTyped
    return value


def _raw(value: Any, _keep: bool) -> Any:
    return None if value is MISSING else value


def _filled_raw(value: Any, _keep: bool) -> Any:
    return MISSING if _absent(value) else value


def _detail(value: Any, keep: bool) -> Any:
    return _string(value, keep) or "auto"


def _list_of(rule: _Rule) -> _Rule:
    def apply(value: Any, keep: bool) -> Any:
        if _absent(value):
            return []
        if not isinstance(value, (list, tuple)):
            raise _NotTyped
        return [rule(element, keep) for element in value]

    return apply


def _filled_list_of(rule: _Rule) -> _Rule:
    listed = _list_of(rule)
    return lambda value, keep: listed(value, keep) or MISSING


def _object_of(table: _Table) -> _Rule:
    def apply(value: Any, keep: bool) -> Any:
        if not isinstance(value, Mapping):
            raise _NotTyped
        found = {name: rule(value.get(name, MISSING), keep) for name, rule in table.items()}
        normal = {name: member for name, member in found.items() if member is not MISSING}
        if keep:
            normal.update((name, member) for name, member in value.items() if name not in table)
        return normal

    return apply


def _by_type(tables: Mapping[str, _Table]) -> _Rule:
    rules = {name: _object_of(table) for name, table in tables.items()}

    def apply(value: Any, keep: bool) -> Any:
        if not isinstance(value, Mapping):
            raise _NotTyped
        kind = value.get("type")
        rule = rules.get(kind) if isinstance(kind, str) else None
        return value if rule is None else rule(value, keep)

    return apply


# The tables of format 5.

_LOGPROB: _Table = {"token": _string, "logprob": _number, "bytes": _list_of(_integer)}

_LOGPROBS: _Rule = _filled_list_of(
    _object_of({**_LOGPROB, "top_logprobs": _list_of(_object_of(_LOGPROB))})
)

_ANNOTATION: _Rule = _by_type(
    {
        "url_citation": {
            "type": _string,
            "url": _string,
            "title": _string,
            "start_index": _integer,
            "end_index": _integer,
        }
    }
)

_TEXT_PART: _Table = {"type": _string, "text": _string}

_PART: _Rule = _by_type(
    {
        "input_text": _TEXT_PART,
        "input_image": {
            "type": _string,
            "image_url": _string,
            "detail": _detail,
            "file_id": _filled_string,
        },
        "input_file": {
            "type": _string,
            "filename": _filled_string,
            "file_data": _filled_string,
            "file_url": _filled_string,
            "file_id": _filled_string,
        },
        "input_video": {"type": _string, "video_url": _string},
        "output_text": {
            **_TEXT_PART,
            "annotations": _list_of(_ANNOTATION),
            "logprobs": _LOGPROBS,
        },
        "refusal": {"type": _string, "refusal": _string},
        "text": _TEXT_PART,
        "summary_text": _TEXT_PART,
        "reasoning_text": _TEXT_PART,
    }
)


def _output(value: Any, keep: bool) -> Any:
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else _list_of(_PART)(value, keep)


_ITEM: _Table = {"type": _string, "id": _filled_string, "status": _filled_string}

_ITEMS: Mapping[str, _Table] = {
    "message": {
        **_ITEM,
        "role": _string,
        "content": _list_of(_PART),
        "phase": _filled_string,
    },
    "function_call": {**_ITEM, "call_id": _string, "name": _string, "arguments": _string},
    "function_call_output": {**_ITEM, "call_id": _string, "output": _output},
    "reasoning": {
        **_ITEM,
        "summary": _list_of(_PART),
        "content": _filled_list_of(_PART),
        "encrypted_content": _filled_string,
    },
    "compaction": {**_ITEM, "encrypted_content": _string, "created_by": _filled_string},
    "item_reference": {"type": _string, "id": _string},
}

_TOOL: _Table = {
    "type": _string,
    "name": _string,
    "description": _string,
    "parameters": _raw,
    "strict": _given_boolean,
}

_REASONING: _Table = {"effort": _nullable_string, "summary": _nullable_string}

_FORMAT: _Rule = _object_of(
    {
        "type": _string,
        "name": _filled_string,
        "description": _filled_string,
        "schema": _filled_raw,
        "strict": _given_boolean,
    }
)


def _format(value: Any, keep: bool) -> Any:
    return {"type": "text"} if _absent(value) or value == {} else _FORMAT(value, keep)


_TEXT: _Table = {"format": _format, "verbosity": _filled_string}

_tool_rule: _Rule = _by_type({"function": _TOOL})


def _tool(value: Any, keep: bool) -> Any:
    return _tool_rule(value, keep)


def _item_table(value: Any) -> _Table | None:
    kind = value.get("type") if isinstance(value, Mapping) else None
    return _ITEMS.get(kind) if isinstance(kind, str) else None


def _item(value: Any, keep: bool) -> Any:
    table = _item_table(value)
    if table is None:
        return value
    content = value.get("content")
    if table is _ITEMS["message"] and isinstance(content, str):
        kind = "output_text" if value.get("role") == "assistant" else "input_text"
        value = {**value, "content": [{"type": kind, "text": content}]}
    return _object_of(table)(value, keep)
