"""``python -m benchmarks [NAME…]``: measure, and say what was reached.

``--vs COMMAND`` times whole processes of ``agentsession verify`` on a file against
another command over the same file (``{file}`` in it is replaced).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import claude_code, export, growth, inputs, listing, opencode, record, stores
from benchmarks.harness import Report, at_most, command, faster, machine


@dataclass(frozen=True, slots=True)
class Asked:
    """How big the inputs are, and where they are made.

    Attributes:
        place: where inputs are made and kept.
        size: bytes of the big file.
        sessions: sessions of the store that is listed.
        exported: sessions of the store that is exported.
        opencode: sessions of the OpenCode database, and parts of each.
        claude: bytes of the Claude Code log.
        sizes: megabytes of the inputs of ``growth``.
        docs: where ``growth`` puts its table and plots; ``None`` for nowhere.
    """

    place: Path
    size: int
    sessions: int
    exported: int
    opencode: tuple[int, int]
    claude: int
    sizes: tuple[float, ...]
    docs: Path | None


Benchmark = Callable[[Report, Asked], object]

BENCHMARKS: dict[str, Benchmark] = {
    "startup": lambda report, asked: startup(report, asked.place),
    "canonical": lambda report, asked: record.canonical(report, asked.place),
    "verify": lambda report, _asked: record.verify(report),
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
    """Run the benchmarks asked for; return 1 when a target was not reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run: {', '.join(BENCHMARKS)}")
    parser.add_argument(
        "--place",
        type=Path,
        default=Path("/tmp/agentsession-benchmarks"),
        help="where the inputs are made and kept",
    )
    parser.add_argument("--size", type=int, default=200_000_000, help="bytes of the big file")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions of the listing")
    parser.add_argument("--exported", type=int, default=1000, help="sessions of the export")
    parser.add_argument(
        "--opencode", default="60x200", help="OpenCode's sessions x parts; 2000x200 is the aim's"
    )
    parser.add_argument("--claude", type=int, default=50_000_000, help="bytes of Claude's log")
    parser.add_argument("--sizes", default="1,10", help="megabytes of growth, with commas")
    parser.add_argument("--docs", type=Path, help="put the table and plots of growth there")
    parser.add_argument("--vs", help="another command to time agentsession verify against")
    options = parser.parse_args(arguments)
    names = options.names or [name for name in BENCHMARKS if name not in ON_DEMAND]
    unknown = set(names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(BENCHMARKS)}")
    asked = _asked(options)
    asked.place.mkdir(parents=True, exist_ok=True)
    report = Report()
    print(machine())
    for name in names:
        BENCHMARKS[name](report, asked)
    if options.vs:
        _versus(report, asked.place, options.vs)
    return int(any(row.reached is False for row in report.rows))


def _asked(options: argparse.Namespace) -> Asked:
    sessions, _, parts = options.opencode.partition("x")
    return Asked(
        place=options.place.absolute(),
        size=options.size,
        sessions=options.sessions,
        exported=options.exported,
        opencode=(int(sessions), int(parts or 200)),
        claude=options.claude,
        sizes=tuple(float(size) for size in options.sizes.split(",")),
        docs=options.docs,
    )


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


def _versus(report: Report, place: Path, other: str) -> None:
    path = inputs.session_file(place / "mixed-20000000.jsonl", 20_000_000)
    words = [word.replace("{file}", str(path)) for word in shlex.split(other)]
    ours = command([sys.executable, "-m", "agentsession", "verify", str(path)])
    report.add(
        faster("agentsession verify, whole process", other, 1, command(words), ours, rounds=5)
    )


if __name__ == "__main__":
    raise SystemExit(main())
