"""Items of the plainest messages, whose words are never decoded.

A message of one block that says nothing beyond its item becomes that item by putting the
texts of its strings into place. Whatever is not that plain is made by :mod:`.blocks`, and
what is made here is the same byte for byte.

Spec: claude-code 2.1, 5.1; format 6.
"""

from __future__ import annotations

from functools import lru_cache
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
from agentsession.importers.drafting import has_separator, spelled

_NO: Final = (b"", b"")
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
    name = record.uuid
    if not _is_bare(name):
        return _NO
    head = f'{{"type":"message","id":"{name}","role":"{role}","content":[{{"type":"input_text"'
    return b'%b,"text":%b}]}' % (head.encode(), words), b""


def _result(name: str, block: ResultBlock) -> tuple[bytes, bytes]:
    output, call = _words(block.content), block.tool_use_id
    if not output or not _is_bare(name + call):
        return _NO
    head = f'{{"type":"function_call_output","id":"{name}","call_id":"{call}","output":'
    return b"%b%b}" % (head.encode(), output), _ERRORS[block.is_error]


def plain_answer_item(record: Record) -> tuple[bytes, bytes]:
    """Return the item of an answer's plain block and its origin as JSON text, or no text."""
    content = record.content
    if not record.is_plain or not isinstance(content, list) or len(content) != 1:
        return _NO
    block = content[0]
    name, origin = record.uuid, _origin(record.message_id, record.model)
    if not origin or not _is_bare(name):
        return _NO
    if isinstance(block, CallBlock):
        return _call(name, block), origin + b"}"
    if isinstance(block, TextBlock):
        return _said(name, block), origin + b"}"
    if isinstance(block, ThinkingBlock):
        return _thought(name, block), origin + _SIGNED
    return _NO


@lru_cache(maxsize=8)
def _origin(message: str, model: str) -> bytes:
    """The origin of an answer's items but for its end; no text where names need an escape."""
    if not _is_bare(message + model):
        return b""
    told = f',"provider":"anthropic","model":"{model}"' if model else ""
    return f'{{"message":"{message}"{told}'.encode()


def _call(name: str, block: CallBlock) -> bytes:
    call, tool = block.id, block.name
    arguments = _spelled_arguments(block.input)
    if not arguments or not _is_bare(call + tool):
        return b""
    told = f'"id":"{name}","call_id":"{call}","name":"{tool}","arguments":'
    return b'{"type":"function_call",%b%b}' % (told.encode(), arguments)


def _said(name: str, block: TextBlock) -> bytes:
    words = _words(block.text)
    if not words:
        return b""
    head = f'{{"type":"message","id":"{name}","role":"assistant","content":[{{"type":"output_text"'
    return b'%b,"text":%b,"annotations":[]}]}' % (head.encode(), words)


def _thought(name: str, block: ThinkingBlock) -> bytes:
    words, secret = _words(block.thinking), _words(block.signature)
    if not words or len(secret) <= len(b'""'):
        return b""
    head = f'{{"type":"reasoning","id":"{name}","summary":[{{"type":"summary_text"'
    return b'%b,"text":%b}],"encrypted_content":%b}' % (head.encode(), words, secret)


def _is_bare(names: str) -> bool:
    """Whether ids and names need no escape in JSON text."""
    return names.isascii() and len(_encode(names)) == len(names) + 2


def _words(raw: Text) -> bytes:
    """The text of a string, where the format spells it the same; else no text."""
    found = bytes(raw) if isinstance(raw, msgspec.Raw) else b""
    if not found.startswith(b'"'):
        return b""
    return b"" if has_separator(found) else found


def _spelled_arguments(raw: msgspec.Raw) -> bytes:
    """The arguments of a call as the text of a string, where they need no other spelling."""
    found = bytes(raw)
    try:
        if _encode(_arguments(found)) != found:
            return b""
    except REFUSALS:
        return b""
    if has_separator(found):
        return b""
    return b'"%b"' % found.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
