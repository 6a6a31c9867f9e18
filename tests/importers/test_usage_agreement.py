"""An agent's own files and what an import made of them say the same of its model calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recordings import FIXTURES

from agentsession.importers import registry
from agentsession.importers.base import Importer, Source
from agentsession.importers.counted import By, Count
from agentsession.importers.usage import of_session, of_source

DATA = Path(__file__).parents[1] / "data"

# A child is counted for its parent in the files, and is a session of its own in an import.
OTHERWISE = {"claude-code": {By.SESSION}}


def places() -> Iterator[Any]:
    for agent in registry.names():
        found = FIXTURES / agent
        root = found if found.is_dir() else DATA / agent
        hostile = (FIXTURES / "agents-hostile").glob(f"{agent.partition('-')[0]}*")
        here = root.iterdir() if root.is_dir() else ()
        for path in sorted((*here, *hostile)):
            if path.is_dir() or path.suffix == ".jsonl":
                yield pytest.param(agent, path, id=f"{agent}-{path.name}")


def counts(importer: Importer, source: Source) -> tuple[Count, Count]:
    files, imported = Count(), Count()
    for record in of_source(importer, source):
        files.add(record)
    for native in importer.sessions(source):
        for record in of_session(importer.convert(source, native.id).session):
            imported.add(record)
    return files, imported


def told(count: Count, by: By) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    report = count.report(by).to_dict()
    return report["totals"], report["groups"]


@pytest.mark.parametrize(("agent", "path"), list(places()))
def test_files_and_import_agree(agent: str, path: Path) -> None:
    importer = registry.load(agent)
    for source in importer.find([path]):
        files, imported = counts(importer, source)
        for by in By:
            total, groups = told(files, by)
            total_imported, groups_imported = told(imported, by)
            assert total == total_imported
            if by not in OTHERWISE.get(agent, set()):
                assert groups == groups_imported


# What Claude Code stored of an answer's output tokens that is not what the server counted.
PLACEHOLDERS = {
    # One token each, for answers that were cut.
    "2.0.30-killed": 78,
    "2.1.101-control": 39,
    "2.1.332-control": 39,
    # One token for every answer: the counts of its first event.
    "2.1.45-tools": 478,
}
FAILED = ("status", "stream_error", "hang", "break", "failed")


def recordings() -> list[Any]:
    found = FIXTURES / "claude-code"
    root = found if found.is_dir() else DATA / "claude-code"
    logs = sorted(root.glob("*/requests.jsonl")) if root.is_dir() else []
    return [pytest.param(log.parent, id=log.parent.name) for log in logs]


@pytest.mark.parametrize("recording", recordings())
def test_claude_code_counts_what_the_server_counted(recording: Path) -> None:
    """Once for each answer that was stored; side requests and failures leave nothing."""
    files = b"".join(path.read_bytes() for path in (recording / "projects").rglob("*.jsonl"))
    expected: Counter[str] = Counter()
    for line in (recording / "requests.jsonl").read_text("utf-8").splitlines():
        request = json.loads(line)
        answer = request["answer"]
        if b'"msg_%04d"' % request["n"] not in files:
            failed = any(answer.get(name) for name in FAILED)
            assert failed or request["kind"] != "main" or not answer.get("text"), request["n"]
            continue
        used = answer.get("usage") or {}
        expected["input_tokens"] += used.get("prompt", 1200)
        expected["output_tokens"] += used.get("completion", 40)
    expected["output_tokens"] -= PLACEHOLDERS.get(recording.name, 0)

    importer = registry.load("claude-code")
    count = Count()
    for source in importer.find([recording]):
        for record in of_source(importer, source):
            count.add(record)
    totals = count.report().to_dict()["totals"]
    assert {name: totals[name] for name in expected} == expected
