"""What a merge does to a session that is in the store already."""

from __future__ import annotations

from pathlib import Path

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
from hypothesis import strategies as st

from agentsession.errors import DamagedFile
from agentsession.header import Header
from agentsession.importers.identity import entry_id, is_imported, place
from agentsession.importers.merge import merge, preview
from agentsession.importers.plans import Action, plan, reopened_leaf
from agentsession.record_entries import (
    CustomEntry,
    InfoEntry,
    LabelEntry,
    LinkEntry,
    OutcomeEntry,
)
from agentsession.session import Session
from agentsession.stores import JSONLStore, MemoryStore
from agentsession.writing import dump


def test_a_new_session_is_written_as_it_was_converted(store: JSONLStore) -> None:
    done = merge(store, convert("a", "b"))
    assert done.action is Action.CREATED
    assert bytes_of(store) == dump(convert("a", "b"))
    assert reopened(store).leaf == done.leaf == convert("a", "b").leaf


def test_the_same_again_writes_nothing(store: JSONLStore) -> None:
    merge(store, convert("a", "b"))
    before = bytes_of(store)
    assert merge(store, convert("a", "b")).action is Action.UNCHANGED
    assert bytes_of(store) == before


def test_a_grown_source_appends_what_is_new(store: JSONLStore) -> None:
    merge(store, convert("a"))
    before = bytes_of(store)
    done = merge(store, convert("a", "b", "c"))
    grown = reopened(store)
    assert done.action is Action.GROWN
    assert not done.findings
    assert bytes_of(store).startswith(before)
    fresh = convert("a", "b", "c")
    assert said(grown) == said(fresh) == ["a", "b", "c"]
    assert grown.leaf == fresh.leaf
    assert [entry.id for entry in grown.path()] == [entry.id for entry in fresh.path()]


def test_a_new_title_is_appended(store: JSONLStore) -> None:
    merge(store, convert("a"))
    done = merge(store, convert("a", title="Another", updated=9))
    assert done.action is Action.GROWN
    assert reopened(store).name == "Another"


def test_of_copies_that_bring_nothing_new_a_newer_one_decides_and_once(store: JSONLStore) -> None:
    one, other = convert("a", title="One", updated=9), convert("a", title="Other", updated=9)
    for source in (one, other, one, other, one):
        merge(store, source)
        if source is other:
            before = bytes_of(store)
    assert bytes_of(store) == before
    assert reopened(store).leaf == other.leaf
    newer = Session(one.header)
    for entry in one.entries:
        newer.append(entry.moved(parent=entry.parent, id=entry.id, ts=at(12)))
    assert newer.leaf == one.leaf
    assert merge(store, newer).action is Action.GROWN
    assert reopened(store).leaf == one.leaf
    after = bytes_of(store)
    for source in (other, newer, one, other):
        assert merge(store, source).action is Action.UNCHANGED
    assert bytes_of(store) == after


def test_a_rewritten_past_becomes_a_branch(store: JSONLStore) -> None:
    merge(store, convert("a", "b", "c"))
    before = bytes_of(store)
    done = merge(store, convert("a", "x", updated=9))
    assert done.action is Action.BRANCHED
    assert codes(done) == {"rewritten-past"}
    assert bytes_of(store).startswith(before)
    branched = reopened(store)
    assert said(branched) == ["a", "x"]
    first = convert("a").entries[0].id
    assert len(branched.children(first)) == 2
    assert merge(store, convert("a", "x", updated=9)).action is Action.UNCHANGED
    assert merge(store, convert("a", "x", "y", updated=10)).action is Action.GROWN


def test_a_reverted_end_moves_the_leaf_back(store: JSONLStore) -> None:
    merge(store, convert("a", "b", "c"))
    merge(store, convert("a", updated=30))
    assert said(reopened(store)) == ["a"]


def test_an_older_copy_changes_nothing(store: JSONLStore) -> None:
    merge(store, convert("a", "b", "c"))
    before = bytes_of(store)
    done = merge(store, convert("a"))
    assert done.action is Action.OLDER
    assert codes(done) == {"older-copy"}
    assert bytes_of(store) == before


def test_another_first_entry_is_another_root(store: JSONLStore) -> None:
    merge(store, convert("a"))
    merge(store, convert("z", updated=9))
    session = reopened(store)
    assert len(session.roots) == 2
    assert said(session) == ["z"]


def test_a_continued_session_gets_a_branch_only(store: JSONLStore) -> None:
    merge(store, convert("a"))
    leaf = edit(store, lambda session: session.append(message("mine", 50)))
    done = merge(store, convert("a", "b"))
    assert "user-leaf-kept" in codes(done)
    session = reopened(store)
    assert session.leaf == leaf == done.leaf
    assert said(session) == ["a", "mine"]
    assert said_at(session, convert("a", "b").leaf) == ["a", "b"]
    before = bytes_of(store)
    assert merge(store, convert("a", "b")).action is Action.UNCHANGED
    assert bytes_of(store) == before


def said_at(session: Session, leaf: str | None) -> list[str]:
    assert leaf is not None
    return [item.text for item in session.context_at(leaf).items]


def test_a_leaf_that_a_user_set_is_not_moved(store: JSONLStore) -> None:
    merge(store, convert("a", "b"))

    def mark(session: Session) -> None:
        session.branch(convert("a").entries[0].id)
        session.append(session.mark_leaf())

    leaf = edit(store, mark)
    for source in (convert("a", "b", "c"), convert("a", "b", "c", "d"), convert("a", "y")):
        merge(store, source)
        assert reopened(store).leaf == leaf
    assert said(reopened(store)) == ["a"]


def test_a_user_may_go_on_after_a_merge(store: JSONLStore) -> None:
    merge(store, convert("a"))
    edit(store, lambda session: session.append(message("mine", 50)))
    merge(store, convert("a", "b"))
    leaf = edit(store, lambda session: session.append(message("more", 51)))
    merge(store, convert("a", "b", "c"))
    assert reopened(store).leaf == leaf
    assert said(reopened(store)) == ["a", "mine", "more"]


def test_remarks_do_not_hold_the_leaf_and_a_name_stays(store: JSONLStore) -> None:
    merge(store, convert("a"))

    def remark(session: Session) -> None:
        session.append(InfoEntry("My name for it"))
        session.append(LabelEntry(convert("a").entries[0].id, "good"))
        session.append(OutcomeEntry("resolved"))

    edit(store, remark)
    done = merge(store, convert("a", "b"))
    session = reopened(store)
    assert session.leaf == done.leaf
    assert said(session) == ["a", "b"]
    assert session.name == "My name for it"
    before = bytes_of(store)
    assert merge(store, convert("a", "b")).action is Action.UNCHANGED
    assert bytes_of(store) == before
    merge(store, convert("a", "b", "c"))
    assert (said(reopened(store)), reopened(store).name) == (["a", "b", "c"], "My name for it")


def test_a_staged_revert_and_its_end(store: JSONLStore) -> None:
    """A leaf label of the source holds as long as the source has it."""
    staged = convert("a", "b")
    first = staged.entries[0].id
    place(staged, first, LabelEntry(first, "leaf", ts=at(3)), "s-1", "leaf")
    assert reopened_leaf(staged) == first
    merge(store, staged)
    assert said(reopened(store)) == ["a"]
    merge(store, convert("a", "b", "c"))
    assert said(reopened(store)) == ["a", "b", "c"]
    merge(store, staged)
    assert merge(store, convert("a", "b", "c")).leaf == convert("a", "b", "c").leaf
    assert said(reopened(store)) == ["a", "b", "c"]


def test_a_merge_cut_short_is_completed(tmp_path: Path) -> None:
    """Whatever was written of it, the next merge ends where one in peace would have."""
    whole = tmp_path / "whole"

    def prepared(place_: Path) -> JSONLStore:
        opened = JSONLStore(place_)
        merge(opened, convert("a"))
        edit(opened, lambda session: session.append(message("mine", 50).moved(id="0000feed")))
        return opened

    source = convert("a", "b", "c")
    with prepared(whole) as opened:
        done = merge(opened, source)
        expected = bytes_of(opened)
    for written in range(len(done.entries)):
        with prepared(tmp_path / f"cut-{written}") as opened:
            for entry in done.entries[:written]:
                opened.append("s-1", entry)
            opened.release("s-1")
            merge(opened, source)
            assert bytes_of(opened) == expected


def test_an_entry_cut_in_the_middle_is_written_again(store: JSONLStore) -> None:
    merge(store, convert("a", "b"))
    whole = bytes_of(store)
    store.release("s-1")
    path = store.path("s-1")
    for end in (len(whole) - 1, len(whole) - 5, whole.rindex(b"\n", 0, -1) + 1):
        path.write_bytes(whole[:end])
        merge(store, convert("a", "b"))
        store.release("s-1")
        assert path.read_bytes().rstrip(b"\n") == whole.rstrip(b"\n")


def test_a_damaged_session_is_left_alone(store: JSONLStore) -> None:
    merge(store, convert("a", "b"))
    path = store.path("s-1")
    damaged = path.read_bytes().replace(b'{"type":"item"', b'{"type":', 1)
    path.write_bytes(damaged)
    with pytest.raises(DamagedFile):
        merge(store, convert("a", "b", "c"))
    assert path.read_bytes() == damaged


def test_a_preview_writes_nothing_and_tells_the_same(store: JSONLStore) -> None:
    assert preview(store, convert("a")).action is Action.CREATED
    assert not list(store.list())
    merge(store, convert("a"))
    before = bytes_of(store)
    foreseen = preview(store, convert("a", "b"))
    assert bytes_of(store) == before
    done = merge(store, convert("a", "b"))
    assert [entry.line for entry in foreseen.entries] == [entry.line for entry in done.entries]


def test_a_store_that_keeps_sessions_open() -> None:
    with MemoryStore() as store:
        for source in (convert("a"), convert("a", "b"), convert("a", "b", "c")):
            merge(store, source)
            assert store.open("s-1").leaf == source.leaf
        assert said(store.open("s-1")) == ["a", "b", "c"]


def test_a_header_that_differs_is_told() -> None:
    stored = convert("a")
    other = Session(Header(format="agentsession/0.3", id="s-1", created_at=at(0), cwd="/srv"))
    place(other, None, message("a", 0), "m0")
    assert codes(plan(stored, other)) == {"header-differs"}


def child(*said: str, parent: str = "", call: str = "") -> Session:
    header = Header(
        format="agentsession/0.3",
        id="s-1",
        created_at=at(0),
        parent_session=parent,
        spawned_by=call,
    )
    session, tip = Session(header), None
    for second, text in enumerate(said):
        tip = place(session, tip, message(text, second), f"m{second}")
    return session


def ties(session: Session) -> list[tuple[str, str, str]]:
    return [(e.rel, e.session, e.call_id) for e in session.entries if isinstance(e, LinkEntry)]


@pytest.mark.parametrize("to", ["agentsession/0.3", "agentsession/0.11"])
@pytest.mark.parametrize("before", ["", "p-1"])
def test_what_spawned_a_session_may_be_known_later(store: JSONLStore, before: str, to: str) -> None:
    merge(store, child("a", parent=before), to)
    leaf = reopened(store).leaf
    done = merge(store, child("a", parent="p-1", call="c-1"), to)
    assert (done.action, codes(done)) == (Action.GROWN, set())
    assert ties(reopened(store)) == [("subsession_of", "p-1", "c-1")]
    assert (reopened(store).header.parent_session, reopened(store).header.spawned_by) == (
        before,
        "",
    )
    assert reopened(store).entries[-1].parent == leaf
    for said_now in (("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c")):
        done = merge(store, child(*said_now, parent="p-1", call="c-1"), to)
        assert codes(done) == set()
        assert said(reopened(store)) == list(said_now)
    assert done.action is Action.UNCHANGED
    assert len(ties(reopened(store))) == 1


@pytest.mark.parametrize("to", ["agentsession/0.3", "agentsession/0.11"])
def test_ties_that_a_source_does_not_know_any_more_stay(store: JSONLStore, to: str) -> None:
    merge(store, child("a", parent="p-1", call="c-1"), to)
    before = bytes_of(store)
    for parent in ("p-1", ""):
        done = merge(store, child("a", parent=parent), to)
        assert (done.action, codes(done)) == (Action.UNCHANGED, set())
    assert bytes_of(store) == before


def test_a_fork_whose_origin_is_known_later_has_its_own_link(store: JSONLStore) -> None:
    merge(store, child("a"))
    fork = child("a", parent="p-1")
    place(fork, fork.leaf, LinkEntry("fork_of", "p-1", ts=at(1)), "p-1", "fork")
    for action in (Action.GROWN, Action.UNCHANGED):
        done = merge(store, fork)
        assert (done.action, codes(done)) == (action, set())
    assert ties(reopened(store)) == [("fork_of", "p-1", "")]


def test_ids() -> None:
    entry = message("a", 0)
    first = entry_id(None, "m1", "entry", entry)
    assert is_imported(first)
    assert first == entry_id(None, "m1", "entry", message("a", 7))
    others = {
        entry_id("x", "m1", "entry", entry),
        entry_id(None, "m2", "entry", entry),
        entry_id(None, "m1", "other", entry),
        entry_id(None, "m1", "entry", message("b", 0)),
    }
    assert len(others | {first}) == 5
    assert not any(map(is_imported, ["", "0123abcd", "g" * 16, "sha256:" + "0" * 64, "0" * 32]))


def test_equal_entries_at_one_place_get_ids_of_their_own() -> None:
    session = Session(Header(id="s-1"))
    first = place(session, None, message("a", 0), "m1")
    assert place(session, None, message("a", 0), "m1") != first
    assert len(session.roots) == 2


def test_numbers_without_a_canonical_form_have_ids_too() -> None:
    entry = CustomEntry("chat", b'{"n":1e999}')
    assert is_imported(entry_id(None, "m1", "entry", entry))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(histories=histories)
def test_any_history_of_a_source(tmp_path_factory: pytest.TempPathFactory, histories: list) -> None:
    """The store only grows, and shows what the source said last."""
    with JSONLStore(tmp_path_factory.mktemp("store")) as store:
        before = b""
        for second, texts in enumerate(histories):
            source = convert(*texts, updated=100 + second)
            merge(store, source)
            now = bytes_of(store)
            assert now.startswith(before)
            before = now
            session = reopened(store)
            assert said(session) == list(texts)
            assert session.leaf == source.leaf
            assert merge(store, source).action is Action.UNCHANGED


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(histories=histories, user_at=st.integers(0, 4))
def test_any_history_beside_a_user(
    tmp_path_factory: pytest.TempPathFactory, histories: list, user_at: int
) -> None:
    """Once a user has gone on, the leaf is the user's, and every source is there as a branch."""
    with JSONLStore(tmp_path_factory.mktemp("store")) as store:
        leaf = None
        for second, texts in enumerate(histories):
            source = convert(*texts, updated=100 + second)
            merge(store, source)
            session = reopened(store)
            assert said_at(session, source.leaf) == list(texts)
            assert leaf in (None, session.leaf)
            if second == user_at:
                leaf = edit(store, lambda session: session.append(message("mine", 1)))
