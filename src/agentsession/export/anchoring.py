"""Where in a text there can be a credential, for all kinds in one pass.

google-re2 (the extra ``fast``) searches for a union of expressions as fast as for one. It has
neither lookarounds nor possessive quantifiers, and here it sees each character beyond ASCII as
a question mark, so that places in its text are places in ours. Its expressions are therefore
loose forms of the exact ones: they match wherever those do, rarely elsewhere, and what they
match is then looked at with those.

Spec: export 11.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

Places = Sequence[tuple[int, int]]
"""Parts of a text, in order and apart, each from where to where."""

BEFORE: Final = 40
"""How many characters before the beginning of a loose match an anchor's hit may be."""
AFTER: Final = 170
"""How many characters after the beginning of a loose match an anchor's hit may be."""

BLANK: Final = r"[\t-\r\x1c- ?]"
"""Whatever Python calls a blank, as a loose expression; those beyond ASCII are question marks."""

# States of the automaton are kept up to this; a text that needs more is searched more slowly.
_MEMORY: Final = 32 << 20
# The engine counts in whole numbers of C; nothing is left out when the text is longer.
_LONGEST: Final = 1 << 30

# These letters have relatives beyond ASCII that are equal to them when case does not count.
_FOLDED: Final = {"k": "[k?]", "s": "[s?]", "i": "[i?]"}
_LOOSER: Final = (
    (re.compile(r"\(\?P<\w+>"), "(?:"),
    (re.compile(r"\(\?![^()]*\)"), ""),
    # The least of the last run is enough: what is behind it is looked at with the exact one.
    (re.compile(r"\{(\d+),\d+\}\+(?!.*\}\+)"), r"{\1}"),
    (re.compile(r"\{(\d+),\d+\}\+"), r"{\1,}"),
    (re.compile(r"\\s(?=\{)"), BLANK.replace("\\", "\\\\")),
)


def loosened(expression: str) -> str:
    r"""Return the loose form of an expression.

    It may have no other context than a lookahead, and after its last possessive run nothing
    that has to be there.

    >>> loosened(r"(?P<secret>a-[0-9]{2,9}+-[a-z]{36,64}+)(?![a-z])")
    '(?:a-[0-9]{2,}-[a-z]{36})'
    """
    for construct, instead in _LOOSER:
        expression = construct.sub(instead, expression)
    return expression


def folded(word: str) -> str:
    """Return the loose form of a word in which case does not count.

    >>> folded("token")
    '(?i:to[k?]en)'
    """
    return f"(?i:{''.join(_FOLDED.get(letter, letter) for letter in word)})"


def with_digit(ends: str) -> str:
    r"""Return an expression for the beginning of a value of eight characters with a digit in it.

    The first digit of a value is at one place only, so the engine never follows two ways.

    Args:
        ends: what is not in a value, as it stands in a character class.
    """
    early = [f"[^0-9{ends}]{{{at}}}[0-9][^{ends}]{{{7 - at}}}" for at in range(7)]
    return f"(?:{'|'.join(early)}|[^0-9{ends}]{{7,}}[0-9])"


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Expression(Protocol):
    def finditer(self, text: bytes) -> Iterator[_Match]: ...


class Finder:
    """Finds the places of a text where anchors can have hits that count.

    Args:
        expression: the union of the loose expressions.
    """

    def __init__(self, expression: _Expression) -> None:
        self._expression = expression

    def __call__(self, text: str) -> Places:
        """Return the places: an anchor's hit that counts begins in one."""
        if len(text) > _LONGEST:
            return [(0, len(text))]
        found: list[tuple[int, int]] = []
        # Matches do not overlap. One that begins inside another is in its reach.
        for match in self._expression.finditer(text.encode("ascii", "replace")):
            start, end = match.span()
            start, end = max(0, start - BEFORE), end + AFTER
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
        return found


def finder_of(near: Iterable[str]) -> Finder | None:
    """Return what finds the places of these loose expressions; ``None`` without google-re2."""
    try:
        engine: Any = importlib.import_module("re2")
        options = engine.Options()
        options.encoding = options.Encoding.LATIN1
    except (ImportError, AttributeError):  # another package has this name as well
        return None
    options.max_mem = _MEMORY
    options.log_errors = False
    return Finder(engine.compile("|".join(near).encode("ascii"), options))
