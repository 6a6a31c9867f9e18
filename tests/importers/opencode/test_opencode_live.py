"""Databases that another process holds, that cannot be written beside, or that are damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentsession.importers import opencode as oc
from agentsession.importers import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT, time_created INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
CREATE INDEX message_session_idx ON message (session_id);
CREATE INDEX part_message_idx ON part (message_id);
CREATE INDEX part_session_idx ON part (session_id);
"""
# A process that does what it is told, then says so and waits to be told again or killed.
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    connection.executescript(line)
    print("done", flush=True)
"""
PAGE = 4096


class Holder:
    """A live process with a connection to a database."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, sql: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(sql.split()) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextmanager
def held(path: Path) -> Iterator[Holder]:
    """Hold a database in another process until the end, then kill it."""
    holder = Holder(path)
    try:
        yield holder
    finally:
        holder.process.kill()
        holder.process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "opencode.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


def fill(path: Path, messages: int, size: int = 300, *, wal: bool = False) -> None:
    """Give a database one session of so many messages, each with one part of that size."""
    text = '{"type":"text","text":"' + "x" * size + '"}'
    with closing(sqlite3.connect(path)) as connection:
        if wal:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO session VALUES ('ses_a', 'A', 1)")
        connection.executemany(
            "INSERT INTO message VALUES (?, 'ses_a', 1, '{}')",
            ((f"m{i:05}",) for i in range(messages)),
        )
        connection.executemany(
            "INSERT INTO part VALUES (?, ?, 'ses_a', ?)",
            ((f"p{i:05}", f"m{i:05}", text) for i in range(messages)),
        )
        connection.commit()


def files(path: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(path.parent.iterdir())}


def ids(store: oc.Database) -> list[str]:
    return [
        i for s in store.sessions().sessions for i in (m.id for m in store.messages(s).messages)
    ]


def everything(store: oc.Database) -> tuple[list[oc.MessageRecord], list[oc.Stray]]:
    sessions, found = store.sessions()
    strays = list(found)
    messages: list[oc.MessageRecord] = []
    for session in sessions:
        read = store.messages(session)
        messages += read.messages
        strays += read.strays
    strays += store.orphans({s.id for s in sessions})
    return messages, strays


def root_page(path: Path, name: str) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        return int(connection.execute(query, (name,)).fetchone()[0])


def leaf_pages(path: Path, table: str) -> list[int]:
    """Return the pages below a table's root, as its interior cells name them."""
    data = path.read_bytes()
    start = (root_page(path, table) - 1) * PAGE
    assert data[start] == 5, "the root is an interior page"
    cells = int.from_bytes(data[start + 3 : start + 5], "big")
    pages = []
    for cell in range(cells):
        at = start + int.from_bytes(data[start + 12 + 2 * cell : start + 14 + 2 * cell], "big")
        pages.append(int.from_bytes(data[at : at + 4], "big"))
    return [*pages, int.from_bytes(data[start + 8 : start + 12], "big")]


def wreck(path: Path, page: int, content: bytes = b"\xa5" * PAGE) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(content)


class TestHeldByAnotherProcess:
    def test_rows_that_are_in_the_log_alone(self, path: Path) -> None:
        fill(path, 3, wal=True)
        with held(path) as holder:
            holder.run("PRAGMA wal_autocheckpoint = 0")
            holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{\"role\":\"user\"}')")
            before = files(path)
            assert before["opencode.db-wal"]
            assert b"m9" not in before["opencode.db"]
            with oc.Database(path) as store:
                assert ids(store) == ["m00000", "m00001", "m00002", "m9"]
                assert files(path) == before
            assert files(path) == before
            # The holder goes on as if nobody had looked.
            holder.run("INSERT INTO message VALUES ('m10', 'ses_a', 3, '{}')")
            with oc.Database(path) as store:
                assert len(ids(store)) == 5

    def test_an_uncommitted_transaction_is_not_seen(self, path: Path) -> None:
        fill(path, 2, wal=True)
        with held(path) as holder:
            holder.run("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE message SET id = id || 'x'")
            with oc.Database(path) as store:
                assert ids(store) == ["m00000", "m00001"]

    def test_a_log_left_by_a_killed_process(self, path: Path) -> None:
        fill(path, 2, wal=True)
        with held(path) as holder:
            holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
        assert (path.parent / "opencode.db-wal").exists()
        before = files(path)
        with oc.Database(path) as store:
            assert len(ids(store)) == 3
        assert files(path) == before

    def test_a_log_that_was_cut(self, path: Path) -> None:
        fill(path, 2, wal=True)
        with held(path) as holder:
            holder.run("INSERT INTO message VALUES ('m8', 'ses_a', 2, '{}')")
            holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
        log = path.parent / "opencode.db-wal"
        log.write_bytes(log.read_bytes()[:-100])
        with oc.Database(path) as store:
            assert ids(store) == ["m00000", "m00001", "m8"]

    @pytest.mark.parametrize("mode", ["WAL", "DELETE"])
    def test_a_locked_database(self, path: Path, mode: str) -> None:
        fill(path, 2)
        with held(path) as holder:
            holder.run(f"PRAGMA journal_mode = {mode}; PRAGMA locking_mode = EXCLUSIVE;")
            holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
            with (
                closing(sqlite3.connect(path, timeout=0)) as connection,
                pytest.raises(sqlite3.OperationalError, match="locked"),
            ):
                connection.execute("SELECT * FROM session").fetchall()
            before = files(path)
            with oc.Database(path) as store:
                assert len(ids(store)) == 3
            assert files(path) == before

    def test_a_transaction_spilled_into_the_database_is_rolled_back(self, path: Path) -> None:
        fill(path, 400)
        with held(path) as holder:
            holder.run("PRAGMA cache_size = 2; BEGIN; UPDATE message SET session_id = 'ses_x'")
            before = files(path)
            assert b"ses_x" in before["opencode.db"]
            assert before["opencode.db-journal"]
            with oc.Database(path) as store:
                assert len(ids(store)) == 400
            assert files(path) == before

    def test_what_is_rewritten_while_it_is_read_is_read_again(self, path: Path) -> None:
        fill(path, 2)
        with oc.Database(path) as store:
            assert len(ids(store)) == 2
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
                connection.commit()
            assert len(ids(store)) == 3

    def test_a_writer_that_never_rests(self, path: Path) -> None:
        fill(path, 50, wal=True)
        loop = (
            "import sqlite3, sys\n"
            "c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)\n"
            "c.execute('PRAGMA wal_autocheckpoint = 20')\n"
            "n = 0\n"
            "while True:\n"
            "    n += 1\n"
            "    c.execute('BEGIN')\n"
            "    c.execute('UPDATE session SET title = ?', (str(n),))\n"
            "    c.execute('UPDATE message SET data = ?', ('{\"n\":%d}' % n,))\n"
            "    c.execute('COMMIT')\n"
            "    n == 1 and print('ready', flush=True)\n"
        )
        writer = subprocess.Popen(
            [sys.executable, "-c", loop, str(path)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
            seen = 0
            for _ in range(6):
                with oc.Database(path) as store:
                    sessions, strays = store.sessions()
                    values = {
                        m.info.value.get("n")
                        for m in store.messages(sessions[0]).messages
                        if m.info
                    }
                    if strays:
                        # It may change too fast for any copy; that is said, not hidden.
                        assert [s.unit for s in strays] == ["opencode.db"]
                        continue
                    seen += 1
                    assert {str(v) for v in values} == {sessions[0].title}
        finally:
            writer.kill()
            writer.communicate()
        assert seen

    def test_nothing_stays_in_the_scratch_place(self, path: Path, tmp_path: Path) -> None:
        fill(path, 2, wal=True)
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        with held(path) as holder:
            holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
            with oc.Database(path, scratch=scratch) as store:
                assert len(ids(store)) == 3
                if os.name == "posix":
                    assert list(scratch.iterdir()) == []
            assert list(scratch.iterdir()) == []
            sessions, strays = oc.Database(path, scratch=tmp_path / "no such place").sessions()
            assert sessions == ()
            assert strays[0].why.startswith("it cannot be opened or copied")

    def test_a_link_to_a_database_finds_its_log(self, path: Path, tmp_path: Path) -> None:
        fill(path, 2, wal=True)
        link = tmp_path / "opencode.db"
        link.symlink_to(path)
        with held(path) as holder:
            holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
            with oc.Database(link) as store:
                assert len(ids(store)) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process of another user")
class TestReadOnlyPlaces:
    @pytest.mark.parametrize("wal", [False, True])
    def test_a_folder_that_cannot_be_written(self, path: Path, *, wal: bool) -> None:
        fill(path, 2, wal=wal)
        place = Path(tempfile.mkdtemp(prefix="opencode-"))
        try:
            if wal:
                with held(path) as holder:
                    holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")
            for name in files(path):
                if not name.endswith("-shm"):
                    shutil.copy(path.parent / name, place / name)
                    (place / name).chmod(0o444)
            place.chmod(0o555)
            database = place / "opencode.db"
            before = files(database)
            assert as_nobody(database, writable=False) == (3 if wal else 2)
            assert files(database) == before
        finally:
            place.chmod(0o755)
            shutil.rmtree(place)

    def test_a_file_that_cannot_be_read(self, path: Path) -> None:
        fill(path, 2)
        path.chmod(0)
        assert as_nobody(path) == 99


def as_nobody(path: Path, *, writable: bool = True) -> int:
    """Count the messages of a database as a user who may write nothing there; 99 for strays."""
    child = os.fork()
    if child == 0:
        code = 98
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            assert writable or not os.access(path.parent, os.W_OK)
            with oc.Database(path) as store:
                messages, strays = everything(store)
            code = 99 if strays else len(messages)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


class TestDamage:
    @pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
    def test_a_file_cut_short(self, path: Path, share: float) -> None:
        fill(path, 800)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        before = files(path)
        with oc.Database(path) as store:
            messages, strays = everything(store)
            assert [s.id for s in store.sessions().sessions] == ["ses_a"]
        assert {s.id for s in strays if s.kind == "table"} <= {"message", "part", "session"}
        assert any(s.kind == "table" and s.malformed and "rows" in s.why for s in strays)
        parts = sum(len(m.parts) for m in messages) + sum(s.kind == "part" for s in strays)
        assert parts < 800
        assert parts or share < 0.5
        assert files(path) == before

    def test_a_page_that_is_malformed(self, path: Path) -> None:
        fill(path, 800)
        pages = leaf_pages(path, "part")
        wreck(path, pages[3])
        wreck(path, pages[4], b"\0" * PAGE)
        with oc.Database(path) as store:
            messages, strays = everything(store)
            (stray,) = strays
            assert (stray.kind, stray.id, stray.unit) == ("table", "part", "opencode.db:part")
            first, last = (int(w) for w in stray.why.split() if w.isdigit())
            lost = {m.id for m in messages if not m.parts}
            assert lost == {f"m{i - 1:05}" for i in range(first, last + 1)}
            assert len(messages) == 800
            assert 5 < len(lost) < 50
            # The loss is told once, and what is left is read like any other.
            assert everything(store)[1] == []

    def test_readable_rows_between_two_gaps(self, path: Path) -> None:
        fill(path, 800)
        pages = leaf_pages(path, "part")
        for page in (pages[2], pages[4], pages[-1]):
            wreck(path, page)
        with oc.Database(path) as store:
            messages, strays = everything(store)
            assert [s.id for s in strays] == ["part"] * 3
            assert "to the end" in strays[-1].why
            whole = [bool(m.parts) for m in messages]
            runs = sum(1 for a, b in zip([True, *whole], whole, strict=False) if a and not b)
            assert runs == 3

    def test_a_damaged_index_loses_nothing(self, path: Path) -> None:
        fill(path, 800)
        wreck(path, root_page(path, "part_message_idx"))
        wreck(path, root_page(path, "message_session_idx"))
        with oc.Database(path) as store:
            messages, strays = everything(store)
            assert (len(messages), strays) == (800, [])
            assert all(len(m.parts) == 1 for m in messages)

    def test_a_long_row_that_is_damaged_in_its_middle(self, path: Path) -> None:
        fill(path, 3, size=50_000)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE part SET data = ? WHERE id = 'p00001'", ("y" * 50_000,))
            connection.commit()
        data = bytearray(path.read_bytes())
        pages = [p for p in range(len(data) // PAGE) if data[p * PAGE + 4 :].startswith(b"y" * 99)]
        # The next page of a long row is named by the first bytes of each.
        data[pages[2] * PAGE : pages[2] * PAGE + 4] = b"\x7f\xff\xff\xff"
        path.write_bytes(data)
        with oc.Database(path) as store:
            messages, strays = everything(store)
            assert [[p.problem for p in m.parts] for m in messages] == [[""], ["it is empty"], [""]]
            assert [s.why for s in strays] == [
                "the database is damaged: 1 rows are read in part (p00001)"
            ]

    def test_a_whole_table_that_is_lost(self, path: Path) -> None:
        fill(path, 400)
        wreck(path, root_page(path, "message"))
        with oc.Database(path) as store:
            messages, strays = everything(store)
            assert messages == []
            assert {s.id for s in strays if s.kind == "table"} == {"message"}
            assert sum(s.kind == "part" for s in strays) == 400

    def test_a_damaged_definition(self, path: Path) -> None:
        fill(path, 3)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("UPDATE sqlite_master SET sql = 'CREATE TUBLE' WHERE name = 'part'")
            connection.commit()
        with oc.Database(path) as store:
            messages, strays = everything(store)
            assert len(messages) == 3
            assert [(s.kind, s.id) for s in strays] == [("table", "part")]

    @pytest.mark.parametrize("page", range(1, 8))
    def test_any_page_may_be_damaged(self, path: Path, page: int) -> None:
        fill(path, 100)
        for content in (b"\0" * PAGE, b"\xff" * PAGE, os.urandom(PAGE)):
            wreck(path, page, content)
            with oc.Database(path) as store:
                everything(store)
                store.others()
                store.units()
                store.migration_done()
                store.project("x")

    def test_a_damaged_header(self, path: Path) -> None:
        fill(path, 3)
        wreck(path, 1, b"SQLite format 3\0" + b"\xee" * 200)
        with oc.Database(path) as store:
            sessions, strays = store.sessions()
            assert (sessions, [s.kind for s in strays]) == ((), ["table"])


class TestSnapshot:
    def test_a_copy_made_while_the_log_was_begun_anew_is_made_again(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(path, 2, wal=True)
        with held(path) as holder:
            holder.run("INSERT INTO message VALUES ('m8', 'ses_a', 2, '{}')")
            copied: list[Path] = []
            real = snapshot._copy_file

            def copy(source: Path, target: Path) -> None:
                real(source, target)
                copied.append(source)
                if len(copied) == 1:
                    holder.run("PRAGMA wal_checkpoint(RESTART)")
                    holder.run("INSERT INTO message VALUES ('m9', 'ses_a', 2, '{}')")

            monkeypatch.setattr(snapshot, "_copy_file", copy)
            with oc.Database(path) as store:
                assert ids(store) == ["m00000", "m00001", "m8", "m9"]
                assert store.sessions().strays == ()
            assert sum(p.name == "opencode.db" for p in copied) == 2
