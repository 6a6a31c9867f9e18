"""Recording what was sent and what came back; continuing a session in a successor.

Spec: context 7, 12, decision A10.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agentsession.entries import ConfigEntry
from agentsession.parts import InstructionsPart
from agentsession.session import Session


@dataclass(frozen=True, slots=True)
class Recorded:
    """The response entry written, and whether it holds a request hash."""

    entry_id: str
    request_hash: str = ""
    note: str = ""


def config_from_request(request: object) -> ConfigEntry:
    raise NotImplementedError


def config_from_request_parts(request: object, *parts: InstructionsPart) -> ConfigEntry:
    raise NotImplementedError


def record_response(
    store: object,
    session_id: str,
    request: object,
    response: object,
    latency: float | timedelta | None = None,
) -> Recorded:
    raise NotImplementedError


def continue_session(store: object, session_id: str, summary: object = None) -> Session:
    raise NotImplementedError
