"""Big things: a file of a gigabyte and two million entries, a line of 200 MB, 20,000 sessions.

Each step runs in a process of its own; its seconds, those of them that were its own work,
and its peak memory are printed. What a step gives is checked, so this is a test as well,
of what is too slow for the suite.

    python benchmarks/scale.py [NAME…] [--place DIR]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HEADER = (
    b'{"type":"session","format":"agentsession/0.3","id":"%s","created_at":"2026-%02d-%02dT08:00:00'
    b'.%03dZ","payload":"openresponses/2026-04-24","cwd":"/srv/app%d"}\n'
)
ENTRY = (
    b'{"type":"item","id":"%016x","parent":%s,"ts":"2026-01-01T00:00:00Z","item":{"type":"message",'
    b'"role":"user","content":[{"type":"input_text","text":"%s"}]}}\n'
)


def header(session_id: str, number: int = 0) -> bytes:
    month, day = 1 + number // 28 % 12, 1 + number % 28
    return HEADER % (session_id.encode(), month, day, number % 1000, number % 40)


def lines(count: int, text: bytes) -> Iterator[bytes]:
    parent = b"null"
    for n in range(1, count + 1):
        yield ENTRY % (n, parent, text)
        parent = b'"%016x"' % n


def long_file(path: Path, entries: int, size: int) -> None:
    text = b"x" * max(1, size // entries - 200)
    with path.open("wb") as file:
        file.write(header("s"))
        file.writelines(lines(entries, text))


def long_line(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(header("s"))
        file.writelines(lines(1, b"y" * size))


def many_files(root: Path, count: int) -> None:
    for n in range(count):
        session_id = f"s{n:06}"
        month, day = 1 + n // 28 % 12, 1 + n % 28
        stamp = f"2026-{month:02}-{day:02}T08-00-00.{n % 1000:03}Z"
        project = root / f"srv-app{n % 40}"
        project.mkdir(parents=True, exist_ok=True)
        with (project / f"{stamp}_{session_id}.jsonl").open("wb") as file:
            file.write(header(session_id, n))
            file.writelines(lines(3, b"hello"))


PREAMBLE = """
import json, sys, time
from pathlib import Path
import agentsession as ags
from agentsession.following import Follower
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, ListFilter, SQLiteStore, Summary
place = Path(sys.argv[1])
n = int(sys.argv[2])
"""
EPILOGUE = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
try:
    # What the kernel counts since this program was started, and not since it was forked.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
except (OSError, IndexError):
    pass
print(json.dumps([used.ru_utime + used.ru_stime, peak]))
"""

FILE_STEPS = {
    "import alone": "",
    "read": """
session = ags.read(place / "s.jsonl")
assert len(session) == n
""",
    "read, context at the leaf": """
session = ags.read(place / "s.jsonl")
assert len(session.context().items) == n
""",
    "open in a file store, append": """
with JSONLStore(place / "root") as store:
    store.append("s", InfoEntry("later"))
    assert len(store.open("s")) == n + 1
""",
    "list with names": """
with JSONLStore(place / "root", read_only=True) as store:
    (found,) = store.list(ListFilter(with_names=True))
assert found.name == "later"
""",
    "follow from the start": """
with Follower(place / "s.jsonl") as follower:
    count = 0
    while found := follower.poll():
        count += len(found)
assert count == n
""",
    "salvage": """
from agentsession.recovery import salvage
assert len(salvage(place / "s.jsonl").session) == n
""",
    "copy to SQLite, append": """
with SQLiteStore(place / "s.db") as store:
    store.put(ags.read(place / "s.jsonl"))
    store.append("s", InfoEntry("later"))
""",
    "open in SQLite": """
with SQLiteStore(place / "s.db", read_only=True) as store:
    assert len(store.open("s")) == n + 1
""",
    "list in SQLite": """
with SQLiteStore(place / "s.db", read_only=True) as store:
    (found,) = store.list()
assert found.name == "later"
""",
}

MANY_STEPS = {
    "import alone": "",
    "list": """
with JSONLStore(place / "root") as store:
    assert len(list(store.list())) == n
""",
    "list the newest ten": """
with JSONLStore(place / "root") as store:
    assert len(list(store.list(ListFilter(limit=10)))) == 10
""",
    "list with names": """
with JSONLStore(place / "root") as store:
    assert len(list(store.list(ListFilter(with_names=True)))) == n
""",
    "open one by id, append": """
with JSONLStore(place / "root") as store:
    store.append(f"s{n - 1:06}", InfoEntry("x"))
""",
    "create a new one": """
with JSONLStore(place / "root") as store:
    store.delete(store.create().id)
""",
    "copy all to SQLite": """
from agentsession.stores.copying import copy_sessions
with JSONLStore(place / "root", read_only=True) as source, SQLiteStore(place / "s.db") as target:
    assert sum(copied.ok for copied in copy_sessions(source, target)) == n
""",
    "list in SQLite": """
with SQLiteStore(place / "s.db") as store:
    assert len(list(store.list())) == n
""",
    "list the newest ten in SQLite": """
with SQLiteStore(place / "s.db") as store:
    assert len(list(store.list(ListFilter(limit=10)))) == 10
""",
    "open one in SQLite, append": """
with SQLiteStore(place / "s.db") as store:
    store.append(f"s{n - 1:06}", InfoEntry("x"))
""",
}


def run(title: str, steps: dict[str, str], place: Path, count: int, only: str) -> bool:
    print(f"\n{title}\n{'step':<34} {'seconds':>8} {'CPU s':>8} {'peak MB':>8}")
    fine = True
    for name, code in steps.items():
        if only not in name:
            continue
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + code + EPILOGUE, str(place), str(count)],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - started
        if done.returncode:
            fine = False
            why = (done.stderr.splitlines() or [f"exit code {done.returncode}"])[-1]
            print(f"{name:<34} FAILED: {why}", flush=True)
            continue
        cpu, peak = json.loads(done.stdout.splitlines()[-1])
        print(f"{name:<34} {seconds:>8.1f} {cpu:>8.1f} {peak / 1e6:>8.0f}", flush=True)
    return fine


def big_file(place: Path, make: Callable[[Path], None], title: str, count: int, only: str) -> bool:
    path = place / "s.jsonl"
    make(path)
    project = place / "root" / "srv-app0"
    project.mkdir(parents=True)
    shutil.copyfile(path, project / "2026-01-01T08-00-00.000Z_s.jsonl")
    return run(f"{title}: {path.stat().st_size / 1e6:.0f} MB", FILE_STEPS, place, count, only)


def entries(place: Path, options: argparse.Namespace) -> bool:
    count, size = options.entries, options.size
    return big_file(
        place,
        lambda path: long_file(path, count, size),
        f"a file of {count} entries",
        count,
        options.only,
    )


def line(place: Path, options: argparse.Namespace) -> bool:
    size = options.line
    return big_file(
        place, lambda path: long_line(path, size), f"a line of {size} bytes", 1, options.only
    )


def sessions(place: Path, options: argparse.Namespace) -> bool:
    many_files(place / "root", options.sessions)
    return run(f"{options.sessions} sessions", MANY_STEPS, place, options.sessions, options.only)


PARTS = {"entries": entries, "line": line, "sessions": sessions}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", choices=[*PARTS, []], help="which; all by default")
    parser.add_argument("--place", type=Path, default=None, help="where to make the inputs")
    parser.add_argument("--entries", type=int, default=2_000_000)
    parser.add_argument("--size", type=int, default=1_000_000_000, help="bytes of the entries")
    parser.add_argument("--line", type=int, default=200_000_000, help="bytes of the line")
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--only", default="", help="steps whose name has this in it")
    options = parser.parse_args()
    fine = True
    for name in options.names or PARTS:
        with tempfile.TemporaryDirectory(dir=options.place) as place:
            fine = PARTS[name](Path(place), options) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
