"""What a check finds: problems with their place, and the error that carries them.

Spec: atif 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from agentsession.errors import AgentSessionError

Path = tuple["Path", str | int] | None
"""A place in a document: the path of the container and the step into it; ``None`` is the root."""

_SHOWN: Final = 80
_NAMES_SHOWN: Final = 5
_VALUE_KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a document.

    Attributes:
        path: JSON path of the value at fault, such as ``$.steps[2].message``.
        rule: stable code of the rule, such as ``step-number``.
        message: one sentence saying what was found and what is expected.
        value: the value at fault when it is a scalar (strings cut at 200 characters), a short
            description of a list, object or number JSON lacks, ``None`` for a missing value.
    """

    path: str
    rule: str
    message: str
    value: str | int | float | bool | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.rule}]"

    def to_dict(self) -> dict[str, Any]:
        """The problem as a JSON object with the members path, rule, message and value."""
        return {
            "path": self.path,
            "rule": self.rule,
            "message": self.message,
            "value": self.value,
        }


class InvalidDocument(AgentSessionError, ValueError):
    """A document that is not ATIF, or not valid ATIF.

    Attributes:
        problems: everything that is wrong, in document order; never empty.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        first, more = problems[0], len(problems) - 1
        also = f" (and {more} more)" if more else ""
        super().__init__(f"{first.path}: {first.message}{also}")
        self.problems = tuple(problems)


def problem(path: Path, rule: str, message: str, value: object = None) -> Problem:
    """A problem at a place, its value made fit to be shown."""
    return Problem(rendered(path), rule, message, _bare(value))


def rendered(path: Path) -> str:
    """The JSON path as text: ``$.steps[2].message``; odd member names in quotes."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        parts.append(_rendered_step(key))
    return "$" + "".join(reversed(parts))


def _rendered_step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() and key.isascii() else f"[{shown(key)}]"


def shown(value: object) -> str:
    """A value in at most some eighty characters, for a sentence."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + _printable(value).replace('"', '\\"') + '"'
    if isinstance(value, int):
        return str(value) if abs(value) < 10**_SHOWN else "a very large integer"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        names = ", ".join(_printable(str(name)) for name in islice(value, _NAMES_SHOWN))
        more = ", …" if len(value) > _NAMES_SHOWN else ""
        return f"an object of {len(value)} ({names}{more})" if value else "an empty object"
    return f"a Python {type(value).__name__}"


def _printable(text: str) -> str:
    """The beginning of a text, controls and lone surrogates escaped."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)


def _bare(value: object) -> str | int | float | bool | None:
    """The value itself where it is a small scalar that JSON has, else what is shown of it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if len(value) <= _VALUE_KEPT else value[: _VALUE_KEPT - 1] + "…"
    if isinstance(value, int) and abs(value) < 10**_SHOWN:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return shown(value)
