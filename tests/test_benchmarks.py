"""Every benchmark runs, once and on the smallest inputs; what it measures is not judged here."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks are not here"),
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
]

if (ROOT / "benchmarks").is_dir():
    sys.path.insert(0, str(ROOT))
    NAMES = sorted({*importlib.import_module("benchmarks.__main__").BENCHMARKS} - {"growth"})
else:
    NAMES = []


@pytest.fixture(autouse=True)
def one_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every comparison have one pair, and big things be small."""
    # Some benchmarks start processes that find the package where they are.
    monkeypatch.chdir(ROOT)
    harness, record = module("harness"), module("record")
    later_drafts, growth = module("later_drafts"), module("growth")

    def pairs(baseline: Any, ours: Any, rounds: int) -> list[tuple[float, float]]:
        assert rounds > 0
        return [(harness.seconds(baseline), harness.seconds(ours))]

    made, drafted = record.conversation, later_drafts.session

    def conversation(calls: int, *, compact_every: int = 0) -> Any:
        return made(min(calls, 12), compact_every=min(compact_every, 5))

    def session(size: int, item_size: int, *, newest: bool) -> Any:
        return drafted(min(size, 30_000), item_size, newest=newest)

    monkeypatch.setattr(harness, "pairs", pairs)
    monkeypatch.setattr(record, "conversation", conversation)
    monkeypatch.setattr(later_drafts, "session", session)
    monkeypatch.setattr(growth, "_RUNS", 1)


def module(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    docs = tmp_path / "docs"
    docs.mkdir()
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    (docs / "performance.md").write_text(text, encoding="utf-8")
    place = tmp_path / "place"
    place.mkdir()
    return module("__main__").Asked(
        place=place,
        size=60_000,
        sessions=5,
        exported=2,
        opencode=(2, 4),
        claude=60_000,
        sizes=(0.05,),
        docs=docs,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs(name: str, asked: Any) -> None:
    report = module("harness").Report()
    module("__main__").BENCHMARKS[name](report, asked)
    assert report.rows
    assert all(math.isfinite(ratio) for row in report.rows for ratio in row.ratios)


def test_growth_puts_a_table_and_plots_into_the_docs(asked: Any) -> None:
    growth = module("growth")
    page = asked.docs / "performance.md"
    before = page.read_text(encoding="utf-8")
    costs = module("__main__").BENCHMARKS["growth"](module("harness").Report(), asked)
    after = page.read_text(encoding="utf-8")
    assert growth.table(costs) in after
    assert before.partition(growth._BEGIN)[0] == after.partition(growth._BEGIN)[0]
    assert before.partition(growth._END)[2] == after.partition(growth._END)[2]
    for name in growth.WHAT:
        plot = (asked.docs / "performance" / f"{name}.png").read_bytes()
        assert plot.startswith(b"\x89PNG")
        assert len(plot) < 60_000


def test_plots_of_equal_figures_are_equal(tmp_path: Path) -> None:
    growth, plots = module("growth"), module("growth_plots")
    costs = {"read": [growth.Cost(10**n, 0.01 * 10**n, 10**n) for n in (6, 7, 8)]}
    written = set()
    for folder in ("one", "two"):
        plots.plot(costs, tmp_path / folder)
        written.add((tmp_path / folder / "read.png").read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0123, "0.012"),
        (1.25, "1.2"),
        (9.97, "10"),
        (12.34, "12"),
        (123.4, "120"),
        (1234, "1,200"),
    ],
)
def test_numbers_of_the_table(value: float, written: str) -> None:
    assert module("growth")._number(value) == written


@pytest.mark.parametrize(
    ("size", "written"),
    [(52_000, "0.052 MB"), (1_004_223, "1 MB"), (100_001_396, "100 MB"), (1_000_000_001, "1 GB")],
)
def test_sizes_of_the_table(size: int, written: str) -> None:
    assert module("growth")._size(size) == written


def test_names_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = module("__main__").main
    with pytest.raises(SystemExit):
        main(["no-such-benchmark"])
    assert "unknown: no-such-benchmark" in capsys.readouterr().err
    assert main(["listing", "--sessions", "3", "--place", str(tmp_path)]) in {0, 1}
    assert "list 3 sessions, names" in capsys.readouterr().out


def test_later_drafts_and_redaction(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module("later_drafts").main()
    assert "read 0.11" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["redaction.py", "1"])
    module("redaction").main()
    assert "MB/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["entries"], ["line", "--only", "context"], ["sessions"]],
    ids=["entries", "line", "sessions"],
)
def test_scale(words: list[str], tmp_path: Path) -> None:
    small = ["--entries", "30", "--size", "9000", "--line", "2000", "--sessions", "10"]
    command = [sys.executable, "benchmarks/scale.py", *words, "--place", str(tmp_path), *small]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
