"""Convert a database of many sessions: how fast, and in how much memory.

    python benchmarks/opencode.py [SESSIONS] [PARTS_PER_SESSION]

The database is made by this script, in the shape of 1.18. The aim is 2,000 sessions and
400,000 parts with memory bounded by the largest session.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from agentsession.importers.opencode import convert

START = 1_796_070_000_000
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text,
  directory text, title text, version text, revert text, permission text,
  time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
  time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text,
  time_created integer, time_updated integer, data text);
CREATE INDEX message_session ON message (session_id);
CREATE INDEX part_message ON part (message_id);
CREATE INDEX part_session ON part (session_id);
"""


def messages(parts: int) -> Iterator[tuple[dict[str, object], list[dict[str, object]]]]:
    """Yield a session's messages with their parts: turns of four steps."""
    model = {"providerID": "p", "modelID": "m"}
    tokens = {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    made = 0
    while made < parts:
        yield {"role": "user", "agent": "build", "model": model}, [{"type": "text", "text": "Go"}]
        made += 1
        for step in range(4):
            last = step == 3
            told: dict[str, object] = {
                "parentID": "",
                "role": "assistant",
                "mode": "build",
                "agent": "build",
                "path": {"cwd": "/home/dev", "root": "/home/dev"},
                "cost": 0.001,
                "tokens": tokens,
                "modelID": "m",
                "providerID": "p",
                "finish": "stop" if last else "tool-calls",
            }
            state = {
                "status": "completed",
                "input": {"command": "ls -la"},
                "output": "a line of output\n" * 40,
                "title": "ls",
                "metadata": {"exit": 0},
                "time": {"start": START, "end": START + 5},
            }
            held: list[dict[str, object]] = [
                {"snapshot": "0" * 40, "type": "step-start"},
                {"type": "text", "text": "I look at the next thing. " * 8},
                {"reason": "stop", "type": "step-finish", "tokens": tokens, "cost": 0.001},
            ]
            if not last:
                call = {"type": "tool", "tool": "bash", "callID": f"call_{made}", "state": state}
                held.insert(2, call)
            made += len(held)
            yield told, held


def build(path: Path, sessions: int, parts: int) -> int:
    """Write the database; return how many parts it holds."""
    total = 0
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        for number in range(sessions):
            at = START + number * 1_000_000
            name = f"ses_{number:012x}00000000000000"
            row = (name, "global", None, "s", "/home/dev", f"Session {number}", "1.18.33")
            database.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?)",
                (*row, at, at),
            )
            for info, held in messages(parts):
                at += 1000
                key = f"msg_{at & 0xFFFFFFFFFFFF:012x}{number:014d}"
                data = json.dumps({**info, "time": {"created": at, "completed": at + 900}})
                database.execute(
                    "INSERT INTO message VALUES (?, ?, ?, ?, ?)", (key, name, at, at, data)
                )
                for place, part in enumerate(held):
                    part_key = f"prt_{at & 0xFFFFFFFFFFFF:012x}{place:04d}{number:010d}"
                    database.execute(
                        "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)",
                        (part_key, key, name, at, at, json.dumps(part)),
                    )
                    total += 1
    return total


def main() -> None:
    """Build, convert, and print the figures."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    parts = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "opencode.db")
        held = build(path, sessions, parts)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        entries = 0
        first = 0
        with convert.Source(path) as source:
            for number, summary in enumerate(source.summaries()):
                entries += len(convert.convert(source, summary.id).session)
                if number == 9:
                    first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        took = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{sessions} sessions, {held} parts, {path.stat().st_size / 1e6:.0f} MB")
        print(f"{entries} entries in {took:.1f} s, {held / took:.0f} parts/s")
        print(
            f"peak memory {before / 1024:.0f} MB before, {first / 1024:.0f} MB after ten "
            f"sessions, {after / 1024:.0f} MB at the end"
        )


if __name__ == "__main__":
    main()
