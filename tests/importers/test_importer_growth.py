"""A session four times as long costs about four times the work, whatever happened in it.

Work is counted in calls of functions, which no load of a machine changes.
"""

from __future__ import annotations

import cProfile
import pstats
import shutil
from pathlib import Path

import pytest
from repeated_logs import repeat

from agentsession._collecting import uncollected
from agentsession.importers import registry
from agentsession.importers.usage import of_session

DATA = Path(__file__).parents[1] / "data"
HEADS = {"claude-code": 0, "codex": 1, "pi": 1}
"""How many lines a log of an agent begins with that it has once."""

ANEW = {"1.0.35-tools", "2.1.45-tools", "0.101.0-compact", "0.30.2-compaction"}
"""Here each repetition has a context that is put together anew from all before it."""

LINEAR = 4.5
SQUARE = 17


def recordings() -> list[object]:
    folders = {"claude-code": "claude-code-recordings", "codex": "codex", "pi": "pi"}
    return [
        pytest.param(agent, place, id=f"{agent} {place.name}")
        for agent, folder in folders.items()
        for place in sorted((DATA / folder).iterdir())
        if place.is_dir()
    ]


def work(agent: str, recording: Path, place: Path, times: int) -> int:
    """How many calls a look at the recording, its conversion and its usage take."""
    shutil.copytree(recording, place)
    for log in place.rglob("*.jsonl"):
        if log.name != "requests.jsonl":
            repeat(log, times, HEADS[agent])
    importer = registry.load(agent)
    profile = cProfile.Profile()
    entries = 0
    with uncollected(), profile:
        for source in importer.find([place]):
            for native in list(importer.sessions(source)):
                session = importer.convert(source, native.id).session
                entries += len(session)
                for _ in of_session(session):
                    pass
            importer.report(source)
    importer.close()
    assert entries > 10 * times
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("agent", "recording"), recordings())
def test_work_grows_as_sessions_do(agent: str, recording: Path, tmp_path: Path) -> None:
    few, many = (work(agent, recording, tmp_path / str(times), times) for times in (3, 12))
    assert many < (SQUARE if recording.name in ANEW else LINEAR) * few
