"""Sessions for tests: built in a few lines, with fake ids and a fake clock.

>>> from agentsession.testing import SessionBuilder
>>> build = SessionBuilder()
>>> _ = build.config(model="m-1"); _ = build.user("Hi"); _ = build.answer("Hello")
>>> build.session.verify_all().ok
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsession import versions
from agentsession.entries import ConfigEntry, Entry, ItemEntry, ResponseEntry
from agentsession.header import Header
from agentsession.record_entries import DecisionEntry, DispatchEntry, RunEntry
from agentsession.request import request_hash
from agentsession.session import Session
from agentsession.timestamp import Timestamp

_EPOCH_2026 = 1_767_225_600_000_000_000
_SECOND = 1_000_000_000


class SessionBuilder:
    """Builds a session entry by entry, one fake second apart.

    Every method appends and returns the entry's id. Ids are ``e0000001``, ``e0000002`` …,
    or hashes in a format that has them.

    Args:
        format: the format version of the session.
        start: nanoseconds since the epoch of the header's time.
        header: further header members.

    Attributes:
        session: the session so far.
    """

    def __init__(
        self,
        format: str = "agentsession/0.3",  # noqa: A002
        *,
        start: int = _EPOCH_2026,
        **header: Any,
    ) -> None:
        self._now = start
        self._responses = 0
        members: dict[str, Any] = {"id": "session-1", **header}
        self.session = Session(
            Header(format=format, created_at=Timestamp.from_nanoseconds(start), **members)
        )

    def append(self, entry: Entry) -> str:
        """Append any entry, with the next fake id and time where it has none."""
        self._now += _SECOND
        ts = entry.ts or Timestamp.from_nanoseconds(self._now)
        hashed = versions.has_content_ids(self.session.header.version)
        entry_id = "" if hashed else f"e{len(self.session) + 1:07d}"
        placed = entry.moved(parent=entry.parent, id=entry.id or entry_id, ts=ts)
        return self.session.append(placed)

    def config(self, **members: Any) -> str:
        """Append a config entry."""
        return self.append(ConfigEntry(**members))

    def item(self, item: object, **members: Any) -> str:
        """Append an item entry."""
        return self.append(ItemEntry(item, **members))

    def user(self, text: str, **members: Any) -> str:
        """Append a user message."""
        content = [{"type": "input_text", "text": text}]
        return self.item({"type": "message", "role": "user", "content": content}, **members)

    def answer(self, text: str, *, hashed: bool = True, **members: Any) -> str:
        """Append an assistant message and its response; return the response's id."""
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "content": content}
        return self.response([message], hashed=hashed, **members)

    def call(self, call_id: str, name: str = "ls", arguments: str = "{}", **members: Any) -> str:
        """Append a function call and its response; return the response's id."""
        item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        return self.response([item], **members)

    def response(self, output: Sequence[object], *, hashed: bool = True, **members: Any) -> str:
        """Append output items and their response, with the hash of the context before them."""
        self._responses += 1
        response_id = f"resp_{self._responses}"
        if hashed and "request_hash" not in members:
            members["request_hash"] = request_hash(self.session.context().request())
        for item in output:
            self.item(item, response=response_id)
        members.setdefault("status", "completed")
        return self.append(ResponseEntry(response_id, **members))

    def output(self, call_id: str, output: object = "done", **members: Any) -> str:
        """Append the output of a call."""
        return self.item(
            {"type": "function_call_output", "call_id": call_id, "output": output}, **members
        )

    def dispatch(self, call_id: str) -> str:
        """Append the dispatch of a call on the current path."""
        return self.append(DispatchEntry(call_id, self._target(call_id)))

    def decide(self, call_id: str, verdict: str, **members: Any) -> str:
        """Append a decision about a call on the current path."""
        if verdict == "reject":
            members.setdefault("reason", "not allowed")
        return self.append(DecisionEntry(call_id, self._target(call_id), verdict, **members))

    def start(self, run_id: str = "run-1", source: str = "input", **members: Any) -> str:
        """Append the start of a run."""
        return self.append(RunEntry.start(run_id, source, **members))

    def end(self, reason: str, ref: str = "") -> str:
        """Append the end of the open run."""
        return self.append(self.session.end_run(reason, ref))

    def _target(self, call_id: str) -> str:
        return next(call.entry.id for call in self.session.calls() if call.id == call_id)
