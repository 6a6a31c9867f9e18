"""The exact JSON reader: slower than the fast decoder, and right about everything it refuses.

It works on bytes, token by token, without recursion, so that nesting, lone
surrogates, invalid UTF-8 and numbers of any size cost time and never an
unhandled exception. Spec: format 6 and 7, context 5.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from agentsession.errors import NotJSON

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 10_000
"""Deepest nesting of arrays and objects that is read or written."""

MAX_INTEGER_DIGITS: Final = 4300
"""Longest integer that stays exact; Python prints no longer one by default."""

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

Kind: TypeAlias = Literal["{", "}", "[", "]", ",", ":", "name", "string", "number", "word"]
Token: TypeAlias = tuple[Kind, int, int]

# No possessive quantifiers: early releases of Python 3.11 match them wrongly on groups.
_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_TOKEN: Final = re.compile(
    rb"""(?P<string>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")"""
    rb"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    rb"|(?P<word>true|false|null)"
    rb"|(?P<mark>[{}\[\]:,])"
)
_STRING_PREFIX: Final = re.compile(
    rb'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
)
_NESTING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]+|[\]}]+', re.DOTALL)
_DEEP_CODER: Final = sys.version_info >= (3, 12)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))"
)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {b"true": True, b"false": False, b"null": None}
_INTEGER_CHUNK: Final = 600  # below any limit an interpreter can be given


def replace_surrogates(text: str) -> str:
    """Return the text with U+FFFD for every lone surrogate. Spec: format 6."""
    return _SURROGATE.sub(REPLACEMENT, text)


def as_bytes(text: bytes | bytearray | memoryview | str) -> bytes:
    """Return the UTF-8 bytes of a text, lone surrogates replaced by U+FFFD."""
    if isinstance(text, str):
        return replace_surrogates(text).encode()
    return bytes(text)


def may_be_too_deep(text: bytes | str) -> bool:
    """Return whether a fast coder may go deeper in this text than `MAX_DEPTH`.

    Only interpreters whose C code has its own, or a raised, recursion limit can.
    """
    if len(text) <= MAX_DEPTH or not (_DEEP_CODER or sys.getrecursionlimit() > MAX_DEPTH):
        return False
    data = as_bytes(text)
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for found in _NESTING.finditer(data):
        run = found.group()
        if run[0] in b"[{":
            depth += len(run)
            if depth > MAX_DEPTH:
                return True
        elif run[0] in b"]}":
            depth -= len(run)
    return False


def tokens(text: bytes) -> Iterator[Token]:
    """Yield every token of one JSON document as (kind, start, end), grammar checked.

    Offsets are bytes. A member name has the kind ``name``, its quotes included.

    Raises:
        NotJSON: at the first byte that cannot stand where it stands, and for
            nesting deeper than `MAX_DEPTH`.
    """
    match, space = _TOKEN.match, _SPACE.match
    closers: list[Kind] = []
    expected = "value"
    position = 0
    while expected != "end":
        position = space(text, position).end()  # type: ignore[union-attr]  # matches the empty run
        found = match(text, position)
        kind: Any = found and found.lastgroup
        if kind == "mark":
            kind = text[position : position + 1].decode()
        elif kind == "string" and expected in ("name", "name or }"):
            kind = "name"
        following = _follow(kind, expected, closers)
        if found is None or following is None:
            raise _unexpected(text, position, expected)
        if len(closers) > MAX_DEPTH:
            raise NotJSON(f"nested deeper than {MAX_DEPTH} levels", position=position)
        yield kind, position, found.end()
        expected, position = following, found.end()
    position = space(text, position).end()  # type: ignore[union-attr]
    if position != len(text):
        raise _unexpected(text, position, "end")


def _follow(kind: str | None, expected: str, closers: list[Kind]) -> str | None:
    """Return what may follow a token, or None when it may not stand here."""
    if expected in ("value", "value or ]"):
        if kind == "{":
            closers.append("}")
            return "name or }"
        if kind == "[":
            closers.append("]")
            return "value or ]"
        if kind in ("string", "number", "word"):
            return "next" if closers else "end"
    elif kind == "," and expected == "next":
        return "name" if closers[-1] == "}" else "value"
    elif kind == "name":
        return ":"
    elif kind == ":" == expected:
        return "value"
    if kind in ("}", "]") and closers and kind == closers[-1] and _may_close(expected):
        closers.pop()
        return "next" if closers else "end"
    return None


def _may_close(expected: str) -> bool:
    return expected in ("next", "value or ]", "name or }")


def _unexpected(text: bytes, position: int, expected: str) -> NotJSON:
    """Build the error for a token that is no token, or stands in the wrong place."""
    if not text.strip(b" \t\n\r"):
        return NotJSON("empty text", position=len(text))
    if position == 0 and text.startswith(b"\xef\xbb\xbf"):
        return NotJSON("the text starts with a byte order mark; remove it", position=0)
    if position == len(text):
        return NotJSON("the text ends too early", position=position)
    if text[position] == 0x22 and _TOKEN.match(text, position) is None:
        return _bad_string(text, position)
    if position and text[position - 1] == 0x30 and text[position : position + 1].isdigit():
        return NotJSON("a number with a leading zero", position=position - 1)
    if expected == "end":
        return NotJSON(f"{_shown(text, position)} after the document", position=position)
    wanted = {
        "next": "a comma or the end of the array or object",
        "value": "a value",
        "value or ]": "a value or ]",
        "name": "a member name",
        "name or }": "a member name or }",
        ":": "a colon",
    }[expected]
    return NotJSON(f"{_shown(text, position)} where {wanted} belongs", position=position)


def _bad_string(text: bytes, position: int) -> NotJSON:
    """Build the error for a string that does not end, or holds what no string may hold."""
    prefix = _STRING_PREFIX.match(text, position)
    end = prefix.end() if prefix else position
    rest = text[end : end + 6]
    # A cut escape at the very end is a cut string, not a wrong escape.
    if not rest or (rest[0] == 0x5C and _cut_escape(rest) and end + len(rest) == len(text)):
        return NotJSON("the text ends inside a string", position=len(text))
    if rest[0] == 0x5C:
        return NotJSON("a wrong escape inside a string", position=end)
    return NotJSON(f"{_shown(text, end)} inside a string; escape it", position=end)


def _cut_escape(rest: bytes) -> bool:
    return re.fullmatch(rb"\\(?:u[0-9a-fA-F]{0,3})?", rest) is not None


def _shown(text: bytes, position: int) -> str:
    """Name the byte at a position in a way that is safe to print."""
    byte = text[position]
    if byte == 0:
        return "a NUL byte"
    if byte < 0x20 or byte == 0x7F:
        return f"the control character 0x{byte:02x}"
    if byte > 0x7F:
        return f"the byte 0x{byte:02x}"
    return "a quote" if byte == 0x22 else f'"{chr(byte)}"'


def string(token: bytes) -> str:
    """Return the text of a string token, quotes included in the input.

    A lone surrogate escape and each byte of invalid UTF-8 give U+FFFD.
    Spec: format 6, context 5.
    """
    text = token[1:-1].decode("utf-8", "surrogateescape")
    if not text.isascii():
        text = replace_surrogates(text)
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    high, low, unit, short = found.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    if unit:
        return replace_surrogates(chr(int(unit, 16)))
    return _SHORT.get(short, short)


def number(token: bytes) -> int | float:
    """Return the number of a number token.

    Integers of up to `MAX_INTEGER_DIGITS` digits stay exact; anything beyond
    any double becomes infinite, anything below any double 0.0.
    """
    digits = token.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > MAX_INTEGER_DIGITS:
        return float(token)
    value = 0
    for start in range(0, len(digits), _INTEGER_CHUNK):
        chunk = digits[start : start + _INTEGER_CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return -value if token[0] == 0x2D else value


def scalar(kind: Kind, token: bytes) -> Any:
    """Return the value of a string, number or word token."""
    if kind == "string":
        return string(token)
    return number(token) if kind == "number" else _WORDS[token]


def parse(text: bytes) -> Any:
    """Return the value of a JSON document; the last of two equal names wins.

    Raises:
        NotJSON: the text is not one JSON document.
    """
    parents: list[tuple[Any, str]] = []
    # A list stands in as the parent of the document, so that one rule adds every value.
    here: Any = []
    document = here
    name = ""
    for kind, start, end in tokens(text):
        if kind == "name":
            name = string(text[start:end])
        elif kind in ("}", "]"):
            here, name = parents.pop()
        elif kind not in (",", ":"):
            value: Any = {} if kind == "{" else [] if kind == "[" else None
            if value is None:
                value = scalar(kind, text[start:end])
            if isinstance(here, dict):
                here[name] = value
            else:
                here.append(value)
            if kind in ("{", "["):
                parents.append((here, name))
                here = value
    return document[0]


def check(text: bytes) -> None:
    """Return when the text is one JSON document, whatever its strings are encoded in.

    Raises:
        NotJSON: it is not.
    """
    for _ in tokens(text):
        pass


def compact(text: bytes) -> bytes:
    """Return the document without the white space between its tokens.

    Raises:
        NotJSON: the text is not one JSON document.
    """
    return b"".join([text[start:end] for _, start, end in tokens(text)])


def parts(text: bytes, opener: Literal["{", "["]) -> Iterator[tuple[str, bytes]]:
    """Yield the direct children of an object or array as (name, text); elements have no name.

    Texts are verbatim, without white space around them.

    Raises:
        NotJSON: the text is not one JSON document of that kind.
    """
    depth = begin = 0
    name = ""
    for kind, start, end in tokens(text):
        if kind in ("{", "["):
            if not depth and kind != opener:
                break
            depth += 1
        if depth == 0:
            break
        if depth == 1 and kind == "name":
            name = string(text[start:end])
        elif depth == 1 and kind in ("string", "number", "word"):
            yield name, text[start:end]
        elif depth == 2 and kind in ("{", "[") and begin == 0:
            begin = start
        if kind in ("}", "]"):
            depth -= 1
            if depth == 1:
                yield name, text[begin:end]
                begin = 0
    else:
        return
    check(text)
    wanted = "an object" if opener == "{" else "an array"
    raise NotJSON(f"the text is not {wanted}", position=len(text) - len(text.lstrip(b" \t\n\r")))
