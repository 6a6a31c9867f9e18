"""Spans on their way: real exporters against a real receiver on loopback."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from otel_sessions import two_runs
from otlp_client import attributes, receiver

from agentsession.errors import AgentSessionError
from agentsession.otel import names
from agentsession.otel.answers import Answers
from agentsession.otel.sending import GRPC, HTTP, Endpoint, batches, send, write_lines
from agentsession.otel.tree import trace_session
from agentsession.testing import SessionBuilder


def check_two_runs(spans: list[Any]) -> None:
    """The shape of B.8 as a receiver sees it."""
    by_name: dict[str, list[Any]] = {}
    for span in spans:
        by_name.setdefault(span.name.split()[0], []).append(span)
    assert {name: len(found) for name, found in by_name.items()} == {
        names.SESSION_SPAN: 1,
        names.RUN_SPAN: 2,
        "chat": 2,
        "execute_tool": 3,
    }
    trace = trace_session(two_runs().session)
    known = {span.context.span_id: span for span in trace.spans}
    for span in spans:
        own = known[int.from_bytes(span.span_id, "big")]
        assert int.from_bytes(span.trace_id, "big") == trace.trace_id
        assert span.name == own.name
        assert span.start_time_unix_nano == own.start_time
        assert span.end_time_unix_nano == own.end_time
        assert span.kind == own.kind.value + 1
        told = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in (own.attributes or {}).items()
        }
        assert attributes(span) == told
        parent = int.from_bytes(span.parent_span_id, "big") if span.parent_span_id else None
        assert parent == (own.parent.span_id if own.parent else None)
        assert [int.from_bytes(link.span_id, "big") for link in span.links] == [
            link.context.span_id for link in own.links
        ]
        assert [(e.name, e.time_unix_nano, attributes(e)) for e in span.events] == [
            (e.name, e.timestamp, dict(e.attributes or {})) for e in own.events
        ]


@pytest.mark.parametrize("protocol", [HTTP, GRPC])
def test_a_receiver_gets_every_span(protocol: str, tmp_path: Path) -> None:
    spans = trace_session(two_runs().session).spans
    with receiver(protocol, tmp_path) as collector:
        endpoint = Endpoint.of(f"http://127.0.0.1:{collector.port}", protocol)
        sent = send(spans, endpoint.exporter({"X-Team": "blue"}, 10))
        assert (sent.sent, sent.left, sent.reason) == (8, 0, "")
        check_two_runs(collector.spans)
        assert collector.lines[0]["headers"]["x-team"] == "blue"


def test_a_receiver_that_is_not_there() -> None:
    spans = trace_session(two_runs().session).spans
    for url in ("http://127.0.0.1:9", "grpc://127.0.0.1:9"):
        sent = send(spans, Endpoint.of(url).exporter({}, 0.2))
        assert (sent.sent, sent.left) == (0, 8)
        assert "127.0.0.1" in sent.reason or "Failed" in sent.reason


@pytest.mark.parametrize("kind", ["refuse", "silent"])
def test_a_receiver_that_does_not_take_spans(kind: str, tmp_path: Path) -> None:
    spans = trace_session(two_runs().session).spans
    with receiver(kind, tmp_path) as collector:
        url = f"http://127.0.0.1:{collector.port}"
        sent = send(spans, Endpoint.of(url).exporter({}, 0.5))
    assert (sent.sent, sent.left) == (0, 8)
    assert sent.reason


@pytest.mark.parametrize("kind", ["partial", "partial-json", "partial-grpc"])
def test_a_receiver_that_rejects_some(kind: str, tmp_path: Path) -> None:
    spans = trace_session(two_runs().session).spans
    with receiver(kind, tmp_path) as collector:
        protocol = GRPC if kind == "partial-grpc" else HTTP
        url = f"http://127.0.0.1:{collector.port}"
        sent = send(spans, Endpoint.of(url, protocol).exporter({}, 10))
        assert len(collector.lines) == 1  # what was rejected is not sent again
    assert (sent.sent, sent.left) == (5, 3)
    assert sent.reason == "it rejected 3 span(s): quota exceeded"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("redirect", "302, a redirect to /login, which"), ("page", "answered with a web page")],
)
def test_a_receiver_that_wants_a_login(kind: str, reason: str, tmp_path: Path) -> None:
    spans = trace_session(two_runs().session).spans
    with receiver(kind, tmp_path) as collector:
        sent = send(spans, Endpoint.of(f"http://127.0.0.1:{collector.port}").exporter({}, 10))
    assert (sent.sent, sent.left) == (0, 8)
    assert reason in sent.reason
    assert "hush" not in sent.reason


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"partialSuccess":{}}'),
        ("application/json", b'{"partialSuccess":{"rejectedSpans":"-1","errorMessage":5}}'),
        ("application/json", b"ok"),
        ("text/plain", b"ok"),
        ("", b""),
    ],
)
def test_answers_that_reject_nothing(kind: str, body: bytes) -> None:
    answers = Answers()
    response = requests.Response()
    response.status_code, response._content = 200, body
    response.headers["content-type"] = kind
    answers.take_http(response)
    assert answers == Answers()


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon")
    with pytest.raises(AgentSessionError, match=r"look at the OTEL_EXPORTER_OTLP_\*"):
        Endpoint.of("grpc://h").exporter({}, 1)


def test_a_header_no_exporter_takes() -> None:
    spans = trace_session(two_runs().session).spans
    sent = send(spans, Endpoint.of("grpc://127.0.0.1:9").exporter({"a b": "c\n"}, 0.2))
    assert (sent.sent, sent.left) == (0, 8)
    assert sent.reason


@pytest.mark.parametrize(
    ("url", "protocol", "expected"),
    [
        ("http://h:4318", "", Endpoint("http://h:4318/v1/traces", HTTP)),
        ("https://h/", "", Endpoint("https://h/v1/traces", HTTP)),
        ("https://h/otlp/v1/traces?x=1", "", Endpoint("https://h/otlp/v1/traces?x=1", HTTP)),
        ("http://h:4317", "", Endpoint("http://h:4317", GRPC)),
        ("http://h:4317", HTTP, Endpoint("http://h:4317/v1/traces", HTTP)),
        ("grpc://h", "", Endpoint("http://h:4317", GRPC)),
        ("grpcs://h:443", "", Endpoint("https://h:443", GRPC)),
        ("http://[::1]:9", GRPC, Endpoint("http://[::1]:9", GRPC)),
        ("grpc://me:word@h:1", "", Endpoint("http://h:1", GRPC)),
    ],
)
def test_endpoints(url: str, protocol: str, expected: Endpoint) -> None:
    assert Endpoint.of(url, protocol) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:4318",
        "ftp://h",
        "http://",
        "http://h:x",
        "http://[",
    ],
)
def test_no_endpoints(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL"):
        Endpoint.of(url)
    with pytest.raises(ValueError, match="cannot be http"):
        Endpoint.of("grpc://h", HTTP)


def test_a_password_is_not_shown() -> None:
    assert Endpoint.of("http://me:word@h:1/x?token=t").shown == "http://h:1/x"
    for url in ("ftp://me:word@h", "http://me:word@h:x/y", "me:word@h?word"):
        with pytest.raises(ValueError, match="is no URL") as caught:
            Endpoint.of(url)
        assert "word" not in str(caught.value)


def test_batches() -> None:
    build = SessionBuilder()
    for number in range(1100):
        build.answer(str(number), hashed=False)
    spans = trace_session(build.session).spans
    assert [len(batch) for batch in batches(spans)] == [512, 512, 77]
    build = SessionBuilder()
    for _ in range(4):
        build.answer("x" * 400_000, hashed=False)
    spans = trace_session(build.session, content=True).spans
    assert [len(batch) for batch in batches(spans)] == [3, 2]
    assert list(batches([])) == []


def test_json_lines() -> None:
    """OTLP JSON: ids in hexadecimal, enumerations as numbers, 64-bit integers as strings."""
    spans = trace_session(two_runs().session).spans
    file = io.BytesIO()
    write_lines(spans, file)
    (line,) = file.getvalue().splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    assert scope["schemaUrl"] == "https://opentelemetry.io/schemas/1.41.0"
    assert scope["scope"]["name"] == "agentsession"
    assert len(scope["spans"]) == len(spans)
    for written, span in zip(scope["spans"], spans, strict=True):
        assert written["traceId"] == f"{span.context.trace_id:032x}"
        assert written["spanId"] == f"{span.context.span_id:016x}"
        assert written.get("parentSpanId") == (
            f"{span.parent.span_id:016x}" if span.parent else None
        )
        assert written["startTimeUnixNano"] == str(span.start_time)
        assert written["kind"] == span.kind.value + 1
        for link, own in zip(written.get("links", ()), span.links, strict=True):
            assert link["spanId"] == f"{own.context.span_id:016x}"
    again = io.BytesIO()
    write_lines(trace_session(two_runs().session).spans, again)
    assert again.getvalue() == file.getvalue()
