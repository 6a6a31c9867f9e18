"""Exporting a store to ATIF with two processes, against one: whole processes."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from benchmarks import agent_sessions
from benchmarks.harness import Report, Row, Work, command, faster

_SIZE = 60_000


def export(report: Report, place: Path, sessions: int) -> None:
    """``agentsession export --jobs 2`` against ``--jobs 1``, and what the second one costs."""
    if os.getloadavg()[0] > 1:
        print(
            f"note: the load is {os.getloadavg()[0]:.1f}; two processes need two free cores, "
            "so the ratio below is lower than this code's"
        )
    root = agent_sessions.store(place / f"export-{sessions}", sessions, _SIZE)
    one, two = (_exporting(root, place / f"exported-{jobs}", jobs) for jobs in (1, 2))
    name = f"export {sessions} sessions, --jobs 2"
    report.add(faster(name, "--jobs 1", 1.5, one, two, rounds=3))
    ratio = _processor_seconds(two) / _processor_seconds(one)
    report.add(Row(f"export {sessions} sessions, CPU time", "that of --jobs 1", "", (ratio,), None))


def _exporting(root: Path, target: Path, jobs: int) -> Work:
    ours = [sys.executable, "-m", "agentsession", "export", str(root), "--out", str(target)]
    return command([*ours, "--jobs", str(jobs)])


def _processor_seconds(work: Work) -> float:
    """The seconds of processor time that a command and the processes it starts take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
