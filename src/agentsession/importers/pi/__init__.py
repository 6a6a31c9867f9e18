"""pi: its session files read, and what its model saw.

Spec: pi, decisions D3 to D12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsession._lazily import exports

if TYPE_CHECKING:
    from agentsession.importers.pi.codes import CODES
    from agentsession.importers.pi.importer import Pi
    from agentsession.importers.pi.profiles import profile_of_response
    from agentsession.importers.pi.source import Sessions
    from agentsession.importers.pi.usage import usage_records

_HOMES = {
    "codes": ("CODES",),
    "importer": ("Pi",),
    "profiles": ("profile_of_response",),
    "source": ("Sessions",),
    "usage": ("usage_records",),
}

__all__ = ["CODES", "Pi", "Sessions", "profile_of_response", "usage_records"]

__getattr__ = exports(__name__, _HOMES)
