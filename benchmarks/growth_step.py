"""One work on one input, in a process of its own: its processor time, and its memory.

    python -m benchmarks.growth_step WORK SMALL INPUT ROOM

SMALL is a small input of the same kind: the work is done on it first, so that what a process
does once is not counted. Prints a JSON list: seconds of processor time, and bytes of peak
memory beyond what the process had before.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import agentsession as ags

Prepared = Callable[[], object]


def read(source: Path, room: Path) -> Prepared:
    """A file to a navigable tree."""
    del room
    return lambda: ags.read(source)


def context(source: Path, room: Path) -> Prepared:
    """The context at the leaf of a session that was read, its items decoded."""
    del room
    session = ags.read(source)
    return lambda: [item.type for item in session.context().items]


def verify(source: Path, room: Path) -> Prepared:
    """Every request of a session that was read, rebuilt and hashed."""
    del room
    session = ags.read(source)

    def work() -> None:
        assert session.verify_all().ok

    return work


def export(source: Path, room: Path) -> Prepared:
    """A file to an ATIF document."""
    from agentsession import export as exporting  # noqa: PLC0415 - each process loads its own

    wanted = exporting.Work(targets=exporting.Targets(directory=room))

    def work() -> None:
        report = exporting.export_session(ags.read(source), wanted)
        assert report.totals["documents"] == 1, report.findings

    return work


def import_(source: Path, room: Path) -> Prepared:
    """A log of Claude Code to a session in a file store."""
    from agentsession.importers.claude_code.importer import ClaudeCode  # noqa: PLC0415
    from agentsession.importers.run import Work, import_sessions  # noqa: PLC0415

    importer = ClaudeCode()

    def work() -> None:
        report = import_sessions([Work(importer, importer.find([source]))], room)
        assert report.ok, report.more["alarms"]

    return work


STEPS: dict[str, Callable[[Path, Path], Prepared]] = {
    "read": read,
    "context": context,
    "verify": verify,
    "export": export,
    "import": import_,
}


def memory(name: str) -> int:
    """Return a size of this process in bytes, as the kernel counts it (Linux only)."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024


def main(name: str, small: str, source: str, room: str) -> None:
    """Do one work and print what it took."""
    STEPS[name](Path(small), Path(room, "small"))()
    gc.collect()
    before = memory("VmRSS")
    work = STEPS[name](Path(source), Path(room, "whole"))
    started = time.process_time()
    kept = work()
    seconds = time.process_time() - started
    print(json.dumps([seconds, memory("VmHWM") - before]))
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:])
