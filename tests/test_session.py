"""The tree: queries, leaf moves, append rules, the durable leaf."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentsession as ags
from agentsession.testing import SessionBuilder
from session_strategies import sessions

MESSAGE = {"type": "message", "role": "user", "content": "Hi"}


def ids(entries: object) -> list[str]:
    return [entry.id for entry in entries]  # type: ignore[attr-defined]


def new(format: str = "agentsession/0.3") -> ags.Session:  # noqa: A002
    return ags.Session(ags.Header(format=format, id="s"))


class TestQueries:
    def test_an_empty_session(self) -> None:
        session = new()
        assert (session.leaf, len(session), session.entries, session.roots, session.leaves) == (
            None,
            0,
            (),
            (),
            (),
        )
        assert session.path() == []
        assert session.name == session.superseded_by == ""
        assert session.context().items == ()
        with pytest.raises(ags.NoEntry):
            session.mark_leaf()
        with pytest.raises(ags.NoEntry):
            session.calls()

    def test_a_tree_with_two_roots_and_a_fork(self) -> None:
        session = new()
        a = session.append(ags.InfoEntry("a"))
        b = session.append(ags.InfoEntry("b"))
        session.branch(a)
        c = session.append(ags.InfoEntry("c"))
        session.reset_leaf()
        d = session.append(ags.InfoEntry(""))
        assert session.leaf == d
        assert ids(session) == [a, b, c, d]
        assert (
            ids(session.roots) == ids(session.children(None)) == ids(session.children("")) == [a, d]
        )
        assert ids(session.children(a)) == [b, c]
        assert ids(session.leaves) == [b, c, d]
        assert ids(session.path(c)) == [a, c]
        assert ids(session.path()) == [d]
        assert session.name == "c"
        assert a in session
        assert "nope" not in session
        assert session.get("nope") is None
        assert session[a].type == "info"

    @pytest.mark.parametrize("unknown", ["nope", "", 7])
    def test_unknown_ids(self, unknown: str) -> None:
        session = new()
        session.append(ags.InfoEntry("a"))
        for ask in (
            session.__getitem__,
            session.path,
            session.branch,
            session.verify,
            session.request_context,
            session.calls,
            session.runs,
            session.pending_calls,
            session.open_run,
            session.verify_records,
        ):
            with pytest.raises(ags.NoEntry) as caught:
                ask(unknown)
            assert isinstance(caught.value, KeyError)
            assert "s has no entry" in str(caught.value)
        if unknown != "":
            with pytest.raises(ags.NoEntry):
                session.children(unknown)

    def test_the_empty_id_has_an_empty_context(self) -> None:
        session = new()
        session.append(ags.ItemEntry(MESSAGE))
        assert session.context_at("").items == ()
        with pytest.raises(ags.NoEntry):
            session.context_at("nope")

    def test_labels_names_and_successors(self) -> None:
        session = new()
        a = session.append(ags.InfoEntry("first name"))
        session.append(ags.LabelEntry(a, "x"))
        session.append(ags.LabelEntry("elsewhere", "y"))
        session.append(ags.LabelEntry(a, "z"))
        session.append(ags.LabelEntry("elsewhere", None))
        session.append(ags.InfoEntry(""))
        session.append(ags.LinkEntry("continued_in", "s-2"))
        session.append(ags.LinkEntry("continued_in", ""))
        session.append(ags.LinkEntry("subsession", "s-3"))
        assert session.labels == {a: "z"}
        assert session.name == "first name"
        assert session.superseded_by == "s-2"


class TestAppend:
    def test_ids_are_new_and_times_are_set(self) -> None:
        session = new()
        first = session.append(ags.InfoEntry("a"))
        assert len(first) == 8
        assert int(first, 16) >= 0
        assert session[first].ts is not None
        assert session[first].line.startswith(b'{"type":"info","id":"')

    def test_given_id_parent_and_time_are_kept(self) -> None:
        session = new()
        session.append(ags.InfoEntry("a", id="a"))
        session.append(ags.InfoEntry("b", id="b"))
        session.append(
            ags.InfoEntry("c", id="c", parent="a", ts="2026-01-02T03:04:05.123456789+02:00")
        )
        assert ids(session.path()) == ["a", "c"]
        assert b'"ts":"2026-01-02T03:04:05.123456789+02:00"' in session["c"].line

    @pytest.mark.parametrize(
        ("entry", "error"),
        [
            (ags.InfoEntry("x", id="a"), ags.DuplicateEntry),
            (ags.InfoEntry("x", parent="nope"), ags.NoEntry),
            (ags.RunEntry("r", "end"), ags.InvalidEntry),
            ("not an entry", ags.InvalidEntry),
            (None, ags.InvalidEntry),
        ],
    )
    def test_a_failed_append_changes_nothing(
        self, entry: ags.Entry, error: type[Exception]
    ) -> None:
        session = new()
        session.append(ags.InfoEntry("a", id="a"))
        before = ags.dump(session)
        with pytest.raises(error):
            session.append(entry)
        assert ags.dump(session) == before
        assert session.leaf == "a"

    def test_a_rejected_call_is_not_dispatched_on_that_path(self) -> None:
        build = SessionBuilder()
        build.call("c1")
        fork = build.session.leaf
        build.decide("c1", "reject")
        build.user("more")
        with pytest.raises(ags.CallRejected) as caught:
            build.dispatch("c1")
        assert caught.value.call_id == "c1"
        assert fork is not None
        build.session.branch(fork)
        build.dispatch("c1")

    def test_a_reject_counts_whether_it_was_read_or_appended_later(self) -> None:
        build = SessionBuilder()
        build.call("c1")
        build.call("c2")
        build.decide("c1", "reject")
        build.decide("c2", "proceed")
        session = ags.read(ags.dump(build.session))
        target = session.entries[0].id
        with pytest.raises(ags.CallRejected):
            session.append(ags.DispatchEntry("c1", target))
        session.append(ags.DispatchEntry("c2", target))
        session.append(ags.DecisionEntry("c2", target, "reject", reason="late"))
        with pytest.raises(ags.CallRejected, match=session.leaf):
            session.append(ags.DispatchEntry("c2", target))
        session.reset_leaf()
        session.append(ags.DispatchEntry("c2", target))

    def test_an_older_version_refuses_what_it_lacks(self) -> None:
        session = new("agentsession/0.1")
        with pytest.raises(ags.InvalidEntry, match=r"0\.1 has no run entries"):
            session.append(ags.RunEntry.start("r"))

    def test_an_entry_of_another_session_may_be_appended(self) -> None:
        one, two = new(), new()
        one.append(ags.UnknownEntry({"type": "acme:x", "n": b"1.50"}, id="a"))
        two.append(one["a"])
        assert two["a"].line == one["a"].line

    def test_threads_may_append(self) -> None:
        session = new()

        def work() -> None:
            for _ in range(50):
                session.append(ags.InfoEntry("x"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(session.path()) == len(session) == 200


class TestBinding:
    def test_a_bound_session_appends_through_its_store(self) -> None:
        session = new()
        seen: list[ags.Entry] = []
        session.bind(lambda entry: seen.append(entry) or "id")  # type: ignore[func-returns-value]
        assert session.append(ags.InfoEntry("x")) == "id"
        assert len(seen) == 1
        assert len(session) == 0

    def test_a_read_only_session_refuses(self) -> None:
        session = new()
        session.bind(None, read_only="the store was opened for reading")
        with pytest.raises(ags.ReadOnly, match="opened for reading"):
            session.append(ags.InfoEntry("x"))


class TestDurableLeaf:
    def start(self) -> tuple[ags.Session, str, str]:
        session = new()
        a = session.append(ags.InfoEntry("a"))
        b = session.append(ags.InfoEntry("b"))
        session.branch(a)
        return session, a, b

    def reopened(self, session: ags.Session) -> str | None:
        return ags.read(ags.dump(session)).leaf

    def test_without_a_mark_the_last_line_is_the_leaf(self) -> None:
        session, _a, b = self.start()
        assert self.reopened(session) == b

    def test_the_mark_stays_at_its_target(self) -> None:
        session, a, _b = self.start()
        session.append(session.mark_leaf())
        assert session.leaf == a
        assert self.reopened(session) == a

    def test_going_on_below_the_mark_moves_it(self) -> None:
        session, a, _b = self.start()
        session.append(session.mark_leaf())
        c = session.append(ags.InfoEntry("c"))
        assert session[c].parent == a
        d = session.append(ags.InfoEntry("d"))
        assert self.reopened(session) == d

    def test_an_entry_elsewhere_does_not_move_the_mark_of_a_reopened_file(self) -> None:
        session, a, b = self.start()
        session.branch(b)
        session.append(session.mark_leaf())
        session.append(ags.InfoEntry("c", parent=a))
        assert self.reopened(session) == b

    def test_a_null_label_clears_the_mark_and_other_labels_do_not(self) -> None:
        session, a, b = self.start()
        session.branch(b)
        session.append(session.mark_leaf())
        kept = session.append(ags.LabelEntry(b, "kept", parent=a))
        assert self.reopened(session) == b
        cleared = session.append(ags.LabelEntry(b, None, parent=kept))
        assert self.reopened(session) == cleared

    def test_a_mark_of_an_unknown_entry_is_an_entry_like_others(self) -> None:
        session, _a, _b = self.start()
        odd = session.append(ags.LabelEntry("nope", "leaf"))
        assert session.leaf == odd
        assert self.reopened(session) == odd

    def test_the_descendant_may_hang_from_an_entry_written_before_the_mark(self) -> None:
        session = new()
        a = session.append(ags.InfoEntry("a"))
        b = session.append(ags.InfoEntry("b"))
        session.branch(a)
        session.append(session.mark_leaf())
        c = session.append(ags.InfoEntry("c", parent=b))
        assert self.reopened(session) == c

    def test_entries_below_the_label_itself_descend_from_its_parent(self) -> None:
        session = new()
        a = session.append(ags.InfoEntry("a"))
        label = session.append(session.mark_leaf())
        assert session[label].parent == a
        below = session.append(ags.InfoEntry("x", parent=label))
        assert self.reopened(session) == below


class TestFolding:
    def test_a_branch_summary_goes_where_the_leaf_is(self) -> None:
        build = SessionBuilder()
        a = build.user("a")
        b = build.user("b")
        build.session.branch(a)
        entry = build.session.summarize_branch(b, MESSAGE)
        assert entry.from_ == b
        build.append(entry)
        assert [item.text for item in build.session.context().items] == ["a", "Hi"]
        with pytest.raises(ags.NoEntry):
            build.session.summarize_branch("nope", MESSAGE)
        with pytest.raises(ags.InvalidEntry):
            build.session.summarize_branch(b, None)


@given(sessions(), st.booleans())
def test_the_tree_holds_together(session: ags.Session, read: bool) -> None:
    if read:
        session = ags.read(ags.dump(session))
        session.append(ags.InfoEntry("one more"))
    for entry in session:
        path = session.path(entry.id)
        assert path[-1] is session[entry.id]
        assert path[0].parent is None
        assert all(child.parent == parent.id for parent, child in itertools.pairwise(path))
        assert entry in session.children(entry.parent)
    assert sum(len(session.children(entry.id)) for entry in session) + len(session.roots) == len(
        session
    )
    assert {entry.id for entry in session.leaves} == {
        e.id for e in session if not session.children(e.id)
    }


class TestClearedMarks:
    def session(self, version: str) -> ags.Session:
        session = ags.Session(ags.Header(format=version, id="s"))
        a = session.append(ags.InfoEntry("a"))
        b = session.append(ags.InfoEntry("b", parent=a))
        c = session.append(ags.InfoEntry("c", parent=a))
        for target, label in ((b, "leaf"), (c, "leaf"), (c, None)):
            session.append(ags.LabelEntry(target, label, parent=c))
        return session

    def test_up_to_04_a_cleared_mark_leaves_none(self) -> None:
        session = self.session("agentsession/0.3")
        assert ags.read(ags.dump(session)).leaf == session.entries[-1].id

    def test_later_the_mark_before_it_is_in_force_again(self) -> None:
        session = self.session("agentsession/0.11")
        assert ags.read(ags.dump(session)).leaf == session.entries[1].id
