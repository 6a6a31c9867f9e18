"""OpenCode's sessions as sessions of this format: what the model really saw.

>>> from agentsession.importers.opencode import convert
>>> with convert.Source("/home/dev/.local/share/opencode") as source:  # doctest: +SKIP
...     for summary in convert.sessions(source):
...         converted = convert.convert(source, summary.id)

Each session is converted once, from the copy that holds most of what its model saw. Every
model call is a response whose request context, lowered by :mod:`agentsession.wire` under
:func:`profile_of_response`, is what OpenCode sent. docs/formats/opencode.md is the mapping,
docs/formats/opencode-codes.md lists the codes of the report.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from agentsession.beside import value_of
from agentsession.entries import ResponseEntry
from agentsession.importers.base import Converted
from agentsession.importers.opencode import values
from agentsession.importers.opencode.convert.codes import CODES
from agentsession.importers.opencode.convert.rules import profile_of, rows_profile, version_of
from agentsession.importers.opencode.convert.session import convert_session
from agentsession.importers.opencode.convert.source import Source, Summary
from agentsession.importers.opencode.convert.timeline import Releases
from agentsession.wire import Profile

__all__ = [
    "CODES",
    "Source",
    "Summary",
    "convert",
    "profile_of",
    "profile_of_response",
    "rows_profile",
    "sessions",
]

Places = Source | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def sessions(source: Places) -> Iterator[Summary]:
    """Yield the sessions of a source, or of the stores at some places, oldest first."""
    if isinstance(source, Source):
        yield from source.summaries()
        return
    with _opened(source) as opened:
        yield from opened.summaries()


def convert(
    source: Places, session_id: str, known: Releases = (), origin: str | None = None
) -> Converted:
    """Return one session converted.

    Args:
        source: the source, or the places of its stores.
        session_id: the session.
        known: when a release is known to have run, as an earlier import found it.
        origin: the session that a fork was copied from, as an earlier import found it or did
            not; ``None`` to look for it.

    Raises:
        NoSession: when the source has no such session.
    """
    if isinstance(source, Source):
        return convert_session(source, session_id, known, origin)
    with _opened(source) as opened:
        return convert_session(opened, session_id, known, origin)


def profile_of_response(response: ResponseEntry) -> Profile:
    """Return how the release that sent a response's request spelled it."""
    native = value_of(response, "opencode")
    release = values.metadata_string(native, "release")
    rows = values.metadata_string(native, "engine") == "rows"
    if rows:
        return rows_profile(preview=version_of(release) < (2, 0, 0), release=release)
    return profile_of(release)


def _opened(places: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Source:
    if isinstance(places, (str, os.PathLike)):
        return Source(places)
    return Source(*places)
