"""Sessions to trace."""

from __future__ import annotations

from agentsession.parts import Harness, Workspace
from agentsession.record_entries import EnvEntry, OutcomeEntry
from agentsession.testing import SessionBuilder

USAGE = {
    "input_tokens": 12,
    "output_tokens": 5,
    "total_tokens": 17,
    "input_tokens_details": {"cached_tokens": 4, "cache_creation_tokens": 2},
    "output_tokens_details": {"reasoning_tokens": 3},
}


def called(call_id: str, name: str = "ls", arguments: str = "{}") -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def two_runs() -> SessionBuilder:
    """Two runs: the first waits for an answer about a call, the second gets it and is done."""
    build = SessionBuilder(
        records=["run", "dispatch", "decision"], harness=Harness("demo", "2.1"), cwd="/srv/app"
    )
    build.config(model="m-1", instructions="Be brief.")
    build.start("run-1", ref="inbox:1")
    build.append(EnvEntry(cwd="/srv/app", workspace=Workspace("container", "box-7")))
    build.user("Clean up.")
    calls = [called("call_1", "rm"), called("call_2", "ls", '{"path":"/"}'), called("call_3")]
    build.response(calls, usage=USAGE, model="m-1-2026", latency_ms=1500)
    build.decide("call_1", "hold", by="policy")
    build.decide("call_2", "proceed", by="human", args={"path": "/srv"})
    build.dispatch("call_2")
    build.output("call_2", "a.txt")
    build.decide("call_3", "reject", by="human", reason="not today")
    build.output("call_3", "The user said no.")
    build.end("input_required")
    build.start("run-2", "resume")
    build.output("call_1", "removed")
    build.answer("All clean.", usage=USAGE)
    build.append(OutcomeEntry("test", score=0.5, pass_=True))
    build.end("done")
    return build
