"""The list filter, and what only the memory store does. Spec: stores 2 and 3."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agentsession.errors import NoSession, ReadOnly
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.stores import ListFilter, MemoryStore, Summary
from agentsession.timestamp import Timestamp

NOON = "2026-03-01T12:00:00.000000001Z"
HEADER = Header(id="s", created_at=NOON, cwd="/a", parent_session="p").filled()


@pytest.mark.parametrize(
    ("asked", "passes"),
    [
        (ListFilter(), True),
        (ListFilter(cwd="/a", parent_session="p"), True),
        (ListFilter(cwd="/a/"), False),
        (ListFilter(parent_session="q"), False),
        (ListFilter(after=NOON), False),
        (ListFilter(before=NOON), False),
        (ListFilter(after=datetime(2026, 3, 1, 12, tzinfo=UTC)), True),
        (ListFilter(before=datetime(2026, 3, 1, 12, tzinfo=UTC)), False),
        (ListFilter(before=datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(seconds=1)), True),
        (ListFilter(after=Timestamp.parse("2026-03-01T13:59:59+02:00")), True),
    ],
)
def test_matches(asked: ListFilter, passes: bool) -> None:
    assert asked.matches(HEADER) is passes
    assert asked.keep(Summary(header=HEADER)) is passes


def test_current() -> None:
    old = Summary(header=HEADER, superseded_by="next")
    assert old.id == "s"
    assert ListFilter().keep(old)
    assert not ListFilter(current=True).keep(old)


@pytest.mark.parametrize(
    "wrong",
    [
        {"after": datetime(2026, 3, 1)},  # noqa: DTZ001
        {"before": "yesterday"},
        {"limit": -1},
    ],
)
def test_filters_that_mean_nothing(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"aware|not a time|0 for all"):
        ListFilter(**wrong)


def test_memory_store_lists_a_snapshot_with_names() -> None:
    store = MemoryStore()
    session = store.create(HEADER)
    session.append(InfoEntry("a name"))
    session.append(LinkEntry("continued_in", "next"))
    listing = store.list()
    store.delete("s")
    summary = next(listing)
    assert isinstance(summary, Summary)
    assert (summary.name, summary.superseded_by) == ("a name", "next")
    assert (summary.path, summary.size, summary.modified) == (None, None, None)
    assert list(store.list()) == []


def test_memory_store_after_delete() -> None:
    with MemoryStore() as store:
        session = store.create(HEADER)
        store.delete("s")
        with pytest.raises(ReadOnly, match="deleted"):
            session.append(InfoEntry("x"))
        with pytest.raises(NoSession):
            store.append("s", InfoEntry("x"))
    assert repr(store) == "<MemoryStore with 0 sessions>"
