"""Runs, end reasons, record checks and queued inputs: context 9 and 10, format 4.9.1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentsession.earlier_records import EarlierRecords
from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.errors import CallRejected, InvalidEntry, ReasonMismatch, RecordMissing
from agentsession.header import Header
from agentsession.record_entries import (
    DecisionEntry,
    DispatchEntry,
    InfoEntry,
    QueuedEntry,
    RunEntry,
)
from agentsession.runs import (
    compute_reason,
    open_queued,
    open_run,
    runs,
    segment_reason,
)
from agentsession.testing import SessionBuilder

Steps = Callable[[SessionBuilder], object]

QUEUED = {"type": "message", "role": "user", "content": "later"}


def started(*records: str, format: str = "agentsession/0.3") -> SessionBuilder:  # noqa: A002
    build = SessionBuilder(format, records=records)
    build.start()
    build.user("Go")
    return build


def verify_records(path: list[Entry], header: Header) -> tuple[str, ...]:
    check = EarlierRecords(header)
    for entry in path:
        check.feed(entry)
    if (problem := check.problem()) is not None:
        raise problem
    return check.notes()


# The partition.


def test_a_path_is_parted_into_runs() -> None:
    build = SessionBuilder()
    build.user("before any run")
    build.start("a")
    build.user("in a")
    build.append(RunEntry.end("other", "done"))
    build.start("b")
    build.user("in b")
    build.end("aborted")
    build.user("between")
    build.start("c")
    first, second, third = runs(build.session.path())
    assert [run.id for run in (first, second, third)] == ["a", "b", "c"]
    assert (first.end, len(first.segment), first.stop) == (None, 3, 4)
    assert second.end is second.segment[-1]
    assert len(second.path) == 7
    assert open_run(build.session.path()) == third
    assert build.session.open_run() == third


def test_no_run_is_open_after_its_end() -> None:
    build = started()
    build.answer("Done")
    build.end("done")
    assert build.session.open_run() is None
    assert open_run([]) is None


def test_pending_is_what_the_segment_leaves() -> None:
    build = SessionBuilder()
    build.call("early")
    build.start()
    build.response(
        [
            {"type": "function_call", "call_id": call_id, "name": "ls", "arguments": "{}"}
            for call_id in ("c2", "c1", "c0")
        ]
    )
    build.output("c1")
    build.output("early")
    run = build.session.open_run()
    assert run is not None
    assert run.pending() == ("c2", "c0")
    assert [call.id for call in run.calls()] == ["c2", "c1", "c0"]
    end = build.session.end_run("aborted", "deploy")
    assert (end.run_id, end.reason, end.ref) == ("run-1", "aborted", "deploy")
    assert end.pending == ("c2", "c0")


def test_end_run_needs_an_open_run_and_a_reason() -> None:
    build = SessionBuilder()
    build.user("Go")
    with pytest.raises(InvalidEntry, match="no run is open"):
        build.session.end_run("done")
    build.start()
    with pytest.raises(InvalidEntry, match="reason"):
        build.session.end_run("")


# The cascades.


def _error(build: SessionBuilder) -> None:
    build.call("c")
    build.append(ResponseEntry("r", error={"code": "x", "message": "y"}))


def _answer(build: SessionBuilder) -> None:
    build.answer("Hello")


def _stopped(build: SessionBuilder) -> None:
    build.call("c")
    build.dispatch("c")
    build.output("c")


def _held(build: SessionBuilder) -> None:
    build.call("c")
    build.decide("c", "hold")


def _in_flight(build: SessionBuilder) -> None:
    build.call("c")
    build.dispatch("c")


def _held_and_in_flight(build: SessionBuilder) -> None:
    calls = [
        {"type": "function_call", "call_id": call_id, "name": "ls", "arguments": "{}"}
        for call_id in ("c", "d")
    ]
    build.response(calls)
    build.decide("c", "hold")
    build.dispatch("d")


def _incomplete(build: SessionBuilder) -> None:
    build.answer("Hel", incomplete={"reason": "max_output_tokens"}, status="incomplete")


def _nothing(build: SessionBuilder) -> None:
    build.append(InfoEntry("x"))


def _failed_status(build: SessionBuilder) -> None:
    build.append(ResponseEntry("r", status="failed"))


@pytest.mark.parametrize(
    ("steps", "reason", "old_reason"),
    [
        (_error, "error", "error"),
        (_answer, "done", "done"),
        (_stopped, "stopped", "stopped"),
        (_held, "input_required", "input_required"),
        (_in_flight, "aborted", "aborted"),
        (_held_and_in_flight, "aborted", "aborted"),
        (_incomplete, "aborted", "aborted"),
        (_nothing, "aborted", "aborted"),
        (_failed_status, "done", "done"),
    ],
)
def test_reason(steps: Steps, reason: str, old_reason: str) -> None:
    build = started()
    steps(build)
    run = build.session.open_run()
    assert run is not None
    assert run.reason() == reason
    assert compute_reason(run.segment, run.path) == reason
    assert segment_reason(run.segment) == old_reason
    build.end(reason)
    assert build.session.runs()[0].verify() == ""
    assert build.session.verify_records() == ()


def resumed(verdict: str = "") -> SessionBuilder:
    """A second run that only answers what the first left."""
    build = started()
    _held(build)
    build.end("input_required")
    build.start("run-2", "resume")
    if verdict:
        build.decide("c", verdict)
    else:
        build.output("c")
    return build


def test_a_resume_that_calls_no_model_is_stopped_on_the_path() -> None:
    run = resumed().session.open_run()
    assert run is not None
    assert run.reason() == "stopped"
    assert segment_reason(run.segment) == "aborted"
    assert compute_reason(run.segment) == "aborted"


def test_a_decision_alone_leaves_the_call_pending() -> None:
    build = resumed("proceed")
    run = build.session.open_run()
    assert run is not None
    assert run.reason() == "aborted"


def test_a_run_that_begins_between_a_call_and_its_response() -> None:
    build = SessionBuilder()
    build.item(
        {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}, response="r"
    )
    build.start()
    build.append(ResponseEntry("r"))
    run = build.session.open_run()
    assert run is not None
    assert (segment_reason(run.segment), run.reason()) == ("done", "aborted")
    build.output("c")
    run = build.session.open_run()
    assert run is not None
    assert run.reason() == "stopped"


# The checks.


def ended(build: SessionBuilder, reason: str, *pending: str) -> None:
    build.append(RunEntry.end("run-1", reason, pending=pending))


def test_a_wrong_reason() -> None:
    build = started()
    _answer(build)
    ended(build, "stopped")
    with pytest.raises(ReasonMismatch, match=r'"stopped" .* say "done"') as caught:
        build.session.verify_records()
    assert (caught.value.run_id, caught.value.expected, caught.value.found) == (
        "run-1",
        "done",
        "stopped",
    )
    with pytest.raises(ReasonMismatch):
        build.session.runs()[0].verify()


@pytest.mark.parametrize("reason", ["error", "interrupted"])
def test_reasons_that_stand_over_any_segment(reason: str) -> None:
    build = started()
    _answer(build)
    ended(build, reason)
    assert build.session.verify_records() == ()


@pytest.mark.parametrize("reason", ["aborted", "interrupted"])
def test_the_pending_list_always_has_to_agree(reason: str) -> None:
    build = started()
    _in_flight(build)
    ended(build, reason)
    with pytest.raises(ReasonMismatch, match="pending calls none, but its entries leave c"):
        build.session.verify_records()


def test_the_order_of_the_pending_list_does_not_count() -> None:
    build = started()
    _held_and_in_flight(build)
    ended(build, "aborted", "d", "c")
    assert build.session.verify_records() == ()
    twice = started()
    _in_flight(twice)
    ended(twice, "aborted", "c", "c")
    with pytest.raises(ReasonMismatch):
        twice.session.verify_records()


def test_a_reason_by_the_rules_of_0_2_is_a_note_in_its_files() -> None:
    build = resumed()
    build.append(RunEntry.end("run-2", "aborted"))
    path = build.session.path()
    (note,) = verify_records(path, Header(format="agentsession/0.2"))
    assert '"aborted" by the rules of 0.2' in note
    assert runs(path)[-1].verify(Header(format="agentsession/0.2")) == note
    with pytest.raises(ReasonMismatch):
        build.session.verify_records()


def test_every_run_is_judged_by_the_path_up_to_its_own_end() -> None:
    build = resumed()
    build.end("stopped")
    build.start("run-3")
    build.user("more")
    build.answer("Done")
    build.end("done")
    assert build.session.verify_records() == ()
    assert [run.verify() for run in build.session.runs()] == ["", "", ""]


def test_a_rejected_call_that_was_dispatched() -> None:
    build = SessionBuilder()
    build.call("c")
    path = build.session.path()
    path += [
        DecisionEntry("c", "x", "reject", reason="no", id="d1"),
        DispatchEntry("c", "x", id="d2"),
    ]
    with pytest.raises(CallRejected, match="dispatched by d2"):
        verify_records(path, build.session.header)


def test_a_promised_dispatch_that_is_missing() -> None:
    build = started("dispatch")
    build.call("c")
    assert build.session.verify_records() == ()
    build.output("c")
    with pytest.raises(RecordMissing, match="call c of e0000003") as caught:
        build.session.verify_records()
    assert (caught.value.record, caught.value.call_id) == ("dispatch", "c")
    assert caught.value.entry_id == "e0000003"


def test_a_rejected_call_needs_no_dispatch() -> None:
    build = started("dispatch")
    build.call("c")
    build.decide("c", "reject")
    build.output("c", "refused")
    assert build.session.verify_records() == ()


# Queued inputs.


def test_open_queued() -> None:
    build = SessionBuilder()
    first = build.append(QueuedEntry(QUEUED, "steer"))
    second = build.append(QueuedEntry(QUEUED, "followup"))
    build.append(ItemEntry(QUEUED, queued_from=first))
    assert [entry.id for entry in open_queued(build.session.path())] == [second]
    build.start()
    build.end("aborted")
    assert open_queued(build.session.path()) == ()
    third = build.append(QueuedEntry(QUEUED, "steer"))
    assert [entry.id for entry in open_queued(build.session.path())] == [third]
