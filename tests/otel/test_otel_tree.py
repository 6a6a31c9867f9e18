"""Whole sessions as spans: ids that last, branches that share a beginning."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from otel_sessions import called, two_runs
from otel_spans import Recorder, Shape, shapes

from agentsession import otel
from agentsession.errors import AgentSessionError, NoEntry
from agentsession.otel import names
from agentsession.otel.tree import Trace, trace_session
from agentsession.record_entries import EnvEntry, RunEntry
from agentsession.testing import SessionBuilder


def ids(trace: Trace) -> set[tuple[int, int]]:
    return {(span.context.trace_id, span.context.span_id) for span in trace.spans}


def by_id(trace: Trace) -> dict[int, ReadableSpan]:
    return {span.context.span_id: span for span in trace.spans}


def sorted_shapes(spans: list[ReadableSpan]) -> list[Shape]:
    return sorted(shapes(spans), key=str)


def test_same_session_same_ids() -> None:
    first, second = trace_session(two_runs().session), trace_session(two_runs().session)
    assert ids(first) == ids(second)
    assert len(ids(first)) == len(first.spans) == 8
    assert {span.context.trace_id for span in first.spans} == {first.trace_id}
    assert first.leaves == (two_runs().session.leaf,)
    other = two_runs()
    other.session.header = SessionBuilder(id="session-2").session.header
    assert not ids(first) & ids(trace_session(other.session))


def test_ids_hold_together() -> None:
    trace = trace_session(two_runs().session)
    known = by_id(trace)
    for span in trace.spans:
        if span.parent is None:
            assert span.name == names.SESSION_SPAN
        else:
            assert span.parent == known[span.parent.span_id].context
        for link in span.links:
            assert link.context == known[link.context.span_id].context
    assert trace.spans[0].parent is None


def test_the_same_spans_as_export() -> None:
    recorder = Recorder()
    otel.export(recorder.tracer, two_runs().session)
    trace = trace_session(two_runs().session)
    assert sorted_shapes(list(trace.spans)) == sorted_shapes(recorder.spans)


def test_only_what_is_still_open_changes_its_id() -> None:
    build = SessionBuilder(records=["run", "dispatch"])
    build.start("run-1")
    build.response([called("done"), called("open")])
    build.dispatch("done")
    build.output("done")
    build.dispatch("open")
    before = trace_session(build.session)
    build.output("open")
    build.append(RunEntry.end("run-1", "stopped"))
    after = trace_session(build.session)
    grown = ids(after) - ids(before)
    names_of = sorted(by_id(after)[span_id].name for _, span_id in grown)
    assert names_of == [names.RUN_SPAN, names.SESSION_SPAN, "execute_tool ls"]
    assert len(before.spans) == len(after.spans)


def forked() -> tuple[SessionBuilder, str, str]:
    """A call both branches answer, an open run both are in, a call none answers."""
    build = SessionBuilder(records=["run", "dispatch"])
    build.start("run-1")
    build.response([called("c1"), called("c2")])
    build.dispatch("c1")
    fork = build.dispatch("c2")
    build.output("c1")
    one = build.answer("one")
    build.session.branch(fork)
    build.output("c1")
    two = build.append(RunEntry.end("run-1", "aborted"))
    return build, one, two


def test_branches_share_their_beginning() -> None:
    build, one, two = forked()
    trace = trace_session(build.session)
    assert trace.leaves == (one, two)
    told = [(span.name, (span.attributes or {}).get(names.ENTRY_ID)) for span in trace.spans]
    assert len(set(told)) == len(told)
    assert sorted(name for name, _ in told) == [
        names.RUN_SPAN,
        names.SESSION_SPAN,
        "chat",
        "chat",
        "execute_tool ls",  # c1 of the first branch: it was dispatched before the fork
        "execute_tool ls",  # c1 of the second one
        "execute_tool ls",  # c2, which no branch answered, once
    ]
    for leaf in (one, two):
        only = trace_session(build.session, leaf)
        assert only.trace_id == trace.trace_id
        assert only.leaves == (leaf,)
        assert len(only.spans) < len(trace.spans)


def test_a_run_that_was_left_ends_with_its_branch() -> None:
    build = SessionBuilder()
    root = build.user("Hi")
    build.start("run-1")
    build.answer("one")
    build.session.branch(root)
    build.start("run-2")
    build.answer("two")
    first, second = (s for s in trace_session(build.session).spans if s.name == names.RUN_SPAN)
    end = build.session["e0000004"].ts
    assert end is not None
    assert first.end_time == end.nanoseconds
    assert names.RUN_REASON not in (first.attributes or {})
    assert (second.attributes or {})[names.RUN_ID] == "run-2"


def test_more_events_than_tracers_keep() -> None:
    build = SessionBuilder()
    for _ in range(300):
        build.append(EnvEntry(cwd="/a"))
    assert len(trace_session(build.session).spans[0].events) == 300


def test_empty_session_and_unknown_leaf() -> None:
    build = SessionBuilder()
    assert [span.name for span in trace_session(build.session).spans] == [names.SESSION_SPAN]
    with pytest.raises(NoEntry):
        trace_session(build.session, "nothing")


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    trace = trace_session(two_runs().session)
    assert len(trace.spans) == 8
    assert trace.spans[0].resource.attributes["service.name"] == "mine"
    assert len(trace.spans[0].attributes or {}) == 4
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(AgentSessionError, match="OTEL_SDK_DISABLED is set"):
        trace_session(two_runs().session)
