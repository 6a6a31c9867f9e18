"""Usage of single model calls, as an agent's own files record it.

Spec: decision D12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsession.timestamp import Timestamp


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one model call used.

    Attributes:
        session_id: the session it belongs to, as an import would name it.
        model: the model that answered; empty when that is not recorded.
        provider: who served it; empty when that is not recorded.
        ts: when; ``None`` when that is not recorded.
        cwd: the working directory; empty when that is not recorded.
        usage: tokens in the payload's form: ``input_tokens`` holds uncached input, cache
            reads and cache writes, ``output_tokens`` holds the reasoning tokens.
        cost: in USD, where the agent recorded it; else ``None``.
        key: tells model calls apart: records with one key are copies of one call, of which
            the one with the most output tokens counts. Empty for a call without copies.
        complete: whether the counts are final; ``False`` for those of an answer's first event.

    Spec: format 5.6, decision D12.
    """

    session_id: str
    model: str = ""
    provider: str = ""
    ts: Timestamp | None = None
    cwd: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    cost: float | None = None
    key: str = ""
    complete: bool = True
