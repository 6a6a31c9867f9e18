"""A whole stored session as finished spans with ids that follow from the session alone.

Needs ``opentelemetry-sdk``: this is for ``agentsession trace``, which is its own program and
so brings its own provider. Each part of the tree that branches share is there once.

Spec: decision F.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from opentelemetry.context import Context
from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, SpanContext, TraceFlags

from agentsession import __version__, text
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.otel.emitter import Emitter, Origin, Redactor
from agentsession.otel.names import SCHEMA_URL
from agentsession.otel.projection import Projection
from agentsession.otel.replay import created, end_of, name_on
from agentsession.session import Session

_SCOPE = "agentsession"


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of a session.

    Attributes:
        trace_id: the trace they belong to.
        spans: the spans: the session's, then the others by their start.
        leaves: the ids of the leaves they reach to.
    """

    trace_id: int
    spans: tuple[ReadableSpan, ...]
    leaves: tuple[str, ...]


class _Collector(SpanProcessor):
    def __init__(self) -> None:
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)


def trace_session(
    session: Session,
    leaf: str | None = None,
    *,
    content: bool = False,
    redact: Redactor | None = None,
) -> Trace:
    """Return the spans of a stored session: of every leaf, or of the path to one.

    The same session gives the same trace and span ids. A span whose end was not recorded,
    which the session's always is, has another id once the session has grown.

    Args:
        session: the session.
        leaf: the end of the path to trace; the whole tree by default.
        content: whether spans carry what was said.
        redact: what every text passes before it leaves.

    Spec: decision F.

    Raises:
        NoEntry: when the leaf is unknown.
        AgentSessionError: when the environment turns OpenTelemetry off.
    """
    if os.environ.get(OTEL_SDK_DISABLED, "").strip().lower() == "true":
        raise AgentSessionError(f"{OTEL_SDK_DISABLED} is set, so no span can be made; unset it")
    entries = session.entries if leaf is None else tuple(session.path(leaf))
    ledger: dict[int, Origin] = {}
    collector = _Collector()
    provider = _provider(session.header, collector, redact)
    emitter = Emitter(
        provider.get_tracer(_SCOPE, __version__, SCHEMA_URL), redact=redact, ledger=ledger
    )
    projection = Projection(
        emitter,
        session.header,
        Context(),
        created(session.header),
        name=session.name if leaf is None else name_on(entries),
        content=content,
    )
    for entry in entries:
        projection.feed(entry, session.path)
    last = entries[-1] if entries else None
    projection.finish(end_of(last, session.header))
    ids = _Ids(session.id, last.id if last is not None else "", ledger)
    spans = sorted((ids.renamed(span) for span in collector.ended), key=_order)
    leaves = tuple(entry.id for entry in session.leaves) if leaf is None else (leaf,)
    return Trace(ids.trace_id, tuple(spans), leaves)


def _provider(header: Header, collector: SpanProcessor, redact: Redactor | None) -> TracerProvider:
    service = (header.harness.name if header.harness else "") or _SCOPE
    # Not Resource.create: that adds an instance id which is another one every time.
    own = Resource({SERVICE_NAME: service if redact is None else redact(service)})
    unset = SpanLimits.UNSET
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=own.merge(OTELResourceDetector().detect()),
        shutdown_on_exit=False,
        span_limits=SpanLimits(
            max_events=unset,
            max_links=unset,
            max_span_attributes=unset,
            max_event_attributes=unset,
            max_link_attributes=unset,
            max_attribute_length=unset,
            max_span_attribute_length=unset,
        ),
    )
    provider.add_span_processor(collector)
    return provider


def _order(span: ReadableSpan) -> tuple[bool, int, int]:
    return span.parent is not None, span.start_time or 0, span.context.span_id


class _Ids:
    """Ids that follow from what spans stand for."""

    def __init__(self, session_id: str, last: str, ledger: dict[int, Origin]) -> None:
        self.trace_id = _digest(16, session_id)
        self._contexts = {
            span_id: SpanContext(
                self.trace_id,
                _digest(8, session_id, *_told(origin, last)),
                is_remote=False,
                trace_flags=TraceFlags(TraceFlags.SAMPLED),
            )
            for span_id, origin in ledger.items()
        }

    def renamed(self, span: ReadableSpan) -> ReadableSpan:
        """Return the span under its lasting id, its parent and links too."""
        return ReadableSpan(
            name=span.name,
            context=self._contexts[span.context.span_id],
            parent=None if span.parent is None else self._contexts.get(span.parent.span_id),
            resource=span.resource,
            attributes=span.attributes,
            events=span.events,
            links=[
                Link(self._contexts.get(link.context.span_id, link.context), link.attributes)
                for link in span.links
            ],
            kind=span.kind,
            status=span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )


def _told(origin: Origin, last: str) -> list[str]:
    """What tells a span from the others: what is open has the last entry, for it may go on."""
    told = [origin.role, origin.entry_id, "" if origin.whole else last]
    return [*told, origin.ended_by] if origin.ended_by else told


def _digest(size: int, *parts: str) -> int:
    """A number of so many bytes that is never zero, which no id may be."""
    found = hashlib.sha256(text.encode(list(parts))).digest()[:size]
    return int.from_bytes(found, "big") or 1
