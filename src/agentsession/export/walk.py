"""JSON values with other strings in them, on any nesting.

Spec: export 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Change = Callable[[str, str], str]
"""A string in its new form, from the name of the member it stands in and itself."""


def texts(value: Any) -> Iterator[str]:
    """Yield every string and member name in a JSON value, in no particular order."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            yield from found
            pending += found.values()
        elif isinstance(found, list | tuple):
            pending += found
        elif isinstance(found, Mapping):
            pending.append(dict(found))


def mapped(
    value: Any, change: Change, key: Callable[[str], str], *, numbers: bool = False, name: str = ""
) -> Any:
    """Return a copy of a JSON value with every string and member name changed.

    Args:
        value: the value.
        change: gives a string's new form.
        key: gives a member name's new form.
        numbers: whether a number whose text changes becomes that text.
        name: the member the value itself stands in.
    """
    holder: dict[str, Any] = {"": value}
    pending: list[tuple[Any, Any, str]] = [(holder, "", name)]
    while pending:
        container, at, here = pending.pop()
        found = container[at]
        if isinstance(found, str):
            container[at] = change(here, found)
        elif isinstance(found, Mapping):
            fresh: dict[str, Any] = {}
            for old, inner in found.items():
                new = _free(key(old), fresh)
                fresh[new] = inner
                pending.append((fresh, new, old))
            container[at] = fresh
        elif isinstance(found, list | tuple):
            items = list(found)
            pending += [(items, number, here) for number in range(len(items))]
            container[at] = items
        elif numbers and isinstance(found, int | float) and not isinstance(found, bool):
            container[at] = _number(found, change, here)
    return holder[""]


def _number(value: float, change: Change, name: str) -> Any:
    try:
        written = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return value
    changed = change(name, written)
    return value if changed == written else changed


def _free(name: str, taken: Mapping[str, Any]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
