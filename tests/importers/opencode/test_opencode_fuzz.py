"""Stores of nonsense: nothing is raised, and every record still comes out once."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession.importers import opencode as oc

if TYPE_CHECKING:
    from agentsession.importers.opencode.store import Store

SCHEMA = """
CREATE TABLE session (id, title, revert, model, time_created, time_updated);
CREATE TABLE session_v2 (id, title, fork_session_id, fork_boundary);
CREATE TABLE message (id PRIMARY KEY, session_id, time_created, data);
CREATE TABLE part (id, message_id, session_id, data);
CREATE TABLE session_message (id, session_id, type, seq, data);
CREATE TABLE session_inbox (id, session_id, type, payload, enqueued_seq);
CREATE TABLE kv (key, value);
CREATE TABLE project (id, worktree);
"""
WIDTHS = {
    "session": 6,
    "session_v2": 4,
    "message": 4,
    "part": 4,
    "session_message": 5,
    "session_inbox": 5,
    "kv": 2,
    "project": 2,
}
RECORDS = set(WIDTHS) - {"kv", "project"}
KINDS = {"session", "message", "part", "row", "queue"}

ids = st.sampled_from(["ses_a", "ses_b", "ses_c", "msg_1", "msg_2", "x", ""])
texts = st.sampled_from(
    [
        "{}",
        '{"role":"user","time":{"created":1}}',
        '{"type":"tool","state":{"status":"completed","time":3}}',
        '{"time":[],"tokens":{"cache":"no"},"content":[1,null,{"type":"tool"}]}',
        '{"messageID":"msg_1"}',
        '{"a":1e999}',
        "null",
        "[]",
        '{"cut":',
        "",
        "\\0",
    ]
)
cells = (
    ids | texts | st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=5)
)


@st.composite
def database(draw: st.DrawFn) -> list[tuple[str, list[object]]]:
    rows: list[tuple[str, list[object]]] = []
    for table in draw(st.lists(st.sampled_from(sorted(WIDTHS)), max_size=14)):
        # Mostly the ids are ids, so that things meet.
        first: list[object] = [draw(ids if draw(st.booleans()) else cells)]
        second: list[object] = [draw(ids if draw(st.integers(0, 3)) else cells)]
        rest: list[object] = [draw(cells) for _ in range(WIDTHS[table] - 2)]
        rows.append((table, first + second + rest))
    return rows


def ask(store: Store) -> int:
    """Return how many records a store hands out, asking it everything."""
    sessions, strays = store.sessions()
    total = len(sessions)
    for session in sessions:
        session.staged_revert()
        session.fork()
        assert session.encode() or session.problem
        store.project(session.project_id)
        messages = store.messages(session)
        for message in messages.messages:
            total += 1 + len(message.parts)
            if message.info is not None:
                message.info.encode()
            for part in message.parts:
                if part.part is not None:
                    assert part.part.encode()
                    if part.part.state is not None:
                        part.part.state.compacted()
                        part.part.state.task()
        rows = store.rows(session)
        total += len(rows.rows) + len(rows.queue)
        for row in rows.rows:
            if row.data is not None:
                [c.tool() for c in row.data.contents() if c is not None]
        assert all(q.encode() for q in rows.queue)
        strays += messages.strays + rows.strays
        assert oc.strays_of([*messages.messages, *rows.rows, *rows.queue]) is not None
    strays += store.orphans({s.id for s in sessions})
    store.migration_done()
    store.others()
    return total + sum(s.kind in KINDS for s in strays)


@given(database())
@settings(max_examples=100, deadline=None)
def test_a_database_of_nonsense(rows: list[tuple[str, list[object]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("PRAGMA synchronous = OFF;" + SCHEMA)
            for table, values in rows:
                marks = ", ".join("?" for _ in values)
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
            connection.commit()
            stored = sum(
                connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in RECORDS
            )
        # What was written just now is waited for; this was written long ago.
        os.utime(path, (1_700_000_000, 1_700_000_000))
        with oc.Database(path) as store:
            assert ask(store) == store.units() == stored


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["session", "message", "part"]), ids, ids), texts, max_size=14
    )
)
@settings(max_examples=60, deadline=None)
def test_a_tree_of_nonsense(records: dict[tuple[str, str, str], str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for (kind, outer, inner), text in records.items():
            path = Path(folder) / "storage" / kind / (outer or "_") / f"{inner or '_'}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        tree = oc.Tree(folder)
        assert ask(tree) == len(records) == tree.units()
