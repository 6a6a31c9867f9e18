"""Paths whose entries are made when asked for: copied and pickled they stand by themselves."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given

import agentsession as ags
from session_strategies import sessions


def written(path: Path, size: int) -> Path:
    """A file with items of so many bytes, and a response for every third."""
    header: dict[str, object] = {
        "type": "session",
        "format": "agentsession/0.2",
        "id": "s",
        "created_at": "2026-03-01T08:15:30Z",
        "payload": "openresponses/2026-04-24",
    }
    lines = [header]
    for number in range(600):
        message = {"type": "message", "role": "user", "content": "x" * size}
        body: dict[str, object] = {"type": "item", "item": message}
        if number % 3 == 2:
            body = {"type": "response", "response_id": "r", "status": "completed"}
        parent = f"e{number - 1}" if number else None
        envelope = {"id": f"e{number}", "parent": parent, "ts": "2026-03-01T08:15:31Z"}
        lines.append({**body, **envelope})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# A file of some megabytes is held in memory of another kind.
@pytest.fixture(params=[100, 12_000], ids=["small", "big"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> ags.Session:
    return ags.read(written(tmp_path / "s.jsonl", request.param))


def test_a_context_is_pickled_and_copied(session: ags.Session) -> None:
    context = session.context()
    for other in (pickle.loads(pickle.dumps(context)), copy.deepcopy(context), copy.copy(context)):
        assert other == context
        assert other.items == context.items
        assert other.request() == context.request()
        assert tuple(other.entries) == tuple(context.entries)
        assert other.instructions_omitted == ()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_entries_are_pickled_without_the_session(session: ags.Session, protocol: int) -> None:
    entries = session.context().entries
    few = pickle.dumps(entries[:2], protocol)
    lines = sum(len(entry.line) for entry in entries[:2])
    # Each has its line, and none has those of the others.
    assert len(few) < 3 * lines + 3000
    assert pickle.loads(few) == (entries[0], entries[1])
    assert copy.deepcopy(entries[:2]) == entries[:2]
    items = pickle.dumps(session.context().items[:2], protocol)
    assert len(items) < 3 * lines + 3000


def test_lines_stand_alone(session: ags.Session) -> None:
    assert {type(entry.line) for entry in session} == {bytes}
    assert {type(item.json_text) for item in session.context().items} == {bytes}


@given(sessions(max_entries=20))
def test_contexts_are_the_same_of_entries_made_and_read(session: ags.Session) -> None:
    read = ags.read(ags.dump(session))
    for entry in session:
        assert read.context_at(entry.id) == session.context_at(entry.id)
