"""Searching for rollouts at and below a path.

Spec: codex 1.
"""

from __future__ import annotations

import os
import re
from typing import Final

from agentsession.importers.codex.directories import HOME
from agentsession.importers.codex.folders import FOLDERS, is_named_as_rollout, rollout_files
from agentsession.importers.codex.rollouts import is_rollout

_LOOKED_AT: Final = 200
_OWN: Final = re.compile(
    r"/\.codex(?:/(?:archived_)?sessions)?$|/(?:archived_)?sessions(?:/[0-9]+){1,3}$"
)
"""Directories that nobody but Codex has: its own by their place, or those of dates."""


def find(place: str) -> tuple[str, ...]:
    """Return the places at, in or below a path that hold rollouts; none when there are none.

    A file counts when it is a rollout. Of a directory its ``.codex`` is taken, where it has
    one, else the directory itself with all below it.
    """
    if os.path.isfile(place):
        return (place,) if is_rollout(place) else ()
    if not os.path.isdir(place):
        return (place,) if _holds_rollouts(place) else ()
    for root in (place, os.path.join(place, HOME)):
        below = tuple(os.path.join(root, folder) for folder in FOLDERS)
        if any(_holds_rollouts(path) for path in below if os.path.isdir(path)):
            return (root,)
    return (place,) if _holds_rollouts(place) else ()


def _holds_rollouts(place: str) -> bool:
    shut: dict[str, OSError] = {}
    files = rollout_files([place], shut)
    if any(is_named_as_rollout(path) for path in files):
        return True
    if any(_OWN.search(path.replace(os.sep, "/")) for path in shut):
        # What there is cannot be read, and that is to be told.
        return True
    return any(is_rollout(path) for path in files[:_LOOKED_AT])
