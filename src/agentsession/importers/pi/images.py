"""Which models of a session take no images: what a file that was read said of its image.

Spec: pi 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentsession.importers.pi.evidence import IMAGES_TOLD, NO_IMAGES, Release, Sent
from agentsession.importers.pi.records import ASSISTANT, RESULT, objects, string
from agentsession.importers.pi.transcript import Native

_Model = tuple[str, str]


def imageless(
    entries: Sequence[Native], releases: Mapping[int, Release], known: Mapping[str, Sent]
) -> set[int]:
    """Return the places of the answers whose model was sent texts for images.

    Nothing else says so of a model. What an image that was read says holds until the model is
    shown one again, and before the first one too.

    Args:
        entries: the session's entries.
        releases: by the place of an answer, who sent its request.
        known: by the name of an answer, what an earlier import found: it stays.
    """
    shown = {entry.place: _shown(entry, releases) for entry in entries}
    takes: dict[_Model, bool] = {}
    for seen in shown.values():
        if seen is not None:
            takes.setdefault(*seen)
    found: set[int] = set()
    for entry in entries:
        seen = shown[entry.place]
        if seen is not None:
            takes[seen[0]] = seen[1]
        if entry.record.role == ASSISTANT:
            earlier = known.get(entry.name)
            images = takes.get(_model(entry), True) if earlier is None else earlier.images
            if not images:
                found.add(entry.place)
    return found


def _shown(entry: Native, releases: Mapping[int, Release]) -> tuple[_Model, bool] | None:
    """Return which model a file's image was read for, and whether it takes images."""
    message = entry.record.message
    if entry.record.role != RESULT or message.get("toolName") != "read":
        return None
    parts = objects(message.get("content"))
    caller = entry.parent
    while caller is not None and caller.record.role != ASSISTANT:
        caller = caller.parent
    if caller is None or all(part.get("type") != "image" for part in parts):
        return None
    if any(NO_IMAGES in string(part.get("text")) for part in parts):
        return _model(caller), False
    # Older releases said nothing of it.
    return (_model(caller), True) if releases[caller.place] >= IMAGES_TOLD else None


def _model(entry: Native) -> _Model:
    message = entry.record.message
    return string(message.get("provider")), string(message.get("model"))
