"""Starts the receiver process and reads what it was sent."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Receiver:
    port: int
    target: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.target.read_text().splitlines()]

    @property
    def spans(self) -> list[Any]:
        """The spans it was sent, as protobuf."""
        requests = [
            ExportTraceServiceRequest.FromString(base64.b64decode(line["request"]))
            for line in self.lines
        ]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def receiver(kind: str, directory: Path) -> Iterator[Receiver]:
    target = directory / f"received-{kind}.jsonl"
    target.touch()
    script = Path(__file__).with_name("otlp_receiver.py")
    with subprocess.Popen(
        [sys.executable, str(script), kind, str(target)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            yield Receiver(int(process.stdout.readline()), target)
        finally:
            process.kill()


def attributes(holder: Any) -> dict[str, Any]:
    """The attributes of a protobuf span, event or link."""

    def plain(value: Any) -> Any:
        kind = value.WhichOneof("value")
        found = getattr(value, kind)
        return [plain(v) for v in found.values] if kind == "array_value" else found

    return {pair.key: plain(pair.value) for pair in holder.attributes}
