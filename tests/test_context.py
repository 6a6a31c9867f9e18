"""Contexts: context 1, 3 and 11."""

from __future__ import annotations

import pytest

from agentsession.context import build_context, in_context, output_entries, request_context
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.errors import InvalidEntry, NoContext, NoEntry
from agentsession.items import Item
from agentsession.parts import OmittedPart
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.settings import Settings
from agentsession.testing import SessionBuilder


def note(text: str) -> dict[str, object]:
    return {"type": "message", "role": "user", "content": text}


def texts(session: Session, leaf: str | None = None) -> list[str]:
    context = session.context() if leaf is None else session.context_at(leaf)
    return [item.text for item in context.items]


@pytest.fixture
def worked() -> Session:
    """The worked example of context 1."""
    build = SessionBuilder()
    build.append(ConfigEntry(model="m-1", id="c1"))
    for entry_id, text in (("i1", "A"), ("i2", "B"), ("i3", "C")):
        build.append(ItemEntry(note(text), id=entry_id))
    build.append(CompactionEntry("i3", note("S"), config=Settings(model="m-1"), id="k1"))
    build.append(ConfigEntry(model="m-2", id="c2"))
    build.append(ItemEntry(note("D"), id="i4"))
    return build.session


def test_the_worked_example(worked: Session) -> None:
    found = worked.context().to_dict()
    assert found["settings"] == {"model": "m-2"}
    assert found["entries"] == ["k1", "i3", "c2", "i4"]
    assert found["item_entries"] == ["k1", "i3", "i4"]
    assert texts(worked) == ["S", "C", "D"]
    assert texts(worked, "i3") == ["A", "B", "C"]


def test_no_path_is_an_empty_context() -> None:
    empty = build_context([])
    assert empty == Session().context_at("") == Session().context()
    assert empty.to_dict() == {"settings": {}, "items": [], "entries": [], "item_entries": []}
    assert empty.request() == {"store": False}


def test_config_entries_in_the_window_are_not_replayed() -> None:
    build = SessionBuilder()
    first = build.user("A")
    build.config(model="m-1")
    build.append(CompactionEntry(first, note("S"), config=Settings(model="m-0")))
    assert build.session.context().settings.model == "m-0"
    assert len(build.session.context().entries) == 3


def test_pinned_items_follow_the_summary(worked: Session) -> None:
    worked.append(CompactionEntry("i4", note("T"), pinned=[note("A"), note("B")], id="k2"))
    found = worked.context()
    assert [item.text for item in found.items] == ["T", "A", "B", "D"]
    assert [entry.id for entry in found.item_entries] == ["k2", "k2", "k2", "i4"]


def test_only_the_last_compaction_gives_its_summary(worked: Session) -> None:
    worked.append(CompactionEntry("i1", note("T"), id="k2"))
    assert texts(worked) == ["T", "A", "B", "C", "D"]
    assert [entry.id for entry in worked.context().entries][:6] == [
        "k2",
        "i1",
        "i2",
        "i3",
        "k1",
        "c2",
    ]


@pytest.mark.parametrize("first_kept", ["nope", "k9"])
def test_a_lost_window_has_no_context(worked: Session, first_kept: str) -> None:
    worked.append(CompactionEntry(first_kept, note("T"), id="k9"))
    with pytest.raises(NoContext, match=first_kept):
        worked.context()
    worked.append(CompactionEntry("i4", note("U")))
    assert texts(worked) == ["U", "D"]


def test_every_item_goes_in_and_records_do_not() -> None:
    build = SessionBuilder()
    build.item(note("hidden"), visible=False)
    build.item({"type": "item_reference", "id": "m"})
    build.item({"type": "acme:note"})
    build.append(InfoEntry("a name"))
    build.append(BranchSummaryEntry("e0000001", note("left")))
    found = build.session.context()
    assert [item.type for item in found.items] == [
        "message",
        "item_reference",
        "acme:note",
        "message",
    ]
    assert len(found.entries) == 5
    assert [in_context(entry) for entry in found.entries] == [True, True, True, False, True]


def test_instructions_omitted_is_the_newest_list() -> None:
    build = SessionBuilder()
    assert build.session.context().instructions_omitted == ()
    build.config(instructions_omitted=[OmittedPart("a")])
    build.config(instructions_omitted=[OmittedPart("b", "too long", 5)])
    build.config(model="m")
    assert build.session.context().instructions_omitted == (OmittedPart("b", "too long", 5),)


# The request context of a response.


def test_output_items_are_left_out() -> None:
    build = SessionBuilder()
    build.user("A")
    one = build.answer("B")
    build.user("C")
    two = build.answer("D")
    assert [item.text for item in build.session.request_context(one).items] == ["A"]
    assert [item.text for item in build.session.request_context(two).items] == ["A", "B", "C"]


def test_other_entries_among_the_output_items_stay() -> None:
    build = SessionBuilder()
    build.user("A")
    build.item(note("out-1"), response="r")
    build.config(model="m-9")
    build.append(InfoEntry("x"))
    build.append(BranchSummaryEntry("e0000001", note("summary")))
    build.item(note("out-2"), response="r")
    last = build.append(ResponseEntry("r"))
    found = build.session.request_context(last)
    assert [item.text for item in found.items] == ["A", "summary"]
    assert found.settings.model == "m-9"
    path = build.session.path(last)
    for given in (path, path[:-1]):
        produced = output_entries(given, ResponseEntry("r"))
        assert [entry.id for entry in produced] == ["e0000002", "e0000006"]


def test_the_walk_stops_at_another_item() -> None:
    build = SessionBuilder()
    build.item(note("early"), response="r")
    build.user("A")
    build.item(note("late"), response="r")
    last = build.append(ResponseEntry("r"))
    found = build.session.request_context(last)
    assert [item.text for item in found.items] == ["early", "A"]


def test_a_response_without_id_has_no_output_items() -> None:
    build = SessionBuilder()
    build.user("A")
    last = build.append(ResponseEntry(""))
    assert [item.text for item in build.session.request_context(last).items] == ["A"]


def test_request_context_of_another_entry() -> None:
    build = SessionBuilder()
    item = build.user("A")
    with pytest.raises(InvalidEntry, match="item entry e0000001"):
        build.session.request_context(item)
    with pytest.raises(NoEntry):
        build.session.request_context("nope")
    with pytest.raises(InvalidEntry, match="empty path"):
        request_context([])


# Compaction helpers.


def test_compact(worked: Session) -> None:
    entry = worked.compact("i4", note("T"))
    assert (entry.first_kept, entry.config.model, entry.is_sealed) == ("i4", "m-2", False)
    worked.append(entry)
    assert texts(worked) == ["T", "D"]
    with pytest.raises(NoEntry, match="nope"):
        worked.compact("nope", note("T"))
    with pytest.raises(InvalidEntry, match="summary"):
        worked.compact("i4", None)


def test_compact_takes_the_leaf_itself(worked: Session) -> None:
    worked.append(worked.compact(worked.leaf or "", note("T")))
    assert texts(worked) == ["T", "D"]


def test_compact_from_and_keeping(worked: Session) -> None:
    assert worked.compact_from(1, note("T")).first_kept == "i3"
    assert worked.compact_from(2, note("T")).first_kept == "i4"
    assert worked.compact_keeping(2, note("T")).first_kept == "i3"
    assert worked.compact_keeping(1, note("T")).first_kept == "i4"


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_compact_from_needs_an_item(worked: Session, index: int) -> None:
    with pytest.raises(InvalidEntry, match="3 items"):
        worked.compact_from(index, note("T"))


def test_a_summary_cannot_be_kept(worked: Session) -> None:
    for call in (lambda: worked.compact_from(0, note("T")), lambda: worked.compact_keeping(3, "")):
        with pytest.raises(InvalidEntry, match="belongs to compaction k1"):
            call()


@pytest.mark.parametrize("kept", [0, -1, 4])
def test_compact_keeping_needs_that_many(worked: Session, kept: int) -> None:
    with pytest.raises(InvalidEntry, match="give 1 to 3"):
        worked.compact_keeping(kept, note("T"))


def test_helpers_need_a_context(worked: Session) -> None:
    worked.append(CompactionEntry("nope", note("T")))
    with pytest.raises(NoContext):
        worked.compact("i1", note("T"))
    with pytest.raises(NoContext):
        worked.compact_from(0, note("T"))


def test_items_are_the_text_they_came_in() -> None:
    build = SessionBuilder()
    build.item(b'{"type":"x","n":1.50}')
    (item,) = build.session.context().items
    assert item == Item('{"type": "x", "n": 1.5}')
    assert item.json_text == b'{"type":"x","n":1.50}'
