"""Items of the plainest messages, whose words are never decoded.

A message of one block that says nothing beyond its item becomes that item by putting the
texts of its strings into place. Whatever is not that plain is made by :mod:`.blocks`, and
what is made here is the same byte for byte.

Spec: claude-code 2.1, 5.1; format 6.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agentsession.importers.claude_code.heads import (
    NOTHING,
    CallBlock,
    ResultBlock,
    Text,
    TextBlock,
    ThinkingBlock,
)
from agentsession.importers.claude_code.lines import REFUSALS
from agentsession.importers.claude_code.records import Record
from agentsession.importers.drafting import spelled
from agentsession.members import string_text

_NO: Final = (b"", b"")
_SEPARATORS: Final = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")
_SIGNED: Final = b',"encrypted":"anthropic.signature"}'
_ERRORS: Final = {
    NOTHING: b"",
    True: b'{"error":true,"metadata":{"anthropic":{"is_error":true}}}',
    False: b'{"metadata":{"anthropic":{"is_error":false}}}',
}

_Leaf = str | int | bool | None
_Inner = _Leaf | list[_Leaf] | dict[str, _Leaf]
_arguments: Final = msgspec.json.Decoder(dict[str, _Leaf | list[_Inner] | dict[str, _Inner]]).decode
_encode: Final = msgspec.json.Encoder().encode


def plain_user_item(record: Record, role: str) -> tuple[bytes, bytes]:
    """Return the item of a user's plain message and its origin as JSON text, or no text."""
    content = record.content
    if isinstance(content, str):
        words = spelled(content)
    elif not record.is_plain or not isinstance(content, list) or len(content) != 1:
        return _NO
    else:
        block = content[0]
        if isinstance(block, ResultBlock):
            return _result(record.uuid, block)
        words = _words(block.text) if isinstance(block, TextBlock) else b""
    if not words:
        return _NO
    item = b'{"type":"message","id":%b,"role":"%b","content":[{"type":"input_text","text":%b}]}' % (
        string_text(record.uuid),
        role.encode(),
        words,
    )
    return item, b""


def _result(name: str, block: ResultBlock) -> tuple[bytes, bytes]:
    output = _words(block.content)
    if not output:
        return _NO
    item = b'{"type":"function_call_output","id":%b,"call_id":%b,"output":%b}' % (
        string_text(name),
        string_text(block.tool_use_id),
        output,
    )
    return item, _ERRORS[block.is_error]


def plain_answer_item(record: Record) -> tuple[bytes, bytes]:
    """Return the item of an answer's plain block and its origin as JSON text, or no text."""
    content = record.content
    if not record.is_plain or not isinstance(content, list) or len(content) != 1:
        return _NO
    block = content[0]
    name = string_text(record.uuid)
    told = b'{"message":%b' % string_text(record.message_id)
    if record.model:
        told += b',"provider":"anthropic","model":%b' % string_text(record.model)
    item = b""
    if isinstance(block, CallBlock):
        arguments = _spelled_arguments(block.input)
        if arguments:
            item = b'{"type":"function_call","id":%b,"call_id":%b,"name":%b,"arguments":%b}' % (
                name,
                string_text(block.id),
                string_text(block.name),
                arguments,
            )
    elif isinstance(block, TextBlock):
        words = _words(block.text)
        if words:
            item = (
                b'{"type":"message","id":%b,"role":"assistant","content":'
                b'[{"type":"output_text","text":%b,"annotations":[]}]}' % (name, words)
            )
    elif isinstance(block, ThinkingBlock):
        words, secret = _words(block.thinking), _words(block.signature)
        if words and len(secret) > len(b'""'):
            item = (
                b'{"type":"reasoning","id":%b,"summary":[{"type":"summary_text","text":%b}],'
                b'"encrypted_content":%b}' % (name, words, secret)
            )
            return item, told + _SIGNED
    return (item, told + b"}") if item else _NO


def _words(raw: Text) -> bytes:
    """The text of a string, where the format spells it the same; else no text."""
    found = bytes(raw) if isinstance(raw, msgspec.Raw) else b""
    if not found.startswith(b'"'):
        return b""
    if not found.isascii() and (_SEPARATORS[0] in found or _SEPARATORS[1] in found):
        return b""
    return found


def _spelled_arguments(raw: msgspec.Raw) -> bytes:
    """The arguments of a call as the text of a string, where they need no other spelling."""
    found = bytes(raw)
    try:
        if _encode(_arguments(found)) != found:
            return b""
    except REFUSALS:
        return b""
    if not found.isascii() and (_SEPARATORS[0] in found or _SEPARATORS[1] in found):
        return b""
    return b'"%b"' % found.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
