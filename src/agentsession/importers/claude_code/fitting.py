"""Fitting: quick looks at the text of what most lines hold, which tell that all of it is known.

A look that says no is no verdict: what it refuses is decoded, and looked at member by member.
Spec: claude-code 2, decision D11.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from agentsession.importers.claude_code.heads import NOTHING, CallBlock, ResultBlock
from agentsession.importers.claude_code.lines import REFUSALS


class _Lifetimes(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class _Details(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    thinking_tokens: int = 0


class _Served(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    web_search_requests: int = 0
    web_fetch_requests: int = 0


class _Usage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    input_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: _Lifetimes | None = None
    output_tokens: int = 0
    service_tier: str | None = None
    server_tool_use: _Served | None = None
    output_tokens_details: _Details | None = None
    inference_geo: str | None = None
    iterations: msgspec.Raw = msgspec.Raw(b"")
    speed: str | None = None
    fallback_credit: msgspec.Raw = msgspec.Raw(b"")


class _Mark(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str = ""
    ttl: str | None = None
    scope: str | None = None


class _Caller(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str = ""
    tool_id: str | None = None


class _Words(msgspec.Struct, tag_field="type", tag="text", gc=False, forbid_unknown_fields=True):
    text: msgspec.Raw = msgspec.Raw(b"")


class _Image(msgspec.Struct, tag_field="type", tag="image", gc=False, forbid_unknown_fields=True):
    source: msgspec.Raw = msgspec.Raw(b"")


class _Rendered(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    content: str


_usage: Final = msgspec.json.Decoder(_Usage).decode
_mark: Final = msgspec.json.Decoder(_Mark | None).decode
_caller: Final = msgspec.json.Decoder(_Caller | None).decode
_parts: Final = msgspec.json.Decoder(list[_Words | _Image]).decode
_rendered: Final = msgspec.json.Decoder(list[_Rendered]).decode


_QUOTE: Final = ord('"')


def _fits(decode: Callable[[Any], object], raw: bytes | msgspec.Raw) -> bool:
    try:
        decode(raw)
    except REFUSALS:
        return False
    return True


def usage_fits(raw: msgspec.Raw) -> bool:
    """Return whether the text of an answer's usage shows that all of it is known."""
    return _usage_fits(bytes(raw))


@lru_cache(maxsize=8)
def _usage_fits(raw: bytes) -> bool:
    # The records of one answer say of its tokens the same.
    return _fits(_usage, raw)


def rendered_fits(raw: msgspec.Raw) -> bool:
    """Return whether the text of what an attachment was worded as is that of some strings."""
    return _fits(_rendered, raw)


def blocks_fit(content: object) -> bool:
    """Return whether the plain blocks of a message hold nothing but what is known."""
    for block in content if isinstance(content, list) else ():
        if block.cache_control is not NOTHING and not _fits(_mark, block.cache_control):
            return False
        kind = block.__class__
        if kind is not CallBlock and kind is not ResultBlock:
            continue
        if block.caller is not NOTHING and not _fits(_caller, block.caller):
            return False
        # Most results are one string.
        is_words = kind is CallBlock or memoryview(block.content)[0] == _QUOTE
        if not is_words and not _fits(_parts, block.content):
            return False
    return True
