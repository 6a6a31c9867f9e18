"""Sessions moved between stores without loss. Spec: decisions B3 and B4."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agentsession import damage, reading, writing
from agentsession.entries import ItemEntry
from agentsession.errors import InvalidEntry, NoSession, SessionExists
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LinkEntry, UnknownEntry
from agentsession.stores import (
    JSONLStore,
    ListFilter,
    MemoryStore,
    Put,
    SQLiteStore,
    Summary,
    copying,
    open_store,
)
from agentsession.stores.copying import Copied, Outcome, beyond_lines, copy_session, copy_sessions

DOCS = Path(__file__).parents[2] / "docs" / "stores.md"
HOSTILE = Path(__file__).parents[1] / "data" / "hostile"
MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hé"}]}
HEADER = (
    b'{"type":"session","format":"agentsession/0.2","id":"s",'
    b'"created_at":"2026-03-01T08:15:30.25Z","payload":"openresponses/2026-04-24"}'
)
ONE = b'{"type":"info","id":"e1","parent":null,"ts":"2026-03-01T08:15:31Z", "name":"caf\\u00e9"}'
TWO = b'{"type":"info","id":"e2","parent":"e1","ts":"2026-03-01T08:15:32Z","name":"two"}'


@pytest.fixture(params=["files", "rows.db"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store of either kind with three sessions."""
    place = tmp_path / "source" / request.param
    place.parent.mkdir()
    with open_store(place) as store:
        for n in range(3):
            session = store.create(
                Header(id=f"s{n}", created_at=f"2026-03-0{n + 1}T00:00:00Z", cwd=f"/{n}")
            )
            first = session.append(ItemEntry(MESSAGE))
            session.append(UnknownEntry(b'{"type":"acme:x", "n": 1.50, "s": "\\ud83d"}'))
            session.branch(first)
            session.append(InfoEntry(f"name {n}"))
        session.append(LinkEntry("continued_in", "s0"))
    return place


@pytest.fixture(params=["files", "rows.db"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = tmp_path / "target" / request.param
    place.parent.mkdir()
    return place


def copied(source: Path, target: Path, *ids: str, salvaging: bool = False) -> list[Copied]:
    with open_store(source, read_only=True) as there, open_store(target) as here:
        return list(copy_sessions(there, here, ids or None, salvaging=salvaging))


def contents(place: Path) -> dict[str, bytes]:
    with open_store(place, read_only=True) as store:
        return {
            item.id: store.content(item.id) for item in store.list() if isinstance(item, Summary)
        }


def listed(place: Path) -> list[tuple[str, str, str, int | None]]:
    with open_store(place, read_only=True) as store:
        asked = ListFilter(with_names=True, with_sizes=True)
        return [
            (item.id, item.name, item.superseded_by, item.size)
            for item in store.list(asked)
            if isinstance(item, Summary)
        ]


def file_of(root: Path, content: bytes) -> Path:
    path = root / "default" / "2026-03-01T08-15-30.250Z_s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_every_kind_to_every_kind(source: Path, target: Path) -> None:
    done = copied(source, target)
    assert [(each.session_id, each.outcome, each.entries) for each in done] == [
        ("s0", Outcome.COPIED, 3),
        ("s1", Outcome.COPIED, 3),
        ("s2", Outcome.COPIED, 4),
    ]
    assert all(each.ok for each in done)
    assert contents(target) == contents(source)
    assert listed(target) == listed(source)
    again = copied(source, target)
    assert {each.outcome for each in again} == {Outcome.PRESENT}
    # Nothing is held afterwards, and the copies can be written to.
    with open_store(target) as store:
        assert store.lock_holder("s0") is None
        store.append("s0", InfoEntry("goes on"))


def modified(place: Path) -> dict[str, int | None]:
    with open_store(place, read_only=True) as store:
        listed = [item for item in store.list() if isinstance(item, Summary)]
        assert all(store.modified_ns(item.id) == item.modified_ns for item in listed)
        return {item.id: item.modified_ns for item in listed}


def test_when_a_session_was_written_to_is_copied(source: Path, target: Path) -> None:
    copied(source, target, "s1")
    copied(source, target)
    assert modified(target) == modified(source)
    with open_store(source) as store:
        store.append("s1", InfoEntry("later"))
    copied(source, target)
    assert modified(target) == modified(source)
    # What is there whole is left as it is.
    with open_store(target) as store, open_store(source, read_only=True) as there:
        assert store.put(there.open("s0"), modified_ns=1) is Put.PRESENT
    assert modified(target) == modified(source)


@pytest.mark.parametrize("time", [-1, 0, 1, 2**63, -(2**70), 10**30])
def test_times_no_system_has_do_not_stop_a_copy(target: Path, time: int) -> None:
    session = reading.load(HEADER + b"\n" + ONE + b"\n")
    with open_store(target) as store:
        assert copy_session(session, store, modified_ns=time).outcome is Outcome.COPIED
        (summary,) = store.list()
        assert isinstance(summary, Summary)
        assert summary.modified_ns is not None
        assert store.holds(session)


def test_a_row_that_says_no_time(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "rows.db") as store:
        store.create(Header(id="s"))
    with closing(sqlite3.connect(tmp_path / "rows.db")) as connection, connection:
        connection.execute("UPDATE sessions SET updated_at = 'then'")
    with (
        SQLiteStore(tmp_path / "rows.db", read_only=True) as store,
        JSONLStore(tmp_path / "files") as files,
    ):
        assert store.modified_ns("s") is None
        assert all(each.ok for each in copy_sessions(store, files))
        with pytest.raises(NoSession):
            store.modified_ns("t")
        with pytest.raises(NoSession):
            files.modified_ns("t")


def test_one_session(source: Path, target: Path) -> None:
    assert [each.session_id for each in copied(source, target, "s1")] == ["s1"]
    assert list(contents(target)) == ["s1"]


def test_a_session_that_has_grown_is_continued(source: Path, target: Path) -> None:
    copied(source, target)
    with open_store(source) as store:
        store.append("s1", InfoEntry("later"))
        store.append("s1", LinkEntry("continued_in", "elsewhere"))
    done = {each.session_id: each.outcome for each in copied(source, target)}
    assert done == {"s0": Outcome.PRESENT, "s1": Outcome.EXTENDED, "s2": Outcome.PRESENT}
    assert contents(target) == contents(source)
    assert listed(target) == listed(source)


def test_a_session_that_differs_is_left_alone(source: Path, target: Path) -> None:
    copied(source, target)
    with open_store(target) as store:
        store.append("s1", InfoEntry("here only"))
    with open_store(source) as store:
        store.append("s1", InfoEntry("there only"))
    before = contents(target)
    done = copied(source, target)
    assert [each.outcome for each in done] == [Outcome.PRESENT, Outcome.FAILED, Outcome.PRESENT]
    assert [finding.code for finding in done[1].findings] == [copying.DIFFERS]
    assert contents(target) == before


def test_a_target_that_is_held(source: Path, target: Path) -> None:
    copied(source, target)
    with open_store(source) as store:
        store.append("s1", InfoEntry("later"))
    with open_store(target) as holder:
        holder.open("s1")
        done = copied(source, target)
    assert [finding.code for each in done for finding in each.findings] == [copying.LOCKED]
    assert copied(source, target)[1].outcome is Outcome.EXTENDED


def test_a_session_that_is_open_in_the_target_is_released(target: Path) -> None:
    with open_store(target) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        grown = reading.load(writing.dump(session))
        grown.append(InfoEntry("two"))
        assert store.put(grown) is Put.EXTENDED
        assert store.put(grown) is Put.PRESENT
        assert store.holds(grown)
        assert not store.holds(session)
        assert len(store.open("s")) == 2
        with pytest.raises(SessionExists):
            store.put(session)


def test_an_id_that_is_no_file_name(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "rows.db") as store:
        store.create(Header(id="a/b"))
        store.create(Header(id="fine"))
    done = copied(tmp_path / "rows.db", tmp_path / "files")
    assert [(each.session_id, each.ok) for each in done] == [("a/b", False), ("fine", True)]
    assert [finding.code for finding in done[0].findings] == [copying.NOT_STORED]
    with JSONLStore(tmp_path / "files") as files, pytest.raises(InvalidEntry):
        files.put(reading.load(HEADER.replace(b'"s"', b'"a/b"')))


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        (
            HEADER + b"\n\n" + ONE + b"\n\r\n" + TWO + b"\n",
            {"blank-lines": 2, "carriage-returns": 1},
        ),
        (HEADER + b"\r\n" + ONE + b"\r\n", {"carriage-returns": 2}),
        (HEADER + b"\n" + ONE, {"no-final-newline": 1}),
        (HEADER + b"\n" + ONE + b"\n" + TWO[:40], {"cut-tail": 1}),
        (HEADER, {"no-final-newline": 1}),
        (HEADER + b"\n" + ONE + b"\n" + TWO + b"\n", {}),
    ],
)
def test_what_a_row_cannot_hold_is_named(
    tmp_path: Path, content: bytes, codes: dict[str, int]
) -> None:
    path = file_of(tmp_path / "files", content)
    [done] = copied(tmp_path / "files", tmp_path / "rows.db")
    assert done.outcome is Outcome.COPIED
    assert {finding.code: finding.count for finding in done.findings} == codes
    assert done.ok == (not codes)
    # A file keeps it all.
    [kept] = copied(tmp_path / "files", tmp_path / "other")
    assert kept.ok
    assert contents(tmp_path / "other") == {"s": path.read_bytes()}
    # The lines are the same, either way.
    clean = writing.dump(reading.read(path), clean=True)
    assert contents(tmp_path / "rows.db") == {"s": clean}
    assert copied(tmp_path / "files", tmp_path / "rows.db")[0].outcome is Outcome.PRESENT


def test_repeated_entries_of_later_drafts() -> None:
    later = HEADER.replace(b"/0.2", b"/0.4")
    session = reading.load(later + b"\n" + ONE + b"\n")
    assert beyond_lines(session) == ()


def test_damaged_sessions_do_not_stop_the_others(tmp_path: Path) -> None:
    root = tmp_path / "files"
    path = file_of(root, HEADER + b"\n" + b"{torn\n" + ONE + b"\n" + TWO + b"\n")
    path.with_name("2026-03-01T08-15-30.250Z_x.jsonl").write_bytes(b"nothing")
    with JSONLStore(root) as store:
        store.create(Header(id="whole"))
    done = copied(root, tmp_path / "rows.db")
    assert {each.session_id: each.ok for each in done} == {"s": False, "whole": True, "": False}
    codes = {each.session_id: [f.code for f in each.findings] for each in done}
    assert codes == {"s": [copying.NOT_READ], "whole": [], "": [copying.NOT_LISTED]}
    [salvaged] = copied(root, tmp_path / "rows.db", "s", salvaging=True)
    assert salvaged.outcome is Outcome.COPIED
    assert [finding.code for finding in salvaged.findings] == [damage.NOT_JSON]
    assert contents(tmp_path / "rows.db")["s"] == HEADER + b"\n" + ONE + b"\n" + TWO + b"\n"


def test_a_corrupt_row_is_salvaged(tmp_path: Path) -> None:
    copied_from = tmp_path / "rows.db"
    with SQLiteStore(copied_from) as store:
        store.put(reading.load(HEADER + b"\n" + ONE + b"\n" + TWO + b"\n"))
    with closing(sqlite3.connect(copied_from)) as connection, connection:
        connection.execute("UPDATE entries SET line = substr(line, 1, 30) WHERE seq = 2")
    [failed] = copied(copied_from, tmp_path / "files")
    assert failed.outcome is Outcome.FAILED
    [done] = copied(copied_from, tmp_path / "files", salvaging=True)
    assert done.outcome is Outcome.COPIED
    assert done.findings
    assert contents(tmp_path / "files") == {"s": HEADER + b"\n" + ONE + b"\n"}


def test_what_is_read_back_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "rows.db") as store:
        session = reading.load(HEADER + b"\n" + ONE + b"\n")
        really: Callable[..., Put] = store.put

        def put(given: object) -> Put:
            done = really(given)
            with closing(sqlite3.connect(tmp_path / "rows.db")) as connection, connection:
                connection.execute("UPDATE entries SET line = line || ' '")
            return done

        monkeypatch.setattr(store, "put", put)
        failed = copy_session(session, store)
    assert [finding.code for finding in failed.findings] == [copying.NOT_VERIFIED]


def test_progress(source: Path, target: Path) -> None:
    told: list[tuple[int, int, str]] = []
    with open_store(source, read_only=True) as there, open_store(target) as here:
        for _ in copy_sessions(there, here, on_start=lambda *args: told.append(args)):
            pass
    assert told == [(0, 3, "s0"), (1, 3, "s1"), (2, 3, "s2")]


@pytest.mark.parametrize("name", sorted(path.name for path in HOSTILE.glob("*.jsonl")) or [""])
def test_hostile_files_are_kept_or_named(tmp_path: Path, name: str) -> None:
    if not name:
        pytest.skip("no hostile files here")
    content = (HOSTILE / name).read_bytes()
    file_of(tmp_path / "files", content)
    for place in (tmp_path / "rows.db", tmp_path / "other"):
        for done in copied(tmp_path / "files", place):
            assert done.ok or done.findings


def test_a_memory_session_can_be_put(tmp_path: Path) -> None:
    with MemoryStore() as memory, open_store(tmp_path / "rows.db") as store:
        session = memory.create(Header(id="s"))
        session.append(InfoEntry("one"))
        assert copy_session(session, store).ok
        assert session.append(InfoEntry("two"))


def test_codes_are_documented() -> None:
    text = DOCS.read_text("utf-8")
    for code in copying.CODES:
        assert f"| `{code}` |" in text


def damaged(place: Path, table: str) -> None:
    """Make a database of 60 sessions of 6 entries, and overwrite a middle page of a table."""
    with SQLiteStore(place) as store:
        for n in range(60):
            session = store.create(
                Header(id=f"s{n:02}", created_at=f"2026-03-01T00:{n:02}:00Z", cwd="/w" * 40)
            )
            for k in range(6):
                session.append(InfoEntry(f"{n} {k} " + "x" * 150))
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(place.read_bytes())
    page = root - 1
    start = page * size
    if data[start] in (2, 5):
        # An inner page: take the child in its middle.
        cells = int.from_bytes(data[start + 3 : start + 5], "big") // 2
        pointer = start + 12 + 2 * cells
        cell = start + int.from_bytes(data[pointer : pointer + 2], "big")
        page = int.from_bytes(data[cell : cell + 4], "big") - 1
    data[page * size : (page + 1) * size] = b"\xff" * size
    place.write_bytes(data)


@pytest.mark.parametrize(
    "index", ["sessions_created_at", "sqlite_autoindex_entries_1", "sqlite_autoindex_sessions_1"]
)
def test_a_damaged_index(index: str, tmp_path: Path) -> None:
    place, target = tmp_path / "rows.db", tmp_path / "target"
    damaged(place, index)
    done = [found for found in copied(place, target, salvaging=True) if found.session_id]
    assert [found.entries for found in done] == [6] * 60
    assert all(found.ok for found in done)
    with SQLiteStore(place, read_only=True) as store:
        found = list(store.list())
        ids = [item.id for item in found if isinstance(item, Summary)]
        assert ids == [f"s{n:02}" for n in reversed(range(60))]
        some = list(store.list(ListFilter(limit=3)))
        assert [item.id for item in some if isinstance(item, Summary)] == ids[:3]


def test_a_damaged_page_of_sessions(tmp_path: Path) -> None:
    place, target = tmp_path / "rows.db", tmp_path / "target"
    damaged(place, "sessions")
    with SQLiteStore(place, read_only=True) as store:
        found = list(store.list())
    ids = {item.id for item in found if isinstance(item, Summary)}
    lost = {f"s{n:02}" for n in range(60)} - ids
    assert 0 < len(lost) < 20
    assert "cannot be read in full" in str(found[-1])
    assert all(session_id in str(found[-1]) for session_id in lost)
    done = copied(place, target, salvaging=True)
    assert {item.session_id for item in done if item.ok} == ids
    assert done[-1].findings[0].code == copying.NOT_LISTED


def test_a_damaged_page_of_entries(tmp_path: Path) -> None:
    place, target = tmp_path / "rows.db", tmp_path / "target.db"
    damaged(place, "entries")
    done = copied(place, target, salvaging=True)
    assert [item.outcome for item in done] == [Outcome.COPIED] * 60
    short = [item for item in done if item.entries < 6]
    assert short
    assert all(item.ok for item in done if item.entries == 6)
    for item in short:
        finding = item.findings[0]
        assert finding.code == copying.NOT_READ
        assert "cannot be read and are left out" in finding.sentence
    # Without salvaging they are not copied, and the others are.
    again = copied(place, tmp_path / "other")
    assert [item.session_id for item in again if not item.ok] == [i.session_id for i in short]
