"""Spans on their way: to an OTLP endpoint, or to a file of OTLP JSON lines.

Needs ``opentelemetry-sdk`` and the OTLP exporters.

Spec: decision F.
"""

from __future__ import annotations

import base64
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from agentsession import text
from agentsession.errors import AgentSessionError

if TYPE_CHECKING:
    from agentsession.otel.answers import Answers

HTTP: Final = "http"
GRPC: Final = "grpc"
PROTOCOLS: Final = (HTTP, GRPC)

_GRPC_PORT: Final = 4317
_TRACES_PATH: Final = "/v1/traces"
_BATCH_SPANS: Final = 512
_BATCH_BYTES: Final = 1_000_000
"""Receivers refuse messages of more than 4 MB unless they are told otherwise."""

_ID_MEMBERS: Final = frozenset({"traceId", "spanId", "parentSpanId"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where spans are sent.

    Attributes:
        url: what an exporter is given.
        protocol: ``http`` (protobuf) or ``grpc``.
    """

    url: str
    protocol: str

    @classmethod
    def of(cls, url: str, protocol: str = "") -> Endpoint:
        """Return the endpoint a URL names.

        Args:
            url: ``http://host:4318`` or with a path; ``grpc://host:4317`` or ``grpcs://``.
                Port 4317 speaks gRPC, every other one HTTP.
            protocol: ``http`` or ``grpc``, where the URL does not tell.

        Raises:
            ValueError: when it is no such URL.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{_shown(url)} is no URL") from error
        if parts.scheme not in ("http", "https", "grpc", "grpcs") or not parts.hostname:
            raise ValueError(f"{_shown(url)} is no URL of http, https, grpc or grpcs")
        speaks_grpc = parts.scheme in ("grpc", "grpcs")
        if speaks_grpc and protocol == HTTP:
            raise ValueError(f"{_shown(url)} speaks gRPC, so the protocol cannot be http")
        if not protocol:
            protocol = GRPC if speaks_grpc or port == _GRPC_PORT else HTTP
        if protocol == GRPC:
            scheme = "https" if parts.scheme in ("grpcs", "https") else "http"
            host = parts.netloc.rpartition("@")[2]
            host = host if port is not None else f"{host}:{_GRPC_PORT}"
            return cls(f"{scheme}://{host}", GRPC)
        path = parts.path if parts.path not in ("", "/") else _TRACES_PATH
        return cls(parts._replace(path=path, fragment="").geturl(), HTTP)

    @property
    def shown(self) -> str:
        """The URL as it may be printed: without a name and password in it, and no query."""
        return _shown(self.url)

    def exporter(self, headers: Mapping[str, str], timeout: float) -> Courier:
        """Return what sends spans here.

        Args:
            headers: sent with each request.
            timeout: seconds a batch may take, with all it is tried again.

        Raises:
            AgentSessionError: when the exporter is not installed, or the environment has
                settings for it that it does not take.
        """
        try:
            if self.protocol == GRPC:
                lower = {name.lower(): value for name, value in headers.items()}
                return _grpc_courier(self.url, lower, timeout)
            return _http_courier(self.url, dict(headers), timeout)
        except ModuleNotFoundError as error:
            raise AgentSessionError(
                f"{error.name} is missing; install agentsession[otel] to send spans"
            ) from error
        except Exception as error:
            raise AgentSessionError(
                f"the OTLP exporter cannot be made: {type(error).__name__}: {error}; "
                "look at the OTEL_EXPORTER_OTLP_* variables"
            ) from error


def _shown(url: str) -> str:
    """A URL, or what was to be one, without what may be a secret."""
    bare = url.partition("?")[0].partition("#")[0]
    scheme, mark, rest = bare.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


@dataclass(frozen=True, slots=True)
class Courier:
    """An exporter, and what the receiver said to what it sent last."""

    exporter: SpanExporter
    answers: Answers


def _http_courier(url: str, headers: dict[str, str], timeout: float) -> Courier:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - heavy
        OTLPSpanExporter,
    )

    from agentsession.otel.answers import Answers, ListeningSession  # noqa: PLC0415 - heavy

    answers = Answers()
    session = ListeningSession(answers)
    return Courier(
        OTLPSpanExporter(endpoint=url, headers=headers, timeout=timeout, session=session), answers
    )


def _grpc_courier(url: str, headers: dict[str, str], timeout: float) -> Courier:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415 - heavy
        OTLPSpanExporter,
    )

    from agentsession.otel.answers import Answers, ListeningStub  # noqa: PLC0415 - heavy

    answers = Answers()

    class _Listening(OTLPSpanExporter):
        # The exporter makes its client anew when it connects again.
        @property
        def _client(self) -> Any:
            return self._listened

        @_client.setter
        def _client(self, stub: Any) -> None:
            self._listened = None if stub is None else ListeningStub(stub, answers)

    return Courier(_Listening(endpoint=url, headers=headers, timeout=timeout), answers)


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of spans.

    Attributes:
        sent: how many the receiver took.
        left: how many it did not.
        reason: why not; empty when it took all.
    """

    sent: int
    left: int
    reason: str


def send(spans: Sequence[ReadableSpan], courier: Courier) -> Sent:
    """Send spans in batches and return what became of them.

    After the first batch that is not taken no other is tried. One of which the receiver
    rejected some spans was taken; those are not sent again.
    """
    sent, answers = 0, courier.answers
    with _overheard() as said:
        try:
            for batch in batches(spans):
                answers.forget()
                done = courier.exporter.export(batch) is SpanExportResult.SUCCESS
                if answers.refused:
                    said.append(answers.refused)
                if not done or answers.refused:
                    break
                rejected = min(answers.rejected, len(batch))
                if rejected:
                    said.append(f"it rejected {rejected} span(s): {answers.message or 'no reason'}")
                sent += len(batch) - rejected
        except Exception as error:  # whatever an exporter could not take, such as a bad header
            said.append(f"{type(error).__name__}: {error}")
        finally:
            courier.exporter.shutdown()
    left = len(spans) - sent
    return Sent(sent, left, _reason(said) if left else "")


def _reason(said: Sequence[str]) -> str:
    """The last thing an exporter said, and the first: the trouble before it gave up."""
    if not said:
        return "no reason was given"
    return said[-1] if said[0] == said[-1] else f"{said[-1]} ({said[0]})"


@contextlib.contextmanager
def _overheard() -> Iterator[list[str]]:
    """What the exporters have to say, which they say to a logger only; the last is why."""
    said: list[str] = []

    class _Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger = logging.getLogger("opentelemetry")
    listener, propagate = _Listener(logging.WARNING), logger.propagate
    logger.addHandler(listener)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.propagate = propagate
        logger.removeHandler(listener)


def batches(spans: Sequence[ReadableSpan]) -> Iterator[list[ReadableSpan]]:
    """Yield spans in pieces a receiver takes; one that is too large alone stays alone."""
    batch: list[ReadableSpan] = []
    size = 0
    for span in spans:
        own = _size(span)
        if batch and (len(batch) == _BATCH_SPANS or size + own > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(span)
        size += own
    if batch:
        yield batch


def _size(span: ReadableSpan) -> int:
    """About how many bytes a span takes; only long texts and many events matter."""
    texts = [*(span.attributes or {}).values(), span.status.description or ""]
    for event in span.events:
        texts += (event.attributes or {}).values()
    return 200 * (1 + len(span.events)) + sum(
        len(found.encode("utf-8", "replace")) for found in texts if isinstance(found, str)
    )


def write_lines(spans: Sequence[ReadableSpan], file: BinaryIO) -> None:
    """Write spans as OTLP JSON, one export request a line; ids are hexadecimal."""
    from google.protobuf.json_format import (  # type: ignore[import-untyped]  # noqa: PLC0415
        MessageToDict,
    )

    for batch in batches(spans):
        request = MessageToDict(encode_spans(batch), use_integers_for_enums=True)
        _spell_ids(request)
        file.write(text.encode(request) + b"\n")


def _spell_ids(request: Any) -> None:
    """Turn ids from base64, which protobuf's JSON has, to hex, which OTLP's has."""
    for resource in request.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                for holder in (span, *span.get("links", ())):
                    for member in _ID_MEMBERS & holder.keys():
                        holder[member] = _hex(holder[member])


def _hex(base64_text: str) -> str:
    return base64.b64decode(base64_text).hex()
