"""``python -m benchmarks [NAME…]``: measure, and say what was reached.

Ends with 1 when a target was not reached, and with 2 when something could not be measured.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    claude_code,
    export,
    growth,
    inputs,
    listing,
    opencode,
    options,
    record,
    stores,
)
from benchmarks.harness import NotMeasured, Report, at_most, command, faster, machine
from benchmarks.options import Asked

_COMPARED = 20_000_000

Benchmark = Callable[[Report, Asked], object]

BENCHMARKS: dict[str, Benchmark] = {
    "startup": lambda report, asked: startup(report, asked.place),
    "canonical": lambda report, asked: record.canonical(report, asked.place),
    "verify": lambda report, asked: record.verify(report, asked.calls),
    "append": lambda report, asked: stores.append(report, asked.place),
    "listing": lambda report, asked: listing.listing(report, asked.place, asked.sessions),
    "export": lambda report, asked: export.export(report, asked.place, asked.exported),
    "read": lambda report, asked: record.read(report, asked.place, asked.size),
    "memory": lambda report, asked: record.memory(report, asked.place, asked.size),
    "context": lambda report, asked: record.context(
        report, asked.place, min(asked.size, 50_000_000)
    ),
    "opencode": lambda report, asked: opencode.opencode(report, asked.place, *asked.opencode),
    "claude_code": lambda report, asked: claude_code.claude_code(report, asked.place, asked.claude),
    "growth": lambda _report, asked: growth.growth(asked.place, asked.sizes, asked.docs),
}
"""Every benchmark by name, in the order of a whole run."""

ON_DEMAND = frozenset({"growth"})
"""Those that run only when they are named: they have no baseline, and take minutes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks asked for; return 1 when a target was not reached, 2 for no figure."""
    asked = options.asked(arguments, tuple(BENCHMARKS), ON_DEMAND)
    report = Report()
    print(machine())
    try:
        for name in asked.names:
            BENCHMARKS[name](report, asked)
        if asked.versus:
            versus(report, asked.place, asked.versus)
    except NotMeasured as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return 2
    return int(any(row.reached is False for row in report.rows))


def startup(report: Report, place: Path) -> None:
    """Starting the command, against loading what it cannot do without."""
    small = inputs.session_file(place / "small.jsonl", 20_000)
    python = sys.executable
    bare = command([python, "-c", "import msgspec"])
    ours = [python, "-m", "agentsession"]
    for name, words, limit in (
        ("agentsession --help", ["--help"], 3),
        ("agentsession show FILE | …", ["show", str(small)], 4),
    ):
        row = at_most(
            name, "python -c 'import msgspec'", limit, bare, command([*ours, *words]), rounds=9
        )
        report.add(row)


def versus(report: Report, place: Path, other: Sequence[str]) -> None:
    """``agentsession verify`` of a file against another command, whole processes."""
    path = inputs.session_file(place / f"mixed-{_COMPARED}.jsonl", _COMPARED)
    words = [word.replace("{file}", str(path)) for word in other]
    ours = command([sys.executable, "-m", "agentsession", "verify", str(path)])
    name = "agentsession verify, whole process"
    report.add(faster(name, shlex.join(other), 1, command(words), ours, rounds=5))


if __name__ == "__main__":
    raise SystemExit(main())
