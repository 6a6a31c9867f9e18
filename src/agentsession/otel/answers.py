"""What receivers answer, which the exporters do not look at: spans refused, redirects.

Needs the OTLP exporters.

Spec: decision F.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agentsession import text
from agentsession.errors import NotJSON

_OK: Final = 200
_REDIRECT: Final = 300
_CLIENT_ERROR: Final = 400


@dataclass(slots=True)
class Answers:
    """What was said in the last answer.

    Attributes:
        rejected: how many spans of the request the receiver did not take.
        message: why; it may also say something about a request that was taken.
        refused: why nothing of the request was taken, though an exporter thinks it was.
    """

    rejected: int = 0
    message: str = ""
    refused: str = ""

    def forget(self) -> None:
        """Be ready for the next request."""
        self.rejected, self.message, self.refused = 0, "", ""

    def take(self, answer: ExportTraceServiceResponse) -> None:
        """Take the answer to a request that was not refused."""
        self.rejected = max(answer.partial_success.rejected_spans, 0)
        self.message = answer.partial_success.error_message

    def take_http(self, response: requests.Response) -> None:
        """Take the answer to a request of HTTP."""
        self.forget()
        if _REDIRECT <= response.status_code < _CLIENT_ERROR:
            where = urlsplit(response.headers.get("location", ""))
            # Without a query: it may hold what is nobody's business.
            shown = where._replace(netloc=where.netloc.rpartition("@")[2], query="", fragment="")
            self.refused = (
                f"it answered {response.status_code}, a redirect to {shown.geturl() or 'nowhere'}, "
                "which is not followed"
            )
        elif _OK <= response.status_code < _REDIRECT:
            self._take_body(response.headers.get("content-type", ""), response.content)

    def _take_body(self, kind: str, body: bytes) -> None:
        kind = kind.partition(";")[0].strip().lower()
        if kind == "text/html":
            self.refused = "it answered with a web page, which no receiver of spans does"
        elif kind == "application/json":
            self._take_json(body)
        else:
            # What cannot be read says nothing, so it rejects nothing.
            with contextlib.suppress(DecodeError):
                self.take(ExportTraceServiceResponse.FromString(body))

    def _take_json(self, body: bytes) -> None:
        try:
            found = _member(text.parse(body), "partialSuccess")
        except NotJSON:
            return
        rejected, message = _member(found, "rejectedSpans"), _member(found, "errorMessage")
        if isinstance(rejected, str) and rejected.isascii() and rejected.isdigit():
            rejected = int(rejected[:18])
        self.rejected = max(rejected, 0) if type(rejected) is int else 0
        self.message = message if isinstance(message, str) else ""


def _member(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


class ListeningSession(requests.Session):
    """A session of HTTP that follows no redirect and tells what was answered."""

    def __init__(self, answers: Answers) -> None:
        super().__init__()
        self._answers = answers

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Return the answer to a request."""
        response = super().send(request, **{**options, "allow_redirects": False})
        self._answers.take_http(response)
        return response


class ListeningStub:
    """A gRPC service that tells what was answered.

    Args:
        stub: the service of an exporter.
        answers: where to tell it.
    """

    def __init__(self, stub: Any, answers: Answers) -> None:
        self._stub = stub
        self._answers = answers

    def Export(self, *args: Any, **options: Any) -> Any:  # noqa: N802 - the service's name for it
        """Return the answer to a request."""
        self._answers.forget()
        answer = self._stub.Export(*args, **options)
        self._answers.take(answer)
        return answer
