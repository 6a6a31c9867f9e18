"""The Codex CLI's threads as sessions of this format: what the model really saw.

>>> from agentsession.importers import codex
>>> importer = codex.Codex()
>>> for source in importer.find():  # doctest: +SKIP
...     for native in importer.sessions(source):
...         converted = importer.convert(source, native.id)

Recorded Responses items are stored as recorded. Every model call is a response whose request
context, lowered by :mod:`agentsession.wire` under :func:`profile_of_response`, is what Codex
sent. docs/formats/codex.md is the mapping, docs/formats/codex-codes.md lists the codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsession._lazily import exports

if TYPE_CHECKING:
    from agentsession.importers.codex.codes import CODES
    from agentsession.importers.codex.importer import Codex, usage_records
    from agentsession.importers.codex.profiles import profile_of_response
    from agentsession.importers.codex.replaying import replay, sessions

_HOMES = {
    "codes": ("CODES",),
    "importer": (
        "Codex",
        "usage_records",
    ),
    "profiles": ("profile_of_response",),
    "replaying": (
        "replay",
        "sessions",
    ),
}

__all__ = ["CODES", "Codex", "profile_of_response", "replay", "sessions", "usage_records"]

__getattr__ = exports(__name__, _HOMES)
