"""``otel.wrap``: the same spans while a harness records, and a recording nothing disturbs."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags
from otel_sessions import called, two_runs
from otel_spans import Recorder, shapes

from agentsession import otel
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry, ResponseEntry
from agentsession.errors import AgentSessionError, CallRejected, NoSession
from agentsession.header import Header
from agentsession.otel import names
from agentsession.record_entries import (
    CustomEntry,
    DecisionEntry,
    DispatchEntry,
    EnvEntry,
    InfoEntry,
    LabelEntry,
    LinkEntry,
    OutcomeEntry,
    RunEntry,
)
from agentsession.session import Session
from agentsession.stores import JSONLStore, MemoryStore, SQLiteStore
from agentsession.stores.aio import AsyncStore
from agentsession.stores.base import Store
from agentsession.stores.conformance import StoreConformance
from agentsession.timestamp import Timestamp

START = 1_767_225_600_000_000_000
SECOND = 1_000_000_000
CREATED = Timestamp.from_nanoseconds(START)
RECORDS = ["run", "dispatch", "decision"]
OUTSIDE = SpanContext(7, 7, is_remote=False, trace_flags=TraceFlags(1))


class TestTracedMemoryStore(StoreConformance):
    persistent = False

    def make_store(self, place: Path) -> Store:
        return otel.wrap(MemoryStore(), Recorder().tracer)


class TestTracedJSONLStore(StoreConformance):
    def make_store(self, place: Path) -> Store:
        return otel.wrap(JSONLStore(place / "sessions"), Recorder().tracer)


class TestTracedSQLiteStore(StoreConformance):
    def make_store(self, place: Path) -> Store:
        return otel.wrap(SQLiteStore(place / "sessions.db"), Recorder().tracer)


class Clock:
    """A clock that goes on by a second each time it is read."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def __call__(self) -> int:
        self.at += SECOND
        return self.at


def states(recorder: Recorder) -> dict[Any, Any]:
    return {
        (span.attributes or {})[names.TOOL_CALL_ID]: (span.attributes or {})[names.CALL_STATE]
        for span in recorder.named("execute_tool")
    }


# Live and replay agree.

SAID = {"type": "message", "role": "user", "content": "Hi"}
CALLS = st.sampled_from(["call_1", "call_2", "call_3"])
WORDS = st.sampled_from(["", "one", "two"])
ENTRIES: list[st.SearchStrategy[Callable[[], Entry]]] = [
    st.just(lambda: ItemEntry(SAID)),
    st.builds(lambda c, r: lambda: ItemEntry(called(c, f"t-{c}"), response=r), CALLS, WORDS),
    st.builds(
        lambda c: (
            lambda: ItemEntry(
                {"type": "function_call_output", "call_id": c, "output": "x"}, response=c
            )
        ),
        CALLS,
    ),
    st.builds(
        lambda r, m, ms: lambda: ResponseEntry(r, model=m, latency_ms=ms),
        WORDS,
        WORDS,
        st.integers(0, 9000),
    ),
    st.just(lambda: ResponseEntry("one", error={"message": "no"})),
    st.builds(lambda m, r: lambda: ConfigEntry(model=m, replace=r), WORDS, st.booleans()),
    st.builds(lambda r: lambda: RunEntry.start(r or "zero"), WORDS),
    st.builds(
        lambda r, w: lambda: RunEntry.end(r or "zero", w),
        WORDS,
        st.sampled_from(["done", "error"]),
    ),
    st.builds(lambda c: lambda: DispatchEntry(c, "e1"), CALLS),
    st.builds(
        lambda c, v, a: lambda: DecisionEntry(c, "e1", v, reason="r", **a),
        CALLS,
        st.sampled_from(["proceed", "hold", "reject"]),
        st.sampled_from([{}, {"args": None}]),
    ),
    st.builds(lambda n: lambda: InfoEntry(n), WORDS),
    st.just(lambda: EnvEntry(cwd="/a")),
    st.just(lambda: OutcomeEntry("test", pass_=False)),
    st.builds(lambda c: lambda: LinkEntry.subsession("child", c), CALLS),
    st.just(lambda: CompactionEntry("e1", SAID)),
    st.just(lambda: CustomEntry("acme", {"a": 1})),
]


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.tuples(st.one_of(ENTRIES), st.integers(-2, 5)), max_size=30),
    content=st.booleans(),
)
def test_live_and_replay_agree(steps: list[tuple[Callable[[], Entry], int]], content: bool) -> None:
    """Decision F: one process, one branch, a fake clock, a close at the last entry's time."""
    live = Recorder()
    clock = Clock()
    store = otel.wrap(MemoryStore(), live.tracer, content=content, clock=lambda: clock.at)
    session = store.create(
        Header(id="s", format="agentsession/0.3", created_at=CREATED, records=RECORDS)
    )
    for number, (make, seconds) in enumerate(steps, 1):
        clock.at += seconds * SECOND
        ts = Timestamp.from_nanoseconds(clock.at)
        try:
            store.append("s", make().moved(id=f"e{number}", ts=ts))
        except CallRejected:
            clock.at -= seconds * SECOND
    last = session.entries[-1].ts if len(session) else None
    clock.at = last.nanoseconds if last is not None else START
    store.close()
    assert store.failures == 0
    replay = Recorder()
    otel.export(replay.tracer, session, content=content)
    assert shapes(live.spans) == shapes(replay.spans)


# What a harness does.


def recorded(store: Store, build: Any) -> Session:
    """The entries of a built session, appended to a store."""
    session = store.create(build.session.header)
    for entry in build.session:
        session.append(entry.moved(id=entry.id))
    return session


def test_two_runs_live() -> None:
    recorder = Recorder()
    build = two_runs()
    with otel.wrap(MemoryStore(), recorder.tracer, clock=lambda: START + 21 * SECOND) as store:
        recorded(store, build)
    replay = Recorder()
    otel.export(replay.tracer, build.session)
    assert shapes(recorder.spans) == shapes(replay.spans)


def test_session_span_goes_under_the_current_one() -> None:
    outside = SpanContext(7, 7, is_remote=False, trace_flags=TraceFlags(1))
    recorder = Recorder()
    with otel.wrap(MemoryStore(), recorder.tracer) as store:
        with trace.use_span(NonRecordingSpan(outside)):
            session = store.create()
        session.append(RunEntry.start("run-1"))
    assert recorder.session().parent == outside
    assert recorder.one(names.RUN_SPAN).parent == recorder.session().context


def test_killed_and_resumed(tmp_path: Path) -> None:
    """Each call has one span in all, and the states are those of context 8.2."""
    first, second = Recorder(), Recorder()
    killed = otel.wrap(JSONLStore(tmp_path), first.tracer)
    session = killed.create(Header(id="s", records=RECORDS))
    ids = {}
    session.append(ConfigEntry(model="m-1"))
    session.append(RunEntry.start("run-1"))
    for name in ("done", "held", "flying", "waiting", "refused"):
        ids[name] = session.append(ItemEntry(called(name, f"tool-{name}"), response="r1"))
    session.append(ResponseEntry("r1"))
    session.append(DispatchEntry("done", ids["done"]))
    output = {"type": "function_call_output", "output": "x"}
    session.append(ItemEntry({**output, "call_id": "done"}))
    session.append(DecisionEntry("held", ids["held"], "hold"))
    session.append(DispatchEntry("flying", ids["flying"]))
    session.append(DispatchEntry("refused", ids["refused"]))
    assert killed.flush()
    killed.release("s")  # the process is gone: nothing is closed, no span is ended

    clock = Clock(START + 10**6 * SECOND)
    with otel.wrap(JSONLStore(tmp_path), second.tracer, clock=clock) as store:
        session = store.open("s")
        started = clock.at
        session.append(RunEntry.start("run-2", "resume"))
        store.append("s", ItemEntry({**output, "call_id": "refused"}))
        session.append(RunEntry.end("run-2", "aborted", pending=["held", "flying", "waiting"]))
    assert states(first) == {"done": "completed"}
    assert states(second) == {
        "refused": "completed",
        "held": "held",
        "flying": "in_flight",
        "waiting": "never_started",
    }
    assert first.named(names.SESSION_SPAN) == []
    resumed = second.session()
    assert (resumed.attributes or {})[names.RESUMED] is True
    assert resumed.start_time == started
    run = second.one(names.RUN_SPAN)
    refused = second.one("execute_tool tool-refused")
    assert refused.parent == run.context
    assert refused.links == ()  # its inference was told of by the process that is gone
    item = session[ids["refused"]].ts
    assert item is not None
    assert refused.start_time == item.nanoseconds
    held = second.one("execute_tool tool-held")
    assert held.parent == resumed.context
    assert [event.name for event in held.events] == ["decision"]
    assert second.one("execute_tool tool-flying").status.status_code is StatusCode.ERROR
    assert second.named("chat") == []


def test_append_to_a_session_that_was_not_opened(tmp_path: Path) -> None:
    """It is primed without the new entry, which so is seen once."""
    with JSONLStore(tmp_path) as plain:
        session = plain.create(Header(id="s"))
        session.append(ItemEntry(called("c1"), response="r1"))
    recorder = Recorder()
    with otel.wrap(JSONLStore(tmp_path), recorder.tracer) as store:
        store.append("s", ResponseEntry("r1", model="m-9"))
        store.append("s", InfoEntry("named"))
        with pytest.raises(NoSession):
            store.append("nothing", InfoEntry("x"))
    assert [span.name for span in recorder.named("chat")] == ["chat m-9"]
    assert (recorder.session().attributes or {})[names.RESUMED] is True
    assert states(recorder) == {"c1": "unknown"}


def test_close_of_one_session_and_delete() -> None:
    recorder = Recorder()
    clock = Clock()
    with otel.wrap(MemoryStore(), recorder.tracer, clock=clock) as store:
        for name in ("a", "b", "c"):
            store.create(Header(id=name, created_at=CREATED))
        store.close("a")
        assert [s.end_time for s in recorder.named(names.SESSION_SPAN)] == [clock.at]
        store.close("a")
        store.close("nothing")
        store.delete("b")
        assert store.flush()
        assert len(recorder.spans) == 2
        store.append("a", InfoEntry("again"))
    ended = {
        ((s.attributes or {})[names.SESSION_ID], (s.attributes or {}).get(names.RESUMED))
        for s in recorder.spans
    }
    assert ended == {("a", None), ("b", None), ("a", True), ("c", None)}


def test_what_the_store_has_beyond_the_contract(tmp_path: Path) -> None:
    with otel.wrap(JSONLStore(tmp_path), Recorder().tracer) as store:
        session = store.create()
        assert store.path(session.id).exists()
        assert store.root == tmp_path
        with pytest.raises(AttributeError):
            _ = store.nothing_like_this


def test_released_and_opened_again(tmp_path: Path) -> None:
    recorder = Recorder()
    with otel.wrap(JSONLStore(tmp_path), recorder.tracer) as store:
        old = store.create(Header(id="s"))
        old.append(RunEntry.start("run-1"))
        store.release("s")
        with pytest.raises(AgentSessionError):
            old.append(InfoEntry("x"))
        store.append("s", RunEntry.end("run-1", "aborted"))
        assert store.open("s") is not old
        assert store.failures == 0
    assert len(recorder.named(names.SESSION_SPAN)) == 1
    assert (recorder.one(names.RUN_SPAN).attributes or {})[names.RUN_REASON] == "aborted"


def test_read_only_stores_stay_so(tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as plain:
        plain.create(Header(id="s"))
    with otel.wrap(JSONLStore(tmp_path, read_only=True), Recorder().tracer) as store:
        with pytest.raises(PermissionError):
            store.open("s").append(InfoEntry("x"))
        with pytest.raises(PermissionError):
            store.append("s", InfoEntry("x"))


# Branches.


def test_branches_and_back() -> None:
    """An open run and its calls wait where they are while another branch grows."""
    recorder = Recorder()
    with otel.wrap(MemoryStore(), recorder.tracer) as store:
        session = store.create(Header(format="agentsession/0.3"))
        root = session.append(ItemEntry(SAID))
        session.append(RunEntry.start("run-1"))
        call = session.append(ItemEntry(called("c1"), response="r1"))
        session.append(ResponseEntry("r1"))
        left = session.append(DispatchEntry("c1", call))
        session.branch(root)
        session.append(session.summarize_branch(left, SAID))
        session.append(RunEntry.start("run-2"))
        other = session.append(ResponseEntry("r2"))
        session.branch(left)
        session.append(ItemEntry({"type": "function_call_output", "call_id": "c1", "output": "x"}))
        session.append(RunEntry.end("run-1", "stopped"))
        session.branch(other)
        session.append(RunEntry.end("run-2", "done"))
        session.reset_leaf()
        session.append(ResponseEntry("r3"))
    assert store.failures == 0
    first, second = recorder.named(names.RUN_SPAN)
    assert [(s.attributes or {})[names.RUN_REASON] for s in (first, second)] == ["stopped", "done"]
    tool = recorder.one("execute_tool")
    assert tool.parent == first.context
    assert states(recorder) == {"c1": "completed"}
    joined = recorder.one(names.BRANCH_SPAN)
    assert [link.context for link in joined.links] == [tool.context]
    assert joined.parent == recorder.session().context
    r1, r2, r3 = recorder.named("chat")
    assert r2.parent == second.context
    assert (r1.links, r2.links, r3.links) == ((), (), ())
    assert r3.parent == recorder.session().context


def test_a_durable_leaf_is_no_branch() -> None:
    recorder = Recorder()
    with otel.wrap(MemoryStore(), recorder.tracer) as store:
        session = store.create()
        session.append(RunEntry.start("run-1"))
        for _ in range(3):
            assert isinstance(session[session.append(session.mark_leaf())], LabelEntry)
            session.append(ResponseEntry("r"))
        session.append(RunEntry.end("run-1", "done"))
    assert len(recorder.named(names.RUN_SPAN)) == 1
    assert [len(span.links) for span in recorder.named("chat")] == [0, 1, 1]


def test_forks_of_what_another_process_recorded(tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as plain:
        session = plain.create(Header(id="s"))
        root = session.append(ConfigEntry(model="m-1"))
        left = session.append(ItemEntry(called("c1"), response="r1"))
        session.branch(root)
        session.append(ConfigEntry(model="m-2"))
    recorder = Recorder()
    with otel.wrap(JSONLStore(tmp_path), recorder.tracer) as store:
        session = store.open("s")
        session.append(ResponseEntry("r2"))
        session.branch(left)
        session.append(ItemEntry({"type": "function_call_output", "call_id": "c1", "output": "x"}))
        session.append(ResponseEntry("r3"))
    assert store.failures == 0
    assert [span.name for span in recorder.named("chat")] == ["chat m-2", "chat m-1"]
    assert states(recorder) == {"c1": "completed"}


# The asynchronous facade.


def test_an_asynchronous_store_is_wrapped() -> None:
    recorder = Recorder()

    async def harness() -> None:
        async with otel.wrap(AsyncStore(MemoryStore()), recorder.tracer) as store:
            with trace.use_span(NonRecordingSpan(OUTSIDE)):
                session = await store.create(Header(id="a"))
            await store.append(session.id, RunEntry.start("run-1"))
            assert (await store.open("a")).leaf == session.leaf
            await store.close("a")
            assert len(recorder.spans) == 2
            await store.create(Header(id="b"))
            await store.close_all()
            assert await store.flush()
            assert store.failures == 0

    asyncio.run(harness())
    a, b = sorted(recorder.named(names.SESSION_SPAN), key=lambda s: str(s.attributes))
    assert (a.parent, b.parent) == (OUTSIDE, None)
    assert recorder.one(names.RUN_SPAN).parent == a.context


def test_an_asynchronous_facade_carries_the_current_span() -> None:
    recorder = Recorder()

    async def harness() -> None:
        async with AsyncStore(otel.wrap(MemoryStore(), recorder.tracer)) as store:
            with trace.use_span(NonRecordingSpan(OUTSIDE)):
                await store.create()

    asyncio.run(harness())
    assert recorder.session().parent == OUTSIDE


# Nothing disturbs recording.


class Broken(trace.NoOpTracer):
    """A tracer that raises at every n-th span, or on what is done to spans."""

    def __init__(self, tracer: trace.Tracer, broken: Callable[[int], str]) -> None:
        self._tracer = tracer
        self._broken = broken
        self._count = itertools.count()

    def start_span(self, *args: Any, **kwargs: Any) -> trace.Span:
        method = self._broken(next(self._count))
        if method == "start_span":
            raise RuntimeError(method)
        span = self._tracer.start_span(*args, **kwargs)
        if method:

            def refuse(*_args: Any, **_kwargs: Any) -> None:
                raise RuntimeError(method)

            setattr(span, method, refuse)
        return span


METHODS = ["start_span", "end", "set_attributes", "add_event", "set_status", "get_span_context"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("which", [lambda _: True, lambda n: n % 2 == 0, lambda n: n == 0])
def test_a_tracer_that_raises(
    method: str, which: Callable[[int], bool], caplog: pytest.LogCaptureFixture
) -> None:
    build = two_runs()
    inner = MemoryStore()
    tracer = Broken(Recorder().tracer, lambda n: method if which(n) else "")
    with otel.wrap(inner, tracer) as store:
        session = recorded(store, build)
    assert [e.line for e in inner.open(session.id)] == [e.line for e in build.session]
    if store.failures:
        assert [r.levelno for r in caplog.records] == [logging.WARNING]
        assert "RuntimeError" in caplog.text
    else:
        assert method in ("set_status", "set_attributes")  # not called on that span


def test_a_span_that_cannot_be_started_hides_nothing_else() -> None:
    recorder = Recorder()
    tracer = Broken(recorder.tracer, lambda n: "start_span" if n == 1 else "")
    with otel.wrap(MemoryStore(), tracer) as store:
        session = store.create()
        session.append(RunEntry.start("run-1"))
        session.append(ResponseEntry("r"))
    assert store.failures == 1
    assert recorder.one("chat").parent == recorder.session().context


def test_a_redactor_that_raises_lets_nothing_out(caplog: pytest.LogCaptureFixture) -> None:
    def redact(text: str) -> str:
        raise ValueError("no")

    recorder = Recorder()
    with otel.wrap(MemoryStore(), recorder.tracer, redact=redact) as store:
        store.create().append(InfoEntry("secret"))
    assert recorder.spans == []
    assert store.failures
    assert "ValueError" in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_a_tracer_that_raises_whatever_it_likes(kind: type[BaseException]) -> None:
    class Rude(trace.NoOpTracer):
        def start_span(self, name: str, *args: Any, **kwargs: Any) -> trace.Span:
            if name == names.RUN_SPAN:
                raise kind("rude")
            return recorder.tracer.start_span(name, *args, **kwargs)

    recorder = Recorder()
    with otel.wrap(MemoryStore(), Rude()) as store:
        session = store.create()
        session.append(RunEntry.start("run-1"))
        session.append(ResponseEntry("r"))
    assert store.failures == 1
    assert recorder.one("chat").parent == recorder.session().context


@pytest.fixture
def stuck() -> Iterator[trace.Tracer]:
    """A tracer that does not answer until the test is over."""
    released = threading.Event()

    class Stuck(trace.NoOpTracer):
        def start_span(self, *args: Any, **kwargs: Any) -> trace.Span:
            released.wait()
            return super().start_span(*args, **kwargs)

    yield Stuck()
    released.set()


def test_a_tracer_that_does_not_answer(
    stuck: trace.Tracer, caplog: pytest.LogCaptureFixture
) -> None:
    build = two_runs()
    inner = MemoryStore()
    with otel.wrap(inner, stuck, timeout=0.05) as store:
        session = recorded(store, build)
        assert len(inner.open(session.id)) == len(build.session)
        assert not store.flush()
    assert "does not answer" in caplog.text


def test_a_failed_append_leaves_no_span() -> None:
    recorder = Recorder()
    with otel.wrap(MemoryStore(), recorder.tracer) as store:
        session = store.create()
        with pytest.raises(AgentSessionError):
            session.append(ResponseEntry("r", parent="nowhere"))
    assert recorder.spans == [recorder.session()]


def test_the_package_without_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for name in [n for n in sys.modules if n.startswith("agentsession.otel")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"install agentsession\[otel\]"):
        importlib.import_module("agentsession.otel")
