"""``show --follow``: rows as another process appends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_runner import Caller, command, environment

from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import open_store


class Shown:
    """The command at work, its rows read as they come."""

    def __init__(self, *args: str | os.PathLike[str]) -> None:
        self.process = subprocess.Popen(
            command("show", "--follow", *args),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment(),
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def until(self, wanted: str) -> str:
        while line := self.line():
            if wanted in line:
                return line
        raise AssertionError(f"{wanted} did not come")

    def interrupted(self) -> tuple[int, str]:
        # One was once seen to vanish on a busy machine, nobody knows where: one presses again.
        for _ in range(12):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                continue
            break
        return self.ended()

    def ended(self) -> tuple[int, str]:
        _, told = self.process.communicate(timeout=60)
        return self.process.returncode, told


@contextmanager
def shown(*args: str | os.PathLike[str]) -> Iterator[Shown]:
    process = Shown(*args)
    try:
        yield process
    finally:
        process.process.kill()
        process.process.communicate()


@pytest.mark.parametrize("kind", ["files", "sqlite", "file"])
def test_rows_as_they_come(tmp_path: Path, kind: str) -> None:
    place = tmp_path / ("sessions.db" if kind == "sqlite" else "sessions")
    with open_store(place) as store:
        session = store.create(Header(id="session-1"))
        session.append(InfoEntry("first"))
        source = [next(place.glob("*/*.jsonl"))] if kind == "file" else [place, "sess"]
        with shown(*source) as following:
            assert re.match(r"session +session-1$", following.line())
            following.until("ID")
            assert re.search(r"-  +info  name \"first\"$", following.until("first"))
            for name in ("second", "third"):
                session.append(InfoEntry(name))
                following.until(name)
            # Nothing is locked: another store is refused because of the writer alone.
            store.release("session-1")
            store.append("session-1", InfoEntry("fourth"))
            following.until("fourth")
            assert following.interrupted() == (0, "")


def test_across_a_repair_and_to_the_end(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.create(Header(id="s")).append(InfoEntry("first"))
        store.release("s")
        path = next(tmp_path.glob("*/*.jsonl"))
        with path.open("ab") as file:
            file.write(b'{"type":"info","id":')
        with shown(path) as following:
            following.until("first")
            store.append("s", InfoEntry("second"))
            following.until("second")
            lines = path.read_bytes().splitlines(keepends=True)
            # At once: whoever looks on must not find an empty file in between.
            os.truncate(path, sum(map(len, lines[:-1])))
            store.release("s")
            store.append("s", InfoEntry("third"))
            following.until("third")
            store.delete("s")
            code, told = following.ended()
        assert code == 0
        assert [line.rpartition(": ")[2] for line in told.splitlines()] == [
            "1 entry that was given is no longer there",
            "the session is no longer there",
        ]


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        session = store.create(Header(id="s"))
        with shown(tmp_path, "s") as following:
            following.until("SUMMARY")
            assert following.process.stdout
            following.process.stdout.close()
            following.process.stdout = None
            while following.process.poll() is None:
                session.append(InfoEntry("x"))
            assert following.process.returncode == 0


def test_wrong_usage(call: Caller, session_file: Path, tmp_path: Path) -> None:
    for option in (["--json"], ["--salvage"], ["--leaf", "x"]):
        told = call("show", "-f", *option, session_file)
        assert (told.code, told.out) == (2, "")
        assert f"--follow does not go with {option[0]}" in told.err
    assert call("show", "--follow", tmp_path / "nothing").code == 1
