"""Writing where ids are hashes: the append pipeline, what it normalises, leaves and forks.

Spec: later drafts 3.4, 4 to 7 and 13.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import text
from agentsession.entry_ids import identity
from agentsession.stores import MemoryStore
from session_strategies import entries

NEWEST = "agentsession/0.11"


def new(**members: Any) -> ags.Session:
    return ags.Session(ags.Header(format=NEWEST, id="s", **members))


def user(words: str, **members: Any) -> ags.ItemEntry:
    return ags.ItemEntry({"type": "message", "role": "user", "content": words}, **members)


def raised_from(session: ags.Session, version: str) -> bytes:
    return ags.dump(session).replace(b"agentsession/0.11", b"agentsession/" + version.encode(), 1)


class TestPipeline:
    def test_times_get_one_spelling(self) -> None:
        session = new()
        for given_ts, written in {
            "2026-01-02T04:04:05.250+01:00": "2026-01-02T03:04:05.25Z",
            "2026-01-02T03:04:60.5Z": "2026-01-02T03:04:59.5Z",
            "2026-01-02T03:04:05.1234567891Z": "2026-01-02T03:04:05.123456789Z",
        }.items():
            assert session[session.append(user("x", ts=given_ts))].ts_text == written
        with pytest.raises(ags.InvalidEntry, match="ts"):
            session.append(user("x", ts="9999-12-31T23:59:59-01:00"))

    def test_a_given_id_must_be_the_hash(self) -> None:
        session = new()
        entry = user("x", ts="2026-01-02T03:04:05Z")
        entry_id = session.append(entry)
        assert session.append(session[entry_id]) == entry_id
        other = new()
        assert other.append(entry.moved(id=entry_id)) == entry_id
        with pytest.raises(ags.BadID) as caught:
            session.append(user("y", id=entry_id, ts="2026-01-02T03:04:05Z"))
        assert caught.value.entry_id == entry_id
        assert caught.value.expected
        assert len(session) == 1

    def test_a_held_entry_is_not_added_again(self) -> None:
        session = new()
        root = session.append(user("x"))
        child = session.append(user("y", parent=root, ts="2026-01-02T03:04:05Z"))
        session.append(user("z"))
        leaf, size = session.leaf, len(session)
        assert session.append(user("y", parent=root, ts="2026-01-02T03:04:05Z")) == child
        assert (session.leaf, len(session)) == (leaf, size)

    def test_parents_are_sorted_and_checked(self) -> None:
        session = new()
        root = session.append(user("x"))
        entry = user("y").converging(
            ags.Reference("b", "s-2"), ags.Reference("a", "s-2"), ags.Reference("c", "s-1")
        )
        line = session[session.append(entry)].to_dict()
        assert line["parents"] == [
            {"session": "s-1", "entry": "c"},
            {"session": "s-2", "entry": "a"},
            {"session": "s-2", "entry": "b"},
        ]
        assert list(line)[:5] == ["type", "id", "parent", "parents", "ts"]
        leaf = session.leaf or ""
        for parents in (
            [ags.Reference(leaf)],
            [ags.Reference("nowhere")],
            [ags.Reference(root), ags.Reference(root, "s")],
            [ags.Reference(leaf, "elsewhere")],
        ):
            with pytest.raises(ags.BadConvergence):
                session.append(user("z").converging(*parents))

    def test_reserved_members_and_references_are_refused(self) -> None:
        session = new()
        with pytest.raises(ags.ReservedMember):
            session.append(ags.InfoEntry("x", unknown={"content": 1}))
        with pytest.raises(ags.ReservedMember):
            session.append(ags.UnknownEntry({"type": "acme:x", "content": 1}))
        with pytest.raises(ags.InvalidEntry, match="item_reference"):
            session.append(ags.ItemEntry({"type": "item_reference", "id": "x"}))
        with pytest.raises(ags.InvalidEntry, match="attempts"):
            session.append(ags.ResponseEntry("r", attempts=-1))

    def test_members_of_later_drafts(self) -> None:
        session = new()
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        target = session.append(ags.ItemEntry(call))
        for entry in (
            ags.ResponseEntry("r", attempts=3),
            ags.RunEntry.start("run", trigger=ags.Trigger("cron", unknown={"host": "h"})),
            ags.DispatchEntry("c", target, idempotency_key="k"),
            ags.LabelEntry(target, "here", synthetic=True),
            ags.LinkEntry.judged_by("judge", target),
            ags.CustomEntry("acme", 1, call_id="c"),
            ags.ConfigEntry(omit={}),
        ):
            session.append(entry)
        again = ags.read(ags.dump(session))
        assert [e.line for e in again] == [e.line for e in session]
        response, run, dispatch, label, link, custom, config = again.entries[1:]
        assert response.attempts == 3  # type: ignore[attr-defined]
        assert run.trigger.unknown == {"host": "h"}  # type: ignore[attr-defined]
        assert dispatch.idempotency_key == "k"  # type: ignore[attr-defined]
        assert label.synthetic is True  # type: ignore[attr-defined]
        assert (link.rel, link.target) == ("judged_by", target)  # type: ignore[attr-defined]
        assert custom.call_id == "c"  # type: ignore[attr-defined]
        assert config.omit == {}  # type: ignore[attr-defined]
        early = ags.Session(ags.Header(format="agentsession/0.3"))
        with pytest.raises(ags.InvalidEntry, match=r"attempts; it came with agentsession/0\.7"):
            early.append(ags.ResponseEntry("r", attempts=3))


class TestNormalising:
    def test_the_worked_example(self) -> None:
        session = new()
        added = session[session.append(ags.CustomEntry("acme", {"n": 9007199254740993}))]
        body = added.to_dict()
        assert {name: body[name] for name in ("ns", "data", "normalised")} == {
            "ns": "acme",
            "data": {"n": 9007199254740992},
            "normalised": [{"at": "/data/n", "was": "9007199254740993"}],
        }

    def test_strings(self) -> None:
        session = new()
        added = session[session.append(ags.CustomEntry("acme", {"text": "cut \ud83d"}))]
        assert added.to_dict()["data"] == {"text": "cut \ufffd"}
        assert added.normalised == ({"at": "/data/text", "was": '"cut \\ud83d"'},)
        raw = b'"bytes \xe2\x82 end"'
        added = session[session.append(ags.CustomEntry("acme", b'{"a/b~":[' + raw + b"]}"))]
        assert added.to_dict()["data"] == {"a/b~": ["bytes \ufffd end"]}
        assert added.normalised == (
            {"at": "/data/a~1b~0/0", "raw": base64.b64encode(raw).decode()},
        )
        added = session[session.append(ags.InfoEntry("\ude00"))]
        assert added.normalised == ({"at": "/name", "was": '"\\ude00"'},)
        early = ags.Session()
        assert early[early.append(ags.InfoEntry("\ude00"))].to_dict()["name"] == "\ufffd"

    def test_numbers(self) -> None:
        session = new()
        item = b'{"type":"function_call","call_id":12345678901234567890,"x":[1,9007199254740993.0]}'
        added = session[session.append(ags.ItemEntry(item))]
        assert added.to_dict()["item"] == {
            "type": "function_call",
            "call_id": "12345678901234567890",
            "x": [1, 9007199254740992],
        }
        assert added.normalised == (
            {"at": "/item/call_id", "was": "12345678901234567890"},
            {"at": "/item/x/1", "was": "9007199254740993.0"},
        )
        kept = b'{"a":1.0,"b":1152921504606847000,"c":1e2}'
        added = session[session.append(ags.CustomEntry("acme", kept))]
        assert added.text_of("data") == kept
        assert added.normalised == ()

    @pytest.mark.parametrize(
        "data", [b'{"a":1e400}', b'{"a":1,"a":2}', b'[{"a":[{"b":1,"b":1}]}]', b'{"\\ud83d":1}']
    )
    def test_what_cannot_be_repaired(self, data: bytes) -> None:
        session = new()
        with pytest.raises(ags.InvalidEntry, match="cannot be repaired"):
            session.append(ags.CustomEntry("acme", data))
        assert len(session) == 0

    def test_a_list_of_the_caller_is_checked_and_kept(self) -> None:
        session = new()
        named = {"normalised": [{"at": "/zz", "was": "1"}]}
        entry = ags.InfoEntry("\ud83d", unknown=None)
        entry = ags.UnknownEntry({"type": "acme:x", "a": 2**60 + 1, **named})
        added = session[session.append(entry)]
        assert [change["at"] for change in added.normalised] == ["/a", "/zz"]
        with pytest.raises(ags.BadNormalisation):
            session.append(ags.UnknownEntry({"type": "acme:x", "normalised": [{"at": "/a"}]}))

    @settings(max_examples=100, deadline=None)
    @given(
        st.recursive(
            st.one_of(
                st.integers(-(2**70), 2**70),
                st.text(st.characters(), max_size=5),
                st.text(st.characters(categories=["Cs", "Lu"]), max_size=3),
                st.floats(allow_nan=False, allow_infinity=False),
            ),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=5,
        )
    )
    def test_what_was_normalised_reads_back(self, data: Any) -> None:
        session = new()
        added = session[session.append(ags.CustomEntry("acme", data))]
        again = ags.read(ags.dump(session))
        assert again[added.id].line == added.line
        for change in added.normalised:
            assert set(change) in ({"at", "was"}, {"at", "raw"})
            place: Any = added.to_dict()
            for step in change["at"].split("/")[1:]:
                name = step.replace("~1", "/").replace("~0", "~")
                place = place[int(name) if isinstance(place, list) else name]
            was = json.loads(change["was"])
            assert isinstance(was, str) == isinstance(place, str)
            assert was != place


class TestLeaf:
    def test_an_append_elsewhere_does_not_move_it(self) -> None:
        session = new()
        first, second = session.append(user("a")), session.append(user("b"))
        aside = session.append(user("c", parent=first))
        assert session.leaf == second
        assert session.append(user("d")) == session.leaf
        assert session[session.leaf].parent == second
        assert [entry.id for entry in session.children(first)] == [second, aside]

    def test_roots(self) -> None:
        session = new()
        session.append(user("a"))
        session.reset_leaf()
        second = session.append(user("b"))
        assert (session.leaf, len(session.roots)) == (second, 2)

    def test_it_never_rests_on_a_leaf_label(self) -> None:
        session = new()
        first, second = session.append(user("a")), session.append(user("b"))
        session.branch(first)
        label = session.append(session.mark_leaf())
        assert session.leaf == first
        session.branch(label)
        assert session.leaf == first
        for target in (label, "nowhere"):
            session.append(ags.LabelEntry(target, "leaf", parent=second))
            assert session.leaf == first
        # A reopened session goes on at the newest entry below the mark (format 8.4).
        assert ags.read(ags.dump(session)).leaf == second
        cleared = session.append(ags.LabelEntry(first, None))
        assert session.leaf == cleared == ags.read(ags.dump(session)).leaf

    def test_a_file_that_ends_in_a_label_nobody_honours(self) -> None:
        session = new()
        first = session.append(user("a"))
        session.append(ags.LabelEntry("nowhere", "leaf"))
        assert session.leaf == first
        assert ags.read(ags.dump(session)).leaf == first

    def test_the_newest_below_the_mark(self) -> None:
        session = new()
        first = session.append(user("a"))
        session.append(user("b"))
        session.branch(first)
        session.append(session.mark_leaf())
        third = session.append(user("c"))
        assert ags.read(ags.dump(session)).leaf == third


class TestFork:
    @pytest.fixture
    def origin(self) -> ags.Session:
        session = new(cwd="/srv", harness=ags.Harness("h"))
        for words in "abc":
            session.append(user(words))
        return session

    def test_its_prefix_is_the_path(self, origin: ags.Session) -> None:
        base = origin.entries[1].id
        forked = origin.fork(base)
        assert forked.header.base == base
        assert forked.header.parent_session == "s"
        assert (forked.header.cwd, forked.header.harness) == ("/srv", ags.Harness("h"))
        assert [e.line for e in forked] == [e.line for e in origin.path(base)]
        own = forked.append(user("d"))
        again = ags.read(ags.dump(forked))
        assert again.leaf == own == forked.leaf
        assert [e.id for e in again.path()] == [e.id for e in forked.path()]
        assert len(origin) == 3

    def test_everything_own_hangs_below_the_base(self, origin: ags.Session) -> None:
        forked = origin.fork(origin.entries[1].id)
        with pytest.raises(ags.InvalidEntry, match="base"):
            forked.append(user("d", parent=origin.entries[0].id))
        forked.reset_leaf()
        with pytest.raises(ags.InvalidEntry, match="base"):
            forked.append(user("d"))
        forked.branch(forked.header.base)
        forked.append(ags.LabelEntry(origin.entries[0].id, "leaf"))
        assert forked.leaf == forked.header.base

    def test_what_cannot_be_forked(self, origin: ags.Session) -> None:
        label = origin.append(origin.mark_leaf())
        with pytest.raises(ags.InvalidEntry, match="label"):
            origin.fork(label)
        with pytest.raises(ags.NoEntry):
            origin.fork("nowhere")
        with pytest.raises(ags.InvalidEntry, match="media"):
            origin.fork(origin.entries[0].id, ags.Header(media="sidecar"))
        early = ags.Session()
        early.append(user("x"))
        with pytest.raises(ags.UnsupportedFormat, match="migrate"):
            early.fork(early.entries[0].id)
        with pytest.raises(ags.NoEntry, match="fork"):
            ags.Session(ags.Header(format=NEWEST, base=origin.entries[0].id))

    def test_into_a_store(self, origin: ags.Session) -> None:
        store = MemoryStore()
        session = store.create(ags.Header(format=NEWEST))
        first = session.append(user("a"))
        forked = ags.fork(session, first, header=ags.Header(id="f", cwd="/x"), store=store)
        assert (forked.id, forked.header.cwd, forked.leaf) == ("f", "/x", first)
        assert store.open("f") is forked

    @pytest.mark.parametrize("broken", ["missing", "order", "root", "above", "label"])
    def test_a_file_that_breaks_its_base(self, origin: ags.Session, broken: str) -> None:
        base = origin.entries[1].id
        if broken == "label":
            base = origin.append(origin.mark_leaf())
        header, *_ = ags.dump(origin.fork(origin.entries[1].id)).split(b"\n")
        lines = [entry.line for entry in origin]
        if broken == "missing":
            header = header.replace(base.encode(), b"sha256:" + b"0" * 64)
        elif broken == "label":
            header = header.replace(origin.entries[1].id.encode(), base.encode())
        other = new()
        if broken == "order":
            lines = [other[other.append(user("z"))].line, *lines]
        elif broken == "root":
            lines += [other[other.append(user("z"))].line]
        elif broken == "above":
            above = user("z", parent=origin.entries[0].id)
            lines += [origin[origin.append(above)].line]
        with pytest.raises(ags.NoEntry if broken == "missing" else ags.BadID):
            ags.read(b"\n".join([header, *lines, b""]))

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 9))
    def test_any_path(self, parents: list[int], at: int) -> None:
        session = new()
        for number, parent in enumerate(parents):
            above = [None, *(entry.id for entry in session)][parent % (number + 1)]
            session.append(user(f"{number}", parent=above))
        base = session.entries[at % len(session)].id
        forked = ags.read(ags.dump(session.fork(base)))
        assert [e.line for e in forked] == [e.line for e in session.path(base)]
        assert forked.leaf == base


class TestRaising:
    @pytest.mark.parametrize("version", ["0.5", "0.7", "0.10"])
    def test_the_first_append_raises(self, version: str) -> None:
        session = new(unknown={"x_team": "blue"})
        session.append(user("a"))
        before = b"\n" + raised_from(session, version)[:-1]
        again = ags.read(before)
        assert again.header.format == f"agentsession/{version}"
        assert ags.dump(again) == before
        added = again.append(user("b"))
        wanted = before.replace(version.encode(), b"0.11", 1) + b"\n" + again[added].line + b"\n"
        assert ags.dump(again) == wanted
        assert again.header.format == NEWEST
        assert any("raised" in note for note in again.notes)
        assert len(ags.read(ags.dump(again))) == 2

    def test_a_held_append_does_not(self) -> None:
        session = new()
        session.append(user("a", ts="2026-01-02T03:04:05Z"))
        again = ags.read(raised_from(session, "0.10"))
        again.reset_leaf()
        again.append(user("a", ts="2026-01-02T03:04:05Z"))
        assert again.header.format == "agentsession/0.10"

    @pytest.mark.parametrize("minor", range(5, 12))
    def test_every_draft_is_read(self, minor: int) -> None:
        session = new()
        session.append(user("a"))
        data = raised_from(session, f"0.{minor}")
        again = ags.read(data)
        assert (again.header.version, again.notes) == ((0, minor), ())
        assert ags.dump(again) == data


@settings(max_examples=60, deadline=None)
@given(st.lists(entries(), max_size=5))
def test_append_write_read_gives_the_same_ids(made: list[ags.Entry]) -> None:
    session = new()
    for entry in made:
        session.append(entry)
    for options in ({}, {"canonical": True}):
        again = ags.read(ags.dump(session, **options))
        assert [entry.id for entry in again] == [entry.id for entry in session]
    for entry in session:
        assert identity(text.split_members(entry.line)).id == entry.id
