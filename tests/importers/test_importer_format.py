"""Imports into the draft whose ids are hashes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import chatter_folder as chats
import pytest
from chat_sessions import (
    at,
    bytes_of,
    codes,
    convert,
    edit,
    histories,
    message,
    reopened,
    said,
)
from hypothesis import HealthCheck, given, settings

from agentsession.entries import ItemEntry
from agentsession.errors import UnsupportedFormat
from agentsession.header import Header
from agentsession.importers.identity import imported_id, is_imported, place, written_format
from agentsession.importers.merge import merge, preview
from agentsession.importers.plans import Action, Plan, plan
from agentsession.reading import read
from agentsession.record_entries import InfoEntry, LabelEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, MemoryStore, Store, open_store
from agentsession.writing import dump

HASHED = "agentsession/0.11"


def put(store: Store, *texts: str, **more: Any) -> Plan:
    return merge(store, convert(*texts, **more), HASHED)


def test_a_new_session_is_the_one_converted_and_migrated(store: JSONLStore) -> None:
    done = put(store, "a", "b")
    converted = convert("a", "b")
    assert (done.action, codes(done)) == (Action.CREATED, set())
    assert bytes_of(store) == dump(converted.migrated())
    written = reopened(store)
    assert written.header.format == HASHED
    assert [imported_id(entry) for entry in written.entries] == [e.id for e in converted.entries]
    assert done.ids == {entry.legacy_id: entry.id for entry in written.entries}
    assert not read(store.path("s-1")).notes


def test_the_same_again_writes_nothing(store: JSONLStore) -> None:
    put(store, "a", "b")
    before = bytes_of(store)
    assert put(store, "a", "b").action is Action.UNCHANGED
    assert bytes_of(store) == before


def test_a_time_that_changed_is_nothing_new(store: JSONLStore) -> None:
    def at_second(second: int) -> Session:
        session = Session(Header(format="agentsession/0.3", id="s-1", created_at=at(0)))
        tip = place(session, None, message("a", 0), "m0")
        place(session, tip, InfoEntry("A chat", ts=at(second)), "s-1", "title")
        return session

    merge(store, at_second(1), HASHED)
    assert merge(store, at_second(2), HASHED).action is Action.UNCHANGED


def test_a_grown_source_appends_what_is_new(store: JSONLStore) -> None:
    put(store, "a")
    before = bytes_of(store)
    done = put(store, "a", "b", "c")
    assert (done.action, codes(done)) == (Action.GROWN, set())
    assert bytes_of(store).startswith(before)
    grown = reopened(store)
    assert said(grown) == ["a", "b", "c"]
    assert all(map(is_imported, grown.entries))


def test_a_leaf_that_a_user_set_is_not_moved(store: JSONLStore) -> None:
    put(store, "a", "b")
    first = store.open("s-1").entries[0].id

    def change(session: Session) -> None:
        session.branch(first)
        session.append(session.mark_leaf())

    leaf = edit(store, change)
    done = put(store, "a", "b", "c")
    assert (leaf, codes(done)) == (first, {"user-leaf-kept"})
    assert reopened(store).leaf == first
    marks = [e for e in reopened(store).entries if isinstance(e, LabelEntry)]
    assert [is_imported(mark) for mark in marks][:1] == [False]
    before = bytes_of(store)
    assert put(store, "a", "b", "c").action is Action.UNCHANGED
    assert bytes_of(store) == before


def test_a_continued_session_gets_a_branch_only(store: JSONLStore) -> None:
    put(store, "a")
    leaf = edit(store, lambda session: session.append(message("mine", 5)))
    put(store, "a", "b")
    after = reopened(store)
    assert after.leaf == leaf
    assert said(after) == ["a", "mine"]
    own = [entry for entry in after.entries if not is_imported(entry)]
    assert [entry.id for entry in own] == [leaf]
    # The mark that keeps the leaf is the import's own.
    assert is_imported(after.entries[-1])
    assert put(store, "a", "b").action is Action.UNCHANGED


def test_a_name_that_a_user_gave_stays(store: JSONLStore) -> None:
    put(store, "a")
    edit(store, lambda session: session.append(InfoEntry("Mine")))
    put(store, "a", title="Another", updated=9)
    assert reopened(store).name == "Mine"
    assert put(store, "a", title="Another", updated=9).action is Action.UNCHANGED


def calling(*texts: str) -> Session:
    """A session whose messages are each followed by the same call."""
    session = Session(Header(format="agentsession/0.3", id="s-1", created_at=at(0)))
    tip = None
    for second, text in enumerate(texts):
        tip = place(session, tip, message(text, second), f"m{second}")
    call = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
    place(session, tip, ItemEntry(call, ts=at(len(texts))), "call")
    return session


@pytest.mark.parametrize("name", ["store", "store.db"])
def test_a_rewritten_past_may_repeat_its_calls(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / name) as store:
        merge(store, calling("a", "b"), HASHED)
        done = merge(store, calling("a", "x"), HASHED)
        assert done.action is Action.BRANCHED
        assert merge(store, calling("a", "x"), HASHED).action is Action.UNCHANGED
        merge(store, calling("a", "y"), HASHED)
    with open_store(tmp_path / name) as store:
        assert len(store.open("s-1")) == 7
        assert store.open("s-1").context().items[-2].text == "y"


def test_a_merge_cut_anywhere_is_completed(store: JSONLStore) -> None:
    merge(store, calling("a"), HASHED)
    start = len(bytes_of(store))
    merge(store, calling("x"), HASHED)
    whole = bytes_of(store)
    for end in range(start, len(whole), 7):
        store.release("s-1")
        store.path("s-1").write_bytes(whole[:end])
        merge(store, calling("x"), HASHED)
        assert bytes_of(store) == whole


def test_a_line_cut_that_is_not_the_next_one(store: JSONLStore) -> None:
    put(store, "a")
    store.release("s-1")
    path = store.path("s-1")
    path.write_bytes(path.read_bytes() + b'{"type":"custom","id":"sha256:0')
    assert put(store, "a", "b").action is Action.GROWN
    assert said(reopened(store)) == ["a", "b"]


def test_a_stored_session_stays_in_its_format(store: JSONLStore) -> None:
    merge(store, convert("a"))
    done = put(store, "a", "b")
    assert (done.action, codes(done), done.ids) == (Action.GROWN, {"format-kept"}, {})
    assert bytes_of(store).startswith(dump(convert("a")))
    assert reopened(store).header.format == "agentsession/0.3"


def test_a_stored_session_stays_in_the_later_format(store: JSONLStore) -> None:
    put(store, "a")
    done = merge(store, convert("a", "b"))
    assert (done.action, codes(done)) == (Action.GROWN, {"format-kept"})
    written = reopened(store)
    assert written.header.format == HASHED
    assert said(written) == ["a", "b"]


def test_a_session_that_its_user_migrated_is_known(store: JSONLStore) -> None:
    session = convert("a")
    session.append(message("mine", 5))
    store.put(session.migrated())
    done = put(store, "a", "b")
    assert codes(done) == {"user-leaf-kept"}
    assert said(reopened(store)) == ["a", "mine"]


def test_a_preview_and_a_store_in_memory_tell_the_same(store: JSONLStore) -> None:
    memory = MemoryStore()
    for texts in (["a"], ["a", "b"], ["a", "x"]):
        seen = preview(store, convert(*texts), HASHED)
        done = put(store, *texts)
        kept = put(memory, *texts)
        assert (seen.action, seen.leaf) == (done.action, done.leaf) == (kept.action, kept.leaf)
    assert memory.open("s-1").leaf == reopened(store).leaf
    assert plan(None, convert("a"), HASHED).ids


def test_what_cannot_be_rewritten_is_told(store: JSONLStore) -> None:
    session = convert("a")
    tip = session.leaf
    place(session, tip, LabelEntry("0123456789abcdef", "seen", ts=at(1)), "label")
    assert codes(merge(store, session, HASHED)) == {"not-rewritten"}


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(histories=histories)
def test_any_history_of_a_source(histories: list[tuple[str, ...]]) -> None:
    """The store only grows, and shows what the source said last."""
    with tempfile.TemporaryDirectory() as folder, JSONLStore(folder) as store:
        before = b""
        for second, texts in enumerate(histories):
            put(store, *texts, updated=100 + second)
            now = bytes_of(store)
            assert now.startswith(before)
            before = now
            assert said(reopened(store)) == list(texts)
            assert put(store, *texts, updated=100 + second).action is Action.UNCHANGED


def test_the_names_of_formats() -> None:
    assert written_format("0.11") == written_format(HASHED) == HASHED
    assert written_format("0.3") == "agentsession/0.3"
    for wrong in ("0.2", "0.12", "", "other/0.11", "11"):
        with pytest.raises(UnsupportedFormat, match="not a format that imports write"):
            written_format(wrong)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_report_names_the_entries_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    chats.install(tmp_path / "site", monkeypatch)
    for name in ("c1", "c2"):
        chats.write_chat(tmp_path / "chats", name, chats.said("a", "b"))
    with tempfile.TemporaryFile() as records:
        options = {"records": records, "format": "0.11", "jobs": jobs}
        report = chats.run(tmp_path / "chats", tmp_path / "store", **options)
        records.seek(0)
        accounted = [json.loads(line) for line in records]
    assert chats.actions(report) == {"created": 2}
    for session_id in ("c1", "c2"):
        there = {entry.id for entry in chats.stored(tmp_path / "store", session_id).entries}
        told = [r["entry_ids"] for r in accounted if r["session"] == session_id]
        assert {one for ids in told for one in ids} == there
    before = chats.files(tmp_path / "store")
    again = chats.run(tmp_path / "chats", tmp_path / "store", format="0.11")
    assert chats.actions(again) == {"unchanged": 2}
    assert chats.files(tmp_path / "store") == before
