"""Timing by pairs: the baseline and ours take turns, and each pair gives one ratio.

Machines are noisy; a pair sees the same noise, and the spread over the pairs is shown.
"""

from __future__ import annotations

import gc
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Work = Callable[[], object]


class NotMeasured(Exception):
    """What was to be measured could not be done; one sentence says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report.

    Attributes:
        name: what was measured.
        baseline: what it was measured against.
        target: what the ratio is to reach, as text.
        ratios: one number a pair.
        reached: whether the median reaches the target; ``None`` when there is none.
    """

    name: str
    baseline: str
    target: str
    ratios: tuple[float, ...]
    reached: bool | None

    def __str__(self) -> str:
        low, middle, high = min(self.ratios), statistics.median(self.ratios), max(self.ratios)
        verdict = {True: "ok", False: "NOT REACHED", None: ""}[self.reached]
        return (
            f"{self.name:<34} {low:>8.2f} {middle:>8.2f} {high:>8.2f}  {self.target:<10} "
            f"{verdict:<12} {self.baseline}"
        )


HEADING = f"{'work':<34} {'min':>8} {'median':>8} {'max':>8}  {'target':<10} {'':<12} baseline"


@dataclass(slots=True)
class Report:
    """The rows of a run, printed as they come."""

    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Keep a row and print it."""
        if not self.rows:
            print(HEADING, flush=True)
        self.rows.append(row)
        print(row, flush=True)


def seconds(work: Work) -> float:
    """Return the seconds one call takes, garbage of earlier calls collected first."""
    gc.collect()
    start = time.perf_counter()
    kept = work()
    taken = time.perf_counter() - start
    del kept
    return taken


def pairs(baseline: Work, ours: Work, rounds: int) -> list[tuple[float, float]]:
    """Return the seconds of each, by turns, after one unmeasured turn."""
    seconds(baseline)
    seconds(ours)
    found = []
    for turn in range(rounds):
        if turn % 2:
            mine = seconds(ours)
            theirs = seconds(baseline)
        else:
            theirs = seconds(baseline)
            mine = seconds(ours)
        found.append((theirs, mine))
    return found


def at_most(
    name: str, baseline_name: str, limit: float, baseline: Work, ours: Work, rounds: int = 7
) -> Row:
    """Return the row of work that may take at most ``limit`` times its baseline."""
    ratios = tuple(mine / theirs for theirs, mine in pairs(baseline, ours, rounds))
    return Row(name, baseline_name, f"<= {limit:g}x", ratios, statistics.median(ratios) <= limit)


def faster(
    name: str, baseline_name: str, factor: float, baseline: Work, ours: Work, rounds: int = 7
) -> Row:
    """Return the row of work that is to be ``factor`` times faster than its baseline."""
    ratios = tuple(theirs / mine for theirs, mine in pairs(baseline, ours, rounds))
    return Row(name, baseline_name, f">= {factor:g}x", ratios, statistics.median(ratios) >= factor)


def command(argv: Sequence[str]) -> Work:
    """Return the work of running a command to its end, its output read through a pipe.

    Raises (the work):
        NotMeasured: when it cannot be started or fails: the time of that says nothing.
    """

    def run() -> None:
        output_of(argv)

    return run


def _as_installed() -> dict[str, str]:
    """The environment of a command whose bytecode is kept, as that of what is installed is."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def output_of(argv: Sequence[str], *, cwd: Path | None = None) -> str:
    """Return what a command prints, read through a pipe to its end.

    Raises:
        NotMeasured: when it cannot be started or fails.
    """
    try:
        done = subprocess.run(argv, capture_output=True, check=False, cwd=cwd, env=_as_installed())
    except OSError as error:
        raise NotMeasured(f"{shlex.join(argv)} cannot be started: {error.strerror}") from error
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = f": {told[-1]}" if told else ""
        raise NotMeasured(f"{shlex.join(argv)} failed with exit code {done.returncode}{reason}")
    return done.stdout.decode("utf-8", "replace")


def peak_bytes(code: str) -> int:
    """Return the peak resident memory of a fresh Python that runs ``code``, in bytes.

    Linux only: what ``getrusage`` gives there begins with the peak of the parent process.
    """
    code += (
        "\nfor line in open('/proc/self/status'):\n"
        "    if line.startswith('VmHWM'): print(line.split()[1])"
    )
    return int(output_of([sys.executable, "-c", code]).split()[-1]) * 1024


def machine() -> str:
    """Return one line about the machine: it is part of every figure."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    python = sys.version.split()[0]
    return f"Python {python}, {os.cpu_count()} cores, load {load:.1f} at the start"
