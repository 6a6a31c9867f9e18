"""A Responses endpoint on loopback whose answers are written down below.

It stands in for a model where there is no network: in the tests, in ``make demo`` and in
``make_sessions.py``. It is a real HTTP server, and it refuses what a real endpoint
refuses, such as a call without an output::

    python examples/scripted_server.py            # prints http://127.0.0.1:PORT/v1
    python examples/record_agent.py --base-url http://127.0.0.1:PORT/v1 "Add 19 and 23"

An answer depends on the request alone: on the last message of the user, and on how many
times the model has spoken since. So the agent may be killed and started again.
"""

# ruff: noqa: S603 - the commands run are this repository's own
from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """The model says a text; ``{0}`` stands for the first tool output since the message."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    name: str
    arguments: Json


@dataclass(frozen=True)
class Think:
    """The model reasons, in a summary that the endpoint shows."""

    text: str


Turn = list[Say | Call | Think]

# What the message contains -> one list per time the model speaks.
SCRIPTS: dict[str, list[Turn]] = {
    "2+2": [[Say("2+2 is 4.")]],
    "add": [
        [Call("add", {"numbers": [19, 23]})],
        [Say("The sum is {0}.")],
    ],
    "lines": [
        [Think("The file has to be read first."), Call("read_file", {"path": "notes.txt"})],
        [Call("add", {"numbers": [2, 1]}), Call("read_file", {"path": "todo.txt"})],
        [Say("notes.txt and todo.txt have {1} lines together.")],
    ],
    "passwords": [
        [Call("read_file", {"path": "../../etc/passwd"})],
        [Say("I may not read that file.")],
    ],
    "delete": [
        [Call("read_file", {"path": "todo.txt"}), Call("delete_file", {"path": "todo.txt"})],
        [Say("About todo.txt: {1}")],
    ],
    "wait": [
        [Call("wait_for_file", {"path": "build.log", "seconds": 300})],
        [Say("The build says: {0}")],
    ],
    "haiku": [
        [Say("Lines end, one by one;\nwhat was sent is what is kept.\nThe branch grows in place.")]
    ],
    "limerick": [
        [Say("A session that crashed in the night\nwas read back and found to be right.")]
    ],
    "broken": [[Call("add", {"numbers": "many"})], [Say("The tool said: {0}")]],
}
SMALL_TALK: list[Turn] = [[Say("Noted.")]]


class BadRequest(Exception):
    """A request that a real endpoint refuses."""


def answer(request: Json) -> Json:
    """Return the response to a request.

    Raises:
        BadRequest: when the request is not one.
    """
    items = request.get("input")
    if not isinstance(request.get("model"), str) or not isinstance(items, list) or not items:
        raise BadRequest("model and input are required")
    check_calls(items)
    messages = [i for i, item in enumerate(items) if item.get("role") == "user"]
    asked = text_of(items[messages[-1]]) if messages else ""
    since = items[messages[-1] + 1 :] if messages else items
    turns = [turn for mine, turn in groupby(since, is_from_model) if mine]
    script = next((s for word, s in SCRIPTS.items() if word in asked.lower()), SMALL_TALK)
    turn = script[min(len(turns), len(script) - 1)]
    outputs = [str(item["output"]) for item in since if item.get("type") == "function_call_output"]
    calls = sum(item.get("type") == "function_call" for item in items)
    output = []
    for step in turn:
        output.append(item_of(step, outputs, calls + 1))
        calls += isinstance(step, Call)
    return response_of(request, output)


def check_calls(items: list[Json]) -> None:
    """Refuse calls without outputs and outputs without calls, as endpoints do."""
    called = [item["call_id"] for item in items if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    for call_id in called:
        if call_id not in answered:
            raise BadRequest(f"No tool output found for function call {call_id}.")
    for call_id in answered:
        if call_id not in called:
            raise BadRequest(f"No tool call found for function call output {call_id}.")


def is_from_model(item: Json) -> bool:
    """Return whether the model made an item."""
    return item.get("type") in ("function_call", "reasoning") or item.get("role") == "assistant"


def text_of(message: Json) -> str:
    """Return the text of a message."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def item_of(step: Say | Call | Think, outputs: list[str], number: int) -> Json:
    """Return the output item of one step of a turn."""
    match step:
        case Say(text):
            text = text.format(*outputs, *[""] * 9)
            part = {"type": "output_text", "text": text, "annotations": []}
            return {
                "id": f"msg_{secrets.token_hex(8)}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        case Call(name, arguments):
            return {
                "id": f"fc_{secrets.token_hex(8)}",
                "type": "function_call",
                "status": "completed",
                "call_id": f"call_{number}",
                "name": name,
                "arguments": json.dumps(arguments),
            }
        case Think(text):
            return {
                "id": f"rs_{secrets.token_hex(8)}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": text}],
            }


def response_of(request: Json, output: list[Json]) -> Json:
    """Return the response object around output items."""
    sent, made = len(json.dumps(request)) // 4, len(json.dumps(output)) // 4
    return {
        "id": f"resp_{secrets.token_hex(8)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": request["model"],
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": request.get("instructions"),
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": request.get("tools", []),
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + made,
        },
    }


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST …/responses``."""

    protocol_version = "HTTP/1.1"
    log: Path | None = None

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.endswith("/responses"):
            self.reply(404, {"error": {"message": f"there is no {self.path}"}})
            return
        if self.log is not None:
            with self.log.open("ab") as file:
                file.write(body.replace(b"\n", b" ") + b"\n")
        try:
            self.reply(200, answer(json.loads(body)))
        except (BadRequest, ValueError) as error:
            message = {"message": str(error), "type": "invalid_request_error", "code": None}
            self.reply(400, {"error": message})

    def reply(self, status: int, value: Json) -> None:
        """Send a JSON reply."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep the terminal quiet."""


@contextlib.contextmanager
def running(log: Path | None = None) -> Iterator[str]:
    """Give the base URL of a server that runs in a process of its own until the block ends."""
    command = [sys.executable, __file__, *(["--log", str(log)] if log else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> int:
    """Serve until the process is ended; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(description="A Responses endpoint with scripted answers.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: any)")
    parser.add_argument("--log", type=Path, help="append each request body to a file, one a line")
    options = parser.parse_args()
    Handler.log = options.log
    with ThreadingHTTPServer(("127.0.0.1", options.port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
