"""What releases of Codex knew of models: the tools they were offered, and how much they take.

Each release has a list of the models it knows; one it does not know is given the plainest
tools. Names match by how they begin, behind what names a provider. All of this was read off
requests of real releases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

Version = tuple[int, ...]

_FREEFORM: Final = (
    ("gpt-5-codex", (0, 45), (0, 123)),
    ("gpt-5.1", (0, 58), (0, 123)),
    ("gpt-5.2", (0, 72), (0, 132)),
    ("gpt-5.3-codex", (0, 101), (0, 132)),
    ("gpt-5.4", (0, 113), (0, 132)),
    ("gpt-5.5", (0, 125), (0, 132)),
    ("gpt-oss", (0, 105), (0, 123)),
)
"""Models with a patch tool that takes plain text, and the releases that sent outputs so."""

_ROOMY: Final = (
    ("gpt-5.4", (0, 113), (0, 160)),
    ("gpt-5.5", (0, 125), (999,)),
    ("gpt-6", (0, 161), (999,)),
)
"""Models whose outputs are measured in tokens, by releases that do not record it."""


def reads_text(model: str, version: Version) -> bool:
    """Return whether a release sent a model outputs that are stored as JSON as text.

    It did so where the model had a patch tool that takes plain text.
    """
    return _listed(_FREEFORM, model, version)


def in_tokens(model: str, version: Version) -> bool:
    """Return whether a release that records no policy measured a model's outputs in tokens."""
    return _listed(_ROOMY, model, version)


def _listed(known: Iterable[tuple[str, Version, Version]], model: str, version: Version) -> bool:
    name = model.rpartition("/")[2]
    return any(name.startswith(begin) and since <= version < end for begin, since, end in known)
