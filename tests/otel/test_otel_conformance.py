"""Every session of the conformance data and of ours becomes spans that hold together.

Skips without the conformance data; ``AGENTSESSION_SHARED`` names its place.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from otel_spans import Recorder

from agentsession import otel
from agentsession.calls import CallState
from agentsession.entries import Entry, ResponseEntry
from agentsession.errors import AgentSessionError
from agentsession.otel import names
from agentsession.otel.tree import trace_session
from agentsession.reading import read
from agentsession.record_entries import RunEntry
from agentsession.session import Session

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("AGENTSESSION_SHARED", ROOT.parent / "shared"))
SESSIONS = SHARED / "conformance" / "upstream" / "sessions"
OURS = sorted((ROOT / "tests" / "data" / "hostile").glob("*.jsonl"))
EXAMPLES = sorted((ROOT / "examples" / "sessions").rglob("*.jsonl"))
STATES = {*CallState, names.REJECTED}


def opened(path: Path) -> Session:
    try:
        return read(path)
    except AgentSessionError:
        pytest.skip("not readable, as it should be")


def check(spans: list[ReadableSpan], header_id: str) -> None:
    known = {span.context.span_id: span for span in spans}
    (session,) = [span for span in spans if span.name == names.SESSION_SPAN]
    for span in spans:
        about = span.attributes or {}
        assert about[names.SESSION_ID] == header_id
        assert (names.ENTRY_ID in about) == (span is not session)
        assert 0 <= (span.start_time or 0) <= (span.end_time or 0)
        assert (span.parent is None) == (span is session)
        if span.parent is not None:
            assert known[span.parent.span_id].name in (names.SESSION_SPAN, names.RUN_SPAN)
        if span.name.startswith(names.EXECUTE_TOOL):
            assert about[names.CALL_STATE] in STATES
        for link in span.links:
            assert link.context.span_id in known


def expected(path: list[Entry], session: Session, leaf: str) -> dict[str, int]:
    """How many spans of a kind a path must give."""
    return {
        names.RUN_SPAN: sum(isinstance(e, RunEntry) and e.is_start for e in path),
        names.CHAT: sum(isinstance(e, ResponseEntry) for e in path),
        names.EXECUTE_TOOL: len(session.calls(leaf)),
        names.COMPACTION_SPAN: sum(e.type == "compaction" for e in path),
        names.BRANCH_SPAN: sum(e.type == "branch_summary" for e in path),
    }


@pytest.mark.parametrize(
    "path",
    [*sorted(SESSIONS.rglob("*.jsonl")), *OURS, *EXAMPLES],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_sessions(path: Path) -> None:
    session = opened(path)
    for leaf in session.leaves:
        recorder = Recorder()
        spans = otel.export(recorder.tracer, session, leaf.id, content=True)
        check(recorder.spans, session.id)
        way = session.path(leaf.id)
        assert {
            kind: len(recorder.named(kind)) for kind in expected(way, session, leaf.id)
        } == expected(way, session, leaf.id)
        assert set(spans) <= {entry.id for entry in way}
    whole = trace_session(session, content=True)
    check(list(whole.spans), session.id)
    assert len({span.context.span_id for span in whole.spans}) == len(whole.spans)
    responses = [entry for entry in session if isinstance(entry, ResponseEntry)]
    assert sum(s.name.startswith(names.CHAT) for s in whole.spans) == len(responses)


@pytest.mark.skipif(not SESSIONS.is_dir(), reason="the conformance data is not here")
def test_the_resumed_session() -> None:
    """Its held call is refused in the second run; the third one takes a fresh input."""
    recorder = Recorder()
    otel.export(recorder.tracer, read(SESSIONS / "resume.jsonl"))
    runs = recorder.named(names.RUN_SPAN)
    assert [(run.attributes or {})[names.RUN_SOURCE] for run in runs] == [
        "input",
        "resume",
        "input",
    ]
    assert (runs[0].attributes or {})[names.RUN_REASON] == "input_required"
    refused = [
        span
        for span in recorder.named(names.EXECUTE_TOOL)
        if (span.attributes or {})[names.CALL_STATE] == names.REJECTED
    ]
    assert [span.parent for span in refused] == [runs[1].context]
    assert {event.name for event in refused[0].events} == {names.DECISION_EVENT}
