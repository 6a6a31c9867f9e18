"""The importers there are: those of this package, and those that other packages bring.

Another package names its importer in its own metadata::

    [project.entry-points."agentsession.importers"]
    chatter = "chatter_sessions:Chatter"

Spec: design decision 11.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from agentsession.errors import AgentSessionError
from agentsession.importers.base import Importer

_OWNERS: Final = {
    "claude-code": "agentsession.importers.claude_code.places",
    "codex": "agentsession.importers.codex.directories",
    "opencode": "agentsession.importers.opencode.directories",
    "pi": "agentsession.importers.pi.places",
}
"""The module of each importer of this package that knows which directories are its agent's."""

GROUP: Final = "agentsession.importers"
"""The entry point group; an entry point's name is the importer's name."""

_OWN: Final = (
    EntryPoint("claude-code", "agentsession.importers.claude_code.importer:ClaudeCode", GROUP),
    EntryPoint("codex", "agentsession.importers.codex.importer:Codex", GROUP),
    EntryPoint("opencode", "agentsession.importers.opencode.importer:OpenCode", GROUP),
    EntryPoint("pi", "agentsession.importers.pi.importer:Pi", GROUP),
)


def names() -> tuple[str, ...]:
    """Return the names of all importers, in alphabetical order. None of them is loaded."""
    return tuple(sorted(_found()))


def load(name: str) -> Importer:
    """Return a new importer.

    Raises:
        AgentSessionError: when there is none of that name, or it cannot be loaded.
    """
    found = _found().get(name)
    if found is None:
        known = ", ".join(names())
        raise AgentSessionError(f'there is no importer "{name}"; there are: {known}')
    try:
        importer: Importer = found.load()()
    except Exception as error:
        # Whatever another package does while it is loaded is not this one's to foresee.
        raise AgentSessionError(
            f'the importer "{name}" ({found.value}) cannot be loaded: '
            f"{type(error).__name__}: {error}"
        ) from error
    return importer


def owner(name: str) -> Callable[[Path], bool]:
    """Return what tells whether a directory is an agent's alone, as ``Importer.owns`` does.

    An importer of this package is not loaded for it.

    Raises:
        AgentSessionError: when there is none of that name, or it cannot be loaded.
    """
    if name not in _OWNERS:
        return load(name).owns
    is_own: Callable[[Path], bool] = import_module(_OWNERS[name]).is_own
    return is_own


def _found() -> dict[str, EntryPoint]:
    """Every entry point by name; a name of this package's own is never another's."""
    others = {point.name: point for point in entry_points(group=GROUP)}
    return {**others, **{point.name: point for point in _OWN}}
