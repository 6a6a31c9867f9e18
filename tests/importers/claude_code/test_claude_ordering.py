"""Records stand behind those that they hang below, and no chain leads round."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from claude_files import Log
from hypothesis import given
from hypothesis import strategies as st

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.ordering import behind_parents
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.source import read_records

DATA = Path(__file__).parents[2] / "data" / "claude-code-recordings"
BEFORE_COPIES_WERE_WHOLE = "1.0.50"


def records(links: list[int], place: Path) -> list[Record]:
    log = Log()
    for number, link in enumerate(links):
        line = log.user(f"u{number}", "Go")
        line["parentUuid"] = f"u{link}" if link < len(links) else None
    return list(read_records(log.write(place), 0))


@given(st.lists(st.integers(0, 12), max_size=10))
def test_every_record_stands_once_and_behind_its_parent(
    tmp_path_factory: pytest.TempPathFactory, links: list[int]
) -> None:
    given_ones = records(links, tmp_path_factory.mktemp("log"))
    found = behind_parents(given_ones)
    assert sorted(map(id, found)) == sorted(map(id, given_ones))
    at = {record.uuid: place for place, record in enumerate(found)}
    late = [r for place, r in enumerate(found) if at.get(r.parent, -1) >= place]
    # Only what leads round is not behind its parent, one link for each ring.
    assert len(late) == rings(links)


def rings(links: list[int]) -> int:
    found = set()
    for start in range(len(links)):
        passed: list[int] = []
        at = start
        while at < len(links) and at not in passed:
            passed.append(at)
            at = links[at]
        if at < len(links):
            found.add(min(passed[passed.index(at) :]))
    return len(found)


def test_what_stands_in_order_stays_as_it_is(tmp_path: Path) -> None:
    given_ones = records([9, 0, 1, 1], tmp_path)
    assert behind_parents(given_ones) is given_ones


def test_an_answer_may_stand_before_its_prompt(tmp_path: Path) -> None:
    log = Log(version="2.1.190")
    log.user("u1", "Go")
    log.say("a1", "m1", "Gone.")
    log.say("a2", "m2", "Back.", parent="u2")
    log.user("u2", "Back", parent="a1")
    log.write(tmp_path)
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    (native,) = importer.sessions(source)
    session = importer.convert(source, native.id).session
    assert [item.text for item in session.context().items] == ["Go", "Gone.", "Back", "Back."]


@pytest.mark.parametrize("version", ["", BEFORE_COPIES_WERE_WHOLE])
@pytest.mark.parametrize("name", ["1.0.35-tools", "2.1.45-tools", "2.1.200-compaction"])
def test_links_to_anywhere_end(tmp_path: Path, name: str, version: str) -> None:
    chance = random.Random(name + version)
    shutil.copytree(DATA / name, tmp_path / "home")
    logs = {log: log.read_text("utf-8") for log in (tmp_path / "home").rglob("projects/**/*.jsonl")}
    for _ in range(12):
        for log, text in logs.items():
            lines: list[Any] = [json.loads(line) for line in text.splitlines()]
            names = [line["uuid"] for line in lines if line.get("uuid")]
            linked = [line for line in lines if "parentUuid" in line]
            for line in chance.sample(linked, min(5, len(linked))):
                line["parentUuid"] = chance.choice(names)
            for line in lines:
                if version and "version" in line:
                    line["version"] = version
            log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        importer = ClaudeCode()
        (source,) = importer.find([tmp_path / "home"])
        read = 0
        for native in list(importer.sessions(source)):
            converted = importer.convert(source, native.id)
            read += len(converted.records)
        assert read == sum(len(text.splitlines()) for text in logs.values())
