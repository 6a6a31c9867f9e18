"""Sessions on disk, and the command to look at them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Caller

from agentsession.entries import CompactionEntry
from agentsession.parts import Harness, InstructionsPart, OmittedPart, Trigger
from agentsession.record_entries import CustomEntry, InfoEntry, LabelEntry, UnknownEntry
from agentsession.testing import SessionBuilder
from agentsession.writing import write


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Caller:
    monkeypatch.delenv("AGENTSESSION_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return Caller(capfd)


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    """A session with a bit of everything, whose checks all pass."""
    build = SessionBuilder(
        harness=Harness("tester", "7"),
        cwd="/srv/app",
        records=["run", "dispatch"],
        parent_session="session-0",
        spawned_by="call_0",
        media="inline",
    )
    build.config(
        model="m-1",
        instructions="Be brief.\n\nBe kind.",
        instructions_parts=[
            InstructionsPart("base", "Be brief.", "product"),
            InstructionsPart("tone", "Be kind."),
        ],
        instructions_omitted=[OmittedPart("notes", "budget", 512)],
        tools_added=[{"type": "function", "name": "ls", "description": "Lists.", "parameters": {}}],
        extra={"temperature": 1},
    )
    build.start()
    build.user("List the files.", source=Trigger("human", "inbox:1"))
    build.call("call_1")
    build.dispatch("call_1")
    build.output("call_1", "a.txt\nb.txt")
    build.answer("Two files.")
    build.end("done")
    forked = build.append(CustomEntry("acme", {"a": 1}))
    build.append(LabelEntry(forked, "here"))
    build.append(InfoEntry("A small session"))
    build.answer("Said without a hash.", hashed=False)
    build.session.branch(forked)
    build.append(UnknownEntry({"type": "acme:note", "text": "x"}))
    path = tmp_path / "session.jsonl"
    write(path, build.session)
    return path


@pytest.fixture
def folded_file(tmp_path: Path) -> Path:
    """A session whose one compaction cannot be resolved."""
    build = SessionBuilder("agentsession/0.1")
    build.user("Hi")
    build.append(CompactionEntry("nowhere", {"type": "message", "role": "user", "content": "sum"}))
    path = tmp_path / "folded.jsonl"
    write(path, build.session)
    return path
