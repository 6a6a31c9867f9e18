"""Runs of an import that is written in a later draft say what the rules of that make of them."""

from __future__ import annotations

from typing import Any

from chat_sessions import at, codes
from recordings import verify_paths

from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.header import Header
from agentsession.importers.amending import amended
from agentsession.importers.identity import imported_id, migrated, place
from agentsession.importers.merge import merge
from agentsession.importers.plans import Action
from agentsession.record_entries import RunEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, MemoryStore

HASHED = "agentsession/0.11"


def session(*entries: Entry) -> Session:
    found = Session(Header(format="agentsession/0.3", id="s-1", created_at=at(0)))
    tip = None
    for second, entry in enumerate(entries):
        tip = place(found, tip, entry.moved(ts=at(second)), f"n{second}")
    return found


def item(**members: Any) -> ItemEntry:
    return ItemEntry(members, response=members.pop("response", ""))


def call(call_id: str, response: str) -> ItemEntry:
    made = {"type": "function_call", "name": "sh", "arguments": "{}", "call_id": call_id}
    return item(**made, response=response)


def output(call_id: str) -> ItemEntry:
    return item(type="function_call_output", call_id=call_id, output="out")


def runs(found: Session) -> list[tuple[str, str, tuple[str, ...]]]:
    entries = [entry for entry in found.entries if isinstance(entry, RunEntry)]
    return [(e.run_id, e.source or e.reason, tuple(e.pending)) for e in entries]


CUT = (
    RunEntry.start("a"),
    call("c1", "r1"),
    ResponseEntry("r1", status="completed"),
    RunEntry.end("a", "aborted", pending=["c1"]),
)
LATE = (
    RunEntry.start("b"),
    output("c1"),
    ResponseEntry("r2", status="completed"),
    RunEntry.end("b", "done", unknown={"codex": {"reason": "x"}}),
)


def test_a_run_that_takes_up_a_call_resumes() -> None:
    converted = session(*CUT, *LATE)
    done = migrated(converted, None)
    verify_paths(done)
    said = [("a", "input", ()), ("a", "aborted", ("c1",)), ("b", "resume", ()), ("b", "done", ())]
    assert runs(done) == said
    assert [imported_id(entry) for entry in done.entries] == [e.id for e in converted.entries]
    last = done.entries[-1]
    assert last.unknown["codex"] == {"reason": "x"}
    assert last.ts == converted.entries[-1].ts


def test_a_call_of_an_id_that_another_had_is_the_one_an_output_is_for() -> None:
    """By 0.3 the first call counts, and the run is done; later its own has no output."""
    again = (
        RunEntry.start("a"),
        call("c1", "r1"),
        output("c1"),
        call("c1", "r1"),
        ResponseEntry("r1", status="completed"),
        ResponseEntry("r2", status="completed"),
        RunEntry.end("a", "done"),
    )
    converted = session(*again)
    assert not converted.verify_records()
    done = migrated(converted, None)
    assert runs(done)[-1] == ("a", "aborted", ("c1",))
    assert not amended(done)


def test_an_error_stands_and_names_its_calls() -> None:
    cut = (*CUT[:-1], RunEntry.end("a", "interrupted"))
    assert runs(migrated(session(*cut), None))[-1] == ("a", "interrupted", ("c1",))


def test_a_session_whose_runs_are_right_is_migrated_as_it_is() -> None:
    converted = session(*CUT)
    assert [e.line for e in migrated(converted, None).entries] == [
        e.line for e in converted.migrated(HASHED).entries
    ]


def test_a_start_that_is_stored_says_what_it_says_there(store: JSONLStore) -> None:
    """What a run took up later makes no other past of it."""
    merge(store, session(*CUT, LATE[0]), HASHED)
    grown = merge(store, session(*CUT, *LATE), HASHED)
    assert grown.action is Action.GROWN
    stored = store.open("s-1")
    assert runs(stored)[2] == ("b", "input", ())
    assert merge(store, session(*CUT, *LATE), HASHED).action is Action.UNCHANGED


def test_a_resumed_run_that_is_stored_is_known_again(store: JSONLStore) -> None:
    merge(store, session(*CUT, *LATE), HASHED)
    assert merge(store, session(*CUT, *LATE), HASHED).action is Action.UNCHANGED
    more = item(type="message", role="user", content="more")
    assert merge(store, session(*CUT, *LATE, more), HASHED).action is Action.GROWN
    verify_paths(store.open("s-1"))


def test_calls_that_share_an_id_are_told_of(store: JSONLStore) -> None:
    twice = session(call("c1", "r1"), output("c1"), call("c1", "r2"))
    assert codes(merge(store, twice, HASHED)) == {"call-id-repeated"}
    grown = session(call("c1", "r1"), output("c1"), call("c1", "r2"), output("c1"))
    assert merge(store, grown, HASHED).action is Action.GROWN


def test_calls_of_a_past_that_was_rewritten_are_told_of(store: JSONLStore) -> None:
    first, other = (item(type="message", role="user", content=words) for words in ("Go", "No"))
    merge(store, session(first, call("c1", "r1"), output("c1")), HASHED)
    rewritten = session(other, call("c1", "r1"), output("c1"))
    done = merge(store, rewritten, HASHED)
    assert done.action is Action.BRANCHED
    assert codes(done) == {"rewritten-past", "call-id-repeated"}
    assert codes(merge(store, rewritten, HASHED)) == {"call-id-repeated"}
    assert codes(merge(MemoryStore(), rewritten, HASHED)) == set()


def test_a_call_without_an_id_is_told_of(store: JSONLStore) -> None:
    assert codes(merge(store, session(call("", "r1")), HASHED)) == {"call-id-repeated"}
    assert not codes(merge(MemoryStore(), session(call("", "r1"))))
