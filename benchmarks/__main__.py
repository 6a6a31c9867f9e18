"""``python -m benchmarks [NAME…]``: measure, and say what was reached.

``--vs COMMAND`` times whole processes of ``agentsession verify`` on a file against
another command over the same file (``{file}`` in it is replaced).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import inputs
from benchmarks.harness import Report, at_most, command, faster, machine


def main() -> int:
    """Run the benchmarks asked for; return 1 when a target was not reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="which to run; all when none is named")
    parser.add_argument(
        "--place",
        type=Path,
        default=Path("/tmp/agentsession-benchmarks"),
        help="where the inputs are made and kept",
    )
    parser.add_argument("--size", type=int, default=200_000_000, help="bytes of the big file")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions of the listing")
    parser.add_argument("--vs", help="another command to time agentsession verify against")
    options = parser.parse_args()
    options.place.mkdir(parents=True, exist_ok=True)
    report = Report()
    works = _works(report, options)
    unknown = set(options.names) - works.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(works)}")
    print(machine())
    for name in options.names or works:
        works[name]()
    if options.vs:
        _versus(report, options.place, options.vs)
    return int(any(row.reached is False for row in report.rows))


def _works(report: Report, options: argparse.Namespace) -> dict[str, Callable[[], None]]:
    from benchmarks import record, stores  # noqa: PLC0415

    place, size = options.place, options.size
    return {
        "startup": lambda: _startup(report, place),
        "canonical": lambda: record.canonical(report, place),
        "verify": lambda: record.verify(report),
        "append": lambda: stores.append(report, place),
        "listing": lambda: stores.listing(report, place, options.sessions),
        "read": lambda: record.read(report, place, size),
        "memory": lambda: record.memory(report, place, size),
        "context": lambda: record.context(report, place, min(size, 50_000_000)),
    }


def _startup(report: Report, place: Path) -> None:
    small = inputs.session_file(place / "small.jsonl", 20_000)
    python = sys.executable
    bare = command([python, "-c", "import msgspec"])
    ours = [python, "-m", "agentsession"]
    report.add(
        at_most(
            "agentsession --help",
            "python -c 'import msgspec'",
            3,
            bare,
            command([*ours, "--help"]),
            rounds=9,
        )
    )
    report.add(
        at_most(
            "agentsession show FILE | …",
            "python -c 'import msgspec'",
            4,
            bare,
            command([*ours, "show", str(small)]),
            rounds=9,
        )
    )


def _versus(report: Report, place: Path, other: str) -> None:
    path = inputs.session_file(place / "mixed-20000000.jsonl", 20_000_000)
    words = [word.replace("{file}", str(path)) for word in shlex.split(other)]
    ours = command([sys.executable, "-m", "agentsession", "verify", str(path)])
    report.add(
        faster("agentsession verify, whole process", other, 1, command(words), ours, rounds=5)
    )


if __name__ == "__main__":
    raise SystemExit(main())
