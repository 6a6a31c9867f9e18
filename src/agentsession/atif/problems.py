"""What a check finds: problems with their place, and the error that carries them.

Spec: atif 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentsession.errors import AgentSessionError

if TYPE_CHECKING:
    from collections.abc import Sequence

Path = tuple["Path", str | int] | None
"""A place in a document: the path of the container and the step into it; ``None`` is the root."""

_SHOWN: Final = 80
_NAMES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a document.

    Attributes:
        path: JSON path of the value at fault, such as ``$.steps[2].message``.
        rule: stable code of the rule, such as ``step-number``.
        message: one sentence saying what was found and what is expected.
        value: the value at fault when it is a scalar, a short description of a list or
            object, ``None`` for a missing one.
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
        cut = value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"
        # repr keeps controls and lone surrogates printable.
        quoted = "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)
        return '"' + quoted.replace('"', '\\"') + '"'
    if isinstance(value, int):
        return str(value) if abs(value) < 10**_SHOWN else "a very large integer"
    if isinstance(value, float):
        return repr(value)
    return str(_bare(value))


def _bare(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        names = ", ".join(str(name)[:_SHOWN] for name in list(value)[:_NAMES_SHOWN])
        more = ", …" if len(value) > _NAMES_SHOWN else ""
        return f"an object of {len(value)} ({names}{more})" if value else "an empty object"
    return f"a Python {type(value).__name__}"
