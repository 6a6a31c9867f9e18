"""What stands between the projection and a tracer: texts redacted, times in range, failures kept.

Spec: otel B, decision F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, Tracer

from agentsession.entries import Entry
from agentsession.otel import names
from agentsession.otel.attributes import Attributes, Value

Redactor = Callable[[str], str]
"""Takes a text and returns what may leave of it."""

LATEST = (1 << 63) - 1
"""The last nanosecond a span can name; the first one is 0."""


def in_range(nanoseconds: int) -> int:
    """Return the nearest time a span can have."""
    return min(max(nanoseconds, 0), LATEST)


def time_of(entry: Entry) -> int:
    """Return the time of an entry in nanoseconds since the epoch, as a span can have it."""
    written = entry.ts
    return in_range(written.nanoseconds) if written is not None else 0


@dataclass(slots=True)
class Origin:
    """What a span stands for.

    Attributes:
        role: the kind of span, one of the words of :mod:`agentsession.otel.names`.
        entry_id: its entry; empty for a session's span.
        whole: whether its end was recorded, and not only where the record stops.
        ended_by: the entry that ended it, where several entries may do so.
    """

    role: str
    entry_id: str
    whole: bool = False
    ended_by: str = ""


class _Guard:
    """Hands what a block raises over, or lets it pass when nobody takes it."""

    __slots__ = ("_on_failure",)

    def __init__(self, on_failure: Callable[[BaseException], None] | None) -> None:
        self._on_failure = on_failure

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self._on_failure is None or error is None:
            return False
        self._on_failure(error)
        return True


class Emitter:
    """Opens spans at a tracer.

    Args:
        tracer: where they go.
        redact: what every text passes before it leaves, span names and statuses too.
        on_failure: called with what a tracer or redactor raised, which then goes no
            further, whatever it is; without it, it is raised.
        ledger: filled with what each span stands for, by span id.
    """

    def __init__(
        self,
        tracer: Tracer,
        *,
        redact: Redactor | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
        ledger: dict[int, Origin] | None = None,
    ) -> None:
        self._tracer = tracer
        self._redact = redact
        self._guard = _Guard(on_failure)
        self._ledger = ledger

    def guarded(self) -> _Guard:
        """Keep what a block raises from going further, when failures are taken care of."""
        return self._guard

    def text(self, text: str) -> str:
        """Return what may leave of a text."""
        return text if self._redact is None else self._redact(text)

    def attributes(self, attributes: Mapping[str, Value]) -> Attributes:
        """Return attributes with their texts redacted."""
        if self._redact is None:
            return dict(attributes)
        return {name: self._redacted(value) for name, value in attributes.items()}

    def _redacted(self, value: Value) -> Value:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Sequence):
            return tuple(self.text(element) for element in value)
        return value

    def open(
        self,
        name: str,
        parent: Context,
        start: int,
        attributes: Mapping[str, Value],
        *,
        origin: Origin,
        kind: SpanKind = SpanKind.INTERNAL,
        links: Sequence[tuple[SpanContext | None, Attributes]] = (),
    ) -> Opened:
        """Return a new span; when it cannot be started, one that takes everything and is none."""
        opened = Opened(self, parent, start, origin)
        with self.guarded():
            opened.started(
                self._tracer.start_span(
                    self.text(name),
                    context=parent,
                    kind=kind,
                    attributes=self.attributes(attributes),
                    links=[
                        Link(target, self.attributes(about))
                        for target, about in links
                        if target is not None
                    ],
                    start_time=start,
                )
            )
            if self._ledger is not None and opened.span_context is not None:
                self._ledger[opened.span_context.span_id] = origin
        return opened


class Opened:
    """A span that was opened; one that could not be started takes everything and is none.

    Attributes:
        span_context: its identity; ``None`` when it could not be started.
        below: the context of spans below it.
        ended: whether it was ended.
    """

    __slots__ = ("_emitter", "_origin", "_span", "_start", "below", "ended", "span_context")

    def __init__(self, emitter: Emitter, parent: Context, start: int, origin: Origin) -> None:
        self._emitter = emitter
        self._span: trace.Span | None = None
        self._start = start
        self._origin = origin
        self.span_context: SpanContext | None = None
        self.below = parent
        self.ended = False

    def started(self, span: trace.Span) -> None:
        """Take the span a tracer started."""
        self.span_context = span.get_span_context()
        self.below = trace.set_span_in_context(span, self.below)
        self._span = span

    def set(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""
        if attributes:
            with self._emitter.guarded():
                self.set_redacted(self._emitter.attributes(attributes))

    def set_redacted(self, attributes: Attributes) -> None:
        """Add attributes whose texts were redacted before they were put together."""
        if self._span is None or self.ended or not attributes:
            return
        with self._emitter.guarded():
            self._span.set_attributes(attributes)

    def event(self, name: str, at: int, attributes: Mapping[str, Value]) -> None:
        """Add an event."""
        if self._span is None or self.ended:
            return
        with self._emitter.guarded():
            self._span.add_event(name, self._emitter.attributes(attributes), timestamp=at)

    def fail(self, error_type: str, description: str) -> None:
        """Say that what the span stands for failed."""
        if self._span is None or self.ended:
            return
        self.set({names.ERROR_TYPE: error_type})
        with self._emitter.guarded():
            described = self._emitter.text(description) if description else None
            self._span.set_status(Status(StatusCode.ERROR, described))

    def end(self, at: int, *, whole: bool = True, by: str = "") -> None:
        """End the span, never before its start; a second time does nothing.

        Args:
            at: when, in nanoseconds since the epoch.
            whole: whether the end was recorded, and not only where the record stops.
            by: the entry that ends it, where several entries may do so.
        """
        if self._span is None or self.ended:
            return
        self.ended = True
        self._origin.whole, self._origin.ended_by = whole, by
        # What was ended is not kept: branches may hold on to this for long.
        span, self._span = self._span, None
        if self.span_context is not None:
            held = trace.NonRecordingSpan(self.span_context)
            self.below = trace.set_span_in_context(held, self.below)
        with self._emitter.guarded():
            span.end(max(at, self._start))
