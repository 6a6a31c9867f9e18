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
        calls=12,
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--opencode", "2y3"], "'2y3' is no such thing as 400x200"),
        (["--opencode", "0x3"], "'0x3' is no such thing as 400x200"),
        (["--opencode", "x"], "is no such thing as 400x200"),
        (["--sizes", "a"], "'a' is no list of megabytes"),
        (["--sizes", "1,,2"], "is no list of megabytes"),
        (["--sizes", "-1"], "is no list of megabytes"),
        (["--sizes", "nan"], "is no list of megabytes"),
        (["--sessions", "0"], "'0' is no whole number above 0"),
        (["--size", "0"], "'0' is no whole number above 0"),
        (["--size", "-5"], "'-5' is no whole number above 0"),
        (["--exported", "1.5"], "'1.5' is no whole number above 0"),
        (["--claude", "9" * 5000], "is no whole number above 0"),
        (["--calls", "0"], "'0' is no whole number above 0"),
        (["--place", "/proc/no-such/place"], "cannot make inputs in /proc/no-such/place"),
        (["--vs", "/no/such/cmd {file}"], "there is no command /no/such/cmd"),
        (["--vs", "wc 'no end"], "is no command: no closing quotation"),
        (["--vs", ""], "there is no command in it"),
        (["--vs", "''"], "there is no command in it"),
    ],
)
def test_options_that_cannot_be(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = [] if words[0] == "--place" else ["--place", str(tmp_path)]
    with pytest.raises(SystemExit) as caught:
        module("__main__").main(["listing", *place, *words])
    assert caught.value.code == 2
    told_last = capsys.readouterr().err.splitlines()[-1]
    assert told in told_last
    assert not list(tmp_path.iterdir())


def test_places_and_pages_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks" / "performance.md").write_text("no marks", encoding="utf-8")
    for words, told in (
        (["--place", str(file)], f"cannot make inputs in {file}: it is a file"),
        (["--place", str(file / "below")], f"cannot make inputs in {file / 'below'}"),
        (["--docs", str(tmp_path)], f"cannot read {tmp_path / 'performance.md'}"),
        (["--docs", str(tmp_path / "marks")], "has no marks for the table of growth"),
    ):
        with pytest.raises(SystemExit) as caught:
            module("__main__").main(["growth", *words])
        assert caught.value.code == 2
        assert told in capsys.readouterr().err.splitlines()[-1]


def test_what_runs_without_names() -> None:
    options, main = module("options"), module("__main__")
    for words, names in (
        ([], [*NAMES, "growth"]),
        (["--vs", "wc {file}"], []),
        (["append", "--vs", "wc {file}"], ["append"]),
    ):
        asked = options.asked(words, tuple(main.BENCHMARKS), main.ON_DEMAND)
        assert sorted(asked.names) == sorted(set(names) - main.ON_DEMAND)
    assert asked.versus == ("wc", "{file}")


@pytest.fixture
def small_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("__main__"), "_COMPARED", 20_000)


@pytest.mark.usefixtures("small_comparison")
def test_another_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = module("__main__").main
    assert main(["--place", str(tmp_path), "--vs", "wc {file}"]) in {0, 1}
    out = capsys.readouterr().out
    assert "agentsession verify, whole process" in out
    assert "wc '{file}'" in out
    assert len(out.splitlines()) == 3


@pytest.mark.usefixtures("small_comparison")
@pytest.mark.parametrize("other", ["false {file}", "wc {file}.none", "/tmp"])
def test_a_command_that_fails_is_not_timed(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = module("__main__").main
    try:
        code = main(["--place", str(tmp_path), "--vs", other])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr()
    assert code == 2
    assert other.split(maxsplit=1)[0] in told.err.splitlines()[-1]
    assert "whole process" not in told.out


@pytest.mark.usefixtures("small_comparison")
def test_ours_failing_is_not_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mixed-20000.jsonl").write_text("no session", encoding="utf-8")
    assert module("__main__").main(["--place", str(tmp_path), "--vs", "wc {file}"]) == 2
    assert "failed with exit code" in capsys.readouterr().err


def test_the_output_of_a_command_goes_through_a_pipe(tmp_path: Path) -> None:
    harness = module("harness")
    code = "import os, stat; print(stat.S_ISFIFO(os.fstat(1).st_mode))"
    assert harness.output_of([sys.executable, "-c", code]) == "True\n"
    big = "import sys; sys.stdout.write('x' * 1_000_000); sys.stderr.write('y' * 1_000_000)"
    assert len(harness.output_of([sys.executable, "-c", big])) == 1_000_000
    with pytest.raises(harness.NotMeasured, match="cannot be started"):
        harness.command([str(tmp_path)])()


def test_opencode_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opencode = module("opencode")
    opencode.main(["12", "2", "--place", str(tmp_path)])
    out = capsys.readouterr().out
    assert "after 10 sessions" in out
    assert "convert 12 sessions, memory added" in out
    with pytest.raises(SystemExit):
        opencode.main(["none"])


def test_the_page_says_what_the_options_are() -> None:
    """Every benchmark and option has its place in the page, with the default it has."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    usage = page.partition("## Running the benchmarks")[2].partition("\n## ")[0]
    options, main = module("options"), module("__main__")
    asked = options.asked(["append"], tuple(main.BENCHMARKS), main.ON_DEMAND)
    for name in main.BENCHMARKS:
        assert f"`{name}`" in usage
    sessions, parts = asked.opencode
    for written in (
        f"`--size {asked.size}`",
        f"`--sessions {asked.sessions}`",
        f"`--exported {asked.exported}`",
        f"`--opencode {sessions}x{parts}`",
        f"`--claude {asked.claude}`",
        f"`--calls {asked.calls}`",
        f"`--sizes {','.join(f'{size:g}' for size in asked.sizes)}`",
        f"`--place {asked.place}`",
        "`--docs DIR`",
        "`{file}`",
    ):
        assert written in usage, written


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
