"""Documents for the ATIF tests: the files, and strategies that make good and damaged ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

DATA = Path(__file__).parent.parent / "data" / "atif"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text("utf-8"))["files"]
FILES = sorted(EXPECTED)


def value_of(name: str) -> Any:
    """The JSON value of a file."""
    return json.loads((DATA / name).read_text("utf-8"))


ODD: list[Any] = [
    None, True, False, 0, 1, 2, -1, 7, 1.0, 2.0, 1.5, -0.0, 0.5, 1e300, 9.3e18, 10**30, 10**400,
    -(10**30), float("inf"), float("nan"), "", " ", "1", " 1 ", "+1", "-1", "1.0", "1.50", "1_0",
    "0_1", "00", "1e2", "nan", "-inf", "Infinity", "1_0.5", " 1_0", "true", "YES", "t", "maybe",
    "x", "c", "c1", "t-1", "a\ud800", "\ud800", "agent", "user", "system", "assistant", "text",
    "image", "audio", "image/png", "image/jpg", "IMAGE/PNG", " audio/MP3 ", "audio/ogg",
    "audio/opus", "audio/ogg;codecs=opus", "ATIF-v1.8", "ATIF-v1.0", "ATIF-v1.9", "ATIF-v1.08",
    "atif-v1.8", "2026-09-17", "2026-09-17T12:00:02Z", "2026-09-17t12:00:02z", "2026-09-17 12",
    "2026-09-17T12:00:02,5+0530", "20260917T120000Z", "2026-W38-4", "2026-260", "2026-02-30",
    "2026-09-17T24:00:00Z", "2026-09-17T23:59:60Z", "2026-09-17T12:00:02Z+00:00", "0000-01-01",
    "1789646402", [], {}, [[]], [{}], ["x"], [1, "2", True], [None], {"a": 1},
    {"type": "text", "text": "x"}, [{"type": "text", "text": ""}], [{"type": "text"}],
    [{"type": "image", "source": {"media_type": "image/gif", "path": "p"}}],
    [{"type": "audio", "source": {"media_type": "audio/X-WAV", "path": "p", "duration_sec": "2"}}],
    {"media_type": "image/png", "path": ""}, {"media_type": "audio/m4a", "path": "x"},
    {"results": []}, {"results": [{}]}, {"results": [{"source_call_id": "c1"}]},
    {"name": "a", "version": "1"}, {"trajectory_id": None}, [{"trajectory_path": ""}],
    [{"tool_call_id": "c1", "function_name": "f", "arguments": {}}], {"total_steps": "3"},
]  # fmt: skip

NAMES = sorted(
    {
        "schema_version", "session_id", "trajectory_id", "agent", "steps", "notes", "extra",
        "final_metrics", "subagent_trajectories", "name", "version", "model_name", "step_id",
        "tool_definitions", "timestamp", "source", "reasoning_effort", "message", "tool_calls",
        "reasoning_content", "observation", "metrics", "is_copied_context", "llm_call_count",
        "tool_call_id", "function_name", "arguments", "results", "source_call_id", "content",
        "subagent_trajectory_ref", "trajectory_path", "type", "text", "media_type", "path",
        "duration_sec", "prompt_tokens", "cost_usd", "logprobs", "prompt_token_ids",
        "total_steps", "total_cost_usd", "continued_trajectory_ref", "beyond", "a b",
    }
)  # fmt: skip


def containers(value: Any) -> list[Any]:
    """Every list and object in a value, outermost first."""
    found, pending = [], [value]
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict | list):
            found.append(inner)
            pending.extend(inner.values() if isinstance(inner, dict) else inner)
    return found


@st.composite
def damaged(draw: st.DrawFn, files: tuple[str, ...]) -> Any:
    """A document made from a file by up to three small changes; often still valid."""
    value = copy.deepcopy(value_of(draw(st.sampled_from(files))))
    for _ in range(draw(st.integers(0, 3))):
        target = draw(st.sampled_from(containers(value)))
        odd = copy.deepcopy(draw(st.sampled_from(ODD)))
        change = draw(st.sampled_from(["replace", "replace", "replace", "add", "drop", "double"]))
        if isinstance(target, dict):
            names = sorted(target) or NAMES
            name = draw(st.sampled_from(NAMES if change == "add" else names))
            if change == "drop":
                target.pop(name, None)
            else:
                target[name] = odd
        elif change == "add" or not target:
            target.insert(draw(st.integers(0, len(target))), odd)
        else:
            at = draw(st.integers(0, len(target) - 1))
            if change == "drop":
                del target[at]
            elif change == "double":
                target.append(copy.deepcopy(target[at]))
            else:
                target[at] = odd
    return value
