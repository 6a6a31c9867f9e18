"""The plots of cost as work grows; the one place that needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.growth import Cost, Costs

_MEGABYTE = 1_000_000


def plot(costs: Costs, folder: Path) -> None:
    """Write one PNG for each work: time and memory by the size of the input."""
    from benchmarks.growth import WHAT  # noqa: PLC0415 - that module loads this one on demand

    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "growth", "font.size": 8}):
        for name, found in costs.items():
            figure = Figure(figsize=(7, 2.6), dpi=110, layout="constrained")
            figure.suptitle(f"{name}: {WHAT[name]}", fontsize=9)
            left, right = figure.subplots(1, 2)
            _line(left, found, [cost.seconds for cost in found], "seconds of processor time")
            _line(right, found, [cost.memory / _MEGABYTE for cost in found], "MB of memory")
            # Without the version of the program that drew it, equal figures give equal files.
            figure.savefig(folder / f"{name}.png", metadata={"Software": None})


def _line(axes: Axes, costs: list[Cost], values: list[float], unit: str) -> None:
    sizes = [cost.size / _MEGABYTE for cost in costs]
    axes.loglog(sizes, values, "o-", color="#205080", linewidth=1.5, markersize=4)
    # What would grow as the input does, from the largest one down.
    straight = [values[-1] * size / sizes[-1] for size in sizes]
    axes.loglog(sizes, straight, ":", color="#909090", linewidth=1, label="in proportion")
    axes.set_xlabel("MB of input")
    axes.set_ylabel(unit)
    axes.grid(visible=True, which="major", linewidth=0.3)
    axes.legend(frameon=False)
