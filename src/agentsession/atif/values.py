"""Plain JSON values: copied, changed and searched, however deep.

Spec: atif 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentsession.atif.lax import is_finite


def copied(value: Any) -> Any:
    """A copy that shares no list or object with the original, as dicts and lists.

    Works on any nesting; scalars are shared.
    """
    return rebuilt(value, dict)


def rebuilt(
    value: Any,
    of_object: Callable[[Mapping[str, Any]], dict[str, Any]],
    of_scalar: Callable[[Any], Any] | None = None,
) -> Any:
    """A copy whose objects, from the outermost inwards, are what a function makes of them.

    Works on any nesting.

    Args:
        value: what to copy.
        of_object: gives a new object for one; what is in it is rebuilt in turn.
        of_scalar: gives what stands for a scalar; without it scalars are shared.
    """
    holder: list[Any] = [value]
    pending: list[tuple[Any, Any]] = [(holder, 0)]
    whole = of_scalar is not None
    while pending:
        container, key = pending.pop()
        original = container[key]
        if isinstance(original, Mapping):
            fresh: Any = of_object(original)
            pending.extend((fresh, name) for name, inner in fresh.items() if whole or _holds(inner))
        elif isinstance(original, list | tuple):
            fresh = list(original)
            pending.extend((fresh, at) for at, inner in enumerate(fresh) if whole or _holds(inner))
        elif of_scalar is not None:
            fresh = of_scalar(original)
        else:
            continue
        container[key] = fresh
    return holder[0]


def _holds(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def scalars(value: object) -> Iterator[object]:
    """Every scalar inside a value, in no particular order."""
    pending = [value]
    while pending:
        inner = pending.pop()
        if isinstance(inner, Mapping):
            pending.extend(inner.values())
        elif isinstance(inner, list | tuple):
            pending.extend(inner)
        else:
            yield inner


def odd_number(value: object) -> int | float | None:
    """The first number found inside a value that no double holds, or ``None``."""
    for scalar in scalars(value):
        if isinstance(scalar, int | float) and not is_finite(scalar):
            return scalar
    return None
