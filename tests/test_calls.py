"""Function calls on a path: context 8."""

from __future__ import annotations

import pytest

from agentsession.calls import CallState
from agentsession.entries import ItemEntry
from agentsession.errors import NoEntry
from agentsession.header import Header
from agentsession.record_entries import DecisionEntry, DispatchEntry
from agentsession.testing import SessionBuilder


def builder(*records: str) -> SessionBuilder:
    build = SessionBuilder(records=records)
    build.user("Go")
    return build


def call_item(call_id: object, name: str = "ls") -> dict[str, object]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"a": 1}'}


def test_a_call_with_all_its_entries() -> None:
    build = builder()
    build.call("c1", arguments='{"a": 1}')
    decision = build.decide("c1", "proceed", by="human", args={"a": 2})
    dispatch = build.dispatch("c1")
    output = build.output("c1")
    (call,) = build.session.calls()
    assert (call.id, call.name, call.item.type) == ("c1", "ls", "function_call")
    assert [found.id for found in call.decisions] == [decision]
    assert call.dispatch is build.session[dispatch]
    assert call.output is build.session[output]
    assert not any((call.pending, call.held, call.rejected, call.dispatched_after_reject))
    assert call.args == '{"a":2}'
    assert build.session.pending_calls() == []


def test_the_first_of_everything_counts() -> None:
    build = builder()
    build.call("c1", name="first")
    build.call("c1", name="second")
    first_dispatch = build.append(DispatchEntry("c1", "e1"))
    build.append(DispatchEntry("c1", "e1"))
    first_output = build.output("c1", "one")
    build.output("c1", "two")
    (call,) = build.session.calls()
    assert call.name == "first"
    assert call.dispatch is build.session[first_dispatch]
    assert call.output is build.session[first_output]


def test_what_comes_before_its_call_is_left_out() -> None:
    build = builder()
    build.output("c1")
    build.append(DispatchEntry("c1", "x"))
    build.append(DecisionEntry("c1", "x", "hold"))
    build.call("c1")
    (call,) = build.session.calls()
    assert call.pending
    assert (call.decisions, call.dispatch) == ((), None)


def test_calls_stand_in_the_order_of_their_items() -> None:
    build = builder()
    build.response([call_item("b"), call_item("a")])
    build.output("a")
    assert [call.id for call in build.session.calls()] == ["b", "a"]
    assert [call.id for call in build.session.pending_calls()] == ["b"]


def test_args() -> None:
    build = builder()
    build.call("c1", arguments='{"a": 1}')
    assert build.session.calls()[0].args == '{"a": 1}'
    build.append(DecisionEntry("c1", "x", "proceed", args=b'{"a": 2.0}'))
    build.append(DecisionEntry("c1", "x", "proceed"))
    assert build.session.calls()[0].args == '{"a":2.0}'
    build.append(DecisionEntry("c1", "x", "proceed", args=None))
    assert build.session.calls()[0].args == "null"


def test_a_hold_lasts_until_another_decision_or_a_dispatch() -> None:
    build = builder()
    build.call("c1")
    assert not build.session.calls()[0].held
    build.decide("c1", "hold")
    assert build.session.calls()[0].held
    build.decide("c1", "proceed")
    assert not build.session.calls()[0].held
    build.decide("c1", "hold")
    build.dispatch("c1")
    assert not build.session.calls()[0].held


def test_a_dispatch_before_a_reject_is_no_fault() -> None:
    build = builder()
    build.call("c1")
    build.append(DispatchEntry("c1", "x"))
    build.append(DecisionEntry("c1", "x", "reject", reason="no"))
    assert not build.session.calls()[0].dispatched_after_reject
    assert build.session.calls()[0].rejected


@pytest.mark.parametrize(
    ("steps", "promised", "unpromised"),
    [
        ("", "never_started", "unknown"),
        ("hold", "held", "held"),
        ("proceed", "never_started", "unknown"),
        ("reject", "never_started", "unknown"),
        ("dispatch", "in_flight", "in_flight"),
        ("dispatch hold", "in_flight", "in_flight"),
        ("hold output", "completed", "completed"),
        ("dispatch output", "completed", "completed"),
    ],
)
def test_state(steps: str, promised: str, unpromised: str) -> None:
    build = builder()
    build.call("c1")
    for step in steps.split():
        if step == "dispatch":
            build.dispatch("c1")
        elif step == "output":
            build.output("c1")
        else:
            build.decide("c1", step)
    (call,) = build.session.calls()
    assert call.state(Header(records=["dispatch"])) is CallState(promised)
    assert call.state(Header(records=["run"])) is CallState(unpromised)


def test_items_that_only_look_like_calls() -> None:
    build = builder()
    build.item(call_item(5))
    build.item({"type": "message", "role": "user", "content": "a function_call"})
    build.item({"type": "acme:function_call", "call_id": "c"})
    assert build.session.calls() == []


def test_an_escape_hides_no_call() -> None:
    build = builder()
    build.append(ItemEntry(b'{"type":"\\u0066unction_call","call_id":"c","name":"ls"}'))
    (call,) = build.session.calls()
    assert (call.id, call.args) == ("c", "")


def test_unknown_leaves() -> None:
    build = builder()
    for leaf in ("nope", ""):
        with pytest.raises(NoEntry):
            build.session.calls(leaf)
        with pytest.raises(NoEntry):
            build.session.pending_calls(leaf)
