"""Damaged files: what can be told apart is kept, by the import and by usage alike."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsession.importers import registry
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import UsageRecord, of_source

DATA = Path(__file__).parents[1] / "data"
MARK = b"\xef\xbb\xbf"

FILES = {
    "claude-code": (DATA / "claude-code" / "claude-parallel-tools-tree.jsonl", "x.jsonl"),
    "codex": (
        DATA / "codex-hostile" / "codex-both-tracks.jsonl",
        "rollout-2026-03-04T05-06-00-0c0de000-0000-7000-8000-00000000000c.jsonl",
    ),
    "pi": (DATA / "pi-hostile" / "parent.jsonl", "2026-03-04T05-06-00-000Z_9100.jsonl"),
}

Lines = list[bytes]


def behind_zeros(lines: Lines) -> Lines:
    return [*lines[:-1], b"\0" * 64 + lines[-1]]


def before_zeros(lines: Lines) -> Lines:
    return [*lines[:-1], lines[-1].rstrip(b"\n") + b"\0" * 64 + b"\n"]


def glued(lines: Lines) -> Lines:
    return [*lines[:-2], lines[-2].rstrip(b"\n") + lines[-1]]


def all_glued(lines: Lines) -> Lines:
    return [lines[0], b"".join(line.rstrip(b"\n") for line in lines[1:-1]) + b"\n", lines[-1]]


def marked(lines: Lines) -> Lines:
    return [MARK + lines[0], *lines[1:]]


def imported(place: Path, store: Path, agent: str) -> ImportReport:
    importer = registry.load(agent)
    return import_sessions([Work(importer, tuple(importer.find([place])))], store)


def used(place: Path, agent: str) -> list[tuple[object, ...]]:
    importer = registry.load(agent)
    found: Iterator[UsageRecord] = (
        record for source in importer.find([place]) for record in of_source(importer, source)
    )
    return [(one.model, one.ts, one.usage) for one in found]


@pytest.mark.parametrize("agent", FILES)
@pytest.mark.parametrize("damage", [behind_zeros, before_zeros, glued, marked])
def test_nothing_is_lost_that_is_whole(
    agent: str, damage: Callable[[Lines], Lines], tmp_path: Path
) -> None:
    source, name = FILES[agent]
    lines = source.read_bytes().splitlines(keepends=True)
    whole, harmed = tmp_path / "whole" / name, tmp_path / "harmed" / name
    for place, text in ((whole, lines), (harmed, damage(lines))):
        place.parent.mkdir()
        place.write_bytes(b"".join(text))
    first = imported(whole, tmp_path / "a", agent)
    second = imported(harmed, tmp_path / "b", agent)
    assert first.ok
    assert second.ok
    assert second.totals["records"] == first.totals["records"]
    assert second.totals["entries"] == first.totals["entries"]
    assert used(harmed, agent) == used(whole, agent)


def test_many_records_of_pi_in_one_line_are_told_apart(tmp_path: Path) -> None:
    source, name = FILES["pi"]
    lines = source.read_bytes().splitlines(keepends=True)
    whole, harmed = tmp_path / "whole" / name, tmp_path / "harmed" / name
    for place, text in ((whole, lines), (harmed, all_glued(lines))):
        place.parent.mkdir()
        place.write_bytes(b"".join(text))
    first = imported(whole, tmp_path / "a", "pi")
    second = imported(harmed, tmp_path / "b", "pi")
    assert second.ok
    assert second.totals["entries"] == first.totals["entries"]


def test_a_cut_record_of_pi_costs_only_itself(tmp_path: Path) -> None:
    source, name = FILES["pi"]
    lines = source.read_bytes().splitlines(keepends=True)
    harmed = tmp_path / name
    harmed.write_bytes(b"".join([*lines[:-1], lines[-1][:40] + lines[-1]]))
    report = imported(harmed, tmp_path / "store", "pi")
    codes = [record["code"] for record in report.more["codes"]]
    assert codes == ["unreadable-record"]
    assert report.totals["records"]["read"] == len(lines) + 1
    assert used(harmed, "pi") == used(source, "pi")


def test_a_damaged_header_of_pi_is_no_other_agents_session(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "sessions" / "--x--"
    folder.mkdir(parents=True)
    text = FILES["pi"][0].read_bytes().replace(b'"type":"session"', b'"typ\xaf":"session"', 1)
    (folder / FILES["pi"][1]).write_bytes(text)
    actions = []
    for _ in range(3):
        works = [
            Work(importer, tuple(importer.find([tmp_path / "home"])))
            for importer in map(registry.load, registry.names())
        ]
        report = import_sessions([work for work in works if work.sources], tmp_path / "store")
        assert [session["id"] for session in report.more["sessions"]] == ["9100"]
        assert "unreadable-header" in {finding.code for finding in report.findings}
        actions.append(report.more["sessions"][0]["action"])
    assert actions == ["created", "unchanged", "unchanged"]


def test_a_rollout_is_known_under_any_name(tmp_path: Path) -> None:
    source = next((DATA / "codex" / "0.20.0-proto").rglob("rollout-*.jsonl"))
    shutil.copy(source, tmp_path / "renamed.jsonl")
    assert registry.load("codex").find([tmp_path / "renamed.jsonl"])
    assert not registry.load("codex").find([FILES["pi"][0]])
