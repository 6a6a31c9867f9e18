"""An OTLP receiver as a process: ``python otlp_receiver.py http|grpc|refuse|silent FILE``.

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


class Handler(BaseHTTPRequestHandler):
    refuses = False
    silent = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.silent:
            time.sleep(60)
        if self.refuses or self.path != "/v1/traces":
            self.send_response(400 if self.refuses else 404)
            self.end_headers()
            return
        keep(body, self.headers.items())
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_args: object) -> None:
        pass


class Service(trace_service_pb2_grpc.TraceServiceServicer):
    def Export(self, request: ExportTraceServiceRequest, context: Any) -> Any:  # noqa: N802
        keep(request.SerializeToString(), context.invocation_metadata())
        return ExportTraceServiceResponse()


def main(kind: str) -> None:
    if kind == "grpc":
        server = grpc.server(futures.ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Service(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        print(port, flush=True)
        server.wait_for_termination()
        return
    Handler.refuses, Handler.silent = kind == "refuse", kind == "silent"
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        print(http.server_port, flush=True)
        http.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
