"""The demo runs whole, and fails when a step does; the bundled sessions are what they say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import agentsession as ags
from agentsession.stores import JSONLStore, ListFilter

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted((EXAMPLES / "sessions").glob("*/*.jsonl"))

needs_openai = pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="the openai client is not installed"
)


def demo(*arguments: str, work: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(work)},
    )


@needs_openai
def test_the_demo_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = demo(work=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # What an export has to tell goes to standard error.
    assert done.stderr.startswith("exported: 5 sessions, ")
    assert "agentsession: " not in done.stderr
    assert "sessions 5 found, 5 selected, 5 created" in done.stdout
    assert done.stdout.count("$ agentsession verify ") == len(FILES) + 5 + 1
    assert done.stdout.count("  valid ATIF-v1.8, ") == 5
    assert "in flight: call_1 wait_for_file" in done.stdout
    assert "> The build says: build passed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_demo_fails_where_a_session_does_not_verify(tmp_path: Path) -> None:
    bad = tmp_path / "sessions" / "home-demo-project"
    bad.mkdir(parents=True)
    text = FILES[0].read_text(encoding="utf-8")
    (bad / FILES[0].name).write_text(text.replace("bread", "cakes"), encoding="utf-8")
    done = demo(str(tmp_path / "sessions"), work=tmp_path)
    assert done.returncode == 1
    assert "demo: " in done.stderr
    assert "MISMATCH" in done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem[-12:])
def test_a_bundled_session_is_whole(file: Path) -> None:
    data = file.read_bytes()
    session = ags.read(data)
    assert ags.dump(session) == data
    assert session.header.cwd == "/home/demo/project"
    verification = session.verify_all()
    assert verification.ok
    assert verification.count("ok") == len(verification) > 0
    for leaf in session.leaves:
        assert session.verify_records(leaf.id) == ()
    for path in (Path.home(), EXAMPLES.parent, Path(tempfile.gettempdir())):
        if len(path.parts) > 1:
            assert f"{path}/".encode() not in data


def test_the_bundled_sessions_show_all_that_can_happen() -> None:
    sessions = [ags.read(file) for file in FILES]
    types = {entry.type for session in sessions for entry in session}
    assert types >= {
        *["item", "response", "config", "compaction", "branch_summary"],
        *["run", "dispatch", "decision", "label", "info", "env", "outcome", "link"],
    }
    assert any(len(session.leaves) > 1 for session in sessions)
    ends = {run.end.reason for s in sessions for run in s.runs() if run.end}
    assert ends >= {"done", "input_required", "aborted"}


def test_the_bundled_sessions_are_a_store() -> None:
    with JSONLStore(EXAMPLES / "sessions", read_only=True) as store:
        found = list(store.list(ListFilter(with_names=True)))
        current = list(store.list(ListFilter(current=True)))
    assert len(found) == len(FILES)
    assert len(current) == len(FILES) - 1
    assert all(summary.name for summary in found)
