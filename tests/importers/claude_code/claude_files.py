"""Claude Code logs made for tests: lines, request logs and what a server would have received."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar

from agentsession.canonical import canonical_json

SESSION = "11111111-2222-4333-8444-555555555555"
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7}

Line = dict[str, Any]


class Log:
    """Lines of one conversation, each below the one before unless told otherwise."""

    def __init__(self, session: str = SESSION, version: str = "2.0.60") -> None:
        self.session = session
        self.version = version
        self.lines: list[Line] = []
        self.tip: str | None = None

    def add(self, kind: str, name: str, parent: str | None = "", **more: Any) -> Line:
        at = len(self.lines)
        line = {
            "type": kind,
            "uuid": name,
            "parentUuid": self.tip if parent == "" else parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/project",
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": "main",
            "timestamp": f"2026-03-01T10:{at // 60:02d}:{at % 60:02d}.000Z",
            **more,
        }
        self.lines.append(line)
        self.tip = name
        return line

    def user(self, name: str, content: Any, parent: str | None = "", **more: Any) -> Line:
        message = {"role": "user", "content": content}
        return self.add("user", name, parent, message=message, **more)

    def block(
        self, name: str, message: str, block: Line, parent: str | None = "", **more: Any
    ) -> Line:
        told = {
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": more.pop("model", "claude-opus-4-5"),
            "content": [block],
            "stop_reason": more.pop("stop", "end_turn"),
            "usage": more.pop("usage", USAGE),
        }
        return self.add("assistant", name, parent, message=told, requestId="req", **more)

    def say(self, name: str, message: str, words: str, **more: Any) -> Line:
        return self.block(name, message, {"type": "text", "text": words}, **more)

    def call(self, name: str, message: str, call: str, tool: str = "Bash", **more: Any) -> Line:
        asked = more.pop("input", {"command": "ls"})
        block = {"type": "tool_use", "id": call, "name": tool, "input": asked}
        return self.block(name, message, block, **{"stop": "tool_use", **more})

    def result(
        self, name: str, call: str, output: Any, parent: str | None = "", **more: Any
    ) -> Line:
        block = {"tool_use_id": call, "type": "tool_result", "content": output}
        block |= more.pop("block", {})
        return self.user(name, [block], parent, **more)

    def other(self, kind: str, **more: Any) -> Line:
        line = {"type": kind, "sessionId": self.session, **more}
        self.lines.append(line)
        return line

    def text(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def write(self, root: Path, name: str = "") -> Path:
        folder = root / "projects" / "-home-dev-project"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name or self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.text())
        return path


def hash_of(message: Line) -> str:
    return hashlib.sha256(canonical_json(message)).hexdigest()


class RequestLog:
    """Writes the request log of a release from 2.1.300 on into a log's lines."""

    SHAPE: ClassVar[Line] = {
        "system": [{"type": "text", "text": "You are a test."}],
        "tools": [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}],
    }
    PARAMS: ClassVar[Line] = {"model": "claude-opus-5-5", "max_tokens": 100}

    def __init__(self, log: Log) -> None:
        self.log = log
        self.sent: list[list[Line]] = []
        self.shape = hash_of(self.SHAPE)
        log.other("api-request-shape", shapeHash=self.shape, shape=self.SHAPE)

    def ask(self, name: str, messages: list[Line], *, base: str = "", keep: int = 0) -> str:
        """Log a request; messages that no line shows must be given as blobs before."""
        bare = [_bare(message) for message in messages]
        body = {**self.PARAMS, **self.SHAPE, "messages": bare}
        self.log.other(
            "api-request",
            id=name,
            timestamp="2026-03-01T10:00:00.000Z",
            version=self.log.version,
            shapeHash=self.shape,
            params=self.PARAMS,
            **({"base": base} if base else {}),
            keep=keep,
            tail=[hash_of(message) for message in bare[keep:]],
            cacheControl=[],
            requestDigest=hash_of(body),
        )
        self.sent.append(messages)
        return name

    def blob(self, message: Line) -> None:
        bare = _bare(message)
        self.log.other("api-request-blob", hash=hash_of(bare), message=bare)


def _bare(message: Line) -> Line:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {"role": message["role"], "content": content}


def recorded(root: Path, requests: list[tuple[int, list[Line]]]) -> None:
    """Write what a server received beside the logs."""
    lines = [
        {"n": number, "kind": "main", "path": "/v1/messages", "body": {"messages": messages}}
        for number, messages in requests
    ]
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    (root / "requests.jsonl").write_bytes(text)
