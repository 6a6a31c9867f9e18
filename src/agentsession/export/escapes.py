"""The forms a value can hide in: every escape a document, an argument or a URL may have used.

Spec: export 13, decisions E5.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

# A value is matched whole up to here; of a longer one the rest is followed by hand, so that
# the pattern of a private key stays small.
_HEAD: Final = 40

# What may stand between two characters of a value: a line break, plain or escaped any number
# of times, and the indentation after it.
BREAK: Final = r"(?:(?:\\*[\r\n]|\\+[rn])(?:[ \t]|\\+t)*)*"

_ENTITIES: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_SHORT: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\0": "0"}
_ESCAPED_PLAIN: Final = frozenset("\"'/`$")


@lru_cache(maxsize=4096)
def character(char: str) -> str:
    r"""Return a pattern for one character in all its forms.

    Plain; ``\"`` and the like with any number of backslashes; ``\u0041``, ``\x41``,
    ``\U00000041``; ``%41``, also encoded again; ``&quot;`` and ``&#65;``.
    """
    point = ord(char)
    forms = [rf"\\+u{_hex(unit, 4)}" for unit in _units(char)]
    unicode_form = "".join(forms)
    encoded = char.encode("utf-8", "surrogatepass")
    percent = "".join(f"%(?:25)*{_hex(byte, 2)}" for byte in encoded)
    raw_bytes = "".join(rf"\\+x{_hex(byte, 2)}" for byte in encoded)
    found = [_plain(char), unicode_form, percent, raw_bytes]
    found.append(rf"\\+U{_hex(point, 8)}")
    found.append(rf"\\+u\{{0*{_hex(point, 1)}\}}")
    found.append(f"&#(?:{point}|[xX]0*{_hex(point, 1)});")
    if char in _ENTITIES:
        found.append(f"&{_ENTITIES[char]};")
    if char == " ":
        found.append(r"\+")
    return f"(?:{'|'.join(found)})"


def _plain(char: str) -> str:
    if char == "\\":
        return r"\\+"
    if char in _SHORT:
        return rf"(?:\\*{re.escape(char)}|\\+{_SHORT[char]})"
    if char in _ESCAPED_PLAIN:
        return rf"\\*{re.escape(char)}"
    return re.escape(char)


def _units(char: str) -> list[int]:
    data = char.encode("utf-16-be", "surrogatepass")
    return [data[at] << 8 | data[at + 1] for at in range(0, len(data), 2)]


def _hex(number: int, width: int) -> str:
    digits = f"{number:0{width}x}"
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)


def spellings(value: str) -> Iterator[str]:
    """Yield the texts that stand for a value: itself, its base64 and its hexadecimal form.

    Base64 encodes three bytes at a time, so a value in the middle of something larger has three
    forms, of which the first and last character also depend on what is around it; those are
    left out here.
    """
    data = value.encode("utf-8", "surrogatepass")
    yield value
    seen = set()
    for before in range(3):
        core = _core(data, before)
        for form in (core, core.replace("+", "-").replace("/", "_")):
            if form not in seen:
                seen.add(form)
                yield form
    yield data.hex()
    yield data.hex().upper()


def _core(data: bytes, before: int) -> str:
    padded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
    first = -(-before * 8 // 6)
    last = (before + len(data)) * 8 // 6
    return padded[first:last]


class Condensed:
    """A text without what escapes and line breaks can add to it.

    What a text cannot hold is seen here at the speed of a plain search. Where there is a
    backslash the letters that escapes end in are gone as well, wherever they stand: which of
    them belong to an escape cannot be told when a text was escaped more than once.
    """

    __slots__ = ("escapes", "loose", "text")

    def __init__(self, text: str) -> None:
        self.loose = "\\" in text
        self.text = condense(text, loose=self.loose)
        self.escapes = bool(
            ("%" in text and _PERCENT.search(text))
            or ("\\" in text and _BACKSLASHED.search(text))
            or ("&" in text and _ENTITY.search(text))
        )


_PERCENT: Final = re.compile("%[0-9A-Fa-f]{2}")
_BACKSLASHED: Final = re.compile(r"\\[uxU][0-9A-Fa-f{]")
_ENTITY: Final = re.compile("&(?:#|[a-z]{2,4};)")
_BLANKS: Final = b" \n\r\t\b\f\0\\"
_LETTERS: Final = "".join(_SHORT.values()).encode()


def condense(text: str, *, loose: bool) -> bytes:
    """Return a text without white space and backslashes, and ``loose`` without their letters.

    Each character goes or stays by itself, so what stands in a text stands in it condensed.
    """
    data = text.encode("utf-8", "surrogatepass")
    return data.translate(None, _BLANKS + _LETTERS if loose else _BLANKS)


class Form:
    """One spelling of a value, found in any escape form.

    Args:
        spelling: the text.
        encoded: whether it is base64 or hexadecimal: its letters and digits stand as they are,
            and the characters beside it may belong to it.
    """

    __slots__ = ("_encoded", "_key", "_loose_key", "_pattern", "_rest", "_spaced", "spelling")

    def __init__(self, spelling: str, *, encoded: bool = False) -> None:
        self.spelling = spelling
        self._encoded = encoded
        self._key = condense(spelling[:_HEAD], loose=False)
        self._loose_key = condense(spelling[:_HEAD], loose=True)
        self._spaced = " " in spelling
        self._pattern: re.Pattern[str] | None = None
        self._rest: list[re.Pattern[str]] = []

    def may_stand_in(self, text: str, condensed: Condensed) -> bool:
        """Return whether a text can hold the spelling; ``False`` is certain."""
        key = self._loose_key if condensed.loose else self._key
        if condensed.escapes or key in condensed.text:
            return True
        return self._spaced and "+" in text

    def _compiled(self) -> re.Pattern[str]:
        if self._pattern is None:
            pieces = [self._character(char) for char in self.spelling]
            loose = "[A-Za-z0-9+/_-]?" if self._encoded else ""
            self._rest = [re.compile(BREAK + piece) for piece in pieces[_HEAD:]]
            head = loose + BREAK.join(pieces[:_HEAD])
            self._pattern = re.compile(head + ("" if self._rest else loose))
        return self._pattern

    def _character(self, char: str) -> str:
        return char if self._encoded and char.isalnum() else character(char)

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return where the spelling stands next, or ``None``.

        A long one counts when its beginning is there; what follows of it belongs to it.
        """
        found = self._compiled().search(text, start)
        if found is None:
            return None
        end = found.end()
        for step in self._rest:
            more = step.match(text, end)
            if more is None:
                break
            end = more.end()
        return found.start(), end


def forms(value: str) -> list[Form]:
    """Return all spellings of a value, ready to be searched for."""
    plain, *encoded = spellings(value)
    return [Form(plain), *(Form(text, encoded=True) for text in encoded)]
