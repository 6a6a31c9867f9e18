from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from agentsession import text
from agentsession.importers import opencode as oc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

V1 = """
CREATE TABLE {p}session (id TEXT PRIMARY KEY, title TEXT, summary_diffs TEXT, time_created);
CREATE TABLE {p}message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE {p}part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
"""
V2 = """
CREATE TABLE {p}session_v2 (id TEXT PRIMARY KEY, title TEXT);
CREATE TABLE {p}session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER,
  data TEXT);
"""
ALL = [
    "1.15.13-inputs",
    "1.18.33-extras",
    "1.18.34-v2preview",
    "1.2.1-migrated",
    "2.0-constructed-compaction",
    "2.0-constructed-migrated",
    "2.0-constructed-rows",
]
KINDS = {
    "session": ("session", "session_v2"),
    "message": ("message",),
    "part": ("part",),
    "row": ("session_message",),
    "queue": ("session_input", "session_inbox", "session_pending"),
}


def build(path: Path, schema: str, rows: Iterable[tuple[str, tuple[Any, ...]]]) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for table, values in rows:
            marks = ", ".join("?" for _ in values)
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
        connection.commit()
    return path


def stored(path: Path) -> dict[str, int]:
    """Count the rows that are there, by kind of record."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        there = {n for (n,) in connection.execute("SELECT name FROM sqlite_master")}
        return {
            kind: sum(
                connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
                for t in tables
                if t in there
            )
            for kind, tables in KINDS.items()
        }


def units(store: oc.Store) -> list[str]:
    """Name every record a store hands out, in whatever way."""
    sessions, strays = store.sessions()
    found = [s.unit for s in sessions]
    for session in sessions:
        messages = store.messages(session)
        found += [m.unit for m in messages.messages]
        found += [p.unit for m in messages.messages for p in m.parts]
        rows = store.rows(session)
        found += [r.unit for r in rows.rows] + [q.unit for q in rows.queue]
        strays += messages.strays + rows.strays
    strays += store.orphans({s.id for s in sessions})
    return found + [s.unit for s in strays if s.kind in KINDS]


class TestRecorded:
    @pytest.mark.parametrize("name", ALL)
    def test_every_record_comes_out_once(self, name: str, recorded: Callable[[str], Path]) -> None:
        root = recorded(name)
        before = (root / "opencode.db").read_bytes()
        with oc.Database(root / "opencode.db") as store:
            found = units(store)
            assert len(found) == len(set(found)) == sum(stored(root / "opencode.db").values())
            assert store.units() == len(found)
        assert (root / "opencode.db").read_bytes() == before
        assert sorted(p.name for p in root.iterdir() if p.is_file()) == ["opencode.db"]

    @pytest.mark.parametrize("name", ALL)
    def test_every_record_is_encoded_as_it_was(
        self, name: str, recorded: Callable[[str], Path]
    ) -> None:
        path = recorded(name) / "opencode.db"
        with (
            oc.Database(path) as store,
            closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as plain,
        ):
            for session in store.sessions().sessions:
                table = "session" if session.generation == oc.G2 else "session_v2"
                row = plain.execute(f"SELECT * FROM {table} WHERE id = ?", (session.id,))
                assert list(text.parse(session.record)) == [c[0] for c in row.description]
                for message in store.messages(session).messages:
                    assert message.info
                    query = "SELECT data FROM message WHERE id = ?"
                    (data,) = plain.execute(query, (message.id,)).fetchone()
                    assert text.equal(message.info.encode(), data.encode())
                    assert not message.info.mistyped
                    for part in message.parts:
                        query = "SELECT data FROM part WHERE id = ?"
                        (data,) = plain.execute(query, (part.id,)).fetchone()
                        assert part.part
                        assert text.equal(part.part.encode(), data.encode())
                        assert (part.part.mistyped, part.part.undeclared) == ((), {})
                for row2 in store.rows(session).rows:
                    assert row2.data
                    query = "SELECT data FROM session_message WHERE id = ?"
                    (data,) = plain.execute(query, (row2.id,)).fetchone()
                    assert text.equal(row2.data.encode(), data.encode())
                    assert oc.is_known_type(row2.type)
                    assert (row2.data.mistyped, row2.data.undeclared) == ((), {})

    def test_a_migrated_database_holds_both_copies(self, recorded: Callable[[str], Path]) -> None:
        with oc.Database(recorded("2.0-constructed-migrated") / "opencode.db") as store:
            sessions = store.sessions().sessions
            assert store.migration_done()
            assert store.migration() == ("completed", "")
            assert [s.generation for s in sessions] == [oc.G2, oc.G2, oc.G3, oc.G3]
            for session in sessions:
                has = (bool(store.messages(session).messages), bool(store.rows(session).rows))
                assert has == (session.generation == oc.G2, session.generation == oc.G3)
            others = store.others()
            assert others["account"] is None
            assert others["event"] == 0
            assert "part" not in others

    def test_switch_markers_without_seq(self, recorded: Callable[[str], Path]) -> None:
        with oc.Database(recorded("1.15.13-inputs") / "opencode.db") as store:
            rows = [r for s in store.sessions().sessions for r in store.rows(s).rows]
            assert {r.type for r in rows} == {oc.TYPE_AGENT_SWITCHED, oc.TYPE_MODEL_SWITCHED}
            assert {r.seq for r in rows} == {None}
            assert not store.migration_done()

    def test_a_session_of_the_preview_engine(self, recorded: Callable[[str], Path]) -> None:
        with oc.Database(recorded("1.18.34-v2preview") / "opencode.db") as store:
            (session,) = store.sessions().sessions
            assert session.generation == oc.G2
            assert session.staged_revert()
            assert store.messages(session).messages == ()
            rows, queue, strays = store.rows(session)
            assert not strays
            seqs = [r.seq or 0 for r in rows]
            assert (len(rows), seqs) == (20, sorted(seqs))
            assert {q.table for q in queue} == {"session_input"}
            assert all(q.promoted is not None and q.type == "user" for q in queue)
            assert queue[0].payload
            assert queue[0].payload.text == "What is in notes.txt?"
            tools = [
                c
                for r in rows
                if r.data
                for c in r.data.contents()
                if c and c.type == oc.CONTENT_TOOL
            ]
            assert {c.provider["executed"] for c in tools} == {False}
            project = store.project(session.project_id)
            assert project
            assert project.worktree == "/home/dev/project"
            assert store.project("none") is None

    def test_v2_rows_queues_and_forks(self, recorded: Callable[[str], Path]) -> None:
        with oc.Database(recorded("2.0-constructed-rows") / "opencode.db") as store:
            sessions = store.sessions().sessions
            types = {r.type for s in sessions for r in store.rows(s).rows}
            assert types >= set(oc.KNOWN_TYPES) - {oc.TYPE_COMPACTION}
            forks = [s.fork() for s in sessions if s.fork()]
            assert [f.type for f in forks if f] == ["before"]
            queued = [q for s in sessions for q in store.rows(s).queue]
            assert [(q.table, q.type) for q in queued] == [
                ("session_pending", "synthetic"),
                ("session_inbox", "user"),
            ]


class TestStrays:
    def test_what_belongs_nowhere(self, tmp_path: Path) -> None:
        path = build(
            tmp_path / "opencode.db",
            (V1 + V2).format(p=""),
            [
                ("session", ("ses_a", "A", None, 1)),
                ("session_v2", ("ses_b", "B")),
                ("message", ("m1", "ses_a", 1, "{}")),
                ("message", ("m2", "ses_x", 1, "{}")),
                ("message", ("m3", None, 1, "{}")),
                ("message", ("m4", b"ses_a", 1, "{}")),
                ("message", ("m5", "ses_b", 1, "{}")),
                ("part", ("p1", "m1", "ses_other", "{}")),
                ("part", ("p2", "m2", "ses_x", "{}")),
                ("part", ("p3", "gone", "ses_a", "{}")),
                ("part", ("p4", "gone", "ses_x", "{}")),
                ("part", ("p5", None, None, "{}")),
                ("part", ("p6", "m4", "ses_a", "{}")),
                ("session_message", ("r1", "ses_a", "user", 1, "{}")),
                ("session_message", ("r2", "ses_b", "user", 1, "{}")),
                ("session_message", ("r3", "ses_x", "user", 1, "{}")),
            ],
        )
        with oc.Database(path) as store:
            v1, v2 = store.sessions().sessions
            read = store.messages(v1)
            assert [(m.id, [p.id for p in m.parts]) for m in read.messages] == [("m1", ["p1"])]
            assert [(s.id, s.why) for s in read.strays] == [("p3", "its message does not exist")]
            # Each session has one copy, so that everything of it belongs to that one.
            assert [m.id for m in store.messages(v2).messages] == ["m5"]
            assert [r.id for r in store.rows(v1).rows] == ["r1"]
            assert [r.id for r in store.rows(v2).rows] == ["r2"]
            orphans = store.orphans({"ses_a", "ses_b"})
            assert sorted((o.kind, o.id, o.session) for o in orphans) == [
                ("message", "m2", "ses_x"),
                ("message", "m3", ""),
                ("message", "m4", ""),
                ("part", "p2", "ses_x"),
                ("part", "p4", "ses_x"),
                ("part", "p5", ""),
                ("part", "p6", ""),
                ("row", "r3", "ses_x"),
            ]
            assert len(units(store)) == len(set(units(store))) == 16

    def test_values_of_other_types(self, tmp_path: Path) -> None:
        path = build(
            tmp_path / "opencode.db",
            V1.format(p="").replace("data TEXT", "data"),
            [
                ("session", ("ses_a", None, "not json", "late")),
                ("message", ("m1", "ses_a", "never", None)),
                ("message", ("m2", "ses_a", 2, 7)),
                ("message", ("m3", "ses_a", 3, b'{"role":"user"}')),
                ("message", ("m4", "ses_a", 4.0, "{} trailing")),
            ],
        )
        with oc.Database(path) as store:
            (session,) = store.sessions().sessions
            assert (session.title, session.created) == ("", None)
            assert json.loads(session.record)["summary_diffs"] == "not json"
            problems = {m.id: m.problem for m in store.messages(session).messages}
            assert problems.pop("m4").startswith("it is not JSON")
            assert problems == {
                "m1": "it is empty",
                "m2": "it is not a JSON object",
                "m3": "",
            }

    def test_text_that_is_not_utf8(self, tmp_path: Path) -> None:
        path = build(
            tmp_path / "opencode.db", V1.format(p=""), [("session", ("ses_a", "A", None, 1))]
        )
        with closing(sqlite3.connect(path)) as connection:
            for id_, data in ((b"m1", b'{"role":"\xff"}'), (b"m\xff", b"{}")):
                connection.execute(
                    "INSERT INTO message VALUES (CAST(? AS TEXT), 'ses_a', 1, CAST(? AS TEXT))",
                    (id_, data),
                )
            connection.execute("INSERT INTO message VALUES ('m3', CAST(x'ff' AS TEXT), 1, '{}')")
            connection.execute(
                "INSERT INTO part VALUES ('p', CAST(x'6dff' AS TEXT), 'ses_a', '{}')"
            )
            connection.commit()
        with oc.Database(path) as store:
            (session,) = store.sessions().sessions
            first, second = store.messages(session).messages
            assert first.info
            assert (first.info.role, first.raw) == ("\ufffd", b'{"role":"\xff"}')
            assert (second.id, [p.id for p in second.parts]) == ("m\ufffd", ["p"])
            assert [o.id for o in store.orphans({"ses_a", "\ufffd"})] == ["m3"]
            strange = oc.decode_session_file("u", "\ud800", "global", b"{}")
            assert store.messages(strange).messages == ()


class TestShapes:
    def test_tables_with_a_prefix(self, tmp_path: Path) -> None:
        path = build(
            tmp_path / "opencode-team.db",
            V1.format(p="oc_") + "CREATE TABLE oc_account (token TEXT); CREATE TABLE more (a);",
            [("oc_session", ("ses_a", "A", None, 1)), ("oc_message", ("m1", "ses_a", 1, "{}"))],
        )
        with oc.Database(path) as store:
            sessions, strays = store.sessions()
            assert not strays
            assert sessions[0].unit == "opencode-team.db:oc_session/ses_a"
            assert [m.id for m in store.messages(sessions[0]).messages] == ["m1"]
            assert store.others() == {"more": 0, "oc_account": None}

    def test_a_column_that_is_missing(self, tmp_path: Path) -> None:
        path = build(
            tmp_path / "opencode.db",
            "CREATE TABLE session (id TEXT); CREATE TABLE message (id TEXT, session_id TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);",
            [("session", ("ses_a",)), ("part", ("p", "m", "{}"))],
        )
        with oc.Database(path) as store:
            sessions, strays = store.sessions()
            assert [s.id for s in sessions] == ["ses_a"]
            assert [(s.kind, s.id, s.why, s.malformed) for s in strays] == [
                ("table", "message", "it has no column data", True)
            ]
            assert store.messages(sessions[0]) == ((), ())
            assert [o.id for o in store.orphans({"ses_a"})] == ["p"]

    def test_a_table_that_is_missing(self, tmp_path: Path) -> None:
        path = build(
            tmp_path / "opencode.db",
            "CREATE TABLE session (id TEXT); CREATE TABLE session_v2 (id TEXT)",
            [("session", ("ses_a",)), ("session", ("ses_a",))],
        )
        with oc.Database(path) as store:
            sessions, strays = store.sessions()
            assert [s.id for s in sessions] == ["ses_a"]
            assert [(s.kind, s.id) for s in strays] == [
                ("session", "ses_a"),
                ("table", "message"),
                ("table", "part"),
                ("table", "session_message"),
            ]

    @pytest.mark.parametrize("content", [b"", b"not a database at all, but a text" * 50])
    def test_a_file_that_is_no_database(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "opencode.db"
        path.write_bytes(content)
        with oc.Database(path) as store:
            assert len(store.sessions().strays) == 1
            assert store.others() == {}
            assert store.units() == 0
            assert not store.migration_done()

    def test_a_path_that_is_no_file(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "gone.db", tmp_path / ("x" * 300), tmp_path / "a\0b"):
            sessions, strays = oc.Database(path).sessions()
            assert sessions == ()
            assert [(s.kind, s.malformed) for s in strays] == [("table", True)]

    def test_other_tables_alone(self, tmp_path: Path) -> None:
        path = build(tmp_path / "other.db", "CREATE TABLE notes (a)", [])
        with oc.Database(path) as store:
            (stray,) = store.sessions().strays
        assert stray.why == "it holds no table of OpenCode's sessions"

    def test_long_records_are_read_again(self, tmp_path: Path) -> None:
        diffs = json.dumps(["x" * 40_000])
        path = build(
            tmp_path / "opencode.db", V1.format(p=""), [("session", ("ses_a", "A", diffs, 1))]
        )
        with oc.Database(path) as store:
            (session,) = store.sessions().sessions
            assert not isinstance(session.source, bytes)
            assert text.parse(session.record)["summary_diffs"] == json.loads(diffs)

    def test_odd_paths(self, tmp_path: Path) -> None:
        folder = tmp_path / "a b?c#d%41 é"
        folder.mkdir()
        path = build(folder / "opencode.db", V1.format(p=""), [("session", ("s", "A", None, 1))])
        with oc.Database(path) as store:
            assert [s.id for s in store.sessions().sessions] == ["s"]
            assert repr(store).startswith("Database(")
