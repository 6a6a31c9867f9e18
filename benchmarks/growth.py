"""Cost as work grows: time and memory by the size of the input, as a table and as plots.

Each figure comes from a process of its own. ``--docs DIR`` puts the table between its marks
in ``DIR/performance.md`` and the plots in ``DIR/performance``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import agent_sessions
from benchmarks.claude_log import claude_log
from benchmarks.growth_step import STEPS
from benchmarks.harness import machine, output_of

_MEGABYTE = 1_000_000
_BEGIN = "<!-- growth: begin, written by python -m benchmarks growth --docs docs -->"
_END = "<!-- growth: end -->"
_HERE = Path(__file__).parents[1]
_SMALL = 50_000
_PAGE = 4096
_RUNS = 3
_LONG = 3.0

WHAT = {
    "read": "read a file to a navigable tree",
    "context": "context at the leaf, items decoded",
    "verify": "rebuild and hash every request",
    "export": "export a file to ATIF",
    "import": "import a Claude Code log",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one work took on one input.

    Attributes:
        size: bytes of the input.
        seconds: of processor time, the least of the runs.
        memory: bytes beyond what the process had before, the least of the runs.
    """

    size: int
    seconds: float
    memory: int


Costs = dict[str, list[Cost]]
"""By work, in the order of the sizes."""


def growth(place: Path, megabytes: Sequence[float], docs: Path | None) -> Costs:
    """Measure every work at every size, print the table, and put it into the docs if asked."""
    where = machine()
    found: Costs = {name: [] for name in STEPS}
    for number in megabytes:
        for name, costs in found.items():
            source = _input(name, place, int(number * _MEGABYTE))
            costs.append(_cost(name, _input(name, place, _SMALL), source, place))
            cost = costs[-1]
            print(
                f"{name:<8} {cost.size / _MEGABYTE:>8.0f} MB {cost.seconds:>10.3f} s "
                f"{cost.memory / _MEGABYTE:>10.1f} MB",
                flush=True,
            )
    told = table(found)
    print(told)
    if docs is not None:
        from benchmarks.growth_plots import plot  # noqa: PLC0415 - only where plots are asked for

        plot(found, docs / "performance")
        written = f"{told}\n\n{pictures()}\n\n{where}."
        _put_between(docs / "performance.md", written)
    return found


def _input(name: str, place: Path, size: int) -> Path:
    """The input of a work, made by a process of its own: making a big one takes memory."""
    kind = "claude" if name == "import" else "agent"
    path = place / (f"claude-{size}" if kind == "claude" else f"agent-{size}.jsonl")
    if not path.exists():
        _python(
            "-c", f"from benchmarks.growth import make_{kind} as make; make({str(path)!r}, {size})"
        )
    return path


def make_agent(path: str, size: int) -> None:
    """Make a session of about ``size`` bytes."""
    agent_sessions.session_file(Path(path), size)


def make_claude(path: str, size: int) -> None:
    """Make a home with a Claude Code log of about ``size`` bytes."""
    beside = Path(f"{path}.tmp")
    beside.mkdir(parents=True, exist_ok=True)
    claude_log(beside, size)
    beside.rename(path)


def _cost(name: str, small: Path, source: Path, place: Path) -> Cost:
    runs: list[tuple[float, int]] = []
    while len(runs) < _RUNS and (not runs or runs[0][0] < _LONG):
        with tempfile.TemporaryDirectory(dir=place) as room:
            runs.append(_run(name, small, source, Path(room)))
    size = sum(path.stat().st_size for path in [source, *source.rglob("*")] if path.is_file())
    # Memory comes by the page, and there are works too small to need a new one.
    memory = max(_PAGE, min(memory for _, memory in runs))
    return Cost(size, min(seconds for seconds, _ in runs), memory)


def _run(name: str, small: Path, source: Path, room: Path) -> tuple[float, int]:
    told = _python("-m", "benchmarks.growth_step", name, *map(str, (small, source, room)))
    found: Any = json.loads(told.splitlines()[-1])
    return found[0], found[1]


def _python(*words: str) -> str:
    return output_of([sys.executable, *words], cwd=_HERE)


def table(costs: Costs) -> str:
    """Return the figures as a Markdown table, a row for each work."""
    sizes = [_size(cost.size) for cost in next(iter(costs.values()))]
    rows = [["work", *sizes], ["---", *("---:" for _ in sizes)]]
    rows += [[WHAT[name], *(_cell(cost) for cost in found)] for name, found in costs.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cost: Cost) -> str:
    return f"{_number(cost.seconds)} s, {_number(cost.memory / _MEGABYTE)} MB"


def _size(size: int) -> str:
    megabytes = size / _MEGABYTE
    if megabytes >= 995:
        return f"{megabytes / 1000:.2g} GB"
    return f"{megabytes:.0f} MB" if megabytes >= 10 else f"{megabytes:.2g} MB"


def _number(value: float) -> str:
    """Two digits that say something."""
    if value >= 100:
        return f"{round(value, -1 if value < 1000 else -2):,.0f}"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def pictures() -> str:
    """Return the plots as Markdown."""
    return "\n".join(f"![{what}](performance/{name}.png)" for name, what in WHAT.items())


def page_problem(page: Path) -> str:
    """Return why the table cannot be put into a page, or an empty string."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        return f"cannot read {page}: {error.strerror}"
    except UnicodeDecodeError:
        return f"{page} is not UTF-8"
    if not os.access(page, os.W_OK):
        return f"{page} cannot be written"
    if _END not in text.partition(_BEGIN)[2]:
        return f"{page} has no marks for the table of growth"
    return ""


def _put_between(page: Path, written: str) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    page.write_text(f"{before}{_BEGIN}\n\n{written}\n\n{_END}{after}", encoding="utf-8")
