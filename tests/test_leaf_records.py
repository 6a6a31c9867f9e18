"""Record checks of all leaves at once: each leaf has what it has alone."""

from __future__ import annotations

import cProfile
import json
import pstats
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession.record_entries import RunEntry
from agentsession.runs import segment_reason

CALL_IDS = st.sampled_from(["a", "b", "c"])
RUN_IDS = st.sampled_from(["r", "s"])
RECORDS = ["call", "output", "dispatch", "decision", "start", "end", "end", "response"]
KINDS = st.sampled_from([*RECORDS, *RECORDS, "config", "compaction", "env", "message"])
WORKSPACES = st.sampled_from([None, {"kind": "local"}, {"kind": "container", "ref": "x"}])
VERSIONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "0.9", "0.10", "0.11")
LATER = {"0.5", "0.7", "0.9", "0.10", "0.11"}


def body(draw: st.DrawFn, above: list[str]) -> dict[str, Any]:
    """One entry that says something about calls, runs or settings, right or wrong."""
    kind = draw(KINDS)
    call_id = draw(CALL_IDS)
    target = draw(st.sampled_from(above)) if above else "none"
    if kind == "call":
        item = {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}
        return {"type": "item", "item": item, "response": draw(st.sampled_from(["x", "y"]))}
    if kind == "output":
        item = {"type": "function_call_output", "call_id": call_id, "output": "done"}
        return {"type": "item", "item": item}
    if kind == "message":
        return {"type": "item", "item": {"type": "message", "role": "user", "content": "Go"}}
    if kind == "response":
        extra = draw(
            st.sampled_from(
                [
                    {},
                    {"error": {"code": "e", "message": "m"}},
                    {"incomplete_details": {"reason": "max_output_tokens"}},
                ]
            )
        )
        response = draw(st.sampled_from(["x", "y", "z"]))
        return {"type": "response", "response_id": response, "status": "completed", **extra}
    if kind == "dispatch":
        return {"type": "dispatch", "call_id": call_id, "target": target}
    if kind == "decision":
        verdict = draw(st.sampled_from(["hold", "proceed", "reject", "answer"]))
        found = {"type": "decision", "call_id": call_id, "target": target, "verdict": verdict}
        return {**found, "reason": "so"}
    if kind == "start":
        source = draw(st.sampled_from(["input", "resume", "cron"]))
        return {"type": "run", "phase": "start", "run_id": draw(RUN_IDS), "source": source}
    if kind == "end":
        reason = draw(
            st.sampled_from(["done", "stopped", "aborted", "input_required", "error", "odd"])
        )
        pending = draw(st.lists(CALL_IDS, max_size=2))
        run_id = draw(RUN_IDS)
        found = {"type": "run", "phase": "end", "run_id": run_id, "reason": reason}
        return {**found, "pending": pending} if pending else found
    if kind == "env":
        return {"type": "env", "cwd": "/w", "workspace": draw(WORKSPACES)}
    omitted = draw(st.sampled_from([[], [{"keep": 1, "reason": "x"}], [{"id": "p"}]]))
    if kind == "config":
        return {"type": "config", "model": "m", "instructions_omitted": omitted}
    message = {"type": "message", "role": "user", "content": "so far"}
    return {"type": "compaction", "summary": message, "first_kept": target, "config": {}}


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Session files whose branches hold records that agree or do not."""
    version = draw(st.sampled_from(VERSIONS))
    count = draw(st.integers(1, 30))
    ids = [f"{number:064x}" if version in LATER else f"{number:08x}" for number in range(count)]
    header: dict[str, Any] = {
        "type": "session",
        "format": f"agentsession/{version}",
        "id": "s",
        "created_at": "2026-03-01T08:15:30Z",
        "payload": "openresponses/2026-04-24",
        "records": draw(st.sampled_from([[], ["dispatch"]])),
    }
    if version in LATER and draw(st.booleans()):
        header["base"] = draw(st.sampled_from(ids))
    prefix = ids.index(header["base"]) if "base" in header else 0
    lines: list[dict[str, Any]] = [header]
    for number, entry_id in enumerate(ids):
        above = ids[:number]
        # Most go on where the file stopped, so that paths become long enough to say something.
        roots = [] if "base" in header else [None]
        last = ids[number - 1 : number] if number else [None]
        parents = [*roots, *above[prefix:], *last * 3 * number] if number > prefix else last
        place = {"id": entry_id, "parent": draw(st.sampled_from(parents))}
        lines.append({**place, "ts": "2026-03-01T08:15:31Z", **body(draw, above)})
    ended = {entry_id: draw(ENDINGS) for entry_id in ids}
    return with_ends(written(lines), lines, ended)


ENDINGS = st.sampled_from(["as drawn", "now", "earlier", "earliest"])


def written(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def with_ends(data: bytes, lines: list[dict[str, Any]], ended: dict[str, str]) -> bytes:
    """The file with some runs ended as the rules of some version have it."""
    session = ags.read(data, verify_ids=False)
    for line in lines[1:]:
        end = session[line["id"]]
        last = session.runs(end.id)[-1:] if isinstance(end, RunEntry) and end.is_end else []
        if not last or last[0].end is not end or ended[end.id] == "as drawn":
            continue
        (run,) = last
        rule = {"now": run.reason, "earlier": run.earlier_reason}.get(ended[end.id])
        line["reason"] = str(rule() if rule else segment_reason(run.segment))
        line["pending"] = list(run.pending() if ended[end.id] == "now" else run.earlier_pending())
        session = ags.read(written(lines), verify_ids=False)
    return written(lines)


def alone(session: ags.Session, leaf: str) -> tuple[str, str, tuple[str, ...]]:
    try:
        return leaf, "", session.verify_records(leaf)
    except ags.AgentSessionError as error:
        return leaf, f"{type(error).__name__} {error}", ()


@settings(max_examples=200, deadline=None)
@given(data=files())
def test_each_leaf_has_what_it_has_alone(data: bytes) -> None:
    session = ags.read(data, verify_ids=False)
    together = [
        (found.leaf, "" if found.ok else f"{type(found.error).__name__} {found.error}", found.notes)
        for found in session.verify_all_records()
    ]
    assert together == [alone(session, leaf.id) for leaf in session.leaves]


@settings(max_examples=50, deadline=None)
@given(data=files())
def test_an_error_is_one_leafs_own(data: bytes) -> None:
    session = ags.read(data, verify_ids=False)
    errors = [found.error for found in session.verify_all_records() if found.error is not None]
    assert len({id(error) for error in errors}) == len(errors)


def branched(version: str, leaves: int) -> ags.Session:
    """A path of 60 runs whose records are sound, and leaves below its end with a run each."""
    lines: list[dict[str, Any]] = [
        {
            "type": "session",
            "format": f"agentsession/{version}",
            "id": "s",
            "created_at": "2026-03-01T08:15:30Z",
            "payload": "openresponses/2026-04-24",
            "records": ["dispatch"],
        }
    ]
    width = 64 if version in LATER else 8
    last = None

    def add(**members: Any) -> str:
        nonlocal last
        entry_id = f"{len(lines):0{width}x}"
        lines.append({"id": entry_id, "parent": last, "ts": "2026-03-01T08:15:31Z", **members})
        last = entry_id
        return entry_id

    def run(name: str) -> None:
        call = {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": name, "output": "done"}
        add(type="run", phase="start", run_id=name, source="input")
        add(type="config", model=name)
        target = add(type="item", item=call, response=name)
        add(type="response", response_id=name, status="completed")
        add(type="dispatch", call_id=name, target=target)
        add(type="item", item=output)
        add(type="response", response_id=f"{name} done", status="completed")
        add(type="run", phase="end", run_id=name, reason="done")

    for number in range(60):
        run(f"c{number}")
    end = last
    for number in range(leaves):
        last = end
        run(f"d{number}")
    return ags.read(written(lines), verify_ids=False)


@pytest.mark.parametrize("version", ["0.3", "0.7", "0.11"])
def test_leaves_share_the_work_of_what_is_above(version: str) -> None:
    few, many = branched(version, 1), branched(version, 61)
    costs = []
    for session in (few, many):
        assert len(session.entries) == 8 * (60 + len(session.leaves))
        profile = cProfile.Profile()
        with profile:
            found = session.verify_all_records()
        assert all(leaf.ok and not leaf.notes for leaf in found)
        assert len(found) == len(session.leaves)
        costs.append(int(pstats.Stats(profile).total_calls))  # type: ignore[attr-defined]
    # There are two times as many entries, and 61 paths instead of one.
    assert costs[1] < 2.5 * costs[0]
