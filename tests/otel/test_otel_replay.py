"""``otel.export``: a stored path as spans, after the specification's tables."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags
from otel_sessions import USAGE, called, two_runs
from otel_spans import Recorder, shapes

from agentsession import otel
from agentsession.entries import CompactionEntry, ConfigEntry, ItemEntry, ResponseEntry
from agentsession.errors import NoEntry
from agentsession.header import Header
from agentsession.otel import names
from agentsession.parts import Harness
from agentsession.record_entries import EnvEntry, InfoEntry, LinkEntry, RunEntry
from agentsession.session import Session
from agentsession.settings import Settings
from agentsession.testing import SessionBuilder

SECOND = 1_000_000_000
START = 1_767_225_600 * SECOND


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def replayed(build: SessionBuilder, **options: Any) -> Recorder:
    recorder = Recorder()
    otel.export(recorder.tracer, build.session, **options)
    return recorder


class TestShapeOfTwoRuns:
    """Otel B.8."""

    @pytest.fixture
    def recorder(self) -> Recorder:
        return replayed(two_runs())

    def test_counts(self, recorder: Recorder) -> None:
        assert len(recorder.spans) == 1 + 2 + 2 + 3
        assert [len(recorder.named(name)) for name in (names.RUN_SPAN, "chat", "execute_tool")] == [
            2,
            2,
            3,
        ]

    def test_session(self, recorder: Recorder) -> None:
        session = recorder.session()
        assert told(session) == {
            names.SESSION_ID: "session-1",
            names.FORMAT: "agentsession/0.3",
            names.HARNESS_NAME: "demo",
            names.HARNESS_VERSION: "2.1",
        }
        assert session.parent is None
        assert session.start_time == START
        assert session.end_time == START + 21 * SECOND
        assert [event.name for event in session.events] == ["env", "outcome"]
        env, outcome = (dict(event.attributes or {}) for event in session.events)
        assert env == {
            names.ENTRY_ID: "e0000003",
            names.CWD: "/srv/app",
            names.WORKSPACE_KIND: "container",
            names.WORKSPACE_REF: "box-7",
        }
        assert outcome == {
            names.ENTRY_ID: "e0000020",
            names.OUTCOME_KIND: "test",
            names.OUTCOME_SCORE: 0.5,
            names.OUTCOME_PASS: True,
        }

    def test_runs(self, recorder: Recorder) -> None:
        first, second = recorder.named(names.RUN_SPAN)
        assert told(first) == {
            names.SESSION_ID: "session-1",
            names.ENTRY_ID: "e0000002",
            names.RUN_ID: "run-1",
            names.RUN_SOURCE: "input",
            names.RUN_TRIGGER: "inbox:1",
            names.RUN_REASON: "input_required",
            names.RUN_PENDING: ("call_1",),
        }
        assert told(second)[names.RUN_SOURCE] == "resume"
        assert told(second)[names.RUN_REASON] == "done"
        assert names.RUN_PENDING not in told(second)
        session = recorder.session()
        assert all(run.parent == session.context for run in (first, second))
        assert (first.start_time, first.end_time) == (START + 2 * SECOND, START + 15 * SECOND)

    def test_inferences(self, recorder: Recorder) -> None:
        first, second = recorder.named("chat")
        assert first.name == "chat m-1-2026"
        assert first.kind is SpanKind.CLIENT
        assert told(first) == {
            names.SESSION_ID: "session-1",
            names.CONVERSATION: "session-1",
            names.ENTRY_ID: "e0000008",
            names.OPERATION: "chat",
            names.REQUEST_MODEL: "m-1",
            names.RESPONSE_MODEL: "m-1-2026",
            names.RESPONSE_ID: "resp_1",
            names.REQUEST_HASH: told(first)[names.REQUEST_HASH],
            names.INPUT_TOKENS: 12,
            names.OUTPUT_TOKENS: 5,
            names.CACHE_READ_TOKENS: 4,
            names.CACHE_CREATION_TOKENS: 2,
            names.REASONING_TOKENS: 3,
        }
        assert first.links == ()
        # The first call item came before the response and before its latency.
        assert (first.start_time, first.end_time) == (START + 5 * SECOND, START + 8 * SECOND)
        assert second.name == "chat m-1"
        (link,) = second.links
        assert link.context == first.context
        assert dict(link.attributes or {}) == {names.LINK: names.PREVIOUS_TURN}
        first_run, second_run = recorder.named(names.RUN_SPAN)
        assert (first.parent, second.parent) == (first_run.context, second_run.context)

    def test_tools(self, recorder: Recorder) -> None:
        by_call = {told(s)[names.TOOL_CALL_ID]: s for s in recorder.named("execute_tool")}
        assert sorted(by_call) == ["call_1", "call_2", "call_3"]
        inference = recorder.named("chat")[0]
        for span in by_call.values():
            (link,) = span.links
            assert link.context == inference.context
            assert dict(link.attributes or {}) == {names.LINK: names.PRODUCED_BY}
            assert span.kind is SpanKind.INTERNAL
        held, rewritten, rejected = (by_call[f"call_{n}"] for n in (1, 2, 3))
        second_run = recorder.named(names.RUN_SPAN)[1]
        assert held.parent == second_run.context
        assert held.name == "execute_tool rm"
        assert [dict(event.attributes or {}) for event in held.events] == [
            {names.ENTRY_ID: "e0000009", names.VERDICT: "hold", names.DECIDED_BY: "policy"}
        ]
        assert told(held)[names.CALL_STATE] == "completed"
        assert held.start_time == START + 5 * SECOND
        assert told(rewritten)[names.ARGS_REWRITTEN] is True
        assert told(rewritten)[names.ENTRY_ID] == "e0000011"
        (proceed,) = rewritten.events
        assert dict(proceed.attributes or {})[names.VERDICT] == "proceed"
        assert dict(proceed.attributes or {})[names.ARGS_REWRITTEN] is True
        assert proceed.timestamp == START + 10 * SECOND
        assert told(rejected)[names.CALL_STATE] == "rejected"
        assert rejected.start_time == START + 13 * SECOND  # the rejecting decision
        assert dict(rejected.events[0].attributes or {})[names.DECISION_REASON] == "not today"

    def test_map(self) -> None:
        build = two_runs()
        recorder = Recorder()
        spans = otel.export(recorder.tracer, build.session)
        assert spans["e0000002"] == spans["e0000015"]
        assert spans["e0000008"].span_id == recorder.named("chat")[0].context.span_id
        assert {context.span_id for context in spans.values()} == {
            span.context.span_id for span in recorder.spans
        } - {recorder.session().context.span_id}

    def test_nothing_said_leaves(self, recorder: Recorder) -> None:
        shown = str(shapes(recorder.spans))
        for words in ("Clean up", "Be brief", "a.txt", "/srv'", "All clean"):
            assert words not in shown


def test_parent_is_the_current_span() -> None:
    outside = SpanContext(7, 7, is_remote=False, trace_flags=TraceFlags(1))
    recorder = Recorder()
    with trace.use_span(NonRecordingSpan(outside)):
        otel.export(recorder.tracer, two_runs().session)
    assert recorder.session().parent == outside
    assert {span.context.trace_id for span in recorder.spans} == {7}


def test_unknown_leaf() -> None:
    build = two_runs()
    for leaf in ("nothing", ""):
        with pytest.raises(NoEntry):
            otel.export(Recorder().tracer, build.session, leaf)


def test_empty_path() -> None:
    build = SessionBuilder()
    recorder = replayed(build)
    session = recorder.session()
    assert recorder.spans == [session]
    assert (session.start_time, session.end_time) == (START, START)


def test_a_path_ends_at_its_leaf() -> None:
    build = two_runs()
    recorder = replayed(build, leaf="e0000011")
    tools = {told(s)[names.TOOL_CALL_ID]: s for s in recorder.named("execute_tool")}
    states = {call_id: told(span)[names.CALL_STATE] for call_id, span in tools.items()}
    assert states == {"call_1": "held", "call_2": "in_flight", "call_3": "never_started"}
    in_flight = tools["call_2"]
    assert in_flight.status.status_code is StatusCode.ERROR
    assert in_flight.status.description == "no output before the record stopped"
    assert told(in_flight)[names.ERROR_TYPE] == "in_flight"
    assert tools["call_1"].status.status_code is StatusCode.UNSET
    assert told(tools["call_3"])[names.ENTRY_ID] == "e0000007"
    assert all(span.end_time == START + 11 * SECOND for span in tools.values())
    run = recorder.one(names.RUN_SPAN)
    assert names.RUN_REASON not in told(run)
    assert run.end_time == START + 11 * SECOND


def test_state_without_a_promise() -> None:
    build = SessionBuilder()
    build.call("call_1")
    assert told(replayed(build).one("execute_tool"))[names.CALL_STATE] == "unknown"


def test_hold_before_a_dispatch_is_no_hold() -> None:
    """The state table decides, not a hold that was seen once."""
    build = SessionBuilder()
    build.call("call_1")
    build.decide("call_1", "hold")
    build.dispatch("call_1")
    assert told(replayed(build).one("execute_tool"))[names.CALL_STATE] == "in_flight"


def test_a_run_that_another_start_closed() -> None:
    build = SessionBuilder()
    build.start("run-1")
    build.start("run-2")
    build.append(RunEntry.end("run-9", "done"))
    build.append(RunEntry.end("run-2", "error", "the disk is full"))
    first, second = replayed(build).named(names.RUN_SPAN)
    assert told(first)[names.RUN_REASON] == "cut_off"
    assert first.end_time == START + 2 * SECOND
    assert told(second)[names.RUN_REASON] == "error"
    assert told(second)[names.RUN_CAUSE] == "the disk is full"
    assert second.status.status_code is StatusCode.ERROR
    assert second.status.description == "the disk is full"
    assert second.end_time == START + 4 * SECOND


def test_a_failed_and_an_incomplete_response() -> None:
    build = SessionBuilder()
    build.append(ResponseEntry("r1", error={"code": "rate_limited", "message": "slow down"}))
    build.append(ResponseEntry("r2", incomplete={"reason": "max_output_tokens"}))
    build.append(ResponseEntry("", error={}))
    failed, cut, bare = replayed(build).named("chat")
    assert failed.name == "chat"
    assert names.REQUEST_MODEL not in told(failed)
    assert failed.status.description == "slow down"
    assert told(failed)[names.ERROR_TYPE] == "rate_limited"
    assert told(cut)[names.FINISH_REASONS] == ("max_output_tokens",)
    assert told(bare)[names.ERROR_TYPE] == "_OTHER"
    assert names.RESPONSE_ID not in told(bare)


def test_the_model_in_force() -> None:
    build = SessionBuilder()
    build.config(model="m-1")
    build.answer("one", hashed=False)
    build.append(ConfigEntry(replace=True))
    build.answer("two", hashed=False)
    summary = {"type": "message", "role": "user", "content": "sum"}
    build.append(CompactionEntry("e0000001", summary, config=Settings(model="m-3")))
    build.answer("three", hashed=False)
    recorder = replayed(build)
    assert [span.name for span in recorder.named("chat")] == ["chat m-1", "chat", "chat m-3"]


def test_compaction() -> None:
    build = SessionBuilder()
    build.start()
    kept = build.user("Hi")
    summary = {"type": "message", "role": "user", "content": "sum"}
    build.append(CompactionEntry(kept, summary, tokens_before=900, usage=USAGE))
    recorder = replayed(build)
    span = recorder.one(names.COMPACTION_SPAN)
    assert span.start_time == span.end_time == START + 3 * SECOND
    assert span.parent == recorder.one(names.RUN_SPAN).context
    assert told(span)[names.FIRST_KEPT] == kept
    assert told(span)[names.TOKENS_BEFORE] == 900
    assert told(span)[names.INPUT_TOKENS] == 12


def test_branch_links_across_exports() -> None:
    build = SessionBuilder()
    first = build.user("Hi")
    left = build.answer("one")
    build.session.branch(first)
    build.append(
        build.session.summarize_branch(left, {"type": "message", "role": "user", "content": "s"})
    )
    other = build.session.leaf
    recorder = Recorder()
    known = otel.export(recorder.tracer, build.session, left)
    otel.export(recorder.tracer, build.session, other)
    assert recorder.one(names.BRANCH_SPAN).links == ()
    otel.export(recorder.tracer, build.session, other, known)
    span = recorder.named(names.BRANCH_SPAN)[1]
    assert told(span)[names.BRANCH_FROM] == left
    (link,) = span.links
    assert link.context == known[left]
    assert dict(link.attributes or {}) == {names.BRANCH_FROM: left}


def test_a_subsession_before_and_after_the_dispatch() -> None:
    build = SessionBuilder()
    build.response([called("call_1"), called("call_2")])
    build.append(LinkEntry.subsession("child-1", "call_1"))
    build.dispatch("call_1")
    build.dispatch("call_2")
    build.append(LinkEntry.subsession("child-2", "call_2"))
    build.output("call_2")
    build.append(LinkEntry.subsession("child-3", "call_2"))
    build.append(LinkEntry.subsession("child-4", "no such call"))
    recorder = replayed(build)
    spawned = {told(s)[names.TOOL_CALL_ID]: s for s in recorder.named("execute_tool")}
    assert told(spawned["call_1"])[names.SUBSESSION] == "child-1"
    assert told(spawned["call_2"])[names.SUBSESSION] == "child-2"
    assert all(span.events == () for span in spawned.values())
    links = [event for event in recorder.session().events if event.name == "link"]
    assert [dict(event.attributes or {})[names.LINK_SESSION] for event in links] == [
        "child-1",
        "child-2",
        "child-3",
        "child-4",
    ]


def test_things_that_belong_to_no_call() -> None:
    """An output twice, decisions and dispatches of nothing, a second call with an id."""
    build = SessionBuilder()
    build.call("call_1", "first")
    build.item(called("call_1", "second"))
    build.output("call_1")
    build.output("call_1")
    build.output("call_9")
    recorder = replayed(build)
    assert recorder.one("execute_tool").name == "execute_tool first"


def test_names() -> None:
    build = SessionBuilder()
    for name in ("first", "", "second"):
        build.append(InfoEntry(name))
    assert told(replayed(build).session())[names.NAME] == "second"
    # A name that stands on another branch only is known from the start.
    assert told(replayed(build, leaf="e0000001").session())[names.NAME] == "first"


def test_times_and_numbers_beyond_what_spans_hold() -> None:
    header = Header(id="s", format="agentsession/0.3", created_at="1812-01-01T00:00:00Z")
    session = Session(header)
    call = called("c")
    session.append(ItemEntry(call, response="r", ts="9999-12-31T23:59:59Z"))
    huge = {"input_tokens": 10**40, "output_tokens": -1, "input_tokens_details": []}
    session.append(ResponseEntry("r", usage=huge, latency_ms=10**18, ts="1700-01-01T00:00:00Z"))
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    session.append(ItemEntry(output, ts="2026-01-01T00:00:00Z"))
    recorder = Recorder()
    otel.export(recorder.tracer, session)
    assert recorder.session().start_time == 0
    for span in recorder.spans:
        assert 0 <= (span.start_time or 0) <= (span.end_time or 0) < 1 << 63
    tool, chat = recorder.one("execute_tool"), recorder.one("chat")
    assert tool.start_time == tool.end_time == (1 << 63) - 1  # an end before a start is clamped
    assert chat.start_time == 0
    assert not {names.INPUT_TOKENS, names.OUTPUT_TOKENS} & set(told(chat))


def test_who_ran_the_model_when_somebody_recorded_it() -> None:
    build = SessionBuilder()
    message = {"type": "message", "role": "assistant", "content": []}
    build.item(message, response="r1", unknown={"origin": {"provider": "anthropic"}})
    build.append(ResponseEntry("r1"))
    build.item(message, response="r2", unknown={"origin": ["odd"]})
    build.append(ResponseEntry("r2"))
    first, second = replayed(build).named("chat")
    assert told(first)[names.PROVIDER] == "anthropic"
    assert names.PROVIDER not in told(second)


def test_every_text_passes_the_redactor() -> None:
    build = SessionBuilder(harness=Harness("hush-harness"))
    build.config(model="hush-model", instructions="hush-instructions")
    build.start("hush-run", ref="hush-ref")
    build.append(EnvEntry(cwd="/home/hush"))
    build.user("hush-text")
    arguments = '{"hush-key":["hush\\u002dargument"]}'
    build.response([called("hush-call", "hush-tool", arguments)], hashed=False)
    build.decide("hush-call", "reject", reason="hush-reason")
    build.output("hush-call", [{"type": "output_text", "text": "hush-output"}])
    build.append(ResponseEntry("hush-rid", error={"code": "hush-code", "message": "hush-error"}))
    build.append(RunEntry.end("hush-run", "error", "hush-cause", ["hush-pending"]))
    recorder = replayed(build, content=True, redact=lambda text: text.replace("hush", "[x]"))
    shown = str(shapes(recorder.spans))
    assert "hush" not in shown
    assert "[x]-argument" in shown


def test_a_tracer_that_raises_is_heard() -> None:
    class Broken(trace.NoOpTracer):
        def start_span(self, *_args: Any, **_kwargs: Any) -> trace.Span:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        otel.export(Broken(), two_runs().session)
