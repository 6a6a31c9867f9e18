"""An OTLP receiver as a process: ``python otlp_receiver.py KIND FILE``.

KIND is ``http`` or ``grpc``; ``partial``, ``partial-json`` or ``partial-grpc`` reject three
spans of a request; ``refuse``, ``redirect``, ``page`` and ``silent`` take nothing.

Prints the port it listens on. What it is sent goes to FILE as the requests' bytes, one
base64 text a line, behind the headers of the request.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Iterable
from concurrent import futures
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

TARGET = Path(sys.argv[2])


def keep(request: bytes, headers: Iterable[tuple[str, Any]]) -> None:
    ExportTraceServiceRequest.FromString(request)
    line = {
        "headers": {name.lower(): value for name, value in headers if isinstance(value, str)},
        "request": base64.b64encode(request).decode(),
    }
    with TARGET.open("a") as file:
        file.write(json.dumps(line) + "\n")


def response(*, rejects: bool) -> ExportTraceServiceResponse:
    answer = ExportTraceServiceResponse()
    if rejects:
        answer.partial_success.rejected_spans = 3
        answer.partial_success.error_message = "quota exceeded"
    return answer


class Handler(BaseHTTPRequestHandler):
    kind = "http"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.kind == "silent":
            time.sleep(60)
        if self.kind == "redirect":
            self.send_response(302)
            self.send_header("location", "/login?token=hush")
            self.end_headers()
            return
        if self.kind == "refuse" or self.path != "/v1/traces":
            self.send_response(400 if self.kind == "refuse" else 404)
            self.end_headers()
            return
        if self.kind == "page":
            self.answer("text/html; charset=utf-8", b"<html>Log in</html>")
            return
        keep(body, self.headers.items())
        if self.kind == "partial-json":
            told = {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "quota exceeded"}}
            self.answer("application/json", json.dumps(told).encode())
            return
        rejected = self.kind == "partial"
        self.answer("application/x-protobuf", response(rejects=rejected).SerializeToString())

    def do_GET(self) -> None:
        self.answer("text/html", b"<html>Log in</html>")

    def answer(self, kind: str, answer: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_args: object) -> None:
        pass


class Service(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def Export(self, request: ExportTraceServiceRequest, context: Any) -> Any:  # noqa: N802
        keep(request.SerializeToString(), context.invocation_metadata())
        return response(rejects=self.kind == "partial-grpc")


def main(kind: str) -> None:
    if kind.endswith("grpc"):
        server = grpc.server(futures.ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Service(kind), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        print(port, flush=True)
        server.wait_for_termination()
        return
    Handler.kind = kind
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        print(http.server_port, flush=True)
        http.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
