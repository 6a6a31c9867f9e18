"""What the README and the docs show is run as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentsession as ags

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [code for found, code in BLOCK.findall(text) if found == language]


def commands(page: str) -> list[str]:
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [line for line in lines if line.startswith("agentsession ")]


def output(command: list[str], place: Path, environment: dict[str, str]) -> str:
    """What a command prints that is run at a place; it must end well."""
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of a process in which `agentsession` and an endpoint are found."""
    server = ROOT / "examples" / "scripted_server.py"
    with subprocess.Popen(
        [sys.executable, str(server)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield {
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "OPENAI_BASE_URL": process.stdout.readline().strip(),
                "OPENAI_API_KEY": "none is needed on loopback",
                "NO_PROXY": "127.0.0.1",
                "no_proxy": "127.0.0.1",
                "PYTHONWARNINGS": "error",
            }
        finally:
            process.terminate()


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_the_snippets_run_one_after_the_other(
    page: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    if page == "README.md":
        pytest.importorskip("openai")
    # Blank lines keep the line numbers of the page.
    text = (ROOT / page).read_text(encoding="utf-8")
    script, line = [], 0
    for found in BLOCK.finditer(text):
        if found[1] == "python":
            start = text.count("\n", 0, found.start(2))
            script.append("\n" * (start - line) + found[2])
            line = start + found[2].count("\n")
    file = tmp_path / (Path(page).stem + ".py")
    file.write_text("".join(script), encoding="utf-8")
    printed = output([sys.executable, file.name], tmp_path, environment)
    if page == "README.md":
        assert "assistant 2+2 is 4." in printed


def test_the_commands_of_the_readme_run(tmp_path: Path, environment: dict[str, str]) -> None:
    for part in ("examples/sessions", "tests/data/opencode-recordings/1.14.41-tail"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for command in commands("README.md"):  # in order: one may need what another made
        assert output(["/bin/sh", "-c", command], tmp_path, environment)


def test_the_session_of_the_format_tour_reads_and_verifies() -> None:
    [example] = blocks("docs/format.md", "jsonl")
    session = ags.read(example.encode())
    assert ags.dump(session) == example.encode()
    assert session.verify_all().ok
    assert session.verify_all().count("ok") == 2
    for leaf in session.leaves:
        session.verify_records(leaf.id)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_tests_that_pages_name_are_there() -> None:
    texts = [page.read_text("utf-8") for page in PAGES]
    named = {name for text in texts for name in re.findall(r"`(test_\w+)`", text)}
    there = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert named
    assert {name for name in named if f"def {name}(" not in there} == set()
