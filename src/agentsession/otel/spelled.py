"""JSON text with what must not leave taken out in place; everything else keeps its spelling.

Spec: decision F.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from agentsession import text as json_text
from agentsession.errors import NotJSON

Redact = Callable[[str], str]

_TOKEN: Final = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")(?P<named>\s*:)?|(?P<number>-?\d[\d.eE+-]*)|[{}\[\]]',
    re.DOTALL,
)
_DEEPEST: Final = 64
"""Common readers of JSON give up on what nests much deeper."""


def redacted(text: str, redact: Redact) -> str:
    """Return a JSON text with its strings, names and numbers redacted, then the text itself.

    Texts are redacted before they are escaped: an escape could hide what to look for. A
    number that changes becomes a string. A name that becomes the same as another one of its
    object is numbered. A text that is not JSON is redacted as it is.
    """
    if not is_json(text):
        return redact(text)
    # What lies across several values is found in the text alone.
    return redact(_in_place(text, redact))


def is_json(text: str) -> bool:
    """Return whether a text is a JSON document."""
    try:
        json_text.check(text.encode("utf-8", "replace"))
    except NotJSON:
        return False
    return True


def can_be_part(text: str) -> bool:
    """Return whether a text is a JSON object that readers take as a part of another document.

    One that nests very deep, or has a number beyond any double, is not.
    """
    if not text.lstrip().startswith("{") or not is_json(text):
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        if token["number"]:
            if math.isinf(float(token["number"])):
                return False
        elif not token["string"]:
            depth += 1 if token[0] in "{[" else -1
            if depth > _DEEPEST:
                return False
    return True


@dataclass(slots=True)
class _Piece:
    """A token that changes: where it stands, what it becomes, and the names beside it."""

    start: int
    end: int
    told: str
    taken: set[str] | None


@dataclass(slots=True)
class _Changes:
    redact: Redact
    pieces: list[_Piece] = field(default_factory=list)
    scopes: list[set[str]] = field(default_factory=list)

    def take(self, token: re.Match[str]) -> None:
        if token["number"]:
            self._changed(token.span("number"), token["number"], None)
        elif token["string"]:
            told = str(json_text.parse(token["string"]))
            self._changed(token.span("string"), told, self.scopes[-1] if token["named"] else None)
        elif token[0] in "{[":
            self.scopes.append(set())
        else:
            self.scopes.pop()

    def _changed(self, span: tuple[int, int], told: str, taken: set[str] | None) -> None:
        found = self.redact(told)
        if found != told:
            self.pieces.append(_Piece(*span, found, taken))
        elif taken is not None:
            taken.add(told)


def _in_place(text: str, redact: Redact) -> str:
    changes = _Changes(redact)
    for token in _TOKEN.finditer(text):
        changes.take(token)
    return "".join(_put_together(text, changes.pieces))


def _put_together(text: str, pieces: list[_Piece]) -> Iterator[str]:
    done = 0
    for piece in pieces:
        yield text[done : piece.start]
        yield string(piece.told if piece.taken is None else _unlike(piece.told, piece.taken))
        done = piece.end
    yield text[done:]


def _unlike(name: str, taken: set[str]) -> str:
    """A name no other member of the object has."""
    if name in taken:
        numbered = (f"{name} {number}" for number in itertools.count(2))
        name = next(found for found in numbered if found not in taken)
    taken.add(name)
    return name


def string(text: str) -> str:
    """Return a text as JSON."""
    return json_text.encode(text).decode("utf-8", "replace")
