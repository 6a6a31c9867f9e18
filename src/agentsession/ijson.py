"""The I-JSON test: whether every reader takes a text for the same value.

From 0.5 on a line that fails it has no hash. The test looks at the text as written, before
a decoder repairs or rounds anything.

Spec: later drafts 3.3.
"""

from __future__ import annotations

import re
from typing import Final

from agentsession import text
from agentsession._emit import double_text
from agentsession._scan import string, tokens

_NUMBER: Final = re.compile(rb"-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?\Z")
_LONE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|u(?P<lone>[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_PLAIN_DIGITS: Final = 15
"""A number of so few characters is a double exactly, or no whole number."""

_LONGEST_EXPONENT: Final = 6
"""Exponents with more characters leave every double, towards infinity or towards zero."""

_SHOWN: Final = 40


def problem(line: bytes) -> str:
    """Return what keeps a JSON text from being I-JSON, or an empty string.

    Spec: later drafts 3.3.

    Raises:
        NotJSON: when it is not JSON at all.
    """
    if not text.is_utf8(line):
        text.check(line)
        return "the line is not valid UTF-8"
    names: list[set[str] | None] = []
    for kind, start, end in tokens(line):
        if kind == "{":
            names.append(set())
        elif kind == "[":
            names.append(None)
        elif kind in ("}", "]"):
            names.pop()
        elif kind in ("string", "name"):
            token = line[start:end]
            if has_lone_surrogate(token):
                return f"{_shown(token)} holds a lone surrogate"
            seen = names[-1] if names else None
            if kind == "name" and seen is not None:
                name = string(token)
                if name in seen:
                    return f"the member name {_shown(token)} is used twice in one object"
                seen.add(name)
        elif kind == "number":
            found = number_problem(line[start:end])
            if found:
                return found
    return ""


def has_lone_surrogate(token: bytes) -> bool:
    """Return whether a string's text escapes a surrogate without its partner."""
    if b"\\u" not in token:
        return False
    return any(found.group("lone") for found in _LONE.finditer(token))


def number_problem(token: bytes) -> str:
    """Return why a number's text is not I-JSON, or an empty string.

    A whole number must be a double exactly, or be what the canonical text of the nearest
    double says; any other number must only be finite.

    Spec: later drafts 3.3.
    """
    if len(token) <= _PLAIN_DIGITS and token.lstrip(b"-").isdigit():
        return ""
    nearest = float(token)
    if nearest in (float("inf"), float("-inf")):
        return f"the number {_shown(token)} is beyond any double"
    value = _whole(token)
    if value is None or value in (int(nearest), _whole(double_text(nearest).encode())):
        return ""
    return f"the whole number {_shown(token)} is no double"


def _whole(token: bytes) -> int | None:
    """The exact value of a finite number's text when it is a whole number."""
    found = _NUMBER.match(token)
    if found is None:
        return None
    before, after, exponent = found.group(1), found.group(2) or b"", found.group(3) or b"0"
    digits = (before + after).lstrip(b"0")
    if not digits:
        return 0
    significant = digits.rstrip(b"0")
    if len(exponent) > _LONGEST_EXPONENT:
        return None  # so small that it rounds to zero
    shift = int(exponent) - len(after) + len(digits) - len(significant)
    if shift < 0:
        return None
    value: int = int(significant) * 10**shift
    return -value if token.startswith(b"-") else value


def _shown(token: bytes) -> str:
    shown = token.decode("utf-8", "replace")
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
