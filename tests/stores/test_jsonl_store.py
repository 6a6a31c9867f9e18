"""The file store beyond what every store does. Spec: stores 4, decisions A4, A5 and B."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

import agentsession.session
from agentsession import reading, writing
from agentsession.entries import BranchSummaryEntry, CompactionEntry, ItemEntry, ResponseEntry
from agentsession.errors import (
    AgentSessionError,
    DamagedFile,
    InvalidEntry,
    NoEntry,
    NoSession,
    ReadOnly,
    SessionExists,
    StoreFailed,
    UnsupportedFormat,
)
from agentsession.header import ALL_RECORDS, Header
from agentsession.parts import Harness
from agentsession.record_entries import InfoEntry, LinkEntry, RunEntry, UnknownEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, ListFilter, Summary, SyncPolicy

CREATED = "2026-03-01T08:15:30.25Z"
STAMP = "2026-03-01T08-15-30.250Z"
LATER = "2026-03-02T08:15:30.25Z"
MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def stored(root: Path, *, tail: bytes = b"", session_id: str = "s") -> Path:
    """The file of a closed session with two entries, and bytes after them."""
    with JSONLStore(root) as store:
        session = store.create(Header(id=session_id, created_at=CREATED))
        session.append(InfoEntry("one", id="e1", ts=CREATED))
        session.append(InfoEntry("two", id="e2", ts=CREATED))
        path = store.path(session_id)
    with path.open("ab") as file:
        file.write(tail)
    return path


def put(root: Path, name: str, content: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def names(store: JSONLStore, session_id: str = "s") -> list[str]:
    return [entry.to_dict()["name"] for entry in store.open(session_id)]


# Layout and create.


def test_layout_and_modes(root: Path) -> None:
    old = os.umask(0o022)
    try:
        with JSONLStore(root / "deep") as store:
            store.create(Header(id="s", created_at=CREATED, cwd="/home/u/app"))
            path = store.path("s")
    finally:
        os.umask(old)
    assert path == root / "deep" / "home-u-app" / f"{STAMP}_s.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(p.stat().st_mode) for p in (root / "deep", path.parent)] == [0o755] * 2
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_header_line(root: Path) -> None:
    header = Header(
        id="s", created_at=CREATED, cwd="/a", harness=Harness("demo"), unknown={"x_team": "blue"}
    )
    with JSONLStore(root) as store:
        store.create(header)
        line = store.path("s").read_bytes()
    assert line == (
        b'{"type":"session","format":"agentsession/0.2","id":"s",'
        b'"created_at":"2026-03-01T08:15:30.25Z","payload":"openresponses/2026-04-24",'
        b'"harness":{"name":"demo"},"cwd":"/a","x_team":"blue"}\n'
    )


def test_file_is_what_write_writes(root: Path) -> None:
    with JSONLStore(root) as store:
        session = store.create(Header(format="agentsession/0.3"))
        session.append(ItemEntry(MESSAGE))
        session.append(UnknownEntry({"type": "acme:note", "n": 1}))
        data = store.path(session.id).read_bytes()
        assert data == writing.dump(session)
    assert writing.dump(reading.load(data)) == data


@pytest.mark.parametrize("header", [Header(id="../x"), Header(id="nul"), Header(cwd="d" * 300)])
def test_headers_that_touch_no_file(root: Path, header: Header) -> None:
    with JSONLStore(root) as store, pytest.raises(InvalidEntry):
        store.create(header)
    assert list(root.iterdir()) == []


def test_hostile_ids_are_in_no_store(root: Path, tmp_path: Path) -> None:
    put(tmp_path, f"etc/{STAMP}_passwd.jsonl", b"")
    with JSONLStore(root) as store:
        for hostile in ("../etc", "/etc/passwd", "a\0b", "*", "", "x" * 300, "\ud800", "CON"):
            for call in (store.open, store.delete, store.path, store.lock_holder, store.sync):
                with pytest.raises(NoSession) as caught:
                    call(hostile)
                assert str(caught.value).isprintable()
            with pytest.raises(NoSession):
                store.append(hostile, InfoEntry("x"))
            store.release(hostile)


def test_the_same_id_in_another_project(root: Path) -> None:
    stored(root)
    with JSONLStore(root) as store:
        with pytest.raises(SessionExists, match=STAMP):
            store.create(Header(id="s", cwd="/elsewhere"))
        # An id that ends like another is another.
        store.create(Header(id="a_s"))
        assert store.open("s").id == "s"
        store.delete("s")
        with pytest.raises(NoSession):
            store.open("s")
        assert store.open("a_s").id == "a_s"


def test_a_file_that_is_in_the_way(root: Path) -> None:
    put(root, f"default/{STAMP}_s.jsonl", b"precious")
    with JSONLStore(root) as store:
        with pytest.raises(SessionExists):
            store.create(Header(id="s", created_at=CREATED))
        put(root, "blocked", b"")
        with pytest.raises(StoreFailed):
            store.create(Header(cwd="/blocked"))
    assert [p.name for p in root.glob("*/*")] == [f"{STAMP}_s.jsonl"]
    assert (root / "default" / f"{STAMP}_s.jsonl").read_bytes() == b"precious"


@pytest.mark.parametrize("bad", ["file", "file/below", "nul\0"])
def test_roots_that_cannot_be(tmp_path: Path, bad: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreFailed) as caught:
        JSONLStore(tmp_path / bad)
    assert str(caught.value)[0].islower()


# Open and append.


def test_release_gives_a_new_object(root: Path) -> None:
    with JSONLStore(root) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        store.release("s")
        store.release("s")
        with pytest.raises(ReadOnly, match="released"):
            session.append(InfoEntry("two"))
        assert len(session) == 1
        again = store.open("s")
        assert again is not session
        assert store.open("s") is again
        again.append(InfoEntry("two"))
        assert names(store) == ["one", "two"]


def test_a_closed_store(root: Path) -> None:
    store = JSONLStore(root)
    session = store.create(Header(id="s"))
    store.close()
    store.close()
    for call in (
        lambda: store.open("s"),
        store.create,
        lambda: store.append("s", InfoEntry("x")),
        store.list,
        lambda: store.delete("s"),
    ):
        with pytest.raises(StoreFailed, match="closed"):
            call()
    with pytest.raises(ReadOnly):
        session.append(InfoEntry("x"))


def test_a_file_of_another_session(root: Path) -> None:
    path = stored(root)
    path.rename(path.with_name(f"{STAMP}_t.jsonl"))
    with JSONLStore(root) as store:
        with pytest.raises(DamagedFile, match='holds session "s", not "t"'):
            store.open("t")
        assert store.lock_holder("t") is None


def test_errors_name_the_file_and_leave_no_lock(root: Path) -> None:
    path = stored(root, tail=b"not json\n{}\n")
    before = path.read_bytes()
    with JSONLStore(root) as store:
        for call in (store.open, lambda name: store.append(name, InfoEntry("x"))):
            with pytest.raises(DamagedFile) as caught:
                call("s")
            assert str(path) in str(caught.value)
            assert caught.value.line == 4
        assert store.lock_holder("s") is None
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "tail", [b'{"type":"info","id":"e3"', b"\x00" * 100, b"{", b"x" * 70_000, b"\xff\n"]
)
def test_crash_recovery(root: Path, tail: bytes) -> None:
    path = stored(root, tail=tail)
    whole = path.read_bytes()[: -len(tail)]
    with JSONLStore(root) as store:
        session = store.open("s")
        truncated = session.truncated
        assert truncated is not None
        assert (truncated.line, truncated.data) == (4, tail.rstrip(b"\n"))
        assert path.read_bytes() == whole + tail
    # Opening changed nothing; the first append does.
    with JSONLStore(root) as store:
        session = store.open("s")
        store.append("s", InfoEntry("three", id="e3", ts=CREATED))
        assert session.truncated is not None
        assert any("cut short" in note for note in session.notes)
        line = session["e3"].line + b"\n"
        assert path.read_bytes() == whole + line == writing.dump(session)
        store.append("s", InfoEntry("four"))
    with JSONLStore(root) as store:
        session = store.open("s")
        assert session.truncated is None
        assert names(store) == ["one", "two", "three", "four"]


def test_a_failed_append_trims_nothing(root: Path) -> None:
    path = stored(root, tail=b"{")
    before = path.read_bytes()
    with JSONLStore(root) as store:
        with pytest.raises(AgentSessionError):
            store.append("s", InfoEntry("x", parent="nothing"))
        assert path.read_bytes() == before


def test_a_missing_final_line_feed(root: Path) -> None:
    path = stored(root)
    path.write_bytes(path.read_bytes()[:-1])
    with JSONLStore(root) as store:
        session = store.open("s")
        assert session.truncated is None
        assert not path.read_bytes().endswith(b"\n")
        store.append("s", InfoEntry("three"))
        store.append("s", InfoEntry("four"))
        assert any("line end" in note for note in session.notes)
        assert path.read_bytes() == writing.dump(session)
    with JSONLStore(root) as store:
        assert names(store) == ["one", "two", "three", "four"]


def test_a_header_without_line_feed(root: Path) -> None:
    line = Header(id="s", created_at=CREATED).filled().line
    path = put(root, f"default/{STAMP}_s.jsonl", line)
    with JSONLStore(root) as store:
        store.append("s", InfoEntry("one"))
        assert names(store) == ["one"]
    assert path.read_bytes().startswith(line + b"\n{")


def test_a_refused_json_tail_is_left_to_repair(root: Path) -> None:
    path = stored(root, tail=b'{"type":"info"}\n')
    before = path.read_bytes()
    with JSONLStore(root) as store:
        assert store.open("s").truncated is not None
        with pytest.raises(DamagedFile, match="repair"):
            store.append("s", InfoEntry("three"))
    assert path.read_bytes() == before


def test_blank_lines_and_carriage_returns_stay(root: Path) -> None:
    path = stored(root)
    odd = path.read_bytes().replace(b"\n", b"\r\n") + b"\n\n"
    path.write_bytes(odd)
    with JSONLStore(root) as store:
        session = store.open("s")
        store.append("s", InfoEntry("three", id="e3"))
        assert path.read_bytes() == odd + session["e3"].line + b"\n" == writing.dump(session)


def later_draft(root: Path, version: bytes) -> tuple[Path, bytes]:
    """A file of a later draft, its last line without a line feed."""
    session = Session(Header(id="s", format="agentsession/0.11", created_at=CREATED))
    session.append(InfoEntry("one"))
    session.append(InfoEntry("two"))
    data = writing.dump(session).replace(b"agentsession/0.11", b"agentsession/" + version)[:-1]
    return put(root, f"default/{STAMP}_s.jsonl", data), data


@pytest.mark.parametrize("version", [b"0.5", b"0.9", b"0.10"])
def test_the_first_append_raises_later_drafts(root: Path, version: bytes) -> None:
    path, before = later_draft(root, version)
    with JSONLStore(root) as store:
        session = store.open("s")
        assert path.read_bytes() == before
        with pytest.raises(NoEntry):
            store.append("s", InfoEntry("x", parent="nothing"))
        assert path.read_bytes() == before
        first = store.append("s", InfoEntry("three"))
        raised = before.replace(version, b"0.11", 1) + b"\n"
        assert path.read_bytes() == raised + session[first].line + b"\n"
        store.append("s", InfoEntry("four"))
        assert writing.dump(session) == path.read_bytes()
        assert session.header.format == "agentsession/0.11"
        assert [item.id for item in store.list() if isinstance(item, Summary)] == ["s"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    with JSONLStore(root) as store:
        assert len(store.open("s")) == 4


def test_a_file_of_04_is_read_and_refuses_appends(root: Path) -> None:
    line = Header(id="s", created_at=CREATED).filled().line.replace(b"/0.2", b"/0.4")
    path = put(root, f"default/{STAMP}_s.jsonl", line + b"\n")
    with JSONLStore(root) as store:
        session = store.open("s")
        with pytest.raises(UnsupportedFormat):
            session.append(InfoEntry("x"))
        assert [item.id for item in store.list() if isinstance(item, Summary)] == ["s"]
    assert path.read_bytes() == line + b"\n"


# Sync policies.


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The descriptors that were synced."""
    done: list[int] = []
    really = os.fsync

    def fsync(fd: int) -> None:
        done.append(fd)
        really(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    return done


PLAIN = [InfoEntry("x"), ItemEntry(MESSAGE), UnknownEntry({"type": "acme:note"})]
RUN = RunEntry.start("r", "input")
KEPT = [
    ResponseEntry("r1"),
    CompactionEntry("e1", MESSAGE),
    BranchSummaryEntry("e1", MESSAGE),
    ItemEntry({"type": "function_call_output", "call_id": "c", "output": ""}),
]


@pytest.mark.parametrize(
    ("policy", "records", "expected"),
    [
        (SyncPolicy.EVERY_APPEND, ALL_RECORDS, [True] * 8),
        (SyncPolicy.ON_RESPONSE, (), [False] * 3 + [False] + [True] * 4),
        (SyncPolicy.ON_RESPONSE, ALL_RECORDS, [False] * 3 + [True] + [True] * 4),
        (SyncPolicy.ON_RESPONSE, ("acme:note",), [False] * 2 + [True, False] + [True] * 4),
        (SyncPolicy.NEVER, ALL_RECORDS, [False] * 8),
    ],
)
def test_sync_policies(
    root: Path, syncs: list[int], policy: SyncPolicy, records: tuple[str, ...], expected: list[bool]
) -> None:
    with JSONLStore(root, sync=policy) as store:
        store.create(Header(id="s", records=records))
        assert syncs
        found = []
        for entry in [*PLAIN, RUN, *KEPT]:
            syncs.clear()
            store.append("s", entry)
            found.append(len(syncs) == 1)
        assert found == expected
        syncs.clear()
        store.sync("s")
        assert len(syncs) == 1
        store.release("s")
        assert len(syncs) == 2
        store.open("s")
        syncs.clear()
    assert len(syncs) == 1


def test_sync_of_what_is_not_open(root: Path) -> None:
    stored(root)
    with JSONLStore(root) as store, pytest.raises(NoSession):
        store.sync("s")


def test_one_write_for_each_entry(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    really = os.write

    def write(fd: int, data: bytes) -> int:
        written.append(data)
        return really(fd, data)

    with JSONLStore(root) as store:
        session = store.create(Header(id="s"))
        monkeypatch.setattr(os, "write", write)
        store.append("s", InfoEntry("x" * 100_000))
        assert written == [session.entries[0].line + b"\n"]


# List.


def test_listing(root: Path) -> None:
    path = stored(root)
    with path.open("ab") as file:
        file.write(b'{"type":"link","id":"l","ts":"x","rel":"continued_in","session":"next"}\n')
        file.write(b'{"type":"info","name":7}\nnot json "info"\n{"name":"", "type" : "info"}\n')
        file.write(b'{"type":"\\u0069nfo","name":"the \\"name\\""}\n')
        file.write(b'{"type":"item","item":{"type":"info","name":"no"}}\n')
        file.write(b'{"type":"link","rel":"continued_in","session":""}\n["info"]\n{"type":"in')
    with JSONLStore(root, read_only=True) as store:
        (plain,) = store.list()
        assert isinstance(plain, Summary)
        assert (plain.name, plain.superseded_by) == ("", "")
        assert (plain.path, plain.size) == (path, path.stat().st_size)
        assert plain.modified is not None
        assert plain.modified.nanoseconds == path.stat().st_mtime_ns
        (named,) = store.list(ListFilter(with_names=True))
        assert isinstance(named, Summary)
        assert (named.name, named.superseded_by) == ('the "name"', "next")
        assert list(store.list(ListFilter(current=True))) == []


def test_names_equal_those_of_the_session(root: Path) -> None:
    with JSONLStore(root) as store:
        for session_id, created in (("a", CREATED), ("b", LATER)):
            session = store.create(Header(id=session_id, created_at=created))
            for name in ("first", "", "second", ""):
                session.append(InfoEntry(name))
        store.append("a", LinkEntry("continued_in", "b"))
        listed = list(store.list(ListFilter(with_names=True)))
        assert [item.id for item in listed if isinstance(item, Summary)] == ["b", "a"]
        for item in listed:
            assert isinstance(item, Summary)
            session = store.open(item.id)
            assert (item.name, item.superseded_by) == (session.name, session.superseded_by)
        (current,) = store.list(ListFilter(current=True, limit=1))
        assert isinstance(current, Summary)
        assert current.id == "b"


def test_bad_files_come_after_the_good(root: Path, tmp_path: Path) -> None:
    good = stored(root)
    outside = put(tmp_path, f"outside/{STAMP}_o.jsonl", good.read_bytes())
    bad = {
        put(root, f"a/{STAMP}_empty.jsonl", b""): "an empty file",
        put(root, f"a/{STAMP}_partial.jsonl", good.read_bytes()[:40]): "line 1",
        put(root, f"a/{STAMP}_entry.jsonl", b'\n{"type":"info"}\n'): "line 2",
        put(root, f"a/{STAMP}_major.jsonl", good.read_bytes().replace(b"/0.2", b"/9.2")): "9.2",
        put(root, f"a/{STAMP}_null.jsonl", b"\0" * 500): "line 1",
    }
    link = root / "a" / f"{STAMP}_link.jsonl"
    link.symlink_to(outside)
    directory = root / "a" / f"{STAMP}_dir.jsonl"
    directory.mkdir()
    fifo = root / "a" / f"{STAMP}_fifo.jsonl"
    os.mkfifo(fifo)
    linked = root / "b"
    linked.symlink_to(outside.parent)
    (root / "loop").symlink_to("loop")
    bad |= {link: "symbolic link", directory: "regular", fifo: "regular", linked: "symbolic link"}
    put(root, "not-a-directory.jsonl", b"")
    put(root, f"a/{STAMP}_other.txt", b"")
    with JSONLStore(root, read_only=True) as store:
        first, *errors = store.list(ListFilter(with_names=True))
        assert isinstance(first, Summary)
        assert first.path == good
        messages = sorted(str(error) for error in errors if isinstance(error, AgentSessionError))
        assert len(messages) == len(errors) == len(bad)
        for path, words in bad.items():
            assert any(m.startswith(f"{path}: ") and words in m for m in messages), path
        # What is not followed is not in the store.
        for session_id in ("link", "o"):
            with pytest.raises(NoSession):
                store.open(session_id)
    assert outside.read_bytes() == good.read_bytes()


def test_symbolic_links_are_not_written_through(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with JSONLStore(root) as store:
        (root / "srv").symlink_to(outside)
        with pytest.raises(StoreFailed, match="symbolic link"):
            store.create(Header(cwd="/srv"))
        assert list(outside.iterdir()) == []
        (root / "default").mkdir()
        (root / "default" / f"{STAMP}_s.jsonl").symlink_to(outside / "new")
        with pytest.raises(SessionExists):
            store.create(Header(id="s", created_at=CREATED))
        with pytest.raises(NoSession):
            store.append("s", InfoEntry("x"))
    assert list(outside.iterdir()) == []
    assert list(root.glob("*/*.lock")) == []


def test_listing_while_sessions_come_and_go(root: Path) -> None:
    stop = threading.Event()
    found: list[object] = []
    with JSONLStore(root, sync=SyncPolicy.NEVER) as store:
        store.create(Header(id="stays"))

        def watch() -> None:
            while not stop.is_set():
                found.extend(store.list(ListFilter(with_names=True)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        for n in range(40):
            session = store.create(Header(id=f"s{n}"))
            session.append(InfoEntry("x"))
            store.delete(session.id)
        stop.set()
        watcher.join()
    assert found
    assert [item for item in found if not isinstance(item, Summary)] == []


# Read-only.


def test_read_only(root: Path) -> None:
    path = stored(root, tail=b'{"type')
    before = path.read_bytes()
    with JSONLStore(root) as writer, JSONLStore(root, read_only=True) as reader:
        assert reader.read_only
        writer.open("s")
        session = reader.open("s")
        assert reader.open("s") is session
        assert session.truncated is not None
        assert path.read_bytes() == before
        for call in (
            lambda: reader.create(Header(id="t")),
            lambda: reader.append("s", InfoEntry("x")),
            lambda: reader.delete("s"),
            lambda: reader.sync("s"),
            lambda: reader.break_lock("s"),
            lambda: session.append(InfoEntry("x")),
        ):
            with pytest.raises(ReadOnly, match="read-only"):
                call()
        holder = reader.lock_holder("s")
        assert holder is not None
        assert holder.pid == os.getpid()
        writer.append("s", InfoEntry("three"))
        assert len(reader.open("s")) == 2
        reader.release("s")
        assert names(reader) == ["one", "two", "three"]
        assert len(list(reader.list())) == 1


def test_read_only_makes_nothing(root: Path) -> None:
    with JSONLStore(root, read_only=True) as store:
        assert list(store.list()) == []
        with pytest.raises(NoSession):
            store.open("s")
    assert not root.exists()


def test_a_root_that_is_a_file_is_listed_as_an_error(tmp_path: Path) -> None:
    file = put(tmp_path, "file", b"")
    with JSONLStore(file, read_only=True) as store:
        (error,) = store.list()
        assert isinstance(error, DamagedFile)
        with pytest.raises(StoreFailed):
            store.open("s")


def test_sessions_of_other_writers_are_read_alike(root: Path) -> None:
    """A file with spacing and orders that we would not write is appended to as it stands."""
    header = {"id": "s", "type": "session", "payload": "openresponses/1", "created_at": CREATED}
    line = json.dumps({**header, "format": "agentsession/0.1"}).encode()
    entry = b'{"ts":"2026-03-01T08:15:31+00:00", "id":"x", "type":"info", "name":"\\u00e9"}'
    path = put(root, f"home-u/{STAMP}_s.jsonl", line + b"\n" + entry + b"\n")
    with JSONLStore(root) as store:
        store.append("s", InfoEntry("two"))
        assert path.read_bytes().startswith(line + b"\n" + entry + b"\n{")
        assert names(store) == ["é", "two"]


def test_the_session_class_is_the_public_one(root: Path) -> None:
    with JSONLStore(root) as store:
        assert type(store.create()) is agentsession.session.Session
        assert repr(store) == f"JSONLStore({str(root)!r})"
