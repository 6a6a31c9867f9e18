"""Names of a package that are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def exports(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that offers names of its modules.

    Args:
        package: its name.
        homes: for each module, named relatively to it, the names that the package offers.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def found(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f".{home}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return found
