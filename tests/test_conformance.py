"""The sessions and contexts recorded by the reference implementation.

They are not part of this repository. Set AGENTSESSION_SHARED to the folder that holds
``conformance/``, or put it beside the repository under the name ``shared``; without it these
tests are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentsession as ags
from agentsession.errors import (
    AgentSessionError,
    BadConvergence,
    BadID,
    DamagedFile,
    DuplicateEntry,
    NoContext,
    NoEntry,
    ReasonMismatch,
    RecordMissing,
    UnsupportedFormat,
)

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
UPSTREAM = Path(os.environ.get("AGENTSESSION_SHARED") or _BESIDE) / "conformance" / "upstream"
SESSIONS = UPSTREAM / "sessions"

pytestmark = pytest.mark.skipif(not SESSIONS.is_dir(), reason="the recorded sessions are not here")


def _stem(path: Path) -> str:
    return path.stem


SHORT = sorted([*SESSIONS.glob("*.jsonl"), *SESSIONS.glob("v0.4/*.jsonl")])
NEWEST = sorted(SESSIONS.glob("newest/*.jsonl"))

REFUSED = {
    "bad-parent": NoEntry,
    "bad-parents": BadConvergence,
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


@pytest.mark.parametrize("path", [p for p in SHORT if p.stem in REFUSED], ids=_stem)
def test_damaged_files_are_refused(path: Path) -> None:
    with pytest.raises(REFUSED[path.stem], match=path.name):
        ags.read(path)


@pytest.mark.parametrize("path", _whole(SHORT), ids=_stem)
def test_every_hash_verifies(path: Path) -> None:
    session = ags.read(path)
    found = session.verify_all()
    assert found.ok
    assert found.count("ok") == HASHES.get(path.stem, 0)
    for result in found:
        if result.form is not None:
            assert session.verify(result.entry_id) is result.form


@pytest.mark.parametrize("path", _whole(SHORT), ids=_stem)
def test_every_file_is_written_back_as_it_was(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    ags.write(copy, ags.read(path))
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(UPSTREAM.glob("context/*.json")), ids=_stem)
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


@pytest.mark.parametrize("path", _whole(SHORT), ids=_stem)
def test_records_agree(path: Path) -> None:
    if path.stem == "bad-records":
        pytest.skip("its records do not agree")
    session = ags.read(path)
    for leaf in session.leaves:
        assert session.verify_records(leaf.id) == ()


NEWEST_REFUSED = {
    "bad-parent": NoEntry,
    "bad-parents": BadConvergence,
    "corrupt-middle": DamagedFile,
    "missing-id": BadID,
    "unsupported-format": UnsupportedFormat,
}
"""The files with hashes as ids that a reader refuses."""

NEWEST_HASHES = {
    "bad-resume": 2,
    "basic": 2,
    "branch": 3,
    "compaction": 3,
    "converge": 2,
    "duplicate-id": 2,
    "empty-resume": 2,
    "extensions": 1,
    "handback": 5,
    "instructions": 2,
    "omitted": 5,
    "parts": 3,
    "queued": 1,
    "resume": 2,
    "truncated": 2,
}
"""How many request hashes they record, where they record any."""

NEWEST_RECORDS = {"bad-records": RecordMissing, "bad-resume": ReasonMismatch}
"""What is wrong with their records."""


def _newest(*without: str) -> list[Path]:
    return [path for path in NEWEST if path.stem not in {*NEWEST_REFUSED, *without}]


@pytest.mark.parametrize("path", [p for p in NEWEST if p.stem in NEWEST_REFUSED], ids=_stem)
def test_damaged_later_drafts_are_refused(path: Path) -> None:
    with pytest.raises(NEWEST_REFUSED[path.stem], match=path.name):
        ags.read(path)


@pytest.mark.parametrize("path", _newest(), ids=_stem)
def test_later_drafts_verify(path: Path) -> None:
    session = ags.read(path)
    found = session.verify_all()
    assert found.ok
    assert found.count("ok") == NEWEST_HASHES.get(path.stem, 0)
    for result in found:
        if result.form is not None:
            assert session.verify(result.entry_id) is result.form
    assert ags.dump(session) == path.read_bytes()
    assert [entry.id for entry in ags.read(path, verify_ids=False)] == [e.id for e in session]


@pytest.mark.parametrize("path", _newest(*NEWEST_RECORDS), ids=_stem)
def test_records_of_later_drafts_agree(path: Path) -> None:
    session = ags.read(path)
    for leaf in session.leaves:
        notes = session.verify_records(leaf.id)
        assert len(notes) == len(session.substitutions(leaf.id))
    assert bool(session.substitutions()) == (path.stem == "parts")


@pytest.mark.parametrize("name", NEWEST_RECORDS)
def test_records_of_later_drafts_are_checked(name: str) -> None:
    session = ags.read(SESSIONS / "newest" / f"{name}.jsonl")
    with pytest.raises(NEWEST_RECORDS[name]):
        session.verify_records()


def test_a_repeated_entry_is_kept_once() -> None:
    session = ags.read(SESSIONS / "newest" / "duplicate-id.jsonl")
    assert len(session) == 9
    assert "repeats" in session.notes[0]


@pytest.mark.parametrize("path", sorted(UPSTREAM.glob("context/newest/*.json")), ids=_stem)
def test_every_context_of_later_drafts_is_rebuilt(path: Path) -> None:
    session = ags.read(SESSIONS / "newest" / path.name.replace(".json", ".jsonl"))
    expected: dict[str, Any] = json.loads(path.read_bytes())
    for leaf, context in expected.items():
        assert session.context_at(leaf).to_dict() == context


@pytest.mark.parametrize("path", [p for p in _whole(SHORT) if p.stem != "truncated"], ids=_stem)
def test_migration_gives_the_ids_of_the_reference(path: Path) -> None:
    session = ags.read(path)
    migrated = session.migrated(to="0.11")
    expected = ags.read(SESSIONS / "newest" / path.name)
    assert [entry.id for entry in migrated] == [entry.id for entry in expected]
    assert migrated.header.format == "agentsession/0.11"
    assert migrated.verify_all().counts == session.verify_all().counts
    for old, new in zip(session, migrated, strict=True):
        assert migrated.resolve(old.id) == expected.resolve(old.id) == new.id
    lines = [ags.canonical_json(json.loads(entry.line)) for entry in migrated]
    assert lines == [entry.line for entry in expected]


@pytest.mark.parametrize("path", _newest("truncated", "duplicate-id"), ids=_stem)
def test_every_altered_line_is_found(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    for number in range(1, len(lines)):
        for altered in _alterations(lines[number]):
            data = b"\n".join([*lines[:number], altered, *lines[number + 1 :], b""])
            with pytest.raises(AgentSessionError):
                ags.read(data)


def _alterations(line: bytes) -> Iterator[bytes]:
    """The line with another value for each of its members in turn, and with one more."""
    members = json.loads(line)
    for name, value in members.items():
        other = {**members, name: [value]}
        if isinstance(value, str):
            other[name] = value[:-1] + ("y" if value.endswith("x") else "x")
        elif isinstance(value, bool):
            other[name] = not value
        elif isinstance(value, int):
            other[name] = value + 1
        yield json.dumps(other).encode()
        yield json.dumps({other: v for other, v in members.items() if other != name}).encode()
    yield json.dumps({**members, "one_more": None}).encode()
