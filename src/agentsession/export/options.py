"""What an export can be asked for, each option with the reader it serves.

Spec: export 2 and 13, decisions E3 to E6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentsession.atif import SCHEMA_VERSION
from agentsession.export.preferences import Preference
from agentsession.export.redact import Redactor
from agentsession.session import Session

Cost = Callable[[str, Mapping[str, Any]], float | None]
"""The price of one model call in US dollars from the model sent and its usage; ``None`` when
it has none."""

Resolver = Callable[[str], Session | None]
"""The session with an id, or ``None``; an exception of this package counts as ``None``."""

SchemaVersion = Literal["ATIF-v1.7", "ATIF-v1.8"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a trajectory becomes a document.

    Attributes:
        agent_name, agent_version: the document's agent; the header's harness by default.
        model_name: reported instead of the model that was sent. For Harbor, which reads the
            provider from the part before the first slash.
        cost: asked once for each model call of the path; without it there is no cost.
        subsessions: finds linked sessions to embed; without it they are referenced by file.
        preferences: decide forks in embedded sessions.
        redactors: applied to the finished document, in order.
        notes: the document's notes.
        history: ``context``, the steps the model would be sent, or ``path``, every step of the
            path once with compactions as boundary steps. For training on long sessions.
        schema_version: ``ATIF-v1.7`` for readers that stop there (Letta, agentpile).
        instructions: put the instructions into a first system step. For Harbor's SFT export,
            which writes the tools into the first system step only.
        text_only: degrade media to bracketed placeholders. For Harbor's SFT export, which
            refuses a whole trajectory for one image.
        failed_calls: ``keep``, ``mark`` or ``drop`` model calls that ended with an error or an
            unfinished status. For training sets.
        note_embedded: say in the notes that totals leave out the embedded documents.

    Spec: export 2, 9 and 10.
    """

    agent_name: str = ""
    agent_version: str = ""
    model_name: str = ""
    cost: Cost | None = None
    subsessions: Resolver | None = None
    preferences: Sequence[Preference] = ()
    redactors: Sequence[Redactor] = ()
    notes: str = ""
    history: Literal["context", "path"] = "context"
    schema_version: SchemaVersion = SCHEMA_VERSION
    instructions: bool = False
    text_only: bool = False
    failed_calls: Literal["keep", "mark", "drop"] = "keep"
    note_embedded: bool = False
