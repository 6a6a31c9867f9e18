"""Whole sessions as spans: ids that last, branches that share a beginning."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from otel_sessions import called, two_runs
from otel_spans import Recorder, Shape, shapes

from agentsession import otel
from agentsession.entries import ItemEntry, ResponseEntry
from agentsession.errors import AgentSessionError, NoEntry
from agentsession.otel import names
from agentsession.otel.tree import Trace, trace_session
from agentsession.record_entries import EnvEntry, InfoEntry, RunEntry
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
    assert len(ids(trace)) == len(told)
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


def place(span: ReadableSpan, known: dict[int, ReadableSpan]) -> tuple[object, ...]:
    """What a span has in common with the same one of another trace of its session."""
    above = known[span.parent.span_id] if span.parent else None
    return (
        span.name,
        span.start_time,
        (span.attributes or {}).get(names.ENTRY_ID),
        (above.name, (above.attributes or {}).get(names.ENTRY_ID)) if above else None,
    )


NAMED = ("start-1", "start-2", "end-1", "end-2", "call-a", "call-b", "answer-a", "answer-b")
OTHERS = ("dispatch-a", "dispatch-b", "reject-a", "hold-b", "said", "answered", "fork", "fork")
STEPS = st.sampled_from((*NAMED, *OTHERS))


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(STEPS, max_size=30), places=st.integers(0, 1 << 60))
def test_a_path_alone_is_as_in_the_tree(steps: list[str], places: int) -> None:
    """What a path closes has the id, the start and the parent it has in the whole tree."""
    build = SessionBuilder(records=["run", "dispatch", "decision"])
    for step in steps:
        kind, _, name = step.partition("-")
        try:
            take_step(build, kind, name, places)
        except (AgentSessionError, StopIteration):
            continue
    whole = by_id(trace_session(build.session))
    assert all(span.parent is None or span.parent.span_id in whole for span in whole.values())
    for leaf in build.session.leaves:
        alone = by_id(trace_session(build.session, leaf.id))
        known = {place(span, whole) for span in whole.values()}
        for span_id, span in alone.items():
            if span.parent is None:
                continue
            if span_id in whole:
                assert place(span, alone) == place(whole[span_id], whole)
            if (span.attributes or {}).get(names.CALL_STATE) in (None, "completed", "rejected"):
                assert place(span, alone) in known


def take_step(build: SessionBuilder, kind: str, name: str, places: int) -> None:
    if kind == "fork":
        entries = build.session.entries
        if entries:
            build.session.branch(entries[places % len(entries)].id)
    elif kind == "start":
        build.start(name)
    elif kind == "end":
        build.append(RunEntry.end(name, "done"))
    elif kind == "call":
        build.append(ItemEntry(called(name), response="r"))
    elif kind == "answer":
        build.output(name)
    elif kind == "dispatch":
        build.dispatch(name)
    elif kind in ("reject", "hold"):
        build.decide(name, kind)
    elif kind == "said":
        build.user("Hi")
    else:
        build.append(ResponseEntry("r"))


def test_a_fork_inside_a_run() -> None:
    """A run that one branch ended is still open on the other."""
    build = SessionBuilder()
    build.start("run-1")
    fork = build.user("Hi")
    build.response([called("c1")], hashed=False)
    build.append(RunEntry.end("run-1", "done"))
    build.session.branch(fork)
    build.response([called("c2")], hashed=False)
    build.user("more")
    trace = trace_session(build.session)
    known = by_id(trace)
    parents = {
        (s.attributes or {}).get(names.ENTRY_ID): known[s.parent.span_id].name
        for s in trace.spans
        if s.parent is not None
    }
    assert parents == {
        "e0000001": names.SESSION_SPAN,
        "e0000003": names.SESSION_SPAN,  # c1 is told where its path stops, after the run
        "e0000004": names.RUN_SPAN,
        "e0000006": names.RUN_SPAN,  # c2
        "e0000007": names.RUN_SPAN,
    }


def test_a_shared_dispatch_answered_twice() -> None:
    build, _, two = forked()
    whole = by_id(trace_session(build.session))
    (own,) = [
        s
        for s in trace_session(build.session, two).spans
        if (s.attributes or {}).get(names.TOOL_CALL_ID) == "c1"
    ]
    same = whole[own.context.span_id]
    assert (same.start_time, same.end_time) == (own.start_time, own.end_time)
    assert (own.attributes or {})[names.ENTRY_ID] == "e0000005"
    assert dict(same.attributes or {}) == dict(own.attributes or {})


def test_a_name_of_later_is_not_known_before() -> None:
    build = SessionBuilder()
    before = build.user("Hi")
    build.append(InfoEntry("Later"))
    after = build.user("more")
    recorder = Recorder()
    otel.export(recorder.tracer, build.session, before)
    assert names.NAME not in (recorder.session().attributes or {})
    for leaf, name in ((before, None), (after, "Later"), (None, "Later")):
        session = trace_session(build.session, leaf).spans[0]
        assert (session.attributes or {}).get(names.NAME) == name


def test_forks_go_through_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    build = SessionBuilder(records=["dispatch"])
    for number in range(100):
        fork = build.user("q")
        build.append(ResponseEntry("", error={"message": "overloaded"}))
        build.session.branch(fork)
        build.response([called(f"c{number}")], hashed=False)
        build.dispatch(f"c{number}")

    def path(*_args: object) -> None:
        raise AssertionError("a path was asked for")

    monkeypatch.setattr(type(build.session), "path", path)
    spans = trace_session(build.session).spans
    assert len(spans) == 301
    assert len({span.end_time for span in spans if span.name == "execute_tool ls"}) == 1


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
