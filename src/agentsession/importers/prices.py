"""Prices: what tokens cost, from a file that a user gives.

Spec: decision D12.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agentsession import text
from agentsession.errors import AgentSessionError, NotJSON

MILLION: Final = 1_000_000

_NAMES: Final = ("input", "cache_read", "cache_write", "cache_write_1h", "output")


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens of a model cost, in USD.

    Attributes:
        input: input that was not cached.
        cache_read: input read from a cache; as ``input`` when the file names no price.
        cache_write: input written to a cache; likewise.
        cache_write_1h: the same, to be kept for an hour; as ``cache_write``.
        output: output, reasoning included.
    """

    input: float
    cache_read: float
    cache_write: float
    cache_write_1h: float
    output: float


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of models.

    Attributes:
        models: by the name of a model, or ``provider/model``; a name that ends in ``*``
            stands for all that begin so.
    """

    models: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: str, provider: str = "") -> Price | None:
        """Return the price of a model, by its longest name there is; ``None`` for none."""
        for name in (f"{provider}/{model}", model):
            found = self.models.get(name)
            if found is not None:
                return found
        best = ""
        for name in self.models:
            begun = name.removesuffix("*")
            fits = begun != name and (
                model.startswith(begun) or f"{provider}/{model}".startswith(begun)
            )
            if fits and len(name) > len(best):
                best = name
        return self.models.get(best)


def load_prices(path: str | os.PathLike[str]) -> Prices:
    """Return the prices a file names.

    The file is a JSON object with a member for each model, an object again: ``input`` and
    ``output``, and where they differ ``cache_read``, ``cache_write`` and
    ``cache_write_1h``, in USD for a million tokens.

    Raises:
        AgentSessionError: when it is no such file.
        OSError: when it cannot be read.
    """
    with open(path, "rb") as file:
        given = file.read()
    try:
        value = text.parse(given)
    except NotJSON as error:
        raise AgentSessionError(f"{os.fspath(path)} holds no prices: {error}") from error
    if not isinstance(value, dict):
        raise AgentSessionError(
            f"{os.fspath(path)} holds no prices: give an object with a member for each model"
        )
    return Prices({name: _price(os.fspath(path), name, said) for name, said in value.items()})


def _price(path: str, model: str, said: object) -> Price:
    if not isinstance(said, dict):
        raise AgentSessionError(f'{path}: the price of "{model}" is no object')
    unknown = sorted(set(said) - set(_NAMES))
    if unknown:
        raise AgentSessionError(
            f'{path}: "{unknown[0]}" of "{model}" is no price; the names are {", ".join(_NAMES)}'
        )
    plain = _number(path, model, said, "input", None)
    write = _number(path, model, said, "cache_write", plain)
    return Price(
        input=plain,
        cache_read=_number(path, model, said, "cache_read", plain),
        cache_write=write,
        cache_write_1h=_number(path, model, said, "cache_write_1h", write),
        output=_number(path, model, said, "output", None),
    )


def _number(
    path: str, model: str, said: Mapping[str, object], name: str, default: float | None
) -> float:
    value = said.get(name, default)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise AgentSessionError(f'{path}: "{name}" of "{model}" must be a number of USD, 0 or more')
