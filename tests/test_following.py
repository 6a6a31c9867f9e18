"""Entries as they come: beside the writer, across its restarts and repairs."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import reading, writing
from agentsession.entries import Entry
from agentsession.errors import DamagedFile, DuplicateEntry, NoEntry, NoSession, StoreFailed
from agentsession.following import Follower, session_follow
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, SQLiteStore, open_store
from agentsession.testing import SessionBuilder

WRITER = """
import sys
from agentsession.record_entries import InfoEntry
from agentsession.stores import open_store
store = open_store(sys.argv[1])
for line in sys.stdin:
    store.append("s", InfoEntry(line.strip()))
    print("done", flush=True)
store.close()
"""


class Writer:
    """Another process that appends what it is told to."""

    def __init__(self, place: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def append(self, name: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self, *, kill: bool = False) -> None:
        if kill:
            self.process.send_signal(signal.SIGKILL)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        self.process.wait()


def built(*names: str) -> Session:
    build = SessionBuilder(id="s")
    for name in names:
        build.append(InfoEntry(name))
    return build.session


def lines(*names: str) -> list[bytes]:
    return writing.dump(built(*names)).splitlines(keepends=True)


def names(entries: list[Entry]) -> list[str]:
    return [entry.to_dict()["name"] for entry in entries]


def all_of(follower: Follower) -> list[Entry]:
    """What a follower has now: it is asked until it has nothing."""
    found: list[Entry] = []
    quiet = 0
    while quiet < 2:
        more = follower.poll()
        found += more
        quiet = 0 if more else quiet + 1
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_what_is_there_and_what_comes(path: Path) -> None:
    header, one, two, three = lines("one", "two", "three")
    path.write_bytes(header + one)
    with session_follow(path) as follower:
        assert names(all_of(follower)) == ["one"]
        assert follower.header is not None
        assert follower.header.id == "s"
        assert all_of(follower) == []
        with path.open("ab") as file:
            file.write(two + three)
        entries = all_of(follower)
        assert names(entries) == ["two", "three"]
        assert [entry.line + b"\n" for entry in entries] == [two, three]
    assert list(follower) == []


def test_pieces_of_a_line_are_waited_for(path: Path) -> None:
    data = b"".join(lines("one", "two"))
    with path.open("wb", buffering=0) as file:
        file.write(data[:10])
        with Follower(path) as follower:
            found = []
            for start in range(10, len(data), 7):
                file.write(data[start : start + 7])
                found += all_of(follower)
            assert names(found) == ["one", "two"]


def test_blank_lines_and_carriage_returns(path: Path) -> None:
    header, one, two = lines("one", "two")
    path.write_bytes(b"\n\r\n" + header + b"\n" + one.replace(b"\n", b"\r\n"))
    with Follower(path) as follower:
        assert names(all_of(follower)) == ["one"]
        with path.open("ab") as file:
            file.write(b"\n\n" + two + b"\r\n")
        assert names(all_of(follower)) == ["two"]
        with path.open("ab") as file:
            file.write(b'{"type":"info"\n{}\n')
        with pytest.raises(DamagedFile) as caught:
            wait_for_error(follower)
        assert caught.value.line == 10


def wait_for_error(follower: Follower) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        follower.poll()
        time.sleep(0.01)
    raise AssertionError("no error came")


def test_a_missing_final_line_feed(path: Path) -> None:
    """A last line that is whole is an entry; whoever goes on puts the line feed first."""
    header, one = lines("one")
    root = path.parent / "store"
    with JSONLStore(root) as store:
        store.put(built("one"))
        path = store.path("s")
        path.write_bytes(header + one.rstrip())
        with Follower(path) as follower:
            assert names(all_of(follower)) == ["one"]
            store.append("s", InfoEntry("two"))
            assert names(all_of(follower)) == ["two"]


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_recovery_of_a_cut_tail(path: Path, ending: bytes) -> None:
    """The next writer takes the tail off and goes on: entries before and behind it come."""
    root = path.parent / "store"
    with JSONLStore(root) as store:
        store.put(built("one"))
        path = store.path("s")
        with path.open("ab") as file:
            file.write(b'{"type":"info","id":"x","par' + ending)
        told: list[str] = []
        with Follower(root, "s", report=told.append) as follower:
            assert names(all_of(follower)) == ["one"]
            store.append("s", InfoEntry("two " + "x" * 100))
            assert [name[:3] for name in names(all_of(follower))] == ["two"]
        assert told == []


def test_a_line_that_was_taken_back(path: Path) -> None:
    """A writer that could not sync cuts its line off again; it was seen, and this is said."""
    header, one, two, three = lines("one", "two", "three")
    path.write_bytes(header + one + two)
    told: list[str] = []
    with Follower(path, report=told.append) as follower:
        assert names(all_of(follower)) == ["one", "two"]
        other = two.replace(b'"two"', b'"2"')
        path.write_bytes(header + one + other)
        assert names(all_of(follower)) == ["2"]
        assert told == [f"{path}: 1 entry that was given is no longer there"]
        path.write_bytes(header + one)
        assert all_of(follower) == []
        path.write_bytes(header + one + two + three)
        assert names(all_of(follower)) == ["two", "three"]
    assert len(told) == 2


def test_a_file_that_is_replaced(path: Path) -> None:
    header, one, two, three = lines("one", "two", "three")
    path.write_bytes(header + one + two)
    told: list[str] = []
    with Follower(path, report=told.append) as follower:
        assert names(all_of(follower)) == ["one", "two"]
        new = path.with_suffix(".new")
        new.write_bytes(header + one + two + three)
        new.replace(path)
        assert names(all_of(follower)) == ["three"]
        assert told == []
        raised = header.replace(b'"agentsession/0.3"', b'"agentsession/0.2"')
        new.write_bytes(raised + one + two + three)
        new.replace(path)
        assert all_of(follower) == []
        assert told == [f"{path}: the header was changed"]
        new.write_bytes(header.replace(b'"s"', b'"other"') + one)
        new.replace(path)
        with pytest.raises(DamagedFile, match='holds session "other", not "s"'):
            wait_for_error(follower)
        new.write_bytes(header + one + two + three)
        new.replace(path)
        assert all_of(follower) == []


@pytest.mark.parametrize("tail", [b"", b"{", b"[]\n", b'{"type":"info"}\n'])
def test_a_file_that_begins_empty(path: Path, tail: bytes) -> None:
    header, one = lines("one")
    path.write_bytes(tail)
    with Follower(path) as follower:
        assert all_of(follower) == []
        assert follower.header is None
        path.write_bytes(header + one)
        assert names(all_of(follower)) == ["one"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda line: b"{torn\n" + line, DamagedFile),
        (lambda line: line[:-1] + line, DamagedFile),
        (lambda line: line.replace(b'"e0000001"', b'"nowhere"'), NoEntry),
        (lambda line: line.replace(b'"e0000002"', b'"e0000001"'), DuplicateEntry),
    ],
)
def test_what_reading_refuses(path: Path, change: object, error: type[Exception]) -> None:
    header, one, two, three = lines("one", "two", "three")
    data = header + one + change(two) + three  # type: ignore[operator]
    path.write_bytes(data)
    with pytest.raises(error) as expected:
        reading.read(path)
    with Follower(path) as follower:
        assert names(follower.poll()) == ["one"]
        for _ in range(2):
            with pytest.raises(error) as caught:
                wait_for_error(follower)
            assert str(caught.value) == str(expected.value)
        path.write_bytes(header + one + two)
        assert names(all_of(follower)) == ["two"]


def test_entries_behind_a_session(path: Path) -> None:
    path.write_bytes(b"".join(lines("one", "two")))
    session = reading.read(path)
    assert len(session) == 2
    path.write_bytes(b"".join(lines("one", "two", "three")))
    with Follower(path, after=session) as follower:
        assert follower.header == session.header
        assert names(all_of(follower)) == ["three"]
    shorter = built("one")
    with Follower(path, after=shorter) as follower:
        assert names(all_of(follower)) == ["two", "three"]


def test_hashed_ids_and_repeated_entries(path: Path) -> None:
    session = Session(Header(id="s", format="agentsession/0.11"))
    for name in ("one", "two"):
        session.append(InfoEntry(name))
    header, one, two = writing.dump(session).splitlines(keepends=True)
    path.write_bytes(header + one)
    told: list[str] = []
    with Follower(path, report=told.append) as follower:
        assert names(all_of(follower)) == ["one"]
        with path.open("ab") as file:
            file.write(one + two)
        assert names(all_of(follower)) == ["two"]
        assert len(told) == 1
        assert "repeats entry" in told[0]
        changed = two.replace(b"two", b"2nd")
        path.write_bytes(header + one + changed + two)
        with pytest.raises(Exception, match="was changed"):
            wait_for_error(follower)


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_beside_another_process(tmp_path: Path, kind: str) -> None:
    """A writer appends, is killed, and another goes on; no lock is taken, nothing is made."""
    place = tmp_path / ("sessions.db" if kind == "sqlite" else "sessions")
    with open_store(place) as store:
        store.create(Header(id="s"))
    with Follower(place, "s") as follower:
        writer = Writer(place)
        writer.append("one")
        there = {path.name for path in tmp_path.rglob("*")}
        assert names(all_of(follower)) == ["one"]
        writer.append("two")
        assert names(all_of(follower)) == ["two"]
        assert {path.name for path in tmp_path.rglob("*")} == there
        writer.end(kill=True)
        assert all_of(follower) == []
        writer = Writer(place)
        writer.append("three")
        assert names(all_of(follower)) == ["three"]
        writer.append("four")
        writer.end()
        assert names(all_of(follower)) == ["four"]
        with open_store(place) as store:
            store.append("s", InfoEntry("five"))
            assert names(all_of(follower)) == ["five"]
            store.delete("s")
        assert list(follower) == []
        assert follower.ended


@pytest.mark.parametrize("make", [JSONLStore, SQLiteStore])
def test_store_objects(tmp_path: Path, make: type[JSONLStore | SQLiteStore]) -> None:
    with make(tmp_path / "sessions.db") as store:
        session = store.create(Header(id="s"))
        with Follower(store, "s") as follower:
            for n in range(600):
                session.append(InfoEntry(f"n{n}"))
            assert names(all_of(follower)) == [f"n{n}" for n in range(600)]


def test_rows_that_change(tmp_path: Path) -> None:
    told: list[str] = []
    with SQLiteStore(tmp_path / "s.db") as store:
        store.put(built("one", "two"))
        with Follower(store, "s", report=told.append) as follower:
            assert names(all_of(follower)) == ["one", "two"]
            store.delete("s")
            store.put(built("one", "2"))
            # The same id again, and not the same session.
            assert names(all_of(follower)) == ["2"]
    assert len(told) == 1


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Follower(tmp_path / "nothing.jsonl")
    with pytest.raises(FileNotFoundError):
        Follower(tmp_path / "nothing", "s")
    for wrong in ("s", "", "../x", "a\0b", "x" * 300):
        with pytest.raises(NoSession):
            Follower(tmp_path, wrong)
    with SQLiteStore(tmp_path / "s.db") as store:
        for wrong in ("s", "", "../x"):
            with pytest.raises(NoSession):
                Follower(store, wrong)
    (tmp_path / "t.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises((StoreFailed, DamagedFile)):
        Follower(tmp_path / "t.db", "s")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="not a regular file"):
            Follower(tmp_path / "pipe")


def test_a_session_that_goes(path: Path) -> None:
    path.write_bytes(b"".join(lines("one")))
    told: list[str] = []
    follower = Follower(path, report=told.append, longest_wait=0.05)
    assert next(follower).to_dict()["name"] == "one"
    path.unlink()
    assert list(follower) == []
    assert told == [f"{path}: the session is no longer there"]


def test_stopping_from_another_thread(path: Path) -> None:
    path.write_bytes(b"".join(lines("one")))
    follower = Follower(path, longest_wait=60)
    found: list[Entry] = []
    thread = threading.Thread(target=lambda: found.extend(follower))
    thread.start()
    while not found:
        time.sleep(0.001)
    follower.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert names(found) == ["one"]
    follower.close()


def test_iterating_while_another_writes(tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as store:
        session = store.create(Header(id="s"))

        def write() -> None:
            for n in range(50):
                session.append(InfoEntry(f"n{n}"))

        thread = threading.Thread(target=write)
        with session_follow(tmp_path, "s") as follower:
            thread.start()
            found = [next(follower) for _ in range(50)]
            thread.join()
        assert names(found) == [f"n{n}" for n in range(50)]


def test_in_an_event_loop(tmp_path: Path) -> None:
    async def test() -> None:
        with JSONLStore(tmp_path) as store:
            session = store.create(Header(id="s"))
            follower = Follower(store, "s")
            found = []

            async def follow() -> None:
                async for entry in follower:
                    found.append(entry)  # noqa: PERF401 - each counts when it comes

            # Cancelled while it waits, again and again: nothing is lost.
            for n in range(20):
                session.append(InfoEntry(f"n{n}"))
                task = asyncio.create_task(follow())
                await asyncio.sleep(0.002 * (n % 4))
                task.cancel()
                await asyncio.wait([task])
            task = asyncio.create_task(follow())
            while len(found) < 20:
                await asyncio.sleep(0.005)
            follower.stop()
            await task
            assert names(found) == [f"n{n}" for n in range(20)]
            follower.close()

    asyncio.run(test())


def test_a_long_line_and_many_lines(path: Path) -> None:
    build = SessionBuilder(id="s")
    for n in range(30):
        build.append(InfoEntry(f"{n}" + "x" * 300_000))
    build.append(InfoEntry("y" * 6_000_000))
    for n in range(30):
        build.append(InfoEntry(f"{n}"))
    writing.write(path, build.session)
    with Follower(path) as follower:
        pieces = []
        while found := follower.poll():
            pieces.append(len(found))
        assert sum(pieces) == 61
        assert len(pieces) > 2
        path.write_bytes(path.read_bytes()[:-10])
        all_of(follower)
        assert len(follower._seen.index) == 60


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["append", "part", "cut", "trim", "replace", "look"]),
        st.integers(0, 400),
    ),
    max_size=25,
)
LOG = lines(*(f"n{n}" for n in range(30)))
OTHER = lines(*(f"other {n}" for n in range(30)))


@settings(max_examples=60, deadline=None)
@given(moves=MOVES)
def test_in_the_end_it_has_seen_what_is_there(
    moves: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever a writer does with its file: what was given and stands is what reading gives."""
    place = tmp_path_factory.mktemp("follow")
    path = place / "s.jsonl"
    path.write_bytes(LOG[0])
    given_entries: list[Entry] = []
    with Follower(path) as follower:
        for move, number in moves:
            _move(path, move, number)
            if move == "look" or number % 3 == 0:
                given_entries += follower.poll()
        session = reading.read(path)
        given_entries += all_of(follower)
        standing = [entry_id for entry_id in follower._seen.ids if entry_id]
        assert standing == [entry.id for entry in session]
        latest = {entry.id: entry.line for entry in given_entries}
        assert [latest[entry.id] for entry in session] == [entry.line for entry in session]
    shutil.rmtree(place)


def _move(path: Path, move: str, number: int) -> None:
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    count = whole.count(b"\n")
    if move == "append" and count < len(LOG):
        path.write_bytes(whole + LOG[count])
    elif move == "part" and count < len(LOG):
        path.write_bytes(whole + LOG[count][: 1 + number % (len(LOG[count]) - 2)])
    elif move == "cut":
        path.write_bytes(data[: max(len(LOG[0]), len(data) - number)])
    elif move == "trim":
        path.write_bytes(whole)
    elif move == "replace":
        new = path.with_suffix(".new")
        kept = number % (count or 1)
        new.write_bytes(
            b"".join([*whole.splitlines(keepends=True)[: kept + 1], *OTHER[kept + 1 : kept + 3]])
        )
        new.replace(path)
