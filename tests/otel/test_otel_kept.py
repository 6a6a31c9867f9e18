"""Mappings and call books that share: each is what its mutable counterpart is."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from otel_sessions import called

from agentsession.calls import CallLog
from agentsession.entries import Entry, ItemEntry
from agentsession.otel.callbook import CallBook
from agentsession.otel.kept import Kept
from agentsession.record_entries import DecisionEntry, DispatchEntry

KEYS = st.integers(0, 60).map(str)


@settings(max_examples=100)
@given(steps=st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers())), max_size=150))
def test_kept_is_a_mapping_that_stays(steps: list[tuple[str, int | None]]) -> None:
    kept: Kept[int] = Kept()
    model: dict[str, int] = {}
    past = []
    for key, value in steps:
        past.append((kept, dict(model)))
        if value is None:
            kept = kept.drop(key)
            model.pop(key, None)
        else:
            kept = kept.put(key, value)
            model[key] = value
    past.append((kept, model))
    for found, expected in past:
        assert dict(found.items()) == expected
        assert all(found.get(str(key)) == expected.get(str(key)) for key in range(61))
    met: set[int] = set()
    seen = {pair for found, _ in past for pair in found.items_beside(met)}
    assert seen >= {pair for _, expected in past for pair in expected.items()}


CALLS = st.sampled_from(["a", "b"])
TARGETS = st.integers(0, 12).map(lambda number: f"e{number}")
STEPS = st.one_of(
    st.builds(lambda c: ItemEntry(called(c)), CALLS),
    st.builds(
        lambda c: ItemEntry({"type": "function_call_output", "call_id": c, "output": ""}), CALLS
    ),
    st.builds(DispatchEntry, CALLS, TARGETS),
    st.builds(DecisionEntry, CALLS, TARGETS, st.sampled_from(["hold", "reject"])),
)


@settings(max_examples=100)
@given(steps=st.lists(STEPS, max_size=20))
def test_a_call_book_says_what_a_call_log_says(steps: list[Entry]) -> None:
    log, book = CallLog(), CallBook()
    for number, step in enumerate(steps):
        entry = step.moved(id=f"e{number}")
        log.feed(entry)
        book = book.after(entry)
    calls = log.calls()
    assert [book.call(call.entry.id) for call in calls] == calls
    pending = [call.entry.id for call in calls if call.pending]
    assert book.in_order(book.pending_beside(set())) == pending
    assert {book.waiting(call_id) for call_id in log.pending} <= set(pending)
