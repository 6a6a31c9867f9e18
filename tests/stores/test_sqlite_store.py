"""The SQLite store beyond what every store does. Spec: stores 5."""

from __future__ import annotations

import gc
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentsession import reading, writing
from agentsession.entries import ItemEntry
from agentsession.errors import (
    AgentSessionError,
    ConcurrentWriter,
    DamagedFile,
    NoSession,
    ReadOnly,
    SessionExists,
    SessionLocked,
    StoreFailed,
)
from agentsession.header import Header
from agentsession.parts import Harness
from agentsession.record_entries import InfoEntry, LinkEntry, UnknownEntry
from agentsession.session import Session
from agentsession.stores import (
    JSONLStore,
    ListFilter,
    LockHolder,
    Put,
    SQLiteStore,
    Summary,
    open_store,
)

CREATED = "2026-03-01T08:15:30.25Z"
MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hé"}]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def rows(place: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    """What any other program sees."""
    connection = sqlite3.connect(place)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def stored(place: Path, session_id: str = "s", names: tuple[str, ...] = ("one", "two")) -> Path:
    with SQLiteStore(place) as store:
        session = store.create(Header(id=session_id, created_at=CREATED))
        for name in names:
            session.append(InfoEntry(name))
    return place


def names(store: SQLiteStore, session_id: str = "s") -> list[str]:
    return [entry.to_dict()["name"] for entry in store.open(session_id)]


# The rows.


def test_rows(place: Path) -> None:
    header = Header(id="s", created_at="2026-03-01T09:15:30.25+01:00", cwd="/a", parent_session="p")
    with SQLiteStore(place) as store:
        session = store.create(header)
        first = session.append(InfoEntry("A name"))
        session.append(ItemEntry(MESSAGE))
        session.branch(first)
        session.append(LinkEntry("continued_in", "next"))
        assert rows(place, "PRAGMA journal_mode") == [("wal",)]
        found = rows(
            place,
            "SELECT id, created_at, cwd, parent_session, name, superseded_by, header FROM sessions",
        )
        assert found == [
            (
                "s",
                "2026-03-01T08:15:30.250000000Z",
                "/a",
                "p",
                "A name",
                "next",
                session.header.line.decode(),
            )
        ]
        entries = rows(
            place, "SELECT session_id, seq, id, parent, type, line FROM entries ORDER BY seq"
        )
        assert entries == [
            ("s", n, entry.id, entry.parent, entry.type, entry.line.decode())
            for n, entry in enumerate(session, 1)
        ]
        assert entries[0][3] is None
        [(updated,)] = rows(place, "SELECT updated_at FROM sessions")
        [(pid, host, token, since, beat)] = rows(
            place, "SELECT pid, host, token, since, heartbeat FROM holders"
        )
        assert (pid, host) == (os.getpid(), os.uname().nodename)
        assert isinstance(token, str)
        assert len(token) == 16
        assert since < beat == updated
        for time in (since, beat):
            assert len(str(time)) == len("2026-03-01T08:15:30.250000000Z")
    assert rows(place, "SELECT * FROM holders") == []
    assert sorted(path.name for path in place.parent.iterdir()) == [place.name]


def test_tables_are_strict_and_cascade(place: Path) -> None:
    stored(place)
    tables = rows(place, "SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
    assert {(t, 1) for t in ("sessions", "entries", "holders")} <= set(tables)
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA foreign_keys = ON")
    with connection:
        connection.execute("DELETE FROM sessions")
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    connection.close()


def test_the_file_is_private_and_alone(place: Path) -> None:
    stored(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_lines_are_those_of_the_file_store(place: Path, tmp_path: Path) -> None:
    header = Header(id="s", created_at=CREATED, harness=Harness("demo"), unknown={"x": "é"})
    entries = [
        InfoEntry("one", id="e1", ts=CREATED),
        ItemEntry(MESSAGE, id="e2", ts=CREATED),
        UnknownEntry(b'{"type":"acme:note", "n": 1.50,"s":"\\ud83d"}', id="e3", ts=CREATED),
    ]
    with SQLiteStore(place) as rows_, JSONLStore(tmp_path / "files") as files:
        for store in (rows_, files):
            store.create(header)
            for entry in entries:
                store.append("s", entry)
        assert writing.dump(rows_.open("s")) == files.path("s").read_bytes()
        assert rows_.content("s") == files.content("s")


def test_a_line_that_is_not_utf8(place: Path, tmp_path: Path) -> None:
    root = tmp_path / "files"
    with JSONLStore(root) as files:
        files.create(Header(id="s")).append(InfoEntry("one"))
        path = files.path("s")
    with path.open("ab") as file:
        file.write(
            b'{"type":"info","id":"x","parent":null,"ts":"%s","name":"\xff\xfe"}\n'
            % CREATED.encode()
        )
    with JSONLStore(root, read_only=True) as files, SQLiteStore(place) as store:
        session = files.open("s")
        assert store.put(session) is Put.CREATED
        again = store.open("s")
        assert writing.dump(again) == path.read_bytes()
        assert again.name == "\ufffd\ufffd"
        assert again.notes
    assert rows(place, "SELECT typeof(line), CAST(line AS BLOB) FROM entries WHERE id = 'x'")[0][
        0
    ] == ("text")


@pytest.mark.parametrize("session_id", ["../etc", "a/b", "a\0b", "*", "x" * 300, "Con", "e\u0301"])
def test_any_id_is_only_an_id(place: Path, session_id: str) -> None:
    with SQLiteStore(place) as store:
        store.create(Header(id=session_id)).append(InfoEntry("one"))
        store.create(Header(id=session_id.swapcase() + "\u00e9"))
    with SQLiteStore(place) as store:
        assert names(store, session_id) == ["one"]
        store.delete(session_id)
        assert len(list(store.list())) == 1
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_values_that_are_no_ids(place: Path) -> None:
    with SQLiteStore(place) as store:
        for wrong in ("\ud800", 5, None, b"s", ["s"]):
            for call in (store.open, store.delete, store.content):
                with pytest.raises(NoSession):
                    call(wrong)  # type: ignore[arg-type]
            assert store.lock_holder(wrong) is None  # type: ignore[arg-type]
            store.break_lock(wrong)  # type: ignore[arg-type]


# Opening.


@pytest.mark.parametrize("bad", ["missing/x.db", "a\0b.db", "."])
def test_places_that_cannot_be(tmp_path: Path, bad: str) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreFailed) as caught:
            SQLiteStore(tmp_path / bad, read_only=read_only)
        assert str(caught.value).isprintable()
    assert list(tmp_path.iterdir()) == []


def test_names_with_url_characters(tmp_path: Path) -> None:
    place = tmp_path / "a b?mode=memory#x%41.db"
    stored(place)
    with SQLiteStore(place, read_only=True) as store:
        assert names(store) == ["one", "two"]
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


def test_importing_stores_does_not_import_sqlite() -> None:
    program = (
        "import sys, agentsession.stores as s; assert 'sqlite3' not in sys.modules; "
        "s.SQLiteStore; assert 'sqlite3' in sys.modules; assert 'SQLiteStore' in s.__all__"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    import agentsession.stores

    with pytest.raises(AttributeError):
        agentsession.stores.NoSuchStore  # noqa: B018


def test_release_gives_a_new_object(place: Path) -> None:
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        store.release("s")
        store.release("s")
        store.release("never there")
        assert store.lock_holder("s") is None
        with pytest.raises(ReadOnly, match="released"):
            session.append(InfoEntry("two"))
        again = store.open("s")
        assert again is not session
        again.append(InfoEntry("three"))
        assert names(store) == ["one", "three"]


def test_a_closed_store(place: Path) -> None:
    store = SQLiteStore(place)
    session = store.create(Header(id="s"))
    store.close()
    store.close()
    for call in (
        store.create,
        lambda: store.open("s"),
        lambda: store.append("s", InfoEntry("x")),
        lambda: store.delete("s"),
        store.list,
        lambda: store.put(session),
        lambda: store.holds(session),
        lambda: store.lock_holder("s"),
        lambda: session.append(InfoEntry("x")),
    ):
        with pytest.raises((StoreFailed, ReadOnly)):
            call()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE entries SET line = substr(line, 1, 20) WHERE seq = 2", "entry 2 is damaged"),
        ("UPDATE entries SET line = substr(line, 1, 20) WHERE seq = 1", "line 2"),
        ("UPDATE entries SET line = '' WHERE seq = 1", "entry 1 is damaged"),
        ("UPDATE entries SET line = line || char(10) || line", "does not hold one line"),
        ("UPDATE sessions SET header = '{}'", "not a session"),
        ("UPDATE sessions SET header = replace(header, '\"s\"', '\"t\"')", 'names session "t"'),
        ("DELETE FROM entries WHERE seq = 1", "is not an earlier entry"),
    ],
)
def test_a_corrupt_row_makes_open_fail_and_holds_nothing(
    place: Path, change: str, sentence: str
) -> None:
    stored(place)
    rows(place, change)
    with SQLiteStore(place) as store:
        with pytest.raises(AgentSessionError, match=sentence):
            store.open("s")
        assert store.lock_holder("s") is None
        with pytest.raises(AgentSessionError, match=sentence):
            store.append("s", InfoEntry("x"))
        with SQLiteStore(place) as other:
            other.delete("s")


# Listing.


def test_a_bad_header_is_an_error_item(place: Path) -> None:
    for session_id in ("a", "b", "c"):
        stored(place, session_id)
    rows(place, "UPDATE sessions SET header = 'x' WHERE id = 'b'")
    with SQLiteStore(place) as store:
        found = list(store.list())
    assert [item.id for item in found if isinstance(item, Summary)] == ["c", "a"]
    assert [type(item) for item in found] == [Summary, Summary, DamagedFile]


def test_filter_and_limit_together(place: Path) -> None:
    with SQLiteStore(place) as store:
        for n in range(30):
            session = store.create(
                Header(id=f"s{n:02}", created_at=f"2026-03-01T08:00:{n:02}Z", cwd=f"/{n % 3}")
            )
            if n % 2:
                session.append(LinkEntry("continued_in", "later"))
        # A row whose columns say other than its header: the header is right.
        rows(place, "UPDATE sessions SET cwd = '/0' WHERE id IN ('s29', 's28')")
        asked = ListFilter(cwd="/0", current=True, limit=3)
        assert [s.id for s in store.list(asked) if isinstance(s, Summary)] == ["s24", "s18", "s12"]
        assert len(list(store.list(ListFilter(limit=7)))) == 7


def test_pages(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentsession.stores import sqlite_listing

    monkeypatch.setattr(sqlite_listing, "_PAGE", 4)
    with SQLiteStore(place) as store:
        for n in range(11):
            store.create(Header(id=f"s{n:02}", created_at=CREATED))
        expected = [f"s{n:02}" for n in range(10, -1, -1)]
        assert [s.id for s in store.list() if isinstance(s, Summary)] == expected
        some = store.list()
        assert [next(some).id for _ in range(2)] == expected[:2]  # type: ignore[union-attr]
        store.delete("s00")
        assert [s.id for s in some if isinstance(s, Summary)] == expected[2:-1]


def test_names_and_sizes(place: Path) -> None:
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s", cwd="/é"))
        for name in ("first", "é€😀", ""):
            session.append(InfoEntry(name))
        session.append(LinkEntry("continued_in", "next"))
        [plain] = store.list()
        [sized] = store.list(ListFilter(with_sizes=True))
        assert isinstance(plain, Summary)
        assert isinstance(sized, Summary)
        assert (plain.name, plain.superseded_by, plain.size) == ("é€😀", "next", None)
        assert sized.size == len(writing.dump(session))
        assert plain.path is None
        assert plain.modified is not None


def test_a_listing_reads_no_entries(place: Path) -> None:
    stored(place)
    with SQLiteStore(place) as store:
        rows(place, "DROP TABLE entries")
        assert [s.name for s in store.list() if isinstance(s, Summary)] == ["two"]


# Holding.


def test_another_store_is_refused(place: Path) -> None:
    with SQLiteStore(place) as store, SQLiteStore(place) as other:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        for call in (
            lambda: other.open("s"),
            lambda: other.append("s", InfoEntry("x")),
            lambda: other.delete("s"),
            lambda: other.put(_grown(session)),
        ):
            with pytest.raises(SessionLocked) as caught:
                call()
            error = caught.value
            assert (error.session_id, error.pid) == ("s", os.getpid())
            assert error.host == os.uname().nodename
            assert f"process {os.getpid()} on {error.host} since {error.since}, last append at" in (
                str(error)
            )
        with pytest.raises(SessionExists):
            other.create(Header(id="s"))
        holder = other.lock_holder("s")
        assert holder is not None
        assert (holder.session_id, holder.pid, holder.is_known) == ("s", os.getpid(), True)
        assert store.lock_holder("s") == holder
        assert other.lock_holder("unknown") is None
        session.append(InfoEntry("two"))
        store.release("s")
        assert names(other) == ["one", "two"]


def _grown(session: Session) -> Session:
    grown = reading.load(writing.dump(session))
    grown.append(InfoEntry("more"))
    return grown


def test_a_lost_hold_is_refused_until_release(place: Path) -> None:
    with SQLiteStore(place) as store, SQLiteStore(place) as other:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        other.break_lock("s")
        other.append("s", InfoEntry("two"))
        for call in (
            lambda: session.append(InfoEntry("x")),
            lambda: store.append("s", InfoEntry("x")),
            lambda: store.open("s"),
            lambda: session.append(InfoEntry("x")),
        ):
            with pytest.raises(SessionLocked, match=f"taken from this store.* {os.getpid()}"):
                call()
        assert len(session) == 1
        other.release("s")
        with pytest.raises(SessionLocked):
            store.open("s")
        store.release("s")
        assert names(store) == ["one", "two"]
        store.append("s", InfoEntry("three"))


def test_another_writer_is_noticed(place: Path) -> None:
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        rows(
            place,
            "INSERT INTO entries SELECT session_id, 2, 'e2', id, type, "
            "replace(replace(line, id, 'e2'), 'null', '\"' || id || '\"') FROM entries",
        )
        for _ in range(2):
            with pytest.raises(ConcurrentWriter):
                session.append(InfoEntry("two"))
            with pytest.raises(ConcurrentWriter):
                store.open("s")
        assert len(session) == 1
        store.release("s")
        assert len(store.open("s")) == 2
        store.append("s", InfoEntry("three"))
        assert len(store.open("s")) == 3


def test_a_session_deleted_under_its_holder(place: Path) -> None:
    with SQLiteStore(place) as store, SQLiteStore(place) as other:
        session = store.create(Header(id="s"))
        other.break_lock("s")
        other.delete("s")
        with pytest.raises(NoSession):
            session.append(InfoEntry("x"))
        with pytest.raises(NoSession):
            store.open("s")
        assert len(store.create(Header(id="s"))) == 0


def holder_row(place: Path, pid: int, host: str = os.uname().nodename) -> None:
    rows(
        place,
        "INSERT INTO holders (session_id, pid, host, token, since, heartbeat) "
        "VALUES ('s', ?, ?, '0123456789abcdef', ?, ?)",
        pid,
        host,
        "2026-03-01T08:15:30.250000000Z",
        "2026-03-01T08:15:31.250000000Z",
    )


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("act", ["open", "append", "delete", "put"])
def test_a_dead_holder_is_taken_over_and_reported(place: Path, act: str) -> None:
    stored(place)
    pid = dead_pid()
    stale: list[LockHolder] = []
    with SQLiteStore(place, read_only=True) as reader:
        grown = _grown(reader.open("s"))
    holder_row(place, pid)
    with SQLiteStore(place, on_stale_lock=stale.append) as store:
        if act == "append":
            store.append("s", InfoEntry("x"))
        else:
            getattr(store, act)(grown if act == "put" else "s")
        assert [(holder.pid, holder.since[:10]) for holder in stale] == [(pid, "2026-03-01")]
        assert stale[0].heartbeat == "2026-03-01T08:15:31.250000000Z"


@pytest.mark.parametrize("whose", ["parent", "elsewhere", "nobody"])
def test_holders_that_are_not_stale(place: Path, whose: str) -> None:
    stored(place)
    pid = {"parent": os.getppid(), "elsewhere": dead_pid(), "nobody": 0}[whose]
    holder_row(place, pid, "elsewhere" if whose == "elsewhere" else os.uname().nodename)
    with SQLiteStore(place) as store:
        with pytest.raises(SessionLocked) as caught:
            store.open("s")
        assert caught.value.pid == pid
        assert "since 2026-03-01T08:15:30.250000000Z, last append at 2026" in str(caught.value)
        store.break_lock("s")
        assert names(store) == ["one", "two"]


def test_our_own_id_from_an_earlier_life_is_stale(place: Path) -> None:
    stored(place)
    holder_row(place, os.getpid())
    stale: list[LockHolder] = []
    with SQLiteStore(place, on_stale_lock=stale.append) as store:
        assert names(store) == ["one", "two"]
    assert len(stale) == 1


def test_a_report_that_raises_leaves_no_hold(place: Path) -> None:
    def report(_: LockHolder) -> None:
        raise RuntimeError

    stored(place)
    holder_row(place, dead_pid())
    with SQLiteStore(place, on_stale_lock=report) as store:
        with pytest.raises(RuntimeError):
            store.open("s")
        assert store.lock_holder("s") is None


def test_a_forked_child_holds_nothing(place: Path) -> None:
    with SQLiteStore(place) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        pid = os.fork()
        if not pid:
            code = 1
            try:
                list(store.list())
                try:
                    session.append(InfoEntry("x"))
                except ReadOnly:
                    try:
                        store.open("s")
                    except SessionLocked:
                        store.create(Header(id="child")).append(InfoEntry("of the child"))
                        store.close()
                        code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        session.append(InfoEntry("two"))
        assert names(store, "child") == ["of the child"]
        assert names(store) == ["one", "two"]


def test_a_store_that_was_forgotten_lets_go(place: Path) -> None:
    import gc

    def forget() -> None:
        SQLiteStore(place).create(Header(id="s")).append(InfoEntry("one"))

    forget()
    gc.collect()
    assert rows(place, "SELECT * FROM holders") == []
    program = (
        "import sys; from agentsession.stores import SQLiteStore; from agentsession.header import "
        "Header; store = SQLiteStore(sys.argv[1]); store.create(Header(id='t'))"
    )
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)
    assert rows(place, "SELECT * FROM holders") == []


def test_full_sync(place: Path) -> None:
    def settings(store: SQLiteStore, *names: str) -> list[int]:
        return store._sessions._write(
            lambda connection: [
                connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names
            ]
        )

    with SQLiteStore(place, full_sync=True) as store:
        store.create(Header(id="s")).append(InfoEntry("one"))
        assert settings(store, "synchronous") == [2]
    with SQLiteStore(place) as store:
        names = ("synchronous", "foreign_keys", "busy_timeout")
        assert settings(store, *names) == [1, 1, 5000]


def test_a_listing_keeps_its_store(place: Path) -> None:
    with SQLiteStore(place) as store:
        store.create(Header(id="s"))
    for make in (SQLiteStore, open_store):
        found = list(make(place).list())
        assert [item.id for item in found if isinstance(item, Summary)] == ["s"]
        assert len(found) == 1
        gc.collect()


def test_no_database_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreFailed, match="MemoryStore"):
        SQLiteStore(":memory:")
    assert list(tmp_path.iterdir()) == []
