"""A stored session as spans, after the fact.

Spec: otel B, decision F.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opentelemetry import context
from opentelemetry.trace import SpanContext, Tracer

from agentsession.entries import Entry
from agentsession.header import Header
from agentsession.otel.emitter import Emitter, Redactor, time_of
from agentsession.otel.projection import Projection
from agentsession.record_entries import InfoEntry
from agentsession.session import Session


def export(
    tracer: Tracer,
    session: Session,
    leaf: str | None = None,
    known_spans: Mapping[str, SpanContext] | None = None,
    *,
    content: bool = False,
    redact: Redactor | None = None,
) -> dict[str, SpanContext]:
    """Return the span of each entry on the path to a leaf, after replaying it into a tracer.

    The spans have the entries' own times and go under the caller's current span.

    Args:
        tracer: where the spans go. What it raises is raised here.
        session: the session.
        leaf: the entry to replay up to; the current leaf by default.
        known_spans: spans of earlier exports by entry id, for links to an abandoned branch.
        content: whether spans carry what was said, in the attributes of the GenAI
            conventions for it.
        redact: what every text passes before it leaves.

    Spec: otel B.

    Raises:
        NoEntry: when the leaf is unknown.
    """
    path = session.path(leaf)
    projection = Projection(
        Emitter(tracer, redact=redact),
        session.header,
        context.get_current(),
        created(session.header),
        name=name_on(path),
        known=known_spans,
        content=content,
    )
    for entry in path:
        projection.feed(entry, session.path)
    projection.finish(end_of(path[-1] if path else None, session.header))
    return projection.spans


def created(header: Header) -> int:
    """Return when a session was created, in nanoseconds since the epoch."""
    at = header.created_at
    return at.nanoseconds if at is not None else 0


def end_of(last: Entry | None, header: Header) -> int:
    """Return when a replay ends: with the last entry, or when there is none with the header."""
    return time_of(last) if last is not None else created(header)


def name_on(path: Sequence[Entry]) -> str:
    """Return the display name a path gives: the last one; empty when it gives none."""
    found = (entry.name for entry in reversed(path) if isinstance(entry, InfoEntry))
    return next(filter(None, found), "")
