"""Sessions of a version not known here, in stores and between them. Spec: later drafts 2."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentsession import reading, writing
from agentsession.errors import UnsupportedFormat
from agentsession.following import session_follow
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, UnknownEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, SQLiteStore, Summary, aio, open_store
from agentsession.stores.copying import Outcome, copy_session, copy_sessions


def newer() -> bytes:
    """A session as a later release might write it."""
    session = Session(
        Header(
            format="agentsession/0.11",
            id="later",
            created_at="2026-03-01T08:15:30Z",
            unknown={"shape": {"new": 1.0}},
        )
    )
    session.append(InfoEntry("one", unknown={"weight": [1e2, "x"]}))
    session.append(UnknownEntry({"type": "weather", "sky": {"blue": True}}))
    return writing.dump(session).replace(b"/0.11", b"/0.12")


NEWER = newer()


@pytest.fixture(params=["files", "rows.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store of either kind with a session of a later version, and one of this."""
    place = tmp_path / "source" / request.param
    place.parent.mkdir()
    with open_store(place) as store:
        assert store.create(Header(id="plain")).id == "plain"
        assert copy_session(reading.load(NEWER, allow_newer=True), store).ok
    return place


def test_they_are_refused_unless_asked_for(place: Path) -> None:
    with open_store(place, read_only=True) as store:
        found = list(store.list())
        assert [isinstance(item, Summary) for item in found] == [True, False]
        assert "newer than" in str(found[1])
        with pytest.raises(UnsupportedFormat, match="newer than"):
            store.open("later")


@pytest.mark.parametrize("read_only", [True, False])
def test_they_are_read_when_asked_for(place: Path, read_only: bool) -> None:
    with open_store(place, read_only=read_only, allow_newer=True) as store:
        assert {item.id for item in store.list() if isinstance(item, Summary)} == {
            "later",
            "plain",
        }
        session = store.open("later")
        assert session.header.format == "agentsession/0.12"
        assert (len(session), session.name) == (2, "one")
        assert session.notes
        assert b"".join(session.lines()) == NEWER


def test_they_take_no_entries(place: Path) -> None:
    with open_store(place, allow_newer=True) as store:
        session = store.open("later")
        for append in (session.append, lambda entry: store.append("later", entry)):
            with pytest.raises(UnsupportedFormat, match="can be read but not written"):
                append(InfoEntry("x"))
        store.release("later")
        with pytest.raises(UnsupportedFormat):
            store.append("later", InfoEntry("x"))
        assert store.content("later") == NEWER
        # Nothing else is the worse for it.
        store.append("plain", InfoEntry("x"))
        assert store.lock_holder("later") is not None


@pytest.mark.parametrize("kind", ["files", "rows.db"])
@pytest.mark.parametrize("salvaging", [True, False])
def test_they_are_copied_byte_for_byte(
    place: Path, tmp_path: Path, kind: str, salvaging: bool
) -> None:
    with (
        open_store(place, read_only=True, allow_newer=True) as source,
        open_store(tmp_path / kind) as target,
    ):
        done = list(copy_sessions(source, target, salvaging=salvaging))
        assert all(copied.ok and copied.outcome is Outcome.COPIED for copied in done)
        assert target.content("later") == NEWER
    with open_store(place, read_only=True) as source, open_store(tmp_path / kind) as target:
        (refused,) = [copied for copied in copy_sessions(source, target) if not copied.ok]
        assert refused.findings[0].code == "not-listed"


def test_they_are_awaited(place: Path) -> None:
    async def opened() -> int:
        async with await aio.open_store(place, read_only=True, allow_newer=True) as store:
            return len(await store.open("later"))

    assert asyncio.run(opened()) == 2


def test_they_are_followed(place: Path) -> None:
    with (
        open_store(place, read_only=True, allow_newer=True) as store,
        session_follow(store, "later", allow_newer=True) as entries,
    ):
        assert [entry.type for entry in entries.poll()] == ["info", "weather"]


def test_stores_say_it_for_themselves(tmp_path: Path) -> None:
    session = reading.load(NEWER, allow_newer=True)
    for store in (
        JSONLStore(tmp_path / "f", allow_newer=True),
        SQLiteStore(tmp_path / "r.db", allow_newer=True),
    ):
        with store:
            store.put(session)
            assert store.holds(store.open("later"))
