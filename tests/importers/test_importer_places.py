"""A member that no release wrote, planted in every object of every kind of record, at any depth."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from recordings import recordings

from agentsession.importers import registry
from agentsession.importers.run import Work, import_sessions

DATA = Path(__file__).parents[1] / "data"
PAGES = Path(__file__).parents[2] / "docs" / "formats"
SOURCES: Final = {
    "claude-code": DATA / "claude-code-recordings",
    "codex": DATA / "codex",
    "pi": DATA / "pi",
}
_OTHERS: Final = ("requests.jsonl", "journal.jsonl", "history.jsonl", "session_index.jsonl")
_AT_ONCE: Final = 40
"""Of more than fifty names a report names no more."""

FREE: Final[dict[str, dict[str, str]]] = {
    "claude-code": {
        r"\S+/(?:message|assistant) message\.content\[\]\.input.*": "arguments of calls (`input`)",
        r"user/user toolUseResult.*": "what tools returned (`toolUseResult`)",
        r"api-request-shape shape\.tools.*": "the tools of a request (`shape.tools`)",
        r"attachment/prompt_snapshot \S+\.input_schema.*": "the `input_schema` of each",
        r"api-request params.*": "its `params`",
        r"system/api_error error\..+": "what stands inside the `error` of one that failed",
    },
    "codex": {
        r"response_item/\w+_output payload\.output.*": "what tools returned (`output`)",
        r"response_item/additional_tools payload\.tools.*": "what they are (`tools`)",
    },
    "pi": {
        r"\S+ (?:message\.)?details.*": "a tool says (`details`, `data`)",
        r"custom data.*": "a tool says (`details`, `data`)",
        r"message/assistant message\.content\[\]\.arguments.*": "`arguments` of calls",
        r"\S+ \w+\.toolsAdded\[\]\.parameters.*": "`parameters` of tools",
        r"\S+ \w+\.sections": "the `sections` of a prompt",
    },
}
"""Where whoever writes says what they please: the places, and the words of the agent's page."""

SAID_ELSEWHERE: Final[dict[str, dict[str, str]]] = {
    "claude-code": {
        r"attachment/prompt_snapshot \S+\.input_schema.*": "| `prompt_snapshot` | `config`",
    },
    "codex": {},
    "pi": {},
}
"""Of these what others say counts. A snapshot may stand behind the last answer of all."""


class Plant(NamedTuple):
    """A member that was planted, and where."""

    name: str
    word: str
    kind: str
    path: str


def kind_of(line: dict[str, Any]) -> str:
    """What tells the kinds of records apart."""
    inner = next((line[n] for n in ("payload", "attachment", "message") if n in line), None)
    told = [line.get("type") or line.get("record_type"), line.get("subtype")]
    if isinstance(inner, dict):
        item = inner.get("item")
        told += [inner.get("type") or inner.get("role")]
        told += [item.get("type")] if isinstance(item, dict) else []
    return "/".join(str(one) for one in told if one)


def objects_in(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object in a value, with its path."""
    if isinstance(value, dict):
        yield path, value
        for name in list(value):
            yield from objects_in(value[name], f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for one in value:
            yield from objects_in(one, f"{path}[]")


def planted(home: Path, known: set[tuple[str, str]]) -> list[Plant]:
    """Plant members in the logs of a home, at places that are not known yet."""
    plants: list[Plant] = []
    # A copy of a record says the same words.
    copies: dict[str, dict[str, Plant]] = {}
    for log in sorted(home.rglob("*.jsonl")):
        if log.name in _OTHERS or "sessions-before-" in str(log):
            continue
        lines = []
        for raw in log.read_bytes().splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                lines.append(raw)
                continue
            kind = kind_of(line)
            again = copies.setdefault(str(line.get("uuid") or log.name + str(len(lines))), {})
            for path, value in list(objects_in(line)):
                if path in again:
                    value[again[path].name] = again[path].word
                elif (kind, path) not in known and len(plants) < _AT_ONCE:
                    known.add((kind, path))
                    number = len(known)
                    plants.append(Plant(f"zz{number}New", f"planted-{number}-", kind, path))
                    value[plants[-1].name] = plants[-1].word
                    again[path] = plants[-1]
            lines.append(json.dumps(line, ensure_ascii=False).encode())
        log.write_bytes(b"".join(line + b"\n" for line in lines))
    return plants


def not_listed(plants: list[Plant], places: dict[str, str]) -> list[Plant]:
    """Those of some plants that are at none of some places."""
    known = [re.compile(place) for place in places]
    return [p for p in plants if not any(k.fullmatch(f"{p.kind} {p.path}") for k in known)]


@pytest.mark.parametrize(
    ("agent", "recording"),
    [
        pytest.param(agent, param.values[0], id=f"{agent}-{param.id}")
        for agent, own in SOURCES.items()
        for param in recordings(agent, own)
    ],
)
def test_no_place_is_left_out(agent: str, recording: Path, tmp_path: Path) -> None:
    importer = registry.load(agent)
    known: set[tuple[str, str]] = set()
    lost, unnamed = [], []
    for turn in range(100):
        home, store = tmp_path / f"home-{turn}", tmp_path / f"store-{turn}"
        shutil.copytree(recording, home, ignore=shutil.ignore_patterns(*_OTHERS[:2]))
        plants = planted(home, known)
        if not plants:
            break
        report = import_sessions([Work(importer, tuple(importer.find([home])))], store)
        assert report.totals["sessions"]["failed"] == 0
        told = " ".join(f.sentence for f in report.findings)
        text = "".join(path.read_text() for path in store.rglob("*.jsonl"))
        lost += [plant for plant in plants if plant.word not in text]
        unnamed += [plant for plant in plants if plant.name not in told]
    assert known
    assert not_listed(lost, SAID_ELSEWHERE[agent]) == []
    assert not_listed(unnamed, FREE[agent]) == []


@pytest.mark.parametrize("agent", SOURCES)
def test_what_is_not_looked_into_is_told(agent: str) -> None:
    page = (PAGES / f"{agent}.md").read_text()
    assert [words for words in FREE[agent].values() if words not in page] == []
    assert [words for words in SAID_ELSEWHERE[agent].values() if words not in page] == []
