"""``show``, ``verify`` and ``list`` beside a program that writes: no lock, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import run

from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import open_store


def contents(place: Path) -> dict[str, tuple[bytes, int]]:
    """What stands at a place, but for the file in which SQLite's processes tell one another."""
    return {
        str(path.relative_to(place)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in place.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


@pytest.mark.parametrize("name", ["sessions", "sessions.db"])
def test_what_another_process_holds(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / name) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        before = contents(tmp_path)
        assert before
        for command in ("show", "verify", "list"):
            ran = run(command, tmp_path / name)
            assert (ran.code, ran.err) == (0, "")
            assert contents(tmp_path) == before
        # Nobody took the session, and nobody stands in the way.
        session.append(InfoEntry("two"))
        assert "two" in run("show", tmp_path / name).out
