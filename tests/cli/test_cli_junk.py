"""A file of junk: people are told what is wrong and how often; the report lists each place."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Caller

CODEX = Path(__file__).parents[1] / "data" / "codex" / "0.171.0-branch"
CLAUDE = Path(__file__).parents[1] / "data" / "claude-code-recordings" / "2.1.45-tools"
LINES = 200


@pytest.fixture
def junk(session_file: Path) -> Path:
    """A session with many lines that are no records, before its last one."""
    lines = session_file.read_bytes().splitlines(keepends=True)
    broken = [b'{"type":"item","id":"%s\n' % (b"x" * number) for number in range(LINES)]
    session_file.write_bytes(b"".join([*lines[:-1], *broken, lines[-1]]))
    return session_file


def test_damages_of_one_kind_are_one_line(call: Caller, junk: Path, tmp_path: Path) -> None:
    for words in (["show", "--salvage", junk], ["copy", "--salvage", junk, tmp_path / "store"]):
        done = call(*words)
        assert done.code == 1
        told = [line for line in done.err.splitlines() if "ends before it is whole" in line]
        assert len(told) == 1
        assert told[0].startswith("agentsession: line ")
        assert told[0].endswith(f", and {LINES - 1} more of this kind")
    shown = call("copy", "--salvage", junk, tmp_path / "other", "--json").json
    assert len(shown["findings"]) >= LINES


def test_lines_without_an_id_are_counted_by_session(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    for log in sorted(CLAUDE.rglob("projects/**/*.jsonl")):
        place = tmp_path / "home" / log.relative_to(CLAUDE)
        place.parent.mkdir(parents=True, exist_ok=True)
        junk = b"".join(b"junk %s\n" % (b"x" * line) for line in range(LINES))
        place.write_bytes(log.read_bytes() + junk)
    done = call("import", tmp_path / "home", "--to", tmp_path / "store")
    told = [
        line for line in done.out.splitlines() if "the line is damaged" in line and "times" in line
    ]
    assert told
    assert all(": line " in line and "line line" not in line for line in told)
    assert all(line.endswith(f"({LINES} times)") for line in told)


def test_alarms_of_one_file_are_one_line(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    places = []
    for number, log in enumerate(sorted(CODEX.rglob("rollout-*.jsonl"))[:2]):
        places.append(tmp_path / str(number) / log.name)
        places[-1].parent.mkdir()
        junk = b"".join(b'{"type":"response_item","%d\n' % line for line in range(LINES))
        places[-1].write_bytes(log.read_bytes() + junk)
    done = call("import", "codex", *places, "--to", tmp_path / "store")
    assert done.code == 1
    told = [line for line in done.out.splitlines() if "cut or no JSON" in line and ": " in line]
    assert [line.endswith(f"({LINES} times)") for line in told if "times" in line] == [True, True]
    assert "--report json lists them all" in done.out
    whole = call("import", "codex", *places, "--to", tmp_path / "other", "--json")
    assert len(whole.json["alarms"]) == 2 * LINES
