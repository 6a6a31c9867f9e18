"""The sessions and contexts recorded by the reference implementation.

They are not part of this repository. Set AGENTSESSION_SHARED to the folder that holds
``conformance/``, or put it beside the repository under the name ``shared``; without it these
tests are skipped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import agentsession as ags
from agentsession.errors import (
    AgentSessionError,
    DamagedFile,
    DuplicateEntry,
    NoContext,
    NoEntry,
    RecordMissing,
    UnsupportedFormat,
)

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
UPSTREAM = Path(os.environ.get("AGENTSESSION_SHARED") or _BESIDE) / "conformance" / "upstream"
SESSIONS = UPSTREAM / "sessions"

pytestmark = pytest.mark.skipif(not SESSIONS.is_dir(), reason="the recorded sessions are not here")

SHORT = sorted([*SESSIONS.glob("*.jsonl"), *SESSIONS.glob("v0.4/*.jsonl")])
NEWEST = sorted(SESSIONS.glob("newest/*.jsonl"))

REFUSED = {
    "bad-parent": NoEntry,
    "bad-parents": NoEntry,
    "corrupt-middle": DamagedFile,
    "duplicate-id": DuplicateEntry,
    "missing-id": DamagedFile,
    "unsupported-format": UnsupportedFormat,
}
"""The short-id files that a reader refuses."""

HASHES = {
    "basic": 2,
    "branch": 3,
    "compaction": 3,
    "converge": 2,
    "extensions": 1,
    "instructions": 2,
    "queued": 1,
    "resume": 2,
}
"""How many hashes a short-id file records, where it records any."""


def _short(name: str) -> Path:
    return next(path for path in SHORT if path.stem == name)


def _whole(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.stem not in REFUSED]


@pytest.mark.parametrize("path", [p for p in SHORT if p.stem in REFUSED], ids=lambda p: p.stem)
def test_damaged_files_are_refused(path: Path) -> None:
    with pytest.raises(REFUSED[path.stem], match=path.name):
        ags.read(path)


@pytest.mark.parametrize("path", _whole(SHORT), ids=lambda p: p.stem)
def test_every_hash_verifies(path: Path) -> None:
    session = ags.read(path)
    found = session.verify_all()
    assert found.ok
    assert found.count("ok") == HASHES.get(path.stem, 0)
    for result in found:
        if result.form is not None:
            assert session.verify(result.entry_id) is result.form


@pytest.mark.parametrize("path", _whole(SHORT), ids=lambda p: p.stem)
def test_every_file_is_written_back_as_it_was(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    ags.write(copy, ags.read(path))
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(UPSTREAM.glob("context/*.json")), ids=lambda p: p.stem)
def test_every_context_is_rebuilt(path: Path) -> None:
    session = ags.read(_short(path.stem))
    expected: dict[str, Any] = json.loads(path.read_bytes())
    for leaf, context in expected.items():
        assert session.context_at(leaf).to_dict() == context


def test_a_lost_window_reads_and_has_no_context() -> None:
    session = ags.read(_short("bad-first-kept"))
    with pytest.raises(NoContext):
        session.context()


def test_a_promised_dispatch_is_missed() -> None:
    session = ags.read(_short("bad-records"))
    with pytest.raises(RecordMissing):
        session.verify_records()


def test_a_cut_tail_is_reported() -> None:
    session = ags.read(_short("truncated"))
    assert session.truncated is not None


@pytest.mark.parametrize("path", _whole(SHORT), ids=lambda p: p.stem)
def test_records_agree(path: Path) -> None:
    if path.stem == "bad-records":
        pytest.skip("its records do not agree")
    session = ags.read(path)
    for leaf in session.leaves:
        assert session.verify_records(leaf.id) == ()


@pytest.mark.parametrize("path", NEWEST, ids=lambda p: p.stem)
def test_later_drafts_open(path: Path) -> None:
    try:
        session = ags.read(path)
    except AgentSessionError:
        return
    assert len(session.verify_all()) >= 0
    for leaf in session.leaves:
        session.calls(leaf.id)
        session.runs(leaf.id)
    assert b"".join(session.lines()) == path.read_bytes() or session.truncated
