"""A tracer that keeps what it is given, and spans in a form that can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from agentsession.otel import names


class Recorder:
    """A real provider with the in-memory exporter."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = self._provider.get_tracer("tests")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, start: str) -> list[ReadableSpan]:
        found = [span for span in self.spans if span.name.startswith(start)]
        return sorted(found, key=lambda span: span.start_time or 0)

    def one(self, start: str) -> ReadableSpan:
        (span,) = self.named(start)
        return span

    def session(self) -> ReadableSpan:
        return self.one(names.SESSION_SPAN)


@dataclass(frozen=True)
class Shape:
    """A span without its random ids: those it names are told by name and entry."""

    name: str
    kind: str
    start: int
    end: int
    attributes: dict[str, Any] = field(default_factory=dict)
    events: tuple[Any, ...] = ()
    status: str = ""
    parent: tuple[str, Any] | None = None
    links: tuple[Any, ...] = ()


def shapes(spans: list[ReadableSpan]) -> list[Shape]:
    """The spans in the order they were ended, comparable between traces."""
    told = {
        span.context.span_id: (span.name, (span.attributes or {}).get(names.ENTRY_ID))
        for span in spans
    }
    return [
        Shape(
            name=span.name,
            kind=span.kind.name,
            start=span.start_time or 0,
            end=span.end_time or 0,
            attributes=dict(span.attributes or {}),
            events=tuple((e.name, e.timestamp, dict(e.attributes or {})) for e in span.events),
            status=f"{span.status.status_code.name} {span.status.description}",
            parent=told.get(span.parent.span_id, ("outside", None)) if span.parent else None,
            links=tuple(
                (told.get(link.context.span_id), dict(link.attributes or {})) for link in span.links
            ),
        )
        for span in spans
    ]
