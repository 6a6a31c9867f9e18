"""Appending to stores."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import agentsession as ags
from agentsession.stores import JSONLStore, SQLiteStore, Store, SyncPolicy
from benchmarks import inputs
from benchmarks.harness import Report, Row, Work, at_most


def append(report: Report, place: Path) -> None:
    """Appends to the stores against the bare writes of the same lines.

    The bare work is short; a pair is kept short with it, and there are many, so that the
    machine's other work meets few of them.
    """
    rng = random.Random(5)
    entries = [ags.ItemEntry(inputs.item(rng, 300, n)) for n in range(25)]
    for policy, limit in ((SyncPolicy.NEVER, 12), (SyncPolicy.EVERY_APPEND, 1.3)):
        report.add(_append_to_file(place, entries, policy, limit))
    report.add(_append_to_database(place, entries))


def _sealed(entries: Sequence[ags.Entry]) -> list[ags.Entry]:
    return [entry.sealed("0" * 8, "1" * 8, "2026-03-01T08:15:30.123456789Z") for entry in entries]


def _appending(store: Store, entries: Sequence[ags.Entry]) -> Work:
    session_id = store.create().id

    def work() -> None:
        for entry in entries:
            store.append(session_id, entry)

    return work


def _append_to_file(
    place: Path, entries: Sequence[ags.Entry], policy: SyncPolicy, limit: float
) -> Row:
    sync = policy is SyncPolicy.EVERY_APPEND
    lines = [entry.line + b"\n" for entry in _sealed(entries)]
    file = os.open(place / "bare.jsonl", os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_WRONLY)

    def bare() -> None:
        for line in lines:
            os.write(file, line)
            if sync:
                os.fsync(file)

    try:
        with JSONLStore(place / f"append-{policy.value}", sync=policy) as store:
            return at_most(
                "append to a file store, " + ("fsync each" if sync else "no fsync"),
                "write()" + (" + fsync()" if sync else ""),
                limit,
                bare,
                _appending(store, entries),
                rounds=41 if sync else 201,
            )
    finally:
        os.close(file)


def _append_to_database(place: Path, entries: Sequence[ags.Entry]) -> Row:
    """Three statements in one transaction: the heartbeat, the entry, the session's row."""
    for path in place.glob("append-*.db*"):
        path.unlink()
    with SQLiteStore(place / "append-bare.db") as store:
        session = store.create()
    rng = random.Random(6)
    seqs = itertools.count(1)
    rows = [(entry.parent, entry.type, entry.line) for entry in _sealed(entries)]
    connection = sqlite3.connect(place / "append-bare.db", isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(
        "INSERT INTO holders VALUES (?, 1, 'host', 'token', 'then', 'now')", (session.id,)
    )

    def bare() -> None:
        for parent, entry_type, line in rows:
            seq = next(seqs)
            # A time that is not new would leave pages unchanged, which are then not written.
            now = f"2026-03-01T08:15:30.{seq:09}Z"
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "UPDATE holders SET heartbeat = ? WHERE session_id = ? AND token = ?",
                (now, session.id, "token"),
            )
            connection.execute(
                "INSERT INTO entries (session_id, seq, id, parent, type, line) "
                "VALUES (?, ?, ?, ?, ?, CAST(? AS TEXT))",
                (session.id, seq, f"{rng.getrandbits(64):016x}", parent, entry_type, line),
            )
            connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, session.id))
            connection.execute("COMMIT")

    with contextlib.closing(connection), SQLiteStore(place / "append-ours.db") as store:
        return at_most(
            "append to a SQLite store",
            "its three statements, bare",
            1.5,
            bare,
            _appending(store, entries),
            rounds=101,
        )
