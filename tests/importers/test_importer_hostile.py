"""Whatever a log holds, the session it becomes agrees with itself: its records verify."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recordings import verify_paths

from agentsession.importers import registry
from agentsession.reading import load
from agentsession.writing import dump

DATA = Path(__file__).parents[1] / "data"
PLACES = {
    "claude-code": ("claude-code-recordings", "claude-code"),
    "codex": ("codex", "codex-hostile"),
    "pi": ("pi", "pi-hostile"),
}
NO_LOGS = frozenset({"requests.jsonl", "history.jsonl", "session_index.jsonl", "journal.jsonl"})
IDS = frozenset(
    {"id", "uuid", "parentUuid", "leafUuid", "logicalParentUuid", "sourceToolAssistantUUID"}
    | {"call_id", "tool_use_id", "toolCallId", "response_id", "requestId", "turn_id", "hash"}
    | {"parentId", "targetId", "firstKeptEntryId"}
)
ODD: list[Any] = [None, True, 0, -1, "", "x", [], [None], {}, {"a": 1}, "user", "assistant"]
DENIED: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        {"toolDenialKind": "user-rejected"},
        {"permissionDecision": {"decision": "reject", "source": "user"}},
        {"permissionDecision": {"decision": "accept", "source": "config"}},
    ],
    "codex": [
        {"output": "exec command rejected by user"},
        {"output": "Exit code: 0\nWall time: 1 seconds\nOutput:\nok"},
    ],
    "pi": [{"durationMs": 5}],
}

Files = list[tuple[Path, list[bytes]]]


@cache
def logs(agent: str) -> tuple[tuple[tuple[Path, tuple[bytes, ...]], ...], ...]:
    """The logs of each recording of an agent, with their places in it."""
    found = []
    for folder in PLACES[agent]:
        for recording in sorted((DATA / folder).iterdir()):
            paths = [recording] if recording.is_file() else sorted(recording.rglob("*.jsonl"))
            paths = [p for p in paths if p.name not in NO_LOGS and p.stat().st_size < 100_000]
            root = recording if recording.is_dir() else recording.parent
            files = [(p.relative_to(root), tuple(p.read_bytes().splitlines())) for p in paths]
            found.append(tuple(files))
    return tuple(one for one in found if one)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """An object and all those in it."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from objects(inner)


def named(line: bytes) -> tuple[dict[str, Any], list[tuple[dict[str, Any], str]]]:
    """A record, and the ids in it."""
    value = json.loads(line)
    value = value if isinstance(value, dict) else {"line": value}
    ids = [(o, name) for o in objects(value) for name in o if name in IDS]
    return value, [(o, name) for o, name in ids if isinstance(o[name], str)]


class Damage:
    """Damages the records of a file."""

    def __init__(self, draw: st.DrawFn, agent: str, lines: list[bytes]) -> None:
        self.draw, self.agent, self.lines = draw, agent, lines

    def place(self) -> int:
        return self.draw(st.integers(0, len(self.lines) - 1))

    def dropped(self) -> None:
        at = self.place()
        del self.lines[at : at + self.draw(st.integers(1, 4))]

    def cut(self) -> None:
        at = self.place()
        self.lines[at] = self.lines[at][: self.draw(st.integers(0, len(self.lines[at])))]

    def glued(self) -> None:
        at = self.place()
        self.lines[at : at + 2] = [b"".join(self.lines[at : at + 2])]

    def moved(self) -> None:
        one, other = self.place(), self.place()
        self.lines[one], self.lines[other] = self.lines[other], self.lines[one]

    def repeated(self) -> None:
        self.lines.insert(self.place(), self.lines[self.place()])

    def retyped(self) -> None:
        at = self.place()
        value, _ = named(self.lines[at])
        holder = self.draw(st.sampled_from([o for o in objects(value) if o]))
        holder[self.draw(st.sampled_from(sorted(holder)))] = self.draw(st.sampled_from(ODD))
        self.lines[at] = json.dumps(value).encode()

    def made_equal(self) -> None:
        """Give something the id of something else, most often of its kind."""
        at = self.place()
        value, ids = named(self.lines[at])
        _, others = named(self.lines[self.place()])
        if not ids or not others:
            return
        holder, name = self.draw(st.sampled_from(ids))
        alike = [one for one in others if one[1] == name] or others
        other, its = self.draw(st.sampled_from(alike))
        holder[name] = other[its]
        self.lines[at] = json.dumps(value).encode()

    def denied(self) -> None:
        """Say of some results that their calls were denied, or ran."""
        for at, line in enumerate(self.lines):
            is_result = any(word in line for word in (b"tool_result", b"_output", b"toolResult"))
            if not is_result or not self.draw(st.booleans()):
                continue
            value, _ = named(line)
            inner = value.get({"codex": "payload", "pi": "message"}.get(self.agent, ""), value)
            if isinstance(inner, dict):
                inner |= self.draw(st.sampled_from(DENIED[self.agent]))
            self.lines[at] = json.dumps(value).encode()


KINDS = [
    *(Damage.dropped, Damage.cut, Damage.glued, Damage.moved, Damage.repeated, Damage.retyped),
    *(Damage.made_equal, Damage.made_equal, Damage.made_equal, Damage.denied),
]


@st.composite
def damaged(draw: st.DrawFn, agent: str) -> Files:
    files = [(path, list(lines)) for path, lines in draw(st.sampled_from(logs(agent)))]
    for _ in range(draw(st.integers(1, 8))):
        lines = draw(st.sampled_from(files))[1]
        kind = draw(st.sampled_from(KINDS))
        if lines:
            try:
                kind(Damage(draw, agent, lines))
            except ValueError:
                continue
    return files


@pytest.mark.parametrize("agent", PLACES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_records_of_any_import_verify(agent: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path, lines in data.draw(damaged(agent)):
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"".join(line + b"\n" for line in lines))
        importer = registry.load(agent)
        for source in importer.find([Path(folder)]):
            for native in importer.sessions(source):
                converted = importer.convert(source, native.id)
                session = load(dump(converted.session))
                verify_paths(session)
                ids = {entry.id for entry in session.entries}
                for record in converted.records:
                    assert set(record.entry_ids) <= ids
