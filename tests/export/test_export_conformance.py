"""Exports recorded by the reference implementation; skipped where they are not at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentsession as ags
from agentsession import atif, export

SHARED = Path(os.environ.get("AGENTSESSION_SHARED", Path(__file__).parents[3] / "shared"))
UPSTREAM = SHARED / "conformance" / "upstream"

# Exports made by other releases differ from ours here, each for the reason in docs/export.md.
KNOWN = {
    "compaction.i0000007": {
        "$.final_metrics.total_completion_tokens",
        "$.final_metrics.total_prompt_tokens",
        "$.final_metrics.total_steps",
        "$.notes",
    },
    "extensions.r0000002": {"$.steps[0].extra.config_extensions"},
    "newest/compaction.i0000007": {"$.extra.agentsession.format"},
    "newest/handback.4fa0efc19566": {"$.final_metrics.total_steps", "$.notes"},
    "newest/judged.a6e982db0df1": {"$.final_metrics.total_steps", "$.notes"},
}


def exports() -> list[str]:
    folder = UPSTREAM / "export"
    return sorted(
        str(path.relative_to(folder).with_suffix("")) for path in folder.glob("**/*.json")
    )


def session_of(name: str) -> ags.Session:
    session = name.rpartition(".")[0]
    folder = UPSTREAM / "sessions"
    for path in (folder / f"{session}.jsonl", folder / "v0.4" / f"{session}.jsonl"):
        if path.exists():
            return ags.read(path)
    raise FileNotFoundError(name)


def differences(ours: Any, theirs: Any, path: str = "$") -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            if name in ours and name in theirs:
                yield from differences(ours[name], theirs[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{at}]")
    elif ours != theirs:
        yield path


@pytest.mark.skipif(not UPSTREAM.exists(), reason="the recorded exports are not at hand")
@pytest.mark.parametrize("name", exports())
def test_a_recorded_export_is_ours_but_for_known_differences(name: str) -> None:
    theirs = json.loads((UPSTREAM / "export" / f"{name}.json").read_bytes())
    trajectory = export.at(session_of(name), theirs["trajectory_id"])
    document = export.to_atif(trajectory)
    assert set(differences(document.to_dict(), theirs)) == KNOWN.get(name, set())
    assert atif.validate(document, strict=True) == ()
    assert export.items(document) == trajectory.context.items


def readable() -> list[Path]:
    return [
        path
        for path in sorted((UPSTREAM / "sessions").glob("**/*.jsonl"))
        if not path.name.startswith(("bad-parent", "corrupt", "missing-id", "unsupported"))
    ]


@pytest.mark.skipif(not UPSTREAM.exists(), reason="the recorded exports are not at hand")
@pytest.mark.parametrize("path", readable(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_recorded_session_gives_valid_documents_and_its_items_back(path: Path) -> None:
    try:
        session = ags.read(path)
    except ags.AgentSessionError:
        pytest.skip("refused by the reader")
    for trajectory in export.trajectories(session):
        if trajectory.error is not None:
            assert path.stem == "bad-first-kept"
            continue
        document = export.to_atif(trajectory)
        assert atif.validate(document, strict=True) == ()
        assert export.items(document) == trajectory.context.items
