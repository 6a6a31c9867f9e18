"""Recordings of agents: all that were handed out, or else those that stand beside the code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers import replay
from agentsession.session import Session

FIXTURES = Path(
    os.environ.get("AGENTSESSION_SHARED", Path(__file__).parents[3] / "shared"), "fixtures"
)


def recordings(agent: str, own: Path) -> list[Any]:
    """The recordings of an agent as parameters, each under its name."""
    handed_out = FIXTURES / agent
    found = replay.recordings(handed_out if handed_out.is_dir() else own)
    return [pytest.param(path, id=path.name) for path in found]


def not_rebuilt(verdict: dict[str, Any]) -> dict[int, str]:
    """Why requests of a recording, of which there are some, were not rebuilt, by number."""
    assert verdict["requests"]
    return {
        request["n"]: request["reason"]
        for request in verdict["requests"]
        if request["verdict"] != "rebuilt"
    }


def verify_paths(session: Session) -> None:
    """Check the records on every path of a session."""
    for leaf in session.leaves:
        session.verify_records(leaf.id)
