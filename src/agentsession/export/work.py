"""What an export is to do: sessions to open, targets, options, and how far it is.

Spec: decisions E4, E7 and E8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agentsession.export.detection import Detector
from agentsession.export.options import Options
from agentsession.export.sinks import Targets
from agentsession.findings import Finding
from agentsession.session import Session


@dataclass(frozen=True, slots=True)
class Opened:
    """A session, and what was wrong with it.

    Attributes:
        session: the session.
        damages: what the report is to say of it.
    """

    session: Session
    damages: tuple[Finding, ...] = ()


Load = Callable[[str], Session | Opened]
"""Opens a session by its id. For several processes it must be possible to pickle it; each of
them gets it once."""

Leaves = Literal["all", "current", "auto"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an export is.

    Attributes:
        session_id: the session at hand.
        sessions_done, sessions: sessions that are finished, and all.
        steps_done: steps of the document at hand that are written.
    """

    session_id: str
    sessions_done: int
    sessions: int
    steps_done: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What to do with each session.

    Attributes:
        targets: where documents go.
        options: how they are made.
        leaves: ``all`` leaves of a session, its ``current`` one, or ``auto``: the current one
            of imported sessions, whose other leaves are what an agent threw away, and all
            leaves of others.
        embed: whether linked sessions that can be loaded are embedded.
        check: looks for what still resembles a credential after redaction, and makes findings
            of it; ``None`` does not look.
    """

    targets: Targets
    options: Options = field(default_factory=Options)
    leaves: Leaves = "auto"
    embed: bool = False
    check: Detector | None = None
