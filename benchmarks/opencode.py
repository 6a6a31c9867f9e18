"""Convert an OpenCode database of many sessions: how fast, and in how much memory.

The database is made here, seeded, in the shape of release 1.18: turns of several steps, in
which a model thinks, speaks and calls tools whose outputs reach the 50 KB that OpenCode keeps.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from agentsession.importers.opencode import convert
from agentsession.importers.opencode.importer import OpenCode
from agentsession.importers.run import Work, import_sessions, jobs_for
from benchmarks import inputs, options
from benchmarks.growth_step import memory
from benchmarks.harness import Report, Row, at_most, output_of

_FEW = 10
_SHARE = 8
_LISTED = 2000
_START = 1_796_070_000_000
_SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text,
  parent_id text, slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL,
  version text NOT NULL, share_url text, summary_additions integer, summary_deletions integer,
  summary_files integer, summary_diffs text, metadata text, cost real DEFAULT 0 NOT NULL,
  revert text, permission text, agent text, model text, time_created integer NOT NULL,
  time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""
_MODEL = {"providerID": "anthropic", "modelID": "claude-sonnet"}
_TOOLS = ("read", "read", "read", "bash", "bash", "bash", "grep", "glob", "edit", "edit", "write")

Data = dict[str, Any]


@dataclass
class _Words:
    """Texts to take from: making each anew would take longer than what is measured."""

    rng: random.Random
    pool: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Most of what tools give back is ASCII, some has other letters, a little emoji too.
        full = [inputs.text(self.rng, 90_000) for _ in range(8)]
        plain = [text.encode("ascii", "ignore").decode() for text in full[:5]]
        letters = [re.sub("[\U00010000-\U0010ffff]", "", text) for text in full[5:7]]
        self.pool = [text[:60_000] for text in (*plain, *letters, *full[7:])]

    def some(self, middle: int, most: int = 48_000) -> str:
        """Return a text; half of them are shorter than ``middle`` characters."""
        size = min(most, max(8, int(self.rng.lognormvariate(0, 1.1) * middle)))
        begin = self.rng.randrange(60_000 - size)
        return self.rng.choice(self.pool)[begin : begin + size]


class _Session:
    """The messages of one session with their parts, in order."""

    def __init__(self, number: int, words: _Words) -> None:
        self.words = words
        self.rng = words.rng
        self.at = _START + number * 40_000_000
        self.number = number
        self.made = 0
        self.id = self._id("ses")

    def _id(self, kind: str) -> str:
        bits = ((self.at << 12) | (self.made & 0xFFF)) & 0xFFFFFFFFFFFF
        return f"{kind}_{bits:012x}{self.rng.getrandbits(64):016x}"[:30]

    def _time(self) -> int:
        self.at += self.rng.randrange(5, 900)
        return self.at

    def messages(self, parts: int) -> Iterator[tuple[str, int, Data, list[tuple[str, Data]]]]:
        """Yield messages until there are as many parts."""
        while self.made < parts:
            asked, name = self._time(), self._id("msg")
            told = {"role": "user", "time": {"created": asked}, "agent": "build", "model": _MODEL}
            said = {"type": "text", "text": self.words.some(180, 6_000)}
            yield name, asked, {**told, "summary": {"diffs": []}}, [self._part(said)]
            steps = self.rng.randrange(3, 10)
            for step in range(steps):
                yield self._step(name, last=step == steps - 1)

    def _part(self, data: Data) -> tuple[str, Data]:
        self.made += 1
        return self._id("prt"), data

    def _step(self, parent: str, *, last: bool) -> tuple[str, int, Data, list[tuple[str, Data]]]:
        began, name, rng = self._time(), self._id("msg"), self.rng
        snapshot = f"{rng.getrandbits(160):040x}"
        parts = [self._part({"snapshot": snapshot, "type": "step-start"})]
        if rng.random() < 0.4:
            parts.append(self._part(self._spoken("reasoning", 400)))
        if last or rng.random() < 0.6:
            parts.append(self._part(self._spoken("text", 250)))
        edited = False
        for _ in range(0 if last else rng.choice((1, 1, 1, 2, 3))):
            tool = rng.choice(_TOOLS)
            edited = edited or tool in {"edit", "write"}
            parts.append(self._part(self._called(tool)))
        finish = "stop" if last else "tool-calls"
        cached, fresh, made = rng.randrange(150_000), rng.randrange(4_000), rng.randrange(900)
        counts = {"total": cached + fresh + made, "input": fresh, "output": made, "reasoning": 0}
        tokens = {**counts, "cache": {"write": 0, "read": cached}}
        cost = round(rng.random() / 10, 7)
        done = {"reason": finish, "snapshot": snapshot, "type": "step-finish"}
        parts.append(self._part({**done, "tokens": tokens, "cost": cost}))
        if edited:
            files = ["/home/dev/project/src/module.py"]
            parts.append(self._part({"type": "patch", "hash": snapshot, "files": files}))
        info = {
            "parentID": parent,
            "role": "assistant",
            "mode": "build",
            "agent": "build",
            "path": {"cwd": "/home/dev/project", "root": "/home/dev/project"},
            "cost": cost,
            "tokens": tokens,
            "modelID": _MODEL["modelID"],
            "providerID": _MODEL["providerID"],
            "time": {"created": began, "completed": self._time()},
            "finish": finish,
        }
        return name, began, info, parts

    def _spoken(self, kind: str, middle: int) -> Data:
        time = {"start": self._time(), "end": self._time()}
        spoken: Data = {"type": kind, "text": self.words.some(middle, 9_000), "time": time}
        if kind == "reasoning":
            secret = f"{self.rng.getrandbits(2400):0600x}"
            spoken["metadata"] = {"anthropic": {"signature": secret}}
        return spoken

    def _called(self, tool: str) -> Data:
        given, output, metadata = self._state(tool)
        state = {
            "status": "completed",
            "input": given,
            "output": output,
            "metadata": metadata,
            "title": f"src/module_{self.made}.py",
            "time": {"start": self._time(), "end": self._time()},
        }
        call_id = f"toolu_{self.rng.getrandbits(96):024x}"
        return {"type": "tool", "tool": tool, "callID": call_id, "state": state}

    def _state(self, tool: str) -> tuple[Data, str, Data]:
        path, some = f"/home/dev/project/src/module_{self.made}.py", self.words.some
        if tool == "read":
            held = some(2_200)
            display = {"type": "file", "path": path, "text": held, "lineStart": 1, "lineEnd": 90}
            told = {"preview": held[:600], "truncated": False, "loaded": [], "display": display}
            output = f"<path>{path}</path>\n<type>file</type>\n<content>\n{held}\n</content>"
            return {"filePath": path}, output, told
        if tool == "bash":
            output = some(700, 30_000)
            given = {"command": some(70, 2_000), "description": "Runs the tests of the module"}
            return given, output, {"output": output, "exit": 0, "truncated": False}
        if tool == "edit":
            old, new = some(260, 8_000), some(300, 8_000)
            given = {"filePath": path, "oldString": old, "newString": new}
            diff = f"Index: {path}\n--- {path}\n+++ {path}\n@@ -1,4 +1,5 @@\n-{old}\n+{new}\n"
            changes = {"file": path, "patch": diff, "additions": 5, "deletions": 4}
            told = {"diagnostics": {}, "diff": diff, "filediff": changes, "truncated": False}
            return given, "Edit applied successfully.", told
        if tool == "write":
            given = {"content": some(1_500, 20_000), "filePath": path}
            told = {"diagnostics": {}, "filepath": path, "exists": False, "truncated": False}
            return given, "Wrote file successfully.", told
        found = some(500, 12_000)
        return {"pattern": "def .*value"}, found, {"count": found.count(" "), "truncated": False}


def database(place: Path, sessions: int, parts: int) -> Path:
    """Write a database of so many sessions with about so many parts each; kept between runs."""
    path = place / f"opencode-{sessions}-{parts}.db"
    if path.exists():
        return path
    beside = path.with_suffix(".tmp")
    beside.unlink(missing_ok=True)
    words = _Words(random.Random(7))
    connection = sqlite3.connect(beside)
    connection.execute("PRAGMA synchronous = OFF")
    connection.executescript(_SCHEMA)
    for number in range(sessions):
        _write(connection, _Session(number, words), parts)
    connection.commit()
    connection.close()
    beside.rename(path)
    return path


def _write(connection: sqlite3.Connection, session: _Session, parts: int) -> None:
    created = session.at
    for name, at, info, held in session.messages(parts):
        row = (name, session.id, at, at, _json(info))
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
        rows = [(one, name, session.id, at, at, _json(data)) for one, data in held]
        connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute(
        "INSERT INTO session (id, project_id, slug, directory, title, version, time_created,"
        " time_updated) VALUES (?, 'global', 'quick-otter', '/home/dev/project', ?, '1.18.33',"
        " ?, ?)",
        (session.id, f"Session {session.number}", created, session.at),
    )


def _json(data: Data) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def decoded(path: Path) -> int:
    """Read every row, and decode its data: what a conversion is measured against."""
    count = 0
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes
    for table in ("message", "part"):
        for row in connection.execute(f"SELECT * FROM {table}"):
            orjson.loads(row[-1])
            count += 1
    connection.close()
    return count


def converted(path: Path) -> int:
    """Convert every session; return how many entries they have."""
    with convert.Source(path) as source:
        return sum(
            len(convert.convert(source, summary.id).session) for summary in source.summaries()
        )


def imported(path: Path) -> None:
    """Convert every session as ``agentsession import --dry-run`` does."""
    importer = OpenCode()
    works = [Work(importer, importer.find([path]))]
    done = import_sessions(works, None, dry_run=True, jobs=jobs_for(works))
    if not done.ok:
        raise AssertionError(done.more["alarms"])


def opencode(report: Report, place: Path, sessions: int = 400, parts: int = 200) -> None:
    """Time the conversion, and see that its memory does not grow with the number of sessions."""
    path = database(place, sessions, parts)
    rounds = 5 if sessions <= 200 else 3
    baseline = f"sqlite3 and orjson.loads of every row ({path.stat().st_size / 1e6:.0f} MB)"
    for name, ours in (
        (f"convert {sessions} OpenCode sessions", lambda: imported(path)),
        ("the same, by one process", lambda: converted(path)),
    ):
        report.add(at_most(name, baseline, 6, lambda: decoded(path), ours, rounds=rounds))
    report.add(_memory(path, sessions))


def _memory(path: Path, sessions: int) -> Row:
    """What all sessions but the first ten add, against what the largest one and a list may take."""
    called = f"peaks(Path({str(path)!r}))"
    code = f"from pathlib import Path; from benchmarks.opencode import *; print(*{called})"
    told = output_of([sys.executable, "-c", code], cwd=Path(__file__).parents[1]).split()
    begun, ended = (int(peak) for peak in told[-2:])
    largest = _largest(path)
    print(
        f"  peak memory of a process: {begun / 1e6:.0f} MB after {min(_FEW, sessions)} sessions, "
        f"{ended / 1e6:.0f} MB after {sessions}; the largest has {largest / 1e6:.2f} MB"
    )
    ratio = (ended - begun) / (_SHARE * largest + _LISTED * sessions)
    name = f"convert {sessions} sessions, memory added"
    baseline = f"{_SHARE} times the largest session, {_LISTED / 1000:g} KB each for their list"
    return Row(name, baseline, "<= 1x", (ratio,), ratio <= 1)


def peaks(path: Path) -> tuple[int, int]:
    """Convert every session; return the peak memory after ten of them and after all, in bytes."""
    begun = 0
    with convert.Source(path) as source:
        for number, summary in enumerate(source.summaries()):
            if number == _FEW:
                begun = memory("VmHWM")
            convert.convert(source, summary.id)
    ended = memory("VmHWM")
    return begun or ended, ended


def _largest(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as found:
        (largest,) = found.execute(
            "SELECT max(size) FROM (SELECT sum(length(CAST(data AS BLOB))) AS size FROM part "
            "GROUP BY session_id)"
        ).fetchone()
    return int(largest)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it alone: ``python -m benchmarks.opencode [SESSIONS] [PARTS] [--place PLACE]``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opencode", description=__doc__)
    parser.add_argument("sessions", type=options.count, nargs="?", default=400)
    parser.add_argument("parts", type=options.count, nargs="?", default=200)
    options.add_place(parser)
    given = parser.parse_args(arguments)
    opencode(Report(), given.place, given.sessions, given.parts)


if __name__ == "__main__":
    main()
