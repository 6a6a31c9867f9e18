"""A long Claude Code log: one pass of a JSON decoder, usage, and the whole import, as ratios.

    python benchmarks/claude_code.py [MEGABYTES]

The aim, for 50 MB: usage within 1.5 times one ``orjson.loads`` pass over the log, the
import within five times that pass, and memory below three times the log.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.run import Work, import_sessions

SESSION = "11111111-2222-4333-8444-555555555555"
LINE = "def work(value: int) -> int:  # é\n    return value * 2 + 1\n"


def lines(size: int) -> Iterator[bytes]:
    """Yield the lines of a session of about so many bytes."""
    made = turn = 0
    parent: str | None = None
    common = {"isSidechain": False, "userType": "external", "cwd": "/home/dev/project"}
    common |= {"sessionId": SESSION, "version": "2.1.200", "gitBranch": "main"}

    def line(kind: str, **more: object) -> bytes:
        nonlocal parent, made
        name = str(uuid.UUID(int=made * 7919 + turn + 1))
        at = f"2026-03-{1 + turn // 8000:02d}T{turn // 400 % 20:02d}:{turn // 7 % 60:02d}:00.000Z"
        told = {"parentUuid": parent, **common, "type": kind, "uuid": name, "timestamp": at}
        written = json.dumps({**told, **more}, ensure_ascii=False).encode() + b"\n"
        parent = name
        made += len(written)
        return written

    usage = {"input_tokens": 4, "cache_creation_input_tokens": 900}
    usage |= {"cache_read_input_tokens": 40_000, "output_tokens": 300}
    while made < size:
        turn += 1
        if turn % 9 == 1:
            yield line("user", message={"role": "user", "content": f"Please do step {turn}. " * 8})
        call = f"toolu_{turn}"
        answer = {"id": f"msg_{turn}", "type": "message", "role": "assistant"}
        answer |= {"model": "claude-opus-4-5", "stop_reason": "tool_use", "usage": usage}
        said = {"type": "text", "text": f"I look at file {turn}. " * 10}
        edit = {"file_path": f"/home/dev/project/src/m{turn}.py", "new_string": LINE * 6}
        asked = {"type": "tool_use", "id": call, "name": "Edit", "input": edit}
        yield line("assistant", message={**answer, "content": [said]}, requestId=f"req_{turn}")
        yield line("assistant", message={**answer, "content": [asked]}, requestId=f"req_{turn}")
        result = {"tool_use_id": call, "type": "tool_result", "content": LINE * 30}
        yield line(
            "user",
            message={"role": "user", "content": [result]},
            toolUseResult={"filePath": "m.py", "originalFile": LINE * 40, "structuredPatch": []},
        )


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def decode(path: Path) -> None:
    """Decode each line of a file."""
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)


def convert(root: Path, target: Path) -> None:
    """Import a directory."""
    importer = ClaudeCode()
    report = import_sessions([Work(importer, importer.find([root]))], target)
    assert report.ok, report.more["alarms"]


def peak() -> int:
    """Return the most memory this process ever had, in KiB."""
    told = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in told.splitlines() if line.startswith("VmHWM"))


def main() -> None:
    """Build the log, and print the ratios."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "projects", "-home-dev-project")
        root.mkdir(parents=True)
        path = root / f"{SESSION}.jsonl"
        with path.open("wb") as file:
            file.writelines(lines(size * 1_000_000))
        length = path.stat().st_size
        base = min(timed(lambda: decode(path)) for _ in range(3))
        importer = ClaudeCode()
        (source,) = importer.find([root])
        counted = min(
            timed(lambda: sum(1 for _ in importer.usage_records(source))) for _ in range(3)
        )
        print(f"{length / 1e6:.0f} MB: one pass {base:.2f} s")
        print(f"usage {counted / base:.2f} times, asked for 1.5")
        took = timed(lambda: convert(root, Path(folder, "store")))
        print(f"import {took / base:.2f} times, asked for 5")
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); "
            "import claude_code as c; from pathlib import Path; a = c.peak(); "
            "c.convert(Path(sys.argv[2]), Path(sys.argv[3])); print(c.peak() - a)"
        )
        here = str(Path(__file__).parent)
        command = [sys.executable, "-c", code, here, str(root), str(Path(folder, "again"))]
        grown = int(subprocess.run(command, check=True, capture_output=True).stdout) * 1024
        print(f"memory {grown / length:.2f} times, asked for 3")


if __name__ == "__main__":
    main()
