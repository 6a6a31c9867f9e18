"""How the command spells what sessions hold: short texts, safe texts, ids, widths.

Spec: command A.2 "Short text".
"""

from __future__ import annotations

import re
import unicodedata

SHORT = 72
"""Characters of a short text, the ellipsis included."""

ELLIPSIS = "…"

_HASH_PREFIX = "sha256:"
_HASH_DIGITS = 12
# White space as Unicode defines it; Python's own \s has four more control characters.
_WORD = re.compile("[^\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_NAMED = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}


def clean(text: str) -> str:
    r"""Return text that a terminal only prints: everything else is escaped.

    Control characters, bidirectional marks, unpaired surrogates and the like become
    ``\n``, ``\x1b``, ``\u202e`` or ``\U000e0001``.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def quote(text: str) -> str:
    """Return text in double quotes, quotes and backslashes in it escaped, and cleaned."""
    return '"' + clean(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _escaped(char: str) -> str:
    named = _NAMED.get(char)
    if named is not None:
        return named
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def short(text: str) -> str:
    """Return the short form of a text: one line, at most 72 characters, quoted.

    Spec: command A.2 "Short text".
    """
    return quote(collapsed(text, SHORT))


def collapsed(text: str, limit: int) -> str:
    """Return text with white space collapsed, cut to ``limit`` characters with an ellipsis."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        return text.strip(" ")
    words: list[str] = []
    length = -1
    for found in _WORD.finditer(text):
        # A text may be one word of many megabytes; no more of it is needed than this.
        word = text[found.start() : min(found.end(), found.start() + limit + 1)]
        words.append(word)
        length += len(word) + 1
        if length > limit:
            return " ".join(words)[: limit - 1] + ELLIPSIS
    return " ".join(words)


def short_id(entry_id: str) -> str:
    """Return the first 12 hex digits of a content hash; any other id as it is."""
    if entry_id.startswith(_HASH_PREFIX):
        return entry_id[len(_HASH_PREFIX) :][:_HASH_DIGITS]
    return entry_id


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def _cells_of(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fitted(text: str, width: int) -> str:
    """Return text cut to a number of columns, with an ellipsis where it was cut."""
    if cells(text) <= width:
        return text
    kept = []
    used = 1
    for char in text:
        used += _cells_of(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + ELLIPSIS
